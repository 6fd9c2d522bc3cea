"""The client's end of a stream of lines: a pipe, a socket, memory.

Replies find their request by its id, text and numbers apart. Progress finds it by its token, what
a subscription is told by the subscription's id. Any other notification goes to every call that is
open, because it does not say whose it is.

A line that is no reply is dealt with by what can be known of it:

* It carries the id of an open request, as members or plainly at one of its ends: that request
  ends with :class:`InvalidReply`.
* It is too long, might be a reply, and its id cannot be read: every open request ends so, since
  one of them would otherwise wait for ever.
* Anything else was printed by mistake: it is skipped, with a warning that shows its beginning.

Specification: basic/transports/stdio, basic/patterns/cancellation, basic/patterns/progress,
basic/patterns/subscriptions.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeGuard, cast

import trio
from attrs import define, field

from ..engine.background import background
from ..engine.errors import InvalidReply, ProtocolError, UsageError
from ..engine.exchange import OnNotification, TransportLost
from ..engine.handshake_link import OnRequest
from ..engine.handshake_versions import INITIALIZE
from ..engine.jsonrpc import (
    Failure,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    read_message,
    write_message,
)
from ..engine.limits import Limits, raising
from ..engine.protocol import CANCELLED, PROGRESS
from ..engine.subscriptions import LISTEN, META_SUBSCRIPTION
from .line_older import LineLink
from .lines import Line, LineReader, TooLong
from .outbox import Outbox
from .salvage import may_be_reply, readable_id

logger = logging.getLogger("antiphon.stdio")

LINGER: Final = 1.0
"""Seconds for the last replies of a peer to which nothing can be written any more."""

FLUSH: Final = 0.5
"""Seconds for the last cancellations when a connection is closed."""

SHOWN: Final = 200
"""Characters shown of a line that is no message."""

WARNINGS: Final = 20
"""Strange lines that are worth a warning each; a peer that sends more is known by then."""


@define(eq=False)
class _Pending:
    """A request that waits for its reply. ``end`` is where its line ends, once it is posted."""

    request: Request
    on_notification: OnNotification
    end: int | None = None
    outcome: Reply | Exception | None = None
    done: trio.Event = field(factory=trio.Event)

    @property
    def token(self) -> str | int | None:
        meta = self.request.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return token if _is_id(token) else None

    def settle(self, outcome: Reply | Exception) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self.done.set()

    def hear(self, notification: Notification) -> None:
        if self.outcome is not None:
            return
        try:
            self.on_notification(notification)
        except Exception as error:  # noqa: BLE001  # the caller's own, for the caller's task
            self.settle(error)

    def result(self) -> Reply:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return cast(Reply, self.outcome)


def _found(among: Mapping[str | int, _Pending], id: object) -> list[_Pending]:
    return [among[id]] if _is_id(id) and id in among else []


def _is_id(value: object) -> TypeGuard[str | int]:
    # Not isinstance: True equals 1 and finds it in a dict.
    return type(value) is str or type(value) is int


class LineTransport:
    """A :class:`~antiphon.engine.exchange.ClientTransport` over two streams of bytes.

    Made by :func:`open_lines`, which also keeps it running. Whoever makes one otherwise runs
    :meth:`run` in a task and tells :meth:`lose` when the connection is over.

    ``pipe`` promises that ``send`` is a pipe, so that a lost request is told from a sent one
    exactly. ``redact`` takes secrets out of what is logged.
    """

    probes: bool = True  # see SpeaksOlder: nothing but a request tells of the server's revision

    def __init__(
        self,
        receive: trio.abc.ReceiveStream,
        send: trio.abc.SendStream,
        *,
        name: str = "stream",
        limits: Limits | None = None,
        pipe: bool = False,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.name = name
        self._limits = limits or Limits()
        self._reader = LineReader(receive, self._limits.message_bytes)
        self._send = send
        self._outbox = Outbox(pipe=pipe)
        self._redact = redact
        self._pending: dict[RequestId, _Pending] = {}
        self._by_token: dict[str | int, _Pending] = {}
        self._lost: tuple[str, str] | None = None
        self._gone = trio.Event()
        self._older: tuple[OnNotification, OnRequest] | None = None
        self._running = trio.CancelScope()
        self._warned = 0

    # -- requests -----------------------------------------------------------------------------

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send a request and wait for its reply.

        A cancelled exchange tells the server so without waiting, and its late reply is dropped.
        What ``on_notification`` raises is raised here.

        Raises:
            TransportLost: the connection broke; ``sent`` tells whether the server may have the
                request.
            InvalidReply: the server answered with something that is no reply.
            UsageError: the request cannot be said in JSON, or its id or progress token is that
                of an open one.
        """
        if self._lost is not None:
            raise self._loss(sent=False)
        line = write_message(request)
        pending = self._enter(_Pending(request, on_notification))
        try:
            await self._outbox.room()
            pending.end = self._outbox.post(line)
            await pending.done.wait()
        finally:
            self._leave(pending)
        return pending.result()

    def _enter(self, pending: _Pending) -> _Pending:
        id, token = pending.request.id, pending.token
        if id in self._pending:
            raise UsageError(f"A request with id {id!r} is open on this connection: take another")
        if token is not None:
            if token in self._by_token:
                raise UsageError(f"Progress token {token!r} belongs to an open request")
            self._by_token[token] = pending
        self._pending[id] = pending
        return pending

    def _leave(self, pending: _Pending) -> None:
        del self._pending[pending.request.id]
        if pending.token is not None:
            del self._by_token[pending.token]
        answered = isinstance(pending.outcome, Success | Failure)
        if pending.end is not None and not answered and pending.request.method != INITIALIZE:
            cancelled = Notification(CANCELLED, {"requestId": pending.request.id})
            self._outbox.post(write_message(cancelled))

    def lose(self, reason: str, detail: str = "") -> None:
        """End every open and every later exchange: the connection is over, and why."""
        if self._lost is None:
            self._lost = (reason, detail)
        self._gone.set()
        for pending in self._pending.values():
            sent = pending.end is not None and pending.end <= self._outbox.sent
            pending.settle(self._loss(sent=sent))

    def _loss(self, *, sent: bool) -> TransportLost:
        reason, detail = self._lost or ("The connection is over", "")
        known = "the server may have the request" if sent else "the request was not sent"
        return TransportLost(f"{reason}; {known}", sent=sent, detail=detail)

    # -- earlier revisions --------------------------------------------------------------------

    def older(self) -> LineLink:
        """The same stream for a server of an earlier revision, from its next ``initialize`` on."""
        return LineLink(self.name, self._itself)

    async def _itself(self) -> LineTransport:
        return self

    def take_all(self, on_notification: OnNotification, on_request: OnRequest) -> None:
        """From now on the server sends requests too; progress alone finds its request by itself."""
        self._older = (on_notification, on_request)

    def take_own(self) -> None:
        """From now on it is a server of this revision again."""
        self._older = None

    async def say(self, message: Notification | Success | Failure) -> None:
        """Send what has no reply."""
        line = write_message(message)
        await self._outbox.room()
        self._outbox.post(line)

    def loss(self) -> TransportLost | None:
        """What is raised for a request now; None while the connection stands."""
        return None if self._lost is None else self._loss(sent=False)

    async def over(self) -> TransportLost:
        """Wait for the end of the connection."""
        await self._gone.wait()
        return self._loss(sent=False)

    # -- the stream ---------------------------------------------------------------------------

    async def run(self) -> None:
        """Carry bytes both ways until the connection is over; call it once."""
        with self._running:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write)
                await self._read()
                nursery.cancel_scope.cancel()

    def expire(self) -> None:
        """Let :meth:`run` end soon: nothing new can be said, but last replies may be under way."""
        deadline = trio.current_time() + LINGER
        self._running.deadline = min(self._running.deadline, deadline)

    async def flush(self) -> None:
        """Wait until everything said so far is on its way, or the connection is broken."""
        await self._outbox.below(1)

    async def _write(self) -> None:
        try:
            await self._outbox.write_to(self._send)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.expire()

    async def _read(self) -> None:
        try:
            while lines := await self._reader.receive():
                for line in lines:
                    self._take(line)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # an end like any other; whoever runs us finds out why

    # -- what comes in ------------------------------------------------------------------------

    def _take(self, line: Line) -> None:
        if isinstance(line, TooLong):
            self._too_long(line)
            return
        try:
            message = read_message(line, self._limits)
        except ProtocolError as error:
            self._unreadable(line, error)
            return
        if isinstance(message, Notification):
            self._notify(message)
        elif not isinstance(message, Request):
            self._reply(message)
        elif self._older is not None:
            self._older[1](message)
        else:
            logger.log(self._level(), "%s sent a request, as servers must not: ignored", self.name)

    def _reply(self, reply: Reply) -> None:
        if reply.id is None:
            self._nameless(reply)
        elif (pending := self._pending.get(reply.id)) is not None:
            pending.settle(reply)
        else:
            logger.debug("%s sent a reply that nobody waits for", self.name)

    def _nameless(self, reply: Reply) -> None:
        # An error without an id answers a message that the server could not read.
        logger.log(self._level(), "%s could not read a message", self.name)
        if isinstance(reply, Failure) and len(self._pending) == 1:
            (pending,) = self._pending.values()
            pending.settle(InvalidReply(f"{self.name} could not read the request: {reply.code}"))

    def _notify(self, notification: Notification) -> None:
        if self._older is not None and notification.method != PROGRESS:
            self._older[0](notification)
            return
        for pending in self._meant(notification):
            pending.hear(notification)

    def _meant(self, notification: Notification) -> list[_Pending]:
        params = notification.params
        meta = params.get("_meta")
        if notification.method == PROGRESS:
            return _found(self._by_token, params.get("progressToken"))
        if notification.method == CANCELLED:
            return _found(self._pending, params.get("requestId"))
        if isinstance(meta, dict) and META_SUBSCRIPTION in meta:
            return _found(self._pending, meta[META_SUBSCRIPTION])
        return [pending for pending in self._pending.values() if pending.request.method != LISTEN]

    def _too_long(self, line: TooLong) -> None:
        id = readable_id(line)
        if id is None and may_be_reply(line):
            blamed = list(self._pending.values())
        else:
            blamed = self._asked_by(id)
        for pending in blamed:
            pending.settle(
                InvalidReply(
                    f"{self.name} sent a line of {line.size} bytes; "
                    f"limit message_bytes is {self._limits.message_bytes} "
                    + raising("message_bytes")
                )
            )
        if id is None:
            self._warn(line.head)

    def _unreadable(self, line: bytes, error: ProtocolError) -> None:
        id = error.id if error.id is not None else readable_id(line)
        if id is None:
            self._warn(line)
        elif not self._reader.ended:  # where it has, the line was cut, and the end is told
            for pending in self._asked_by(id):
                pending.settle(InvalidReply(f"{self.name} sent an invalid reply: {error.message}"))

    def _asked_by(self, id: RequestId | None) -> list[_Pending]:
        return _found(self._pending, id)

    def _level(self) -> int:
        """How loudly the next strange thing is told: a flood of them must not fill a log."""
        self._warned += 1
        return logging.WARNING if self._warned <= WARNINGS else logging.DEBUG

    def _warn(self, line: bytes) -> None:
        level = self._level()
        if b'"jsonrpc"' in line:
            text = "(not shown: a broken message may hold a token or an answer)"
        else:
            # Redacted before it is cut: half a secret is one too many.
            text = self._redact(line.decode("utf-8", "replace"))[:SHOWN]
        logger.log(level, "%s sent a line that is no message, skipped: %r", self.name, text)


@asynccontextmanager
async def open_lines(
    receive: trio.abc.ReceiveStream,
    send: trio.abc.SendStream,
    *,
    name: str = "stream",
    limits: Limits | None = None,
) -> AsyncGenerator[LineTransport, None]:
    """A client's transport over two streams, or one that is both, which are closed at the end.

    ``name`` appears in messages and logs.
    """
    transport = LineTransport(receive, send, name=name, limits=limits)
    # Cancelling the block cancels exchanges, whose last word the server should still hear.
    carrying = trio.CancelScope(shield=True)
    async with receive, send, background() as nursery:
        nursery.start_soon(_carry, transport, carrying)
        try:
            yield transport
        finally:
            with trio.move_on_after(FLUSH, shield=True):
                await transport.flush()
            transport.lose(f"The connection to {name} was closed")
            carrying.cancel()


async def _carry(transport: LineTransport, carrying: trio.CancelScope) -> None:
    with carrying:
        await transport.run()
    transport.lose(f"The connection to {transport.name} is over")
