"""A client's transport to a server of an earlier revision.

Its client speaks the current revision, and knows nothing of the other: the handshake is made
here, requests and results are put into each other's terms, and a question of the server's becomes
an interim result. What waits for an answer is a call that stays open here, for a limited time;
the state of such a result is the name of that call, and means nothing elsewhere.

Specification: 2025-11-25, basic/lifecycle.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from typing import Final

import attrs
import trio

from .errors import INVALID_PARAMS, CallError, UsageError
from .exchange import AnswerRoots, OnNotification, TransportLost
from .handshake_client_calls import OpenCall
from .handshake_client_changes import Subscriptions
from .handshake_client_links import STATE, asking_links, not_agreed
from .handshake_client_roots import RootsAsked
from .handshake_client_session import Session
from .handshake_client_shared import Shared
from .handshake_client_words import declared_kinds, meta_of
from .handshake_link import HandshakeLink, SessionLost
from .jsonrpc import Failure, JsonObject, Reply, Request, Success
from .limits import Limits
from .protocol import META_LOG_LEVEL, TARGETS
from .subscriptions import LISTEN

OPEN_SECONDS: Final = 600.0
"""Seconds for which a call with a question stays open while nobody comes back with the answer."""

DISCOVER: Final = "server/discover"
_ENDING: Final = 5.0
"""Seconds for telling the server that a session is over."""

_NOT_OPEN: Final = (
    "The call that this state belongs to is not open any more: it was cancelled or given up, its "
    "time is over, or the connection broke. Begin the call anew"
)


class OlderTransport:
    """A :class:`~.exchange.ClientTransport` over a link to a server of an earlier revision.

    The first request begins the session. What is declared then holds for all that follow; of
    that, each takes the kinds of question that it declares itself.

    It lives as long as the nursery that it is given; :meth:`close` ends it.

    Args:
        name: of the server, for messages and logs.
        link: makes the link of one session.
        nursery: runs what is open.
        open_seconds: see :data:`OPEN_SECONDS`.
        limits: of these, ``questions`` that one call, or none, may have pending.
        declared: capabilities besides those of the first request.
    """

    def __init__(
        self,
        name: str,
        link: Callable[[], HandshakeLink],
        nursery: trio.Nursery,
        *,
        open_seconds: float = OPEN_SECONDS,
        limits: Limits | None = None,
        declared: JsonObject | None = None,
    ) -> None:
        self.name = name
        self._link = link
        self._nursery = nursery
        self._open_seconds = open_seconds
        self._declared = declared or {}
        self._most = (limits or Limits()).questions
        self._greeting = Shared[Session | Failure](nursery, f"The handshake with {name}")
        self._session: Session | None = None
        self._subscriptions: Subscriptions | None = None
        self._parked: dict[str, OpenCall] = {}
        self._roots: AnswerRoots | None = None
        self._closed = False
        self._tag = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    # -- the session ----------------------------------------------------------------------------

    async def greet(self, request: Request) -> Session | Failure:
        """The session, which is begun in the name of this request where there is none.

        Returns:
            It, or the server's refusal.

        Raises:
            TransportLost, InvalidReply: there is none now; the request was not sent.
            UsageError: the transport is closed.
        """
        self._check_open()
        if self._session is not None and self._session.lost is None:
            return self._session

        async def begin() -> Session | Failure:
            return await self._begin(request)

        try:
            return await self._greeting.get(begin)
        except TransportLost as error:
            what = f"{error.reason} (during the handshake: the request was not sent)"
            raise TransportLost(what, sent=False, detail=error.detail) from None

    async def _begin(self, request: Request) -> Session | Failure:
        roots = RootsAsked(self._nursery, self._roots, self._most)
        session = Session(self._link(), self._new_id, roots)
        await self._nursery.start(session.live)
        agreed = False
        try:
            refusal = await session.greet(request, self._declared)
            if refusal is not None:
                return refusal
            # Many servers ask for roots at the next word.
            await self._nursery.start(session.attend)
            await session.begin()
            self._check_open()  # it may have been closed meanwhile
            agreed = True
        finally:
            if not agreed:
                session.lose(SessionLost(f"The handshake with {self.name} failed"))
                await session.link.end()  # the server may have begun it
        self._session = session
        self._subscriptions = Subscriptions(session, self._nursery)
        return session

    def _new_id(self) -> str:
        return f"{self._tag}-{next(self._numbers)}"

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(f"The connection to {self.name} is closed: its block has ended")

    async def close(self) -> None:
        """Give up every open call, and tell the server that the session is over."""
        self._closed = True
        session = self._session
        if session is None or session.lost is not None:
            return
        session.roots.close()
        for call in session.calls:
            call.give_up()
        with trio.move_on_after(_ENDING) as scope:
            scope.shield = True
            await session.settled()
            await session.link.end()
        session.lose(SessionLost(f"The connection to {self.name} was closed"))

    # -- requests -------------------------------------------------------------------------------

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send a request and wait for its reply; see :class:`~.exchange.ClientTransport`.

        Raises:
            TransportLost, InvalidReply: as for any transport; also where the server's result is
                an interim one, which its revision does not have.
            UsageError: the transport is closed.
        """
        try:
            return await self._once(request, on_notification)
        except SessionLost as error:
            if error.sent and not reads(request):
                raise TransportLost(error.reason, sent=True, detail=error.detail) from None
        return await self._once(request, on_notification)

    async def _once(self, request: Request, on_notification: OnNotification) -> Reply:
        self._check_open()
        state = request.params.get("requestState")
        if state == STATE:
            refusal = not_agreed(request)
            if refusal is not None:
                await trio.lowlevel.checkpoint()
                return refusal
        elif state is not None:
            return await self._resume(request, state, on_notification)
        session = await self.greet(request)
        if isinstance(session, Failure):
            return attrs.evolve(session, id=request.id)
        try:
            return await self._within(session, request, on_notification)
        except SessionLost as error:
            session.lose(error)
            raise

    async def _within(
        self, session: Session, request: Request, on_notification: OnNotification
    ) -> Reply:
        if request.method == DISCOVER:
            await trio.lowlevel.checkpoint()
            return Success(request.id, session.agreed.discovery())
        if request.method == LISTEN:
            assert self._subscriptions is not None  # noqa: S101  # as there is a session
            return await self._subscriptions.listen(request, on_notification)
        async with session.hearing_from(meta_of(request, META_LOG_LEVEL)):
            if request.method in TARGETS:
                return await self._call(session, request, on_notification)
            return await session.send(request, on_notification)

    # -- calls that may ask ---------------------------------------------------------------------

    async def _call(
        self, session: Session, request: Request, on_notification: OnNotification
    ) -> Reply:
        await trio.lowlevel.checkpoint_if_cancelled()  # before it is sent
        call = OpenCall(
            request=request,
            kinds=declared_kinds(request),
            most=self._most,
            limit=self._open_seconds,
            server=session.agreed.info,
            post=session.post,
            hand_back=session.asked,
            say=session.say,
        )
        self._check_open()
        self._nursery.start_soon(self._carry, session, call)
        return await self._leg(call, request, on_notification)

    async def _carry(self, session: Session, call: OpenCall) -> None:
        try:
            await session.call(call)
        finally:
            for handle in [handle for handle, parked in self._parked.items() if parked is call]:
                del self._parked[handle]

    async def _leg(
        self, call: OpenCall, request: Request, on_notification: OnNotification
    ) -> Reply:
        reply = await call.leg(request, on_notification)
        if isinstance(reply, Failure):
            asking = asking_links(reply, self._most, call.server) if "url" in call.kinds else None
            return asking or reply
        handle = reply.result.get("requestState")
        if isinstance(handle, str):
            self._parked[handle] = call
        return reply

    async def _resume(
        self, request: Request, state: object, on_notification: OnNotification
    ) -> Reply:
        call = self._parked.pop(state, None) if isinstance(state, str) else None
        if call is None or call.request.method != request.method:
            await trio.lowlevel.checkpoint()
            return Failure(request.id, INVALID_PARAMS, _NOT_OPEN)
        answers = request.params.get("inputResponses")
        try:
            await call.answer(answers if isinstance(answers, dict) else {})
        except CallError:
            self._parked[str(state)] = call
            call.leave_open()
            raise
        except BaseException:
            call.give_up()
            raise
        return await self._leg(call, request, on_notification)

    def abandon(self, state: str) -> None:
        """Give up the open call that this state names, if there is one."""
        call = self._parked.pop(state, None)
        if call is not None:
            call.give_up()

    def answer_roots(self, answer: AnswerRoots) -> None:
        """Have the roots told that a server asks for outside of any call.

        It holds for the sessions that are begun later.
        """
        self._roots = answer


def reads(request: Request) -> bool:
    """Whether a request does no harm when it is served twice."""
    return request.method != "tools/call" and "requestState" not in request.params
