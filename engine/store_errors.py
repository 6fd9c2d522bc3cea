"""The errors of a store of conversations; see :mod:`.store`."""

from __future__ import annotations

from .errors import WorldError


class StoreError(WorldError):
    """A store cannot do what it was asked to. The message holds nothing of what is stored."""


class StoreUnusable(StoreError):
    """What a store keeps its conversations in is damaged, busy, something else, or newer."""


class EntryError(StoreError):
    """It is about one entry.

    Attributes:
        id: of the entry.
    """

    def __init__(self, id: str, message: str) -> None:
        self.id = id
        super().__init__(message)


class ConversationGone(EntryError):
    """There is no such entry: the call was finished or cancelled, or its time ran out."""

    def __init__(self, id: str) -> None:
        super().__init__(id, f"The store has no conversation {id!r}, or has it no more")


class ConversationClaimed(EntryError):
    """Somebody is at it.

    Attributes:
        until: how long at least, on the wall clock, in seconds since the epoch.
    """

    def __init__(self, id: str, until: float, now: float) -> None:
        self.until = until
        super().__init__(
            id,
            f"Conversation {id!r} is being answered by somebody else; "
            f"it is free in {max(until - now, 0):.0f} s unless they go on",
        )


class LeaseLost(EntryError):
    """Somebody else has taken the conversation over, since this process did not say for a while
    that it goes on. Nothing is sent from here any more."""

    def __init__(self, id: str) -> None:
        super().__init__(id, f"Conversation {id!r} was taken over by somebody else meanwhile")


class AnswerUncertain(EntryError):
    """Whoever had the conversation last ended while a request was on its way.

    The server may have received it, and the tool may have run.
    """

    def __init__(self, id: str) -> None:
        super().__init__(
            id,
            f"Conversation {id!r} was left while a request was on its way, and may have been "
            "served. Where repeating it does no harm, resume it with again=True; else cancel it",
        )
