"""Streamable HTTP as earlier revisions have it: a session, and streams that are taken up again.

Every message is its own POST. What a server sends besides replies comes on the stream of the
request that it belongs to, or on one that a GET opens. A stream that breaks off before its reply
is asked for again where its events had ids; breaking it off cancels nothing.

Specification: 2025-11-25, basic/transports, "Streamable HTTP", and the same page of 2025-06-18
and 2025-03-26.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Final, Protocol, TypeAlias

import httpx2
import trio
from attrs import define, evolve, field, frozen

from ..engine.errors import AntiphonError, CallError, InvalidReply
from ..engine.exchange import OnNotification, TransportLost
from ..engine.handshake_link import OnRequest, SessionLost
from ..engine.handshake_versions import INITIALIZE
from ..engine.jsonrpc import (
    Failure,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    write_message,
)
from ..engine.limits import Limits
from ..engine.protocol import CANCELLED
from ..engine.retrying import RetryPolicy
from .headers import SESSION_HEADER, VERSION_HEADER
from .http_answer import BadStatus
from .http_older_answer import Cursor, Hearing, OlderAnswer

_log = logging.getLogger(__name__)

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
Opened: TypeAlias = tuple[httpx2.Request, httpx2.Response]
OnStatus: TypeAlias = Callable[[Request, int], None]
"""Is told the HTTP status of the answer to a request when its head has come; never raises."""

CALLS: Final = 80
"""Exchanges under way at a time. Each may hold one of a pool's 100 connections for as long as a
person takes to answer, and the answer needs another."""

LAST_WORD: Final = 1.0
"""Seconds for telling a server that a call is cancelled, or that the session is over."""

SETTLING: Final = 1.0
"""Seconds for the stream of what belongs to no call, before the first of a session. Servers send
much of what a call asks for there, and lose it where there is no stream yet."""

RESUMING: Final = RetryPolicy(attempts=20, initial=1.0, maximum=30.0, max_retry_after=300.0)
"""When a call's stream is asked for again. What a server says of it comes first, up to that."""

ATTENDING: Final = RetryPolicy(
    attempts=1_000_000, initial=1.0, maximum=60.0, max_retry_after=86_400.0
)
"""The same for the stream that belongs to no call; nobody waits for that."""

_VISIBLE: Final = re.compile(r"[!-~]+")
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may be another next time. A server that allows one stream says 409
until it has noticed that the former one broke off."""


class Open(Protocol):
    """Sends a request without a body or with one, and gives its answer to be read."""

    def __call__(
        self, method: str, own: RawHeaders, body: bytes | None = None
    ) -> AbstractAsyncContextManager[Opened]:
        """Inside of it as outside, what httpx2 raises becomes :class:`TransportLost`."""
        ...


@frozen
class _Session:
    """What the headers of a session's requests say. The id is a secret."""

    id: bytes | None = field(default=None, repr=False)
    version: str | None = None

    def headers(self) -> RawHeaders:
        headers: RawHeaders = []
        if self.version is not None:
            headers.append((VERSION_HEADER.encode(), self.version.encode()))
        if self.id is not None:
            headers.append((SESSION_HEADER.encode(), self.id))
        return headers


