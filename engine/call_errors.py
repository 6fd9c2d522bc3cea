"""The errors that end a call of a client, for programs that act on them.

Each is a :class:`~.errors.CallError`, so that it carries the last interim result, and belongs to
one of the three families. :class:`~.errors.InvalidReply` and
:class:`~.exchange.TransportLost` complete the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from .errors import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    CallError,
    PeerError,
    UsageError,
    WorldError,
    printable,
)
from .jsonrpc import JsonValue

Kind: TypeAlias = Literal["form", "url", "sampling", "roots"]
"""What a server may ask of a client."""

_MESSAGE_CHARACTERS = 2000
_NAME_CHARACTERS = 120


def quoted(name: object) -> str:
    """A name that the other side chose, fit for a message: escaped, and not endless."""
    text = str(name)
    return repr(text if len(text) <= _NAME_CHARACTERS else text[:_NAME_CHARACTERS] + "...")


# -- ours -------------------------------------------------------------------------------------


class AnswerInvalid(CallError, UsageError):
    """A callback, or the caller of ``advance``, gave an answer that its question does not allow.

    The message names the faults and never the values. Nothing was sent.

    Attributes:
        key: the question's key.
        faults: one phrase for each fault.
    """

    def __init__(self, asked: str, key: str, faults: Iterable[str]) -> None:
        self.key = key
        self.faults = tuple(faults)
        super().__init__(f"The answer to {asked} cannot be sent: {'; '.join(self.faults)}")


class UnreadableDump(UsageError):
    """What was given to ``load`` is no conversation that this version can go on with.

    Attributes:
        newer: whether a newer version wrote it; otherwise it is damaged or something else.
    """

    def __init__(self, message: str, *, newer: bool = False) -> None:
        super().__init__(message)
        self.newer = newer


# -- the peer's -------------------------------------------------------------------------------


class QuestionRefused(CallError, PeerError):
    """The server asked something that this client did not declare, or refuses by its policy.

    Nothing was sent and no callback was called in this round.

    Attributes:
        key: the question's key.
        kind: form, url, sampling or roots.
    """

    def __init__(self, asked: str, key: str, kind: Kind, reason: str | None = None) -> None:
        """``reason`` is why, where it is not for the kind as a whole."""
        self.key = key
        self.kind: Kind = kind
        why = reason or (
            f"this client did not declare {kind!r}. "
            "A callback declares a kind; `refuse` takes it away"
        )
        super().__init__(f"{asked} was refused and nothing was sent: {why}")


class RoundsExceeded(CallError, PeerError):
    """The server asks without an end: more rounds with questions, or polls, than allowed.

    Attributes:
        rounds: rounds with questions, this one included.
        polls: rounds without questions, this one included.
    """

    def __init__(self, message: str, *, rounds: int, polls: int) -> None:
        super().__init__(message)
        self.rounds = rounds
        self.polls = polls


class ServerError(CallError, PeerError):
    """The server answered with a JSON-RPC error.

    Attributes:
        code: the JSON-RPC error code.
        message: the server's own words, as they came; the text of this error has them on one
            line, without what a terminal would obey.
        data: what the server added, or None.
    """

    def __init__(
        self, code: int, message: str, data: JsonValue = None, *, advice: str = ""
    ) -> None:
        """``advice`` is what the client makes of it, for the end of the text."""
        self.code = code
        self.message = message
        self.data = data
        told = printable(message[:_MESSAGE_CHARACTERS])
        told += advice or self._advice()
        super().__init__(f"The server answered with error {code}: {told}")

    def _advice(self) -> str:
        if self.code == HEADER_MISMATCH:
            return (
                " (either what stands between has changed the headers, or the server's list of "
                "tools does not say which headers it wants, by x-mcp-header)"
            )
        needed = self.data.get("requiredCapabilities") if isinstance(self.data, dict) else None
        if self.code != MISSING_CAPABILITY or not isinstance(needed, dict):
            return ""
        names = printable(", ".join(sorted(needed))[:_MESSAGE_CHARACTERS])
        return f" (register the callback that declares {names})"


class VersionMismatch(ServerError):
    """The server and this client speak no common revision of the protocol.

    Attributes:
        ours: the revisions of this client.
        theirs: the revisions that the server named.
    """

    def __init__(self, refusal: ServerError, ours: Sequence[str], theirs: Sequence[str]) -> None:
        self.ours = tuple(ours)
        self.theirs = tuple(theirs)
        super().__init__(
            refusal.code,
            f"no common protocol version; the server speaks {', '.join(theirs) or 'none'}, "
            f"this client speaks {', '.join(ours)}",
            refusal.data,
        )


# -- the world's ------------------------------------------------------------------------------


class DeadlineExceeded(CallError, WorldError):
    """The deadline of the whole call passed; whatever ran was cancelled, a callback included."""


class PeopleTimeout(DeadlineExceeded):
    """The callbacks together took longer than ``people_timeout``."""


class LegTimeout(CallError, WorldError):
    """One request had no reply within ``leg_timeout``; it was cancelled, and may have been served.

    Attributes:
        seconds: how long the client waited.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds
