"""What clients of earlier revisions send over HTTP, with sessions and without.

Every message of theirs is a POST. The reply to a request is JSON, or an event stream where anything
is said before it: a question always is, and its answer comes by another POST. What belongs to no
request goes to the stream that a GET opens; there is one in each session. A second one is refused
with 409 while the first is open, as by the official SDKs.
Specification: 2025-11-25, basic/transports, "Streamable HTTP", and the same page of 2025-06-18 and
2025-03-26.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import trio
from attrs import define, field

from ..engine.bridged import BridgedExchange
from ..engine.closing import ClosableExchange
from ..engine.errors import (
    BUSY,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
    unsupported_version,
)
from ..engine.exchange import Handshaking, Principal, RequestHandler
from ..engine.handshake_versions import HANDSHAKE_VERSIONS, INITIALIZE, names_its_revision
from ..engine.jsonrpc import (
    Failure,
    Message,
    Notification,
    Reply,
    Request,
    Success,
)
from ..engine.protocol import CANCELLED, SUPPORTED_VERSIONS
from .asgi_response import STOPPED, Response
from .busy import busy
from .headers import SESSION_HEADER, VERSION_HEADER, Fields, field_value
from .http_errors import Refused
from .http_sessions import OpenCall, Session, Sessions
from .media_types import takes_events
from .salvage import readable_id
from .turns import Turns
from .workers import hypercorn_workers, worker_prefix

if TYPE_CHECKING:
    from ..engine.handshake_session import HandshakeSession

logger: Final = logging.getLogger("antiphon.http")

WITHOUT_HEADER: Final = "2025-03-26"
"""What a request without session and ``MCP-Protocol-Version`` follows: it came before both."""

ALLOWED: Final = b"POST, GET, DELETE"
DIVIDED: Final = (
    "%r keeps sessions for clients of earlier revisions, each in one process, and hypercorn runs %d"
    " workers that know nothing of each other's. Use antiphon serve --http --workers, or give"
    " http_app(..., sessions=False), with which nobody of those revisions can be asked anything."
)
UNANNOUNCED: Final = (
    "Invalid request: begin with initialize and send its Mcp-Session-Id with all that follows, or"
    " name the revision in _meta of every request"
)
UNKNOWN: Final = "There is no such session here, or it has ended; begin another with initialize"
ENDED: Final = "The session was ended before the call had"
SECOND: Final = "This session has an open stream already, and may have one at a time"
SAME_ID: Final = "Invalid request: another request with this id is not answered yet"
NO_REPLIES: Final = "Invalid request: a client posts requests and notifications only"


def serves_handshake(server: RequestHandler) -> bool:
    """Whether clients of earlier revisions are served at all."""
    return isinstance(server, Handshaking) and server.handshake


def is_older(message: Message, fields: Fields) -> bool:
    """Whether a message is one of an earlier revision.

    A request says so itself. One that says nothing, and whose header names this revision, has
    forgotten to: its server tells what is missing. Nothing else says so in its body.
    """
    if isinstance(message, Request):
        if names_its_revision(message.params):
            return False
        if message.method == INITIALIZE:
            return True
    return fields.get(VERSION_HEADER.lower().encode()) not in _MODERN


_MODERN: Final = frozenset(version.encode() for version in SUPPORTED_VERSIONS)


@define(eq=False)
class OlderClients:
    """Serves the clients of earlier revisions.

    Attributes:
        sessions: None where none are kept: every request then stands alone, and nothing is asked.
    """

    _server: RequestHandler
    _turns: Turns
    sessions: Sessions | None
    _warned: bool = field(default=False, init=False)

    @property
    def _handshaking(self) -> Handshaking:
        return cast(Handshaking, self._server)

    def forget(self) -> None:
        """Forget all sessions."""
        if self.sessions is not None:
            self.sessions.clear()

    # -- POST ---------------------------------------------------------------------------------

    async def post(self, message: Message, size: int, fields: Fields, response: Response) -> None:
        """Serve one message of so many bytes.

        Raises:
            ProtocolError: it cannot be served, for what its head says or lacks.
        """
        if isinstance(message, Request) and message.method == INITIALIZE:
            await self._begin(message, size, response)
        elif self.sessions is None:
            await self._alone(message, size, fields, response)
        else:
            await self._in_session(self.sessions, message, size, fields, response)

    async def _begin(self, request: Request, size: int, response: Response) -> None:
        # Whatever session the head may name: a new one has an id of our own making.
        passed = None if self.sessions is None else self.sessions.make_room(size)
        if passed is not None:
            await response.say(busy(request.id, self._server.limits, passed))
            return
        talk = self._handshaking.open_session(request.params)
        tells = self.sessions is not None
        welcome = Success(request.id, talk.welcome(changes=tells))
        if self.sessions is None:
            await response.say(welcome)
            return
        self._warn_of_workers()
        session = self.sessions.begin(talk, response.principal, size)
        await response.say(welcome, 200, (SESSION_HEADER.lower().encode(), session.id.encode()))

    def _warn_of_workers(self) -> None:
        """Say once that its next request may reach a worker which does not know it."""
        workers = hypercorn_workers()
        # Those of our own supervisor know each other.
        if workers > 1 and not worker_prefix() and not self._warned:
            self._warned = True
            logger.warning(DIVIDED, self._server.name, workers)

    async def _alone(self, message: Message, size: int, fields: Fields, response: Response) -> None:
        version = _version(fields) or WITHOUT_HEADER
        if isinstance(message, Request):
            talk = self._handshaking.sessionless(version)
            await self._answer(message, size, talk, None, response)
        elif isinstance(message, Notification):
            await response.accept()
        else:
            raise ProtocolError(INVALID_REQUEST, NO_REPLIES)

    async def _in_session(
        self, sessions: Sessions, message: Message, size: int, fields: Fields, response: Response
    ) -> None:
        _version(fields)
        id = _session_id(fields)
        if id is None:
            await self._unannounced(message, response)
            return
        session = sessions.find(id, response.principal)
        if session is None:
            id_of_it = message.id if isinstance(message, Request) else None
            await response.say(Failure(id_of_it, INVALID_REQUEST, UNKNOWN), 404)
            return
        with session.in_use():
            if isinstance(message, Request):
                await self._answer(message, size, session.talk, session, response)
                return
            if isinstance(message, Notification):
                _heed(message, session)
            else:
                session.talk.own.answer(message, size)
            await response.accept()

    def unreadable(
        self, error: ProtocolError, content: bytearray, fields: Fields, principal: Principal | None
    ) -> None:
        """Take note of a body that is no message: it may have been the answer to a question, and
        another will not come."""
        with suppress(ProtocolError):
            id = _session_id(fields)
            if self.sessions is None or id is None:
                return
            session = self.sessions.find(id, principal)
            if session is not None:
                of = readable_id(bytes(content)) if error.code == PARSE_ERROR else error.id
                session.talk.own.answer(Failure(of, error.code, error.message))

    async def _unannounced(self, message: Message, response: Response) -> None:
        if isinstance(message, Notification):
            await response.accept()
            return
        raise ProtocolError(INVALID_REQUEST, UNANNOUNCED)

    # -- requests -----------------------------------------------------------------------------

    async def _answer(
        self,
        request: Request,
        size: int,
        talk: HandshakeSession,
        session: Session | None,
        response: Response,
    ) -> None:
        if session is not None and request.id in session.calls:
            raise ProtocolError(INVALID_REQUEST, SAME_ID)
        refusal = self._turns.refusal(request, size)
        if refusal is not None:
            await response.say(refusal)
            return
        call = OpenCall(request.id, response.closing)
        with self._turns.opened(size):
            served = self._served(request, call, talk, session, response)
            if session is None:
                await response.answer(request.id, served, status=_status_of)
                return
            with session.opened(request.id, call):
                await response.answer(request.id, served, lasts=True, status=_status_of)

    async def _served(
        self,
        request: Request,
        call: OpenCall,
        talk: HandshakeSession,
        session: Session | None,
        response: Response,
    ) -> Reply | None:
        closing = response.closing

        async def serve(inner: Request, exchange: BridgedExchange) -> Reply:
            call.resumed()
            reply = await self._turns.round(inner, exchange)
            if call.waits(reply) and closing.closed:
                stop()
            return reply

        def stop() -> None:
            """An answer would come by another request, and no more are let in."""
            call.end_if_waiting(INTERNAL_ERROR, STOPPED)

        post = None if session is None else response.stream.notify
        with call.scope, closing.telling(stop):
            return await talk.handle(request, response.exchange, post, serve, self._turns)
        return call.last_word

    # -- GET, DELETE --------------------------------------------------------------------------

    def allowed(self, fields: Fields) -> bytes:
        """The methods that a request with this head may have."""
        has_id = fields.get(SESSION_HEADER.lower().encode()) is not None
        return ALLOWED if self.sessions is not None and has_id else b"POST"

    async def get_or_delete(self, method: str, fields: Fields, response: Response) -> None:
        """Serve a request without a message, whose head :meth:`allowed` its method.

        Raises:
            ProtocolError: it cannot be served, for what its head says.
            Refused: there is no such session.
        """
        _version(fields)
        sessions = self.sessions
        id = _session_id(fields)
        session = None if sessions is None or id is None else sessions.find(id, response.principal)
        if sessions is None or session is None:
            raise Refused(404, UNKNOWN)
        if method == "GET":
            await _listen(session, fields, response)
            return
        sessions.forget(session)
        session.end(INVALID_REQUEST, ENDED)
        await response.accept(204)


async def _listen(session: Session, fields: Fields, response: Response) -> None:
    if not takes_events(fields.get(b"accept")):
        raise Refused(406, "The Accept header must list text/event-stream")
    if session.stream is not None:
        raise Refused(409, SECOND)

    async def tell(exchange: ClosableExchange) -> None:
        await session.talk.changes(exchange)

    scope = session.stream = trio.CancelScope()
    try:
        with session.in_use():
            await response.listen(tell, scope)
    finally:
        session.stream = None


def _heed(notification: Notification, session: Session) -> None:
    if notification.method == CANCELLED:
        id = notification.params.get("requestId")
        # True would be found under 1.
        if not isinstance(id, bool) and isinstance(id, str | int) and id in session.calls:
            session.calls[id].cancel()


# -- the head ---------------------------------------------------------------------------------


def _version(fields: Fields) -> str | None:
    """The revision that the head names, if it names one.

    Raises:
        ProtocolError: it is none of the earlier ones that are served.
    """
    version = _field(fields, VERSION_HEADER)
    if version is not None and version not in HANDSHAKE_VERSIONS:
        raise unsupported_version(version, (*SUPPORTED_VERSIONS, *HANDSHAKE_VERSIONS))
    return version


def _session_id(fields: Fields) -> str | None:
    return _field(fields, SESSION_HEADER)


def _field(fields: Fields, header: str) -> str | None:
    try:
        return field_value(fields, header, encoded=False)
    except ValueError as error:
        raise ProtocolError(INVALID_REQUEST, f"Invalid request: {header} {error}") from None


def _status_of(reply: Reply) -> int:
    """Clients of earlier revisions read 404 as the end of their session, and look into no body of
    another status than 200."""
    return 503 if isinstance(reply, Failure) and reply.code == BUSY else 200
