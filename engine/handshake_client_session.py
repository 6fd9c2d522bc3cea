"""One session with a server of an earlier revision, as its client has it.

Here arrives whatever the server says of its own accord, and goes to those whom it concerns.

Specification: 2025-11-25, basic/lifecycle, basic/utilities/ping, server/utilities/logging.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

import trio
from attrs import define, field

from .call_errors import Kind
from .errors import INVALID_PARAMS, CallError, ProtocolError
from .exchange import OnNotification, TransportLost
from .handshake_client_calls import OpenCall
from .handshake_client_roots import RootsAsked
from .handshake_client_words import (
    Agreed,
    complete_result,
    hello,
    older,
    question_kind,
)
from .handshake_link import HandshakeLink, SessionLost
from .handshake_versions import INITIALIZE
from .jsonrpc import Failure, JsonObject, Notification, Reply, Request, RequestId, Success, failure
from .protocol import CANCELLED, LOG, LOG_LEVELS, PROGRESS, LogLevel

_log = logging.getLogger(__name__)

UNSAID: Final = 256
"""Answers on their way to a server; one that asks more without reading is not answered."""

SAYING: Final = 30.0
"""Seconds for one of them."""

INITIALIZED: Final = "notifications/initialized"
SET_LEVEL: Final = "logging/setLevel"


class Watching(Protocol):
    """Somebody who hears of changes; see :mod:`.handshake_client_changes`."""

    def hear(self, notification: Notification) -> None:
        """Take what may be a change."""
        ...

    def lose(self, error: CallError) -> None:
        """There will be no more."""
        ...


@define(eq=False)
class Session:
    """What stands between two handshakes.

    Attributes:
        link: carries it.
        new_id: gives an id for a request of the session's own.
        roots: those that the server asks for outside of any call.
        agreed: what was agreed on; there is nothing before the handshake.
        lost: why it is over, once it is.
        watching: hear the changes that the server tells of, and that there will be no more.
        calls: those that may be asked something, the oldest first.
    """

    link: HandshakeLink
    new_id: Callable[[], RequestId]
    roots: RootsAsked
    agreed: Agreed = field(init=False)
    lost: CallError | None = field(default=None, init=False)
    watching: list[Watching] = field(factory=list[Watching], init=False)
    calls: list[OpenCall] = field(factory=list[OpenCall], init=False)
    _answering: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _attending: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _ears: list[OnNotification] = field(factory=list[OnNotification], init=False)
    _levels: list[LogLevel] = field(factory=list[LogLevel], init=False)
    _level: LogLevel | None = field(default=None, init=False)
    _ended: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    _to_say: trio.MemorySendChannel[Success | Failure] = field(init=False)
    _said: trio.MemoryReceiveChannel[Success | Failure] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._to_say, self._said = trio.open_memory_channel[Success | Failure](UNSAID)

    # -- its life -------------------------------------------------------------------------------

    async def live(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Answer the server, until the session is over; what it says is for others to fetch."""
        with self._answering, self._to_say, self._said:
            task_status.started()
            async for answer in self._said:
                try:
                    with trio.move_on_after(SAYING):
                        await self.say(answer)
                except Exception as error:  # noqa: BLE001  # what gives a token may raise anything
                    self.untold("An answer", error)

    async def greet(self, request: Request, declared: JsonObject) -> Failure | None:
        """Agree on a session in the name of whoever sends this request; the server's refusal.

        ``declared`` is what its client declares besides. :meth:`begin` is next.

        Raises:
            TransportLost, InvalidReply: there is none now.
        """
        greeting = Request(self.new_id(), INITIALIZE, hello(request, declared))
        reply = await self.link.exchange(greeting, self.hear, self.asked)
        if isinstance(reply, Failure):
            return reply
        self.agreed = Agreed.read(reply.result, self.link.name)
        self.link.begun(self.agreed.version)
        return None

    async def begin(self) -> None:
        """Tell the server that it may begin to ask.

        Raises:
            TransportLost, InvalidReply: it was not told.
        """
        await self.say(Notification(INITIALIZED, {}))

    async def attend(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Hear what belongs to no request; it raises nothing."""
        with self._attending:
            try:
                await self.link.attend(self.hear, self.asked, task_status=task_status)
            except CallError as error:
                self.lose(error)

    async def say(self, message: Notification | Success | Failure) -> None:
        """Send what has no reply.

        Raises:
            TransportLost, InvalidReply: as the link; a session that is lost is over.
        """
        try:
            await self.link.say(message)
        except SessionLost as error:
            self.lose(error)
            raise

    def untold(self, what: str, error: Exception) -> None:
        """Note that something did not reach the server, which nobody waits for."""
        # The text of another error is the program's own, and may hold a secret.
        why = error if isinstance(error, CallError) else type(error).__name__
        _log.info("%s did not reach %s: %s", what, self.link.name, why)

    async def settled(self) -> None:
        """Wait until no call is open."""
        while self.calls:
            await self._ended.park()

    def lose(self, error: CallError) -> None:
        """The session is over."""
        if self.lost is None:
            self.lost = error
            for watching in self.watching:
                watching.lose(error)
        self.roots.close()
        self._answering.cancel()
        self._attending.cancel()

    # -- requests -------------------------------------------------------------------------------

    async def send(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send a request and wait for its reply, in the terms of this revision."""
        return await self._send(request, on_notification, self.asked)

    async def call(self, call: OpenCall) -> None:
        """Carry a call, so that questions find it."""

        def asked(question: Request) -> None:
            self.asked(question, call)

        async def send(request: Request, on_notification: OnNotification) -> Reply:
            return await self._send(request, on_notification, asked)

        self.calls.append(call)
        try:
            await call.run(send)
        finally:
            self.calls.remove(call)
            self._ended.unpark_all()

    async def _send(
        self,
        request: Request,
        on_notification: OnNotification,
        on_request: Callable[[Request], None],
    ) -> Reply:
        def heard(notification: Notification) -> None:
            if notification.method in (PROGRESS, LOG):
                on_notification(notification)
            else:
                self.hear(notification)

        self._ears.append(on_notification)
        try:
            reply = await self.link.exchange(older(request), heard, on_request)
        finally:
            self._ears.remove(on_notification)
        if isinstance(reply, Failure):
            return reply
        said_by = f"{self.link.name}, to {request.method},"
        return Success(reply.id, complete_result(reply.result, self.agreed, said_by))

    @asynccontextmanager
    async def hearing_from(self, level: object) -> AsyncGenerator[None]:
        """Have the server log from this level on, if not from a lower one, for a block."""
        if level not in LOG_LEVELS or not self.agreed.has("logging"):
            yield
            return
        self._levels.append(level)
        try:
            await self._set_level(min(self._levels, key=LOG_LEVELS.index))
            yield
        finally:
            self._levels.remove(level)

    async def _set_level(self, level: LogLevel) -> None:
        if level == self._level:
            return
        before, self._level = self._level, level
        request = Request(self.new_id(), SET_LEVEL, {"level": level})
        try:
            reply = await self.link.exchange(request, self.hear, self.asked)
        except BaseException:
            self._level = before
            raise
        if isinstance(reply, Failure):
            _log.info("%s does not set its log level: error %d", self.link.name, reply.code)

    # -- what the server says of its own accord -------------------------------------------------

    def hear(self, notification: Notification) -> None:
        """Take a notification that belongs to no request in particular."""
        if notification.method == LOG:
            for ear in [*self._ears]:
                ear(notification)
        elif notification.method == CANCELLED:
            id = notification.params.get("requestId")
            self.roots.withdraw(id)
            for call in self.calls:
                call.withdraw(id)
        else:
            for watching in self.watching:
                watching.hear(notification)

    def asked(self, request: Request, source: OpenCall | None = None) -> None:
        """Take a request of the server's.

        A question goes to the call that it came with. Where the transport does not say which
        that is, or that call takes no such question, the client's roots are told in no call's
        name, and all else goes to the oldest one that takes it and has none unanswered: a call
        that waits for an answer seldom asks again. Failing that, to the oldest one that does.
        """
        if request.method == "ping":
            self.post(Success(request.id, {}))
            return
        try:
            kind = question_kind(request)
        except ProtocolError as error:
            self.post(failure(error, request.id))
            return
        if source is not None and source.takes(kind):
            source.ask(request, ours=True)
        elif kind == "roots" and self.roots.known:
            self.roots.ask(request, self.post)
        elif takers := [call for call in self.calls if call.takes(kind)]:
            call = next((call for call in takers if not call.pending), takers[0])
            call.ask(request, ours=len(self.calls) == 1)
        else:
            self._refuse(request, kind)

    def _refuse(self, request: Request, kind: Kind) -> None:
        text = f"No call is open of which this client takes a question of kind {kind}"
        self.post(Failure(request.id, INVALID_PARAMS, text))

    def post(self, answer: Success | Failure) -> None:
        """Answer a request of the server's, without waiting."""
        try:
            self._to_say.send_nowait(answer)
        except (trio.WouldBlock, trio.ClosedResourceError, trio.BrokenResourceError):
            _log.info("A request of %s is left without an answer", self.link.name)


def over(error: CallError) -> TransportLost:
    """The end of a session, for one more task that waits for what it brings."""
    if isinstance(error, TransportLost):
        return TransportLost(error.reason, sent=True, detail=error.detail)
    return TransportLost(str(error), sent=True)
