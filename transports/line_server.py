"""The server's end of a stream of lines: a pipe, a socket, memory.

One task reads and never waits for a call, so that cancellations always get through; one task
writes; each request has a task of its own. Specification: basic/transports/stdio,
basic/patterns/cancellation.
"""

from __future__ import annotations

import contextvars
import logging
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

import trio
from attrs import define, field

from ..engine.closing import ClosableExchange, Closing
from ..engine.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
    UsageError,
)
from ..engine.exchange import RequestHandler, held_open
from ..engine.jsonrpc import (
    Failure,
    JsonObject,
    Notification,
    Reply,
    Request,
    RequestId,
    failure,
    read_message,
    write_message,
)
from ..engine.limits import raising
from ..engine.subscriptions import LISTEN, check_room
from .busy import busy, passed_limit
from .lines import Line, LineReader, TooLong
from .outbox import Outbox
from .salvage import readable_id

logger = logging.getLogger("antiphon.stdio")

UNREAD: Final = 16 * 1024 * 1024
"""Bytes of replies that the peer may leave unread before nothing more is read from it.

Calls wait long before that. What counts here are refusals, which cost the peer nothing to cause.
"""

CANCELLED: Final = "notifications/cancelled"


async def serve_lines(
    server: RequestHandler,
    receive: trio.abc.ReceiveStream,
    send: trio.abc.SendStream,
    *,
    grace: float = 2.0,
    closing: Closing | None = None,
) -> None:
    """Serve one connection until its peer is done with it, or ``closing`` is closed.

    Then nothing more is read. Subscriptions end with their result at once; other requests
    already taken have ``grace`` seconds to be answered, and their answers to be read; then
    everything is cancelled. When ``send`` breaks, everything is cancelled at once. Both streams
    stay open: they are the caller's.

    A line that is no request is answered with the JSON-RPC error, and never ends the connection.
    Further requests than ``limits.concurrent_calls`` wait their turn; further ones than
    ``limits.waiting_calls`` or ``limits.pending_bytes`` allow are refused with the code
    :data:`~..engine.errors.BUSY`, and so are further subscriptions than ``limits.subscriptions``.
    """
    outbox = Outbox()
    # The lifespan is the outermost: it ends when no call can need it any more.
    async with held_open(server) as lifespan, trio.open_nursery() as nursery:
        nursery.start_soon(_write, outbox, send, nursery.cancel_scope)
        calls = partial(_Connection, server, outbox, lifespan)
        await _answer_all(calls, receive, outbox, grace, closing or Closing())
        nursery.cancel_scope.cancel()


async def _write(outbox: Outbox, send: trio.abc.SendStream, serving: trio.CancelScope) -> None:
    try:
        await outbox.write_to(send)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        logger.info("The client no longer reads; its calls are cancelled")
        serving.cancel()


async def _answer_all(
    connected: Callable[[trio.Nursery], _Connection],
    receive: trio.abc.ReceiveStream,
    outbox: Outbox,
    grace: float,
    closing: Closing,
) -> None:
    async with trio.open_nursery() as calls:
        connection = connected(calls)
        with closing.telling(connection.close):
            await connection.read(receive)
        deadline = trio.current_time() + grace
        calls.cancel_scope.deadline = deadline
    if calls.cancel_scope.cancelled_caught:
        logger.warning("%g seconds at the end were not enough for every call", grace)
    with trio.move_on_at(deadline):
        await outbox.below(1)


@define(eq=False)
class _Call:
    """A request from its arrival until its reply is on its way.

    ``live`` ends with a cancellation or with the reply; nothing is said for the call after that.
    ``size`` is the request's bytes.
    """

    request: Request
    size: int
    outbox: Outbox
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    live: bool = True

    async def notify(self, notification: Notification) -> None:
        line = write_message(notification)
        await self.outbox.room()
        if self.live:
            self.outbox.post(line)
        await trio.lowlevel.checkpoint()

    async def answer(self, reply: Reply) -> None:
        await self.outbox.room()
        if self.live:
            self.outbox.post(_encoded(reply))

    def cancel(self) -> None:
        self.live = False
        self.scope.cancel()


def _encoded(reply: Reply) -> bytes:
    try:
        return write_message(reply)
    except UsageError as error:
        logger.error("The reply to request %.100r cannot be sent: %s", reply.id, error)
        return write_message(Failure(reply.id, INTERNAL_ERROR, "Internal error"))


