"""What a client of an earlier revision has on a connection of lines: its session.

Questions go out among the replies, and what answers them comes in among the requests.
Specification: 2025-11-25, basic/lifecycle and basic/transports, "stdio".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from ..engine.exchange import Exchange, RequestHandler
from ..engine.jsonrpc import (
    JsonObject,
    Notification,
    Reply,
    Request,
    RequestId,
    write_message,
)
from ..engine.protocol import CANCELLED
from .line_turns import LineTurns
from .outbox import Outbox

if TYPE_CHECKING:
    from ..engine.handshake_session import HandshakeSession


class LineSession:
    """One session, of which a connection has one at a time.

    Args:
        session: what serves it.
        server: serves the rounds of its calls.
        outbox: takes what the client is sent.
        turns: the connection's; each round has one, and a call that waits for an answer none.
    """

    def __init__(
        self,
        session: HandshakeSession,
        server: RequestHandler,
        outbox: Outbox,
        turns: LineTurns,
    ) -> None:
        self._session: Final = session
        self._server: Final = server
        self._outbox: Final = outbox
        self._turns: Final = turns
        self._telling: Final = trio.CancelScope()
        # By the ids of the questions: what cancels the call that waits for the answer.
        self._asked: Final[dict[RequestId, Callable[[], None]]] = {}
        self._deaf = False

    def welcome(self) -> JsonObject:
        """The result of ``initialize``."""
        return self._session.welcome()

    # -- calls --------------------------------------------------------------------------------

    async def serve(
        self, request: Request, exchange: Exchange, cancel: Callable[[], None]
    ) -> Reply:
        """Serve one request of the client.

        Args:
            request: the request.
            exchange: takes its notifications.
            cancel: cancels it, for when nobody can answer it any more.
        """
        post = partial(self._post, cancel)
        return await self._session.handle(request, exchange, post, self._round, self._turns)

    async def _round(self, request: Request, exchange: Exchange) -> Reply:
        async with self._turns.turn():
            return await self._server.handle(request, exchange)

    async def _post(self, cancel: Callable[[], None], message: Request | Notification) -> None:
        """Send a question of a call, or take one back."""
        if isinstance(message, Notification):
            self._asked.pop(_taken_back(message), None)
            await self._outbox.room()
        else:
            await self._outbox.room()
            if self._deaf:
                cancel()
            await trio.lowlevel.checkpoint_if_cancelled()
            self._asked[message.id] = cancel
        self._outbox.post(write_message(message))

    # -- what the client says -----------------------------------------------------------------

    def answer(self, reply: Reply, size: int) -> bool:
        """Take what came as a reply, of so many bytes; whether a question waited for it.

        A failure may also stand for a reply that could not be read, so that nobody waits for it.
        """
        if reply.id is None or self._asked.pop(reply.id, None) is None:
            return False
        self._session.own.answer(reply, size)
        return True

    def hang_up(self) -> None:
        """The client says no more: calls that wait for an answer of it are over."""
        self._deaf = True
        for cancel in list(self._asked.values()):
            cancel()

    # -- what it is told ----------------------------------------------------------------------

    async def tell_changes(self, exchange: Exchange) -> None:
        """Tell it what changes, until it or the connection is over."""
        with self._telling:
            await self._session.changes(exchange)

    async def notify(self, notification: Notification) -> None:
        """Send what belongs to no call; it waits while the client does not read."""
        line = write_message(notification)
        await self._outbox.room()
        await trio.lowlevel.checkpoint()
        self._outbox.post(line)

    def end(self) -> None:
        """Another session takes its place; its calls are the connection's to cancel."""
        self._telling.cancel()


def _taken_back(message: Notification) -> RequestId:
    id = message.params.get("requestId") if message.method == CANCELLED else None
    return id if isinstance(id, str | int) else ""
