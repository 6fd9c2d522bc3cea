"""One HTTP request that was read to its end, and the response to it: JSON, or an event stream.

Specification: basic/transports/streamable-http, "Receiving Messages".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import trio
from attrs import define, field

from ..engine.closing import ClosableExchange, Closing
from ..engine.errors import INTERNAL_ERROR, UsageError
from ..engine.exchange import Principal
from ..engine.jsonrpc import Failure, Reply, RequestId, write_message
from .asgi_messages import Receive, Send, send_whole, until_disconnect
from .holding import Held
from .http_errors import headers_of, status_of
from .noticing import noticing
from .sse import EventStream

STOPPED: Final = "The server has stopped before the call had ended"

logger: Final = logging.getLogger("antiphon.http")


@define(eq=False)
class Response:
    """What is said in reply to one HTTP request.

    Attributes:
        principal: who sent the request.
        closing: closes when the application shuts down.
        stream: what the response becomes where anything is said before the reply.
    """

    principal: Principal | None
    closing: Closing
    _held: Held
    _keepalive: float
    _watch: Callable[[], Awaitable[None]]
    _receive: Receive
    _send: Send
    stream: EventStream = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.stream = EventStream(self._send)

    @property
    def exchange(self) -> ClosableExchange:
        """What the server is given with the request."""
        return ClosableExchange(
            self.principal,
            self.stream.notify,
            "http",
            self._held.lifespan,
            closing=self.closing,
        )

    async def accept(self, status: int = 202) -> None:
        """Say that a message which wants no reply was taken."""
        await send_whole(self._send, status, b"")

    async def say(
        self, reply: Reply, status: int | None = None, *headers: tuple[bytes, bytes]
    ) -> None:
        """Send a reply: as the whole response, or as the last event of one that streams.

        Args:
            reply: the reply; what no JSON can say becomes an error.
            status: where it is the whole response, its status; by default what the code asks for.
            headers: of the whole response.
        """
        sent, body = _encoded(reply)
        if self.stream.opened:
            await self.stream.end(body)
            return
        self.stream.closed = True
        number = status_of(sent) if status is None else status
        await send_whole(self._send, number, body, *headers_of(number), *headers)

    async def answer(
        self,
        id: RequestId,
        call: Coroutine[Any, Any, Reply | None],
        *,
        lasts: bool = False,
        status: Callable[[Reply], int] = status_of,
    ) -> None:
        """Await a call and send its reply; a client that leaves cancels it, and is sent nothing.

        Args:
            id: the request's.
            call: gives the reply, or None where the client wants none any more.
            lasts: whether it may wait for somebody else than the server.
            status: gives the HTTP status of a reply.
        """
        if self._held.endless:
            reply = await self._awaited(call, lasts=lasts)
        else:
            reply = await self._within_the_run(id, call, lasts=lasts)
        if self.stream.closed:
            return
        if reply is None:
            await self.stream.finish()
        else:
            await self.say(reply, status(reply))

    async def _within_the_run(
        self, id: RequestId, call: Coroutine[Any, Any, Reply | None], *, lasts: bool
    ) -> Reply | None:
        with self._held.call():
            return await self._awaited(call, lasts=lasts)
        return Failure(id, INTERNAL_ERROR, STOPPED)

    async def _awaited(
        self, call: Coroutine[Any, Any, Reply | None], *, lasts: bool
    ) -> Reply | None:
        reply: Reply | None = None
        async with trio.open_nursery() as nursery:

            def waits() -> None:
                nursery.start_soon(self._attend, nursery)
                if lasts:
                    nursery.start_soon(self._watch)

            reply = await noticing(call, waits)
            if nursery.child_tasks:
                nursery.cancel_scope.cancel()
        return reply

    async def _attend(self, nursery: trio.Nursery) -> None:
        """Cancel the call when the client leaves; begin the keep-alive when the call is long."""
        with trio.move_on_after(self._keepalive) as brief:
            await until_disconnect(self._receive)
        if brief.cancelled_caught:
            nursery.start_soon(self.stream.keep_alive, self._keepalive)
            await until_disconnect(self._receive)
        self.stream.closed = True
        nursery.cancel_scope.cancel()

    async def listen(
        self, tell: Callable[[ClosableExchange], Awaitable[None]], scope: trio.CancelScope
    ) -> None:
        """Be a stream that is no reply, until the client leaves or all is closed.

        Args:
            tell: says all that there is to say; what happens before its first wait it has seen.
            scope: ends the stream where it is cancelled.
        """
        with self._held.call(), scope:
            async with trio.open_nursery() as nursery:
                # The head goes out when whoever tells waits for the first change already: a
                # client that has read it misses none.
                nursery.start_soon(self.stream.open)
                nursery.start_soon(self._leave, nursery)
                nursery.start_soon(self.stream.keep_alive, self._keepalive)
                nursery.start_soon(self._watch)
                await tell(self.exchange)
                await self._closed()
                nursery.cancel_scope.cancel()
        if not self.stream.closed:
            await self.stream.finish()

    async def _leave(self, nursery: trio.Nursery) -> None:
        await until_disconnect(self._receive)
        self.stream.closed = True
        nursery.cancel_scope.cancel()

    async def _closed(self) -> None:
        """Wait for the end. A stream that ended because nothing will be said would be opened again
        at once."""
        closed = trio.Event()
        with self.closing.telling(closed.set):
            await closed.wait()


def _encoded(reply: Reply) -> tuple[Reply, bytes]:
    """A reply and its bytes; one that cannot be said in JSON becomes an error that can."""
    try:
        return reply, write_message(reply)
    except UsageError as error:
        logger.error("A reply cannot be sent: %s", error)
        masked = Failure(reply.id, INTERNAL_ERROR, "Internal error: the reply cannot be sent")
        return masked, write_message(masked)