class _Connection:
    """What one peer has asked for and not yet been told."""

    def __init__(
        self, server: RequestHandler, outbox: Outbox, lifespan: object, nursery: trio.Nursery
    ) -> None:
        self._server = server
        self._lifespan = lifespan
        self._limits = server.limits
        self._outbox = outbox
        self._nursery = nursery
        # A call that follows another in its slot must not see the other's context variables.
        self._context = contextvars.copy_context()
        self._closing = Closing()
        self._reading = trio.CancelScope()
        self._calls: dict[RequestId, _Call] = {}
        self._waiting: OrderedDict[RequestId, _Call] = OrderedDict()
        self._running = 0
        self._held = 0
        self._subscriptions = 0

    def close(self) -> None:
        """Read no further, and end what would go on."""
        self._reading.cancel()
        self._closing.close()

    async def read(self, receive: trio.abc.ReceiveStream) -> None:
        """Take everything that the peer sends, until it sends no more or all is closed."""
        reader = LineReader(receive, self._limits.message_bytes)
        try:
            with self._reading:
                while lines := await reader.receive():
                    for line in lines:
                        self._take(line)
                    await self._outbox.below(UNREAD)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            logger.info("The connection broke while it was read")
        self.close()

    def _take(self, line: Line) -> None:
        if isinstance(line, TooLong):
            self._refuse_too_long(line)
            return
        try:
            message = read_message(line, self._limits)
        except ProtocolError as error:
            if error.code == INVALID_PARAMS and error.id is None:
                return  # a notification: whatever is wrong with it, it is not answered
            # The JSON door reads an id only out of JSON.
            id = readable_id(line) if error.code == PARSE_ERROR else None
            self._say(failure(error, id))
            return
        if isinstance(message, Request):
            self._accept(message, len(line))
        elif isinstance(message, Notification) and message.method == CANCELLED:
            self._cancel(message.params)

    def _refuse_too_long(self, line: TooLong) -> None:
        text = (
            f"Parse error: The message has {line.size} bytes; "
            f"limit message_bytes is {self._limits.message_bytes} {raising('message_bytes')}"
        )
        self._say(Failure(readable_id(line), PARSE_ERROR, text))

    def _say(self, reply: Failure) -> None:
        self._outbox.post(write_message(reply))

    def _accept(self, request: Request, size: int) -> None:
        if request.id in self._calls:
            text = "Invalid request: another request with this id is not answered yet"
            self._say(Failure(request.id, INVALID_REQUEST, text))
            return
        if request.method == LISTEN:
            self._subscribe(request, size)
            return
        passed = passed_limit(self._limits, size, self._held, len(self._waiting))
        if passed is not None:
            self._say(busy(request.id, self._limits, passed))
            return
        call = _Call(request, size, self._outbox)
        self._calls[request.id] = call
        self._held += size
        if self._running < self._limits.concurrent_calls:
            self._start(call)
        else:
            self._waiting[request.id] = call

    def _subscribe(self, request: Request, size: int) -> None:
        """Serve a subscription, which waits most of its life and takes no place of a call."""
        try:
            check_room(self._limits, self._subscriptions, size)
        except ProtocolError as error:
            self._say(failure(error, request.id))
            return
        call = _Call(request, size, self._outbox)
        self._calls[request.id] = call
        self._subscriptions += 1
        self._context.run(self._nursery.start_soon, self._run_subscription, call)

    def _cancel(self, params: JsonObject) -> None:
        id = params.get("requestId")
        if isinstance(id, bool) or not isinstance(id, str | int):
            return
        # From now on the id is free, even while the call still cleans up.
        call = self._calls.pop(id, None)
        if call is not None:
            if self._waiting.pop(id, None) is not None:
                self._held -= call.size
            call.cancel()
            logger.debug("Request %.100r was cancelled by the client", id)

    def _start(self, call: _Call) -> None:
        self._running += 1
        self._context.run(self._nursery.start_soon, self._run, call)

    async def _run(self, call: _Call) -> None:
        try:
            await self._serve(call)
        finally:
            self._retire(call)

    async def _run_subscription(self, call: _Call) -> None:
        try:
            await self._serve(call)
        finally:
            self._subscriptions -= 1
            self._forget(call)

    async def _serve(self, call: _Call) -> None:
        with call.scope:
            exchange = ClosableExchange(
                None, call.notify, "stdio", self._lifespan, closing=self._closing
            )
            await call.answer(await self._server.handle(call.request, exchange))

    def _forget(self, call: _Call) -> None:
        call.live = False
        if self._calls.get(call.request.id) is call:
            del self._calls[call.request.id]

    def _retire(self, call: _Call) -> None:
        self._forget(call)
        self._running -= 1
        self._held -= call.size
        # A call must not even begin on a connection that is being given up.
        if self._waiting and trio.current_effective_deadline() > trio.current_time():
            _, following = self._waiting.popitem(last=False)
            self._start(following)
