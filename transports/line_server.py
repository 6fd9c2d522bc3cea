"""The server's end of a stream of lines: a pipe, a socket, memory.

One task reads and never waits for a call, so that cancellations always get through; one task
writes; each request has a task of its own. Each request says by itself which revision it follows;
those that do not belong to the session that an ``initialize`` has begun. Specification:
basic/transports/stdio, basic/versioning, basic/patterns/cancellation.
"""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Awaitable, Callable
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
from ..engine.exchange import Handshaking, RequestHandler, held_open
from ..engine.handshake_versions import INITIALIZE, names_its_revision
from ..engine.jsonrpc import (
    Failure,
    JsonObject,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    failure,
    read_message,
    write_message,
)
from ..engine.limits import raising
from ..engine.protocol import CANCELLED
from ..engine.subscriptions import LISTEN, check_room
from .busy import busy
from .line_sessions import LineSession
from .line_turns import LineTurns
from .lines import Line, LineReader, TooLong
from .outbox import Outbox
from .salvage import readable_id

logger = logging.getLogger("antiphon.stdio")

UNREAD: Final = 16 * 1024 * 1024
"""Bytes of replies that the peer may leave unread before nothing more is read from it.

Calls wait long before that. What counts here are refusals, which cost the peer nothing to cause.
"""


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
    everything is cancelled. A call that waits for an answer of the client is cancelled at once:
    nobody can answer it any more. When ``send`` breaks, everything is cancelled at once. Both
    streams stay open: they are the caller's.

    A line that is no request is answered with the JSON-RPC error, and never ends the connection.
    Further requests than ``limits.concurrent_calls`` wait their turn; further ones than
    ``limits.waiting_calls`` or ``limits.pending_bytes`` allow are refused with the code
    :data:`~..engine.errors.BUSY`, and so are further subscriptions than ``limits.subscriptions``.
    A call that waits for an answer of the client is one of those that wait.
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
    ``size`` is the request's bytes, ``session`` the one that it belongs to, if any.
    """

    request: Request
    size: int
    outbox: Outbox
    session: LineSession | None = None
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


def _taken(id: RequestId) -> Failure:
    text = "Invalid request: another request with this id is not answered yet"
    return Failure(id, INVALID_REQUEST, text)


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
        self._turns = LineTurns(server.limits)
        self._subscriptions = 0
        self._session: LineSession | None = None

    def close(self) -> None:
        """Read no further, and end what would go on."""
        self._reading.cancel()
        self._closing.close()
        if self._session is not None:
            self._session.hang_up()

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
            self._refuse(failure(error, id))
            return
        if isinstance(message, Request):
            self._accept(message, len(line))
        elif not isinstance(message, Notification):
            self._answered(message, len(line))
        elif message.method == CANCELLED:
            self._cancel(message.params)

    def _refuse_too_long(self, line: TooLong) -> None:
        text = (
            f"Parse error: The message has {line.size} bytes; "
            f"limit message_bytes is {self._limits.message_bytes} {raising('message_bytes')}"
        )
        self._refuse(Failure(readable_id(line), PARSE_ERROR, text))

    def _refuse(self, told: Failure) -> None:
        """Answer what cannot be read, unless it has the id of a question: then it was its answer,
        and another will not come."""
        if not self._answered(told, 0):
            self._say(told)

    def _answered(self, reply: Reply, size: int) -> bool:
        return self._session is not None and self._session.answer(reply, size)

    def _say(self, reply: Failure) -> None:
        self._outbox.post(write_message(reply))

    def _accept(self, request: Request, size: int) -> None:
        older = not names_its_revision(request.params)
        known = self._calls.get(request.id)
        server = self._server
        if older and request.method == INITIALIZE and isinstance(server, Handshaking):
            self._begin(server, request, known)
            return
        if known is not None:
            self._say(_taken(request.id))
            return
        session = self._session if older else None
        if request.method == LISTEN and session is None:
            self._subscribe(request, size)
        else:
            self._admit(_Call(request, size, self._outbox, session))

    def _admit(self, call: _Call) -> None:
        passed = self._turns.passed(call.size)
        if passed is not None:
            self._say(busy(call.request.id, self._limits, passed))
            return
        self._calls[call.request.id] = call
        self._turns.admit(call.size)
        if call.session is None:
            self._turns.ask(call, partial(self._start, self._run, call))
        else:
            self._start(self._run_older, call)

    def _begin(self, server: Handshaking, request: Request, known: _Call | None) -> None:
        """Begin a session, in the place of a former one, whose calls end with it."""
        if known is not None and known.session is None:
            self._say(_taken(request.id))
            return
        try:
            begun = server.open_session(request.params)
        except ProtocolError as error:
            self._say(failure(error, request.id))
            return
        if self._session is not None:
            self._session.end()
        for call in [call for call in self._calls.values() if call.session is not None]:
            self._end(call)
        session = LineSession(begun, self._server, self._outbox, self._turns)
        self._session = session
        self._outbox.post(_encoded(Success(request.id, session.welcome())))
        exchange = ClosableExchange(
            None, session.notify, "stdio", self._lifespan, closing=self._closing
        )
        self._context.run(self._nursery.start_soon, session.tell_changes, exchange)

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
        self._start(self._run_subscription, call)

    def _cancel(self, params: JsonObject) -> None:
        id = params.get("requestId")
        if isinstance(id, bool) or not isinstance(id, str | int):
            return
        call = self._calls.get(id)
        if call is not None:
            self._end(call)
            logger.debug("Request %.100r was cancelled by the client", id)

    def _end(self, call: _Call) -> None:
        # From now on the id is free, even while the call still cleans up.
        self._forget(call)
        if self._turns.withdraw(call):
            self._turns.leave(call.size)
        call.cancel()

    def _start(self, run: Callable[[_Call], Awaitable[None]], call: _Call) -> None:
        self._context.run(self._nursery.start_soon, run, call)

    async def _run(self, call: _Call) -> None:
        try:
            await self._serve(call)
        finally:
            self._forget(call)
            self._turns.leave(call.size)
            self._turns.pass_on()

    async def _run_older(self, call: _Call) -> None:
        try:
            await self._serve(call)
        finally:
            self._forget(call)
            self._turns.leave(call.size)

    async def _run_subscription(self, call: _Call) -> None:
        try:
            await self._serve(call)
        finally:
            self._subscriptions -= 1
            self._forget(call)

    async def _serve(self, call: _Call) -> None:
        # It must not even begin on a connection that is being given up.
        await trio.lowlevel.checkpoint_if_cancelled()
        with call.scope:
            await call.answer(await self._reply(call))

    async def _reply(self, call: _Call) -> Reply:
        exchange = ClosableExchange(
            None, call.notify, "stdio", self._lifespan, closing=self._closing
        )
        if call.session is not None:
            return await call.session.serve(call.request, exchange, call.cancel)
        return await self._server.handle(call.request, exchange)

    def _forget(self, call: _Call) -> None:
        call.live = False
        if self._calls.get(call.request.id) is call:
            del self._calls[call.request.id]