@define(eq=False)
class OlderHttp:
    """A :class:`~antiphon.engine.handshake_link.HandshakeLink` over HTTP.

    ``HttpTransport.older`` makes it. It does not outlive the transport.

    Attributes:
        name: the address without user, password, query and fragment.
    """

    name: str
    _open: Open = field(repr=False)
    _limits: Limits = field(repr=False)
    _on_status: OnStatus = field(repr=False)
    _session: _Session = field(factory=_Session, init=False, repr=False)
    _room: trio.Semaphore = field(factory=lambda: trio.Semaphore(CALLS), init=False, repr=False)
    _listening: trio.CancelScope = field(factory=trio.CancelScope, init=False, repr=False)
    _unsettled: trio.Event | None = field(default=None, init=False, repr=False)

    # -- requests -----------------------------------------------------------------------------

    async def exchange(
        self, request: Request, on_notification: OnNotification, on_request: OnRequest
    ) -> Reply:
        """POST a request and wait for its reply, as long as it takes.

        Cancelling it takes up to a second where the server does not take the news of it.

        Raises:
            SessionLost: the server answered 404 to a request of the session.
            TransportLost: no connection came about (``sent`` is False); or it broke, and the
                stream could not be taken up again.
            BadStatus: an error status without a JSON-RPC reply.
            InvalidReply: another answer that is no reply to this request.
            UsageError: the request or the token cannot be sent, or the transport is closed.
        """
        hearing = Hearing(on_notification, on_request)
        async with self._room:
            if request.method == INITIALIZE:
                return await self._exchanged(_Session(), request, hearing)
            await self._settled()
            session = self._session
            try:
                return await self._exchanged(session, request, hearing)
            except trio.Cancelled:
                await self._take_back(session, request.id)
                raise

    async def _exchanged(self, session: _Session, request: Request, hearing: Hearing) -> Reply:
        cursor = Cursor(RESUMING)
        try:
            return await self._posted(session, request, hearing, cursor)
        except SessionLost:
            raise
        except TransportLost as lost:
            if cursor.id is None:
                raise
            if request.method == INITIALIZE:
                session = self._session  # the one that is being begun
            return await self._resumed(session, request.id, hearing, cursor, lost)

    async def _posted(
        self, session: _Session, request: Request, hearing: Hearing, cursor: Cursor
    ) -> Reply:
        async with self._open("POST", session.headers(), write_message(request)) as opened:
            self._on_status(request, opened[1].status_code)
            if request.method == INITIALIZE:
                await self._begin(opened[1])
            return await self._answer(opened, session, request.id, hearing, cursor).reply()

    async def _resumed(
        self,
        session: _Session,
        id: RequestId,
        hearing: Hearing,
        cursor: Cursor,
        lost: TransportLost,
    ) -> Reply:
        """Ask for the rest of a call's stream until its reply has come."""
        asked = None
        while (wait := cursor.wait(asked)) is not None:
            await trio.sleep(wait)
            try:
                return await self._streamed(session, id, hearing, cursor)
            except SessionLost:
                raise
            except (TransportLost, BadStatus) as error:
                if not _may_pass(error):
                    break
                asked = _asked(error)
        what = f"{lost.reason}, and does not give the rest of it"
        raise TransportLost(what, sent=True, detail=lost.detail)

    async def _settled(self) -> None:
        if self._unsettled is not None:
            with trio.move_on_after(SETTLING):
                await self._unsettled.wait()
            self._unsettled = None

    async def _streamed(
        self, session: _Session, id: RequestId | None, hearing: Hearing, cursor: Cursor
    ) -> Reply:
        headers = session.headers()
        if cursor.id is not None:
            headers.append((b"Last-Event-ID", cursor.id))
        async with self._open("GET", headers) as opened:
            self._settle(id)
            return await self._answer(opened, session, id, hearing, cursor).reply()

    def _answer(
        self,
        opened: Opened,
        session: _Session,
        id: RequestId | None,
        hearing: Hearing,
        cursor: Cursor,
    ) -> OlderAnswer:
        sent, response = opened
        return OlderAnswer(
            self.name,
            sent,
            response,
            id,
            hearing.on_notification,
            self._limits,
            hearing.on_request,
            cursor,
            session.id is not None,
        )

    # -- messages without a reply -------------------------------------------------------------

    async def say(self, message: Notification | Success | Failure) -> None:
        """POST a notification, or the answer to a request of the server's.

        Raises:
            SessionLost, TransportLost, BadStatus, InvalidReply, UsageError: as for
                :meth:`exchange`; there is no JSON-RPC reply, but an acceptance.
        """
        await self._settled()  # so that an answer to it finds its way
        await self._say(self._session, message)

    async def _say(self, session: _Session, message: Notification | Success | Failure) -> None:
        async with self._open("POST", session.headers(), write_message(message)) as opened:
            await self._answer(opened, session, None, _DEAF, Cursor(RESUMING)).accepted()

    async def _take_back(self, session: _Session, id: RequestId) -> None:
        cancelled = Notification(CANCELLED, {"requestId": id})
        with _trying():
            await self._say(session, cancelled)

    # -- what belongs to no request -----------------------------------------------------------

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Keep the stream open that a GET opens, in one session after the other.

        It begins with the handshake. A server that has no such stream is not asked again in the
        same session.
        """
        hearing = Hearing(on_notification, on_request)
        task_status.started()
        while True:
            with trio.CancelScope() as self._listening:
                if self._session.version is not None:
                    await self._listen(self._session, hearing)
                await trio.sleep_forever()

    async def _listen(self, session: _Session, hearing: Hearing) -> None:
        cursor = Cursor(ATTENDING)
        self._unsettled = trio.Event()
        wait: float | None = 0.0
        while wait is not None:
            await trio.sleep(wait)
            asked = None
            try:
                await self._streamed(session, None, hearing, cursor)
            except Exception as error:  # noqa: BLE001  # what gives a token may raise anything
                self._settle(None)
                if not _may_pass(error):
                    self._tell(session, error)
                    return
                asked = _asked(error)
            wait = cursor.wait(asked)

    def _settle(self, id: RequestId | None) -> None:
        if id is None and self._unsettled is not None:
            self._unsettled.set()

    def _tell(self, session: _Session, error: Exception) -> None:
        status = error.status if isinstance(error, BadStatus) else None
        # Without a session many servers miss its id, or know nothing under this address.
        none_expected = {405} if session.id is not None else {400, 404, 405}
        usual = status in none_expected or isinstance(error, SessionLost)
        why = type(error).__name__ if status is None else f"HTTP {status}"
        level = logging.DEBUG if usual else logging.WARNING
        _log.log(level, "%s gives no stream for what belongs to no request: %s", self.name, why)

    # -- the session --------------------------------------------------------------------------

    def begun(self, version: str) -> None:
        """The handshake is done: from now on requests name the revision, and the session."""
        self._session = evolve(self._session, version=version)
        self._listening.cancel()

    async def end(self) -> None:
        """DELETE the session, if the server gave it an id; it may take a second."""
        session, self._session = self._session, _Session()
        self._listening.cancel()
        if session.id is None:
            return
        with _trying():
            async with self._open("DELETE", session.headers()) as opened:
                await self._answer(opened, session, None, _DEAF, Cursor(RESUMING)).accepted()

    async def _begin(self, response: httpx2.Response) -> None:
        id = response.headers.get(SESSION_HEADER) if response.is_success else None
        if id is not None and not _VISIBLE.fullmatch(id):
            await response.aclose()
            raise InvalidReply(f"{self.name} began a session whose id is not visible ASCII")
        self._session = _Session(None if id is None else id.encode())


_DEAF: Final = Hearing(lambda _: None, lambda _: None)


@contextmanager
def _trying() -> Generator[None]:
    """What a server need not hear, and must not hold us up."""
    # What gives a token may raise anything.
    with trio.move_on_after(LAST_WORD, shield=True), suppress(Exception):
        yield


def _asked(error: Exception) -> float | None:
    """For how many seconds the server wants no request."""
    deferral = error.deferral if isinstance(error, CallError) else None
    return None if deferral is None else deferral.after


def _may_pass(error: Exception) -> bool:
    """Whether a stream that is not given may be given next time."""
    if isinstance(error, BadStatus):
        return error.status >= 500 or error.status in _PASSING
    if isinstance(error, TransportLost):
        return not isinstance(error, SessionLost)
    return not isinstance(error, AntiphonError)
