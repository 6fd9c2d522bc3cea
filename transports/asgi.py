"""A server's HTTP end: an ASGI 3 application with one endpoint.

Specification: basic/transports/streamable-http.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio
from attrs import define, field

from ..engine.closing import Closing
from ..engine.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError, UsageError
from ..engine.exchange import RequestHandler, has_lifespan
from ..engine.jsonrpc import Message, Notification, Request, failure, read_message
from ..engine.subscriptions import LISTEN
from .admission import POST_ALONE, Admission
from .asgi_lifespan import live
from .asgi_messages import Receive, RequestBody, Scope, Send, refuse, send_whole
from .asgi_response import Response
from .asgi_sessions import NO_REPLIES, OlderClients, is_older, serves_handshake
from .authentication import Verifier
from .guards import Guards
from .headers import Fields, check_metadata
from .holding import Held, holding
from .http_errors import Refused
from .http_sessions import Sessions, check_prefix
from .mirrored_headers import check_mirrored, mirrored_by
from .stopping import StopWatch, closing_of
from .turns import Turns
from .workers import hypercorn_workers, speaks_for_all, worker_prefix

NOT_ON_TRIO: Final = (
    "This application runs on trio, and the server has started it on another event loop:"
    " serve it with hypercorn -k trio"
)
EPHEMERAL_KEY: Final = (
    "%r seals its state with a key made at start, and hypercorn runs %d workers: each has a key"
    " of its own, so a call whose next round reaches another worker is refused. Give all of them"
    " the same keys with Server(..., keys=[...]); antiphon keygen makes one."
)
NO_LIFESPAN: Final = (
    "This server has a lifespan, which is not open here. An application that mounts it, and does"
    " not pass ASGI's lifespan on, opens it in its own: async with app.running(), where app is"
    " what http_app gave"
)
logger: Final = logging.getLogger("antiphon.http")


def http_app(
    server: RequestHandler,
    *,
    path: str = "/mcp",
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] | None = None,
    authenticate: Verifier | None = None,
    keepalive: float = 15.0,
    sessions: bool = True,
    session_prefix: str = "",
) -> HttpApp:
    """Serve ``server`` over Streamable HTTP: ``hypercorn -k trio module:app``.

    The application mounts beside others, at a prefix too. It needs ASGI's lifespan only where
    the server has a lifespan of its own; see :meth:`HttpApp.running`. A client that disconnects
    cancels its call. Further calls than ``limits.concurrent_calls`` wait their turn; further ones
    than ``limits.waiting_calls`` or ``limits.pending_bytes`` allow are refused with 503,
    ``Retry-After`` and the code :data:`~..engine.errors.BUSY`. So are further subscriptions than
    ``limits.subscriptions``; they take nobody's turn. They end with their result when the server
    stops: under the hypercorn command, under ``antiphon serve``, and wherever
    :meth:`HttpApp.shut_down` is called.

    Clients of earlier revisions, which begin with ``initialize``, are served too, unless the server
    has ``handshake=False``. Each has a session, which lives in this process alone: all that it
    sends has to come here. Within it tools ask their questions while a call is open, and changes
    are told on the stream that the client opens by GET. Where there are ``limits.sessions`` an idle
    one gives way to the next, or that one is refused with 503; one in which nothing happens for
    ``limits.session_seconds`` is forgotten.

    Args:
        server: what answers the requests.
        path: the endpoint, below the prefix where the application is mounted.
        allowed_hosts: what ``Host`` may say, as ``"mcp.example"``, ``"mcp.example:8443"`` or
            ``"mcp.example:*"`` for every port. By default a connection to a loopback address
            must name one, on any port, and any other connection may name anything.
        allowed_origins: the pages that may call from a browser, as ``"https://app.example"``.
            By default those of a loopback address may, where the connection is to one too. A
            request without ``Origin`` comes from no page and passes.
        authenticate: takes the bearer token of every request and returns the principal, or
            None to refuse it. Without it nobody is asked, and no state is bound to a principal.
        keepalive: seconds of silence after which a comment is sent; a reply that takes longer
            becomes an event stream. Proxies and clients commonly give up after 30 to 60.
        sessions: whether clients of earlier revisions have them. Without, each of their requests
            stands alone, on any worker: nobody can be asked anything, nor told of changes.
        session_prefix: what session ids begin with, in visible ASCII, so that a proxy can tell by
            the ``Mcp-Session-Id`` which worker a request is for.

    Raises:
        UsageError: a setting has not the right form.
    """
    if not path.startswith("/"):
        raise UsageError(f"http_app(path={path!r}): a path begins with /")
    if not keepalive > 0:
        raise UsageError(f"http_app(keepalive={keepalive!r}): seconds, and more than none")
    check_prefix(session_prefix)
    limits, turns = server.limits, Turns(server)
    older = None
    if serves_handshake(server):
        kept = Sessions(limits, worker_prefix() + session_prefix) if sessions else None
        older = OlderClients(server, turns, kept)
    admission = Admission(
        path,
        Guards.of(allowed_hosts, allowed_origins),
        authenticate,
        limits.message_bytes,
        _post_alone if older is None else older.allowed,
    )
    return HttpApp(server, admission, keepalive, turns, older)


def _post_alone(_: Fields) -> bytes:
    return POST_ALONE


@define(eq=False)
class HttpApp:
    """The ASGI application that :func:`http_app` makes."""

    _server: RequestHandler
    _admission: Admission
    _keepalive: float
    _turns: Turns
    _older: OlderClients | None
    _started: bool = False
    _closing: Closing = field(factory=Closing)
    _above: Closing | None = None
    _watch: StopWatch = field(init=False)
    _held: Held = field(factory=Held)
    _has_lifespan: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._has_lifespan = has_lifespan(self._server)
        self._watch = StopWatch(self.shut_down)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        self._heed(closing_of(scope))
        kind = scope["type"]
        if kind == "http":
            # So may a server say of a send that the client has left (ASGI 2.4).
            with suppress(OSError):
                await self._http(scope, receive, send)
        elif kind == "lifespan":
            await self._lifespan(receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close"})
        else:
            raise UsageError(f"http_app serves HTTP; the ASGI server offered {kind!r}")

    def shut_down(self) -> None:
        """End open subscriptions with their result, and later ones as soon as they are opened.

        So do the streams of sessions, and calls that wait for an answer of such a client.

        For a program that runs ``hypercorn.trio.serve`` by itself, which tells an application
        nothing before its connections have ended: call it where ``shutdown_trigger`` returns.
        Calls go on, for as long as the server lets them. A new lifespan takes it back.
        """
        self._closing.close()

    # -- starting and stopping --------------------------------------------------------------

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if not self._start():
            await send({"type": "lifespan.startup.failed", "message": NOT_ON_TRIO})
            return
        await live(self.running(), self._server.name, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Serve for the length of a block, within the server's lifespan if it has one.

        An ASGI server does this by its lifespan. An application that mounts this one, and does
        not pass the lifespan on, does it in its own::

            @asynccontextmanager
            async def lifespan(host):
                async with mcp.running():
                    yield

        At the end subscriptions are told to end, and sessions are forgotten. A lifespan then waits
        for the calls that are left, which it cancels.

        Raises:
            UsageError: a server with a lifespan is running already.
            Exception: what the server's lifespan raises.
        """
        self._closing = Closing()
        async with self._holding():
            try:
                yield
            finally:
                self.shut_down()
                if self._older is not None:
                    self._older.forget()

    @asynccontextmanager
    async def _holding(self) -> AsyncGenerator[None, None]:
        if not self._has_lifespan:
            yield
            return
        if self._held.open:
            raise UsageError(f"{self._server.name!r} runs already; make another http_app of it")
        async with holding(self._server) as self._held:
            yield

    def _start(self) -> bool:
        """Begin to serve, at the start of the lifespan or at the first request without one."""
        if not self._started:
            self._started = _on_trio()
            if self._started:
                self._warn_of_ephemeral_key()
        return self._started

    @property
    def ephemeral_keys(self) -> bool:
        """Whether the server made its key at start, so that no other worker opens its tokens."""
        return bool(getattr(self._server, "ephemeral_keys", False))

    def _warn_of_ephemeral_key(self) -> None:
        workers = hypercorn_workers()
        if self.ephemeral_keys and workers > 1 and speaks_for_all(workers):
            logger.warning(EPHEMERAL_KEY, self._server.name, workers)

    def _heed(self, above: Closing | None) -> None:
        """Shut down with what serves this application, which is the same at every request."""
        if above is not None and above is not self._above:
            self._above = above
            above.tell(self.shut_down)

    # -- one request ------------------------------------------------------------------------

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (unfit := self._unfit()) is not None:
            logger.error(unfit)
            fault = Refused(500, unfit, code=INTERNAL_ERROR)
            await send_whole(send, fault.status, fault.body, *fault.headers)
            return
        fields = Fields.read(scope["headers"])
        limit = self._server.limits.message_bytes
        body = RequestBody(receive)
        try:
            principal = await self._admission.check(scope, fields)
            content = await body.read(limit)
        except Refused as refusal:
            await refuse(scope, body, send, refusal, limit)
            return
        if content is None:
            return
        response = Response(
            principal, self._closing, self._held, self._keepalive, self._watch.run, receive, send
        )
        try:
            await self._serve(scope["method"], content, fields, response)
        except Refused as refusal:
            await send_whole(send, refusal.status, refusal.body, *refusal.headers)

    def _unfit(self) -> str | None:
        """Why nothing can be served here."""
        if not self._start():
            return NOT_ON_TRIO
        if self._has_lifespan and not self._held.open:
            return NO_LIFESPAN
        return None

    async def _serve(
        self, method: str, content: bytearray, fields: Fields, response: Response
    ) -> None:
        message: Message | None = None
        try:
            if method != "POST" and self._older is not None:
                await self._older.get_or_delete(method, fields, response)
                return
            message = read_message(content, self._server.limits)
            if self._older is not None and is_older(message, fields):
                await self._older.post(message, len(content), fields, response)
            else:
                await self._post(message, len(content), fields, response)
        except ProtocolError as error:
            if message is None and self._older is not None:
                self._older.unreadable(error, content, fields, response.principal)
            await response.say(failure(error, message.id if isinstance(message, Request) else None))

    async def _post(self, message: Message, size: int, fields: Fields, response: Response) -> None:
        if isinstance(message, Notification):
            await response.accept()
            return
        if not isinstance(message, Request):
            raise ProtocolError(INVALID_REQUEST, NO_REPLIES)
        check_metadata(fields, message)
        check_mirrored(fields, message, mirrored_by(self._server, message))
        call = self._turns.handle(message, response.exchange, size)
        await response.answer(message.id, call, lasts=message.method == LISTEN)


def _on_trio() -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True
