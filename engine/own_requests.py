"""Requests that a server sends to its client, and their answers.

Specification: 2025-11-25, basic/index, "Requests"; basic/utilities/cancellation.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final, Protocol, TypeAlias

import trio
from attrs import define, field

from .errors import BUSY
from .jsonrpc import Failure, JsonObject, Notification, Reply, Request, RequestId
from .protocol import CANCELLED

Post: TypeAlias = Callable[[Request | Notification], Awaitable[None]]
"""Sends a message to the client, on the way that belongs to one call of it."""


class Room(Protocol):
    """What a transport has room for: the bytes that its calls keep, all together."""

    def take(self, size: int) -> bool:
        """Keep so many more, where they are not too many."""
        ...

    def give_back(self, size: int) -> None:
        """Keep so many no more."""
        ...


@define
class Kept:
    """The bytes of the answers that one call keeps."""

    _room: Room | None = None
    _size: int = field(default=0, init=False)

    def take(self, size: int) -> bool:
        """Keep one of so many, where there is room."""
        if self._room is not None:
            if not self._room.take(size):
                return False
            self._size += size
        return True

    def clear(self) -> None:
        """Keep none any more."""
        if self._room is not None:
            self._room.give_back(self._size)
        self._size = 0


LAST_WORD: Final = 1.0
"""Seconds for telling a client that a question is not asked any more."""


@define(eq=False)
class _Pending:
    kept: Kept
    reply: Reply | None = None
    answered: trio.Event = field(factory=trio.Event)


class OwnRequests:
    """What one session has asked its client, by ids of its own.

    A late answer to a former session on the same connection has none of them.
    """

    def __init__(self) -> None:
        self._prefix: Final = f"server-{secrets.token_hex(4)}"
        self._numbers: Final = count(1)
        self._pending: Final[dict[RequestId, _Pending]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    async def ask(self, method: str, params: JsonObject, post: Post, kept: Kept) -> Reply:
        """Send a request, and wait for its reply as long as it takes.

        One that is cancelled is cancelled at the client too.

        Args:
            method: of the request.
            params: its parameters.
            post: sends it.
            kept: the answers of the call that it belongs to. A reply for which there is no room
                is a failure.
        """
        id = f"{self._prefix}-{next(self._numbers)}"
        pending = self._pending[id] = _Pending(kept)
        try:
            await post(Request(id, method, params))
            await pending.answered.wait()
        finally:
            del self._pending[id]
            if pending.reply is None:
                await _take_back(id, post)
        assert pending.reply is not None  # noqa: S101  # it is set before the event
        return pending.reply

    def answer(self, reply: Reply, size: int = 0) -> None:
        """Take what a client sent as a reply, of so many bytes; one that nobody waits for is
        dropped."""
        pending = self._pending.get(reply.id) if reply.id is not None else None
        if pending is not None and pending.reply is None:
            room = pending.kept.take(size)
            pending.reply = reply if room else Failure(reply.id, BUSY, "No room for the answer")
            pending.answered.set()


async def _take_back(id: RequestId, post: Post) -> None:
    with trio.move_on_after(LAST_WORD, shield=True):
        await post(Notification(CANCELLED, {"requestId": id}))
