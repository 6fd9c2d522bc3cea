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

from ..engine.closing import ClosableExchange, Closing
from ..engine.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError, UsageError
from ..engine.exchange import Exchange, Principal, RequestHandler, has_lifespan
from ..engine.jsonrpc import (
    Failure,
    Notification,
    Reply,
    Request,
    failure,
    read_message,
    write_message,
)
from ..engine.subscriptions import LISTEN
from .asgi_lifespan import live
from .asgi_messages import (
    Receive,
    RequestBody,
    Scope,
    Send,
    refuse,
    send_whole,
    too_large,
    until_disconnect,
)
from .authentication import Verifier, authenticated
from .guards import Guards
from .headers import Fields, check_metadata
from .holding import Held, holding
from .http_errors import Refused, headers_of, status_of
from .media_types import check_media_types
from .mirrored_headers import check_mirrored, mirrored_by
from .noticing import noticing
from .sse import EventStream
from .stopping import closing_of, hypercorn_stop
from .turns import Turns
from .workers import hypercorn_workers, speaks_for_all

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
STOPPED: Final = "The server has stopped before the call had ended"
WATCH_SECONDS: Final = 0.2
"""How often a worker of hypercorn is asked whether it stops, while a subscription is open."""

logger: Final = logging.getLogger("antiphon.http")


def http_app(
    server: RequestHandler,
    *,
    path: str = "/mcp",
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] | None = None,
    authenticate: Verifier | None = None,
    keepalive: float = 15.0,
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

    Raises:
        UsageError: a setting has not the right form.
    """
    if not path.startswith("/"):
        raise UsageError(f"http_app(path={path!r}): a path begins with /")
    if not keepalive > 0:
        raise UsageError(f"http_app(keepalive={keepalive!r}): seconds, and more than none")
    guards = Guards.of(allowed_hosts, allowed_origins)
    return HttpApp(server, path, guards, authenticate, keepalive, Turns(server))


@define(eq=False)
class HttpApp:
    """The ASGI application that :func:`http_app` makes."""

    _server: RequestHandler
    _path: str
    _guards: Guards
    _authenticate: Verifier | None
    _keepalive: float
    _turns: Turns
    _started: bool = False
    _closing: Closing = field(factory=Closing)
    _above: Closing | None = None
    _watch: trio.Lock = field(factory=trio.Lock)
    _held: Held = field(factory=Held)
    _has_lifespan: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._has_lifespan = has_lifespan(self._server)

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

        At the end subscriptions are told to end. A lifespan then waits for the calls that are
        left, which it cancels.

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

    async def _shut_down_with_hypercorn(self) -> None:
        """Watch for the end of this worker; one of the subscriptions does, for all of them."""
        stop = hypercorn_stop()
        if stop is None:
            return
        async with self._watch:
            while not stop.is_set():  # noqa: ASYNC110  # another process sets it
                await trio.sleep(WATCH_SECONDS)
        self.shut_down()

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
            principal = await self._admit(scope, fields)
            content = await body.read(limit)
        except Refused as refusal:
            await refuse(scope, body, send, refusal, limit)
            return
        if content is not None:
            await self._serve(content, fields, principal, receive, send)

    def _unfit(self) -> str | None:
        """Why nothing can be served here."""
        if not self._start():
            return NOT_ON_TRIO
        if self._has_lifespan and not self._held.open:
            return NO_LIFESPAN
        return None

    async def _admit(self, scope: Scope, fields: Fields) -> Principal | None:
        """See to all that the head decides, cheapest first; nothing of the body is read."""
        self._guards.check(scope, fields)
        self._check_target(scope)
        principal = None
        if self._authenticate is not None:
            principal = await authenticated(self._authenticate, fields)
        check_media_types(fields)
        self._check_length(fields)
        return principal

    def _check_target(self, scope: Scope) -> None:
        # Whether the path still holds the prefix differs between frameworks: both are met.
        endpoints = (self._path, scope.get("root_path", "") + self._path)
        if scope["path"] not in endpoints:
            raise Refused(404, f"Not found; the endpoint here is {endpoints[1]}", code=None)
        if scope["method"] != "POST":
            raise Refused(405, "The endpoint takes POST alone", (b"allow", b"POST"))

    def _check_length(self, fields: Fields) -> None:
        length = fields.get(b"content-length") or b""
        limit = self._server.limits.message_bytes
        # No number so long that int() would refuse it.
        if length.isdigit() and (len(length) > 20 or int(length) > limit):
            raise too_large(limit)

    async def _serve(
        self,
        content: bytearray,
        fields: Fields,
        principal: Principal | None,
        receive: Receive,
        send: Send,
    ) -> None:
        try:
            request = self._read(content, fields)
        except ProtocolError as error:
            await _send_reply(send, failure(error))
            return
        if request is None:
            await send_whole(send, 202, b"")
            return
        stream = EventStream(send)
        exchange = ClosableExchange(
            principal, stream.notify, "http", self._held.lifespan, closing=self._closing
        )
        reply: Reply | None = None
        with self._held.call() as call:
            reply = await self._answer(request, len(content), exchange, stream, receive)
        if call.cancelled_caught and not stream.closed:
            reply = Failure(request.id, INTERNAL_ERROR, STOPPED)
        if reply is None:
            return
        if stream.opened:
            await stream.end(_encoded(reply)[1])
        else:
            stream.closed = True
            await _send_reply(send, reply)

    def _read(self, content: bytearray, fields: Fields) -> Request | None:
        """The request that was posted, or None for a notification: it wants no answer."""
        message = read_message(content, self._server.limits)
        if isinstance(message, Request):
            check_metadata(fields, message)
            check_mirrored(fields, message, mirrored_by(self._server, message))
            return message
        if isinstance(message, Notification):
            return None
        raise ProtocolError(
            INVALID_REQUEST, "Invalid request: a client posts requests and notifications only"
        )

    async def _answer(
        self,
        request: Request,
        size: int,
        exchange: Exchange,
        stream: EventStream,
        receive: Receive,
    ) -> Reply | None:
        """The reply, or None where the client has left and wants none."""
        reply: Reply | None = None
        async with trio.open_nursery() as nursery:

            def waits() -> None:
                nursery.start_soon(self._attend, receive, stream, nursery)
                if request.method == LISTEN:
                    nursery.start_soon(self._shut_down_with_hypercorn)

            reply = await noticing(self._turns.handle(request, exchange, size), waits)
            if nursery.child_tasks:
                nursery.cancel_scope.cancel()
        return None if stream.closed else reply

    async def _attend(self, receive: Receive, stream: EventStream, nursery: trio.Nursery) -> None:
        """Cancel the call when the client leaves; begin the keep-alive when the call is long."""
        with trio.move_on_after(self._keepalive) as brief:
            await until_disconnect(receive)
        if brief.cancelled_caught:
            nursery.start_soon(stream.keep_alive, self._keepalive)
            await until_disconnect(receive)
        stream.closed = True
        nursery.cancel_scope.cancel()


def _on_trio() -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


async def _send_reply(send: Send, reply: Reply) -> None:
    sent, body = _encoded(reply)
    status = status_of(sent)
    await send_whole(send, status, body, *headers_of(status))


def _encoded(reply: Reply) -> tuple[Reply, bytes]:
    """A reply and its bytes; one that cannot be said in JSON becomes an error that can."""
    try:
        return reply, write_message(reply)
    except UsageError as error:
        logger.error("A reply cannot be sent: %s", error)
        masked = Failure(reply.id, INTERNAL_ERROR, "Internal error: the reply cannot be sent")
        return masked, write_message(masked)
