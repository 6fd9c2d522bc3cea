"""Requests that a server sends to its client, and their answers.

Specification: 2025-11-25, basic/index, "Requests"; basic/utilities/cancellation.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final, TypeAlias

import trio
from attrs import define, field

from .jsonrpc import JsonObject, Notification, Reply, Request, RequestId

Post: TypeAlias = Callable[[Request | Notification], Awaitable[None]]
"""Sends a message to the client, on the way that belongs to one call of it."""

LAST_WORD: Final = 1.0
"""Seconds for telling a client that a question is not asked any more."""

CANCELLED: Final = "notifications/cancelled"


@define(eq=False)
class _Pending:
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

    async def ask(self, method: str, params: JsonObject, post: Post) -> Reply:
        """Send a request, and wait for its reply as long as it takes.

        One that is cancelled is cancelled at the client too.
        """
        id = f"{self._prefix}-{next(self._numbers)}"
        pending = self._pending[id] = _Pending()
        try:
            await post(Request(id, method, params))
            await pending.answered.wait()
        finally:
            del self._pending[id]
            if pending.reply is None:
                await _take_back(id, post)
        assert pending.reply is not None  # noqa: S101  # it is set before the event
        return pending.reply

    def answer(self, reply: Reply) -> None:
        """Take what a client sent as a reply; one that nobody waits for is dropped."""
        pending = self._pending.get(reply.id) if reply.id is not None else None
        if pending is not None and pending.reply is None:
            pending.reply = reply
            pending.answered.set()


async def _take_back(id: RequestId, post: Post) -> None:
    with trio.move_on_after(LAST_WORD, shield=True):
        await post(Notification(CANCELLED, {"requestId": id}))
