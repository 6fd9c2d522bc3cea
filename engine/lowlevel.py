"""A server with one handler for each method, and nothing else.

It reads the envelope and ``_meta``, negotiates the revision, and turns what a handler raises
into a reply. It validates no parameters, lists nothing and seals no state, unless
:meth:`LowLevelServer.seal_states` is called. :class:`~antiphon.Server` is built on it.
Specification: basic/index, basic/versioning, server/discover.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import trio

from .allowed import allowed
from .boundary import Boundary
from .checks import refuse
from .display import Icon
from .errors import (
    METHOD_NOT_FOUND,
    ProtocolError,
    method_not_found,
    unsupported_version,
)
from .exchange import Exchange, verified_principal
from .handshake_versions import INITIALIZE, names_its_revision
from .incoming import Incoming, MethodHandler
from .jsonrpc import JsonObject, JsonValue, Reply, Request, Success, dumps
from .limits import Limits
from .meta_keys import check_extensions
from .middleware import Middleware, around, settled
from .protocol import (
    COMPLETE,
    META_SERVER,
    SUPPORTED_VERSIONS,
    TARGETS,
    CacheScope,
    Implementation,
    read_meta,
)
from .sealing import Codec, StateSealer
from .server_checks import check_handler, check_method_name, server_faults
from .spans import collects_spans, request_span
from .subscription_filter import WantedChanges

if TYPE_CHECKING:
    from .handshake_session import HandshakeSession

H = TypeVar("H", bound=MethodHandler)

Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]
"""Opens what handlers need while a transport serves, and closes it afterwards."""


class LowLevelServer:
    """A method table behind the envelope.

    ::

        server = LowLevelServer("Echo", capabilities={"tools": {}})

        @server.method("tools/call")
        async def call(request: Incoming) -> JsonObject:
            return {"resultType": "complete", "content": []}

    Args:
        name: how the server names itself.
        version: of the server program.
        title: a name for people.
        description: what it is for, for people.
        website_url: where to read more.
        icons: pictures for a user interface.
        instructions: for the models that use it.
        capabilities: what ``server/discover`` declares.
        extensions: the extensions that are served, by identifier, with their settings.
        middleware: stands around every request, the first outermost.
        lifespan: an async context manager function; each transport enters it while it serves,
            and handlers find its value in ``exchange.lifespan``.
        limits: see :class:`~antiphon.engine.limits.Limits`.
        list_ttl_ms: how long a client may keep lists and discovery, in milliseconds.
        list_scope: whether they are the same for everybody.
        handshake: whether clients of earlier revisions, which begin with ``initialize``, are
            served too, by the same handlers.

    Raises:
        UsageError: an extension's identifier has no prefix; no JSON can say its settings, or
            how the server names itself.
        DefinitionError: all other arguments that are of the wrong kind, such as a negative
            ``list_ttl_ms``.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] = (),
        instructions: str | None = None,
        capabilities: Mapping[str, JsonValue] | None = None,
        extensions: Mapping[str, JsonObject] | None = None,
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
        limits: Limits | None = None,
        list_ttl_ms: int = 0,
        list_scope: CacheScope = "private",
        handshake: bool = True,
    ) -> None:
        faults = server_faults(
            texts={"name": name, "version": version},
            optional={
                "title": title,
                "description": description,
                "website_url": website_url,
                "instructions": instructions,
            },
            icons=icons,
            capabilities=capabilities,
            middleware=middleware,
            lifespan=lifespan,
            limits=limits,
            list_ttl_ms=list_ttl_ms,
            list_scope=list_scope,
            handshake=handshake,
        )
        refuse("Server", faults)
        self.name: Final = name
        self.info: Final = Implementation(
            name,
            version,
            title,
            description,
            website_url,
            [icon.wire() for icon in icons] or None,
        )
        # Found only when it is sent, what no JSON can say would spoil every reply.
        dumps([self.info.wire(), instructions])
        self.instructions: Final = instructions
        self.limits: Final = limits or Limits()
        self.extensions: Final = check_extensions({} if extensions is None else extensions)
        self._named: Final[JsonObject] = {META_SERVER: self.info.wire()}
        self._capabilities: Final[JsonObject] = dict(capabilities or {})
        self._caching: Final[JsonObject] = {"ttlMs": list_ttl_ms, "cacheScope": list_scope}
        self._lifespan: Final = lifespan
        self.handshake: Final = handshake
        self._boundary: Boundary | None = None
        self._methods: Final[dict[str, MethodHandler]] = {"server/discover": self._discover}
        self._proceed: Final = around(middleware, self._reply)

    def method(self, name: str) -> Callable[[H], H]:
        """Serve a method by the async function that this decorates; the last one given counts.

        Raises:
            UsageError: the name is empty, or the function is not async.
        """
        check_method_name(name)

        def register(handler: H) -> H:
            check_handler(name, handler)
            self._methods[name] = handler
            return handler

        return register

    def seal_states(
        self,
        *,
        keys: Sequence[bytes | str] | None = None,
        codec: Codec | None = None,
        ttl: float = 600.0,
        audience: str | None = None,
        bind_principal: Callable[[Exchange], str | None] = verified_principal,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Switch the sealing boundary on: handlers write and read plain ``requestState``.

        What they return leaves sealed; what comes in is opened, and refused where it was not
        sealed for the same method, target, arguments and principal, or is too old. The arguments
        are those of :class:`~antiphon.Server`. It holds for handlers given before and after.

        Raises:
            UsageError: keys, codec, ttl or audience do not fit.
        """
        named = audience if audience is not None else self.name
        sealer = StateSealer(
            keys=keys, codec=codec, ttl=ttl, audience=named, limits=self.limits, clock=clock
        )
        self._boundary = Boundary(sealer, bind_principal, clock)

    @property
    def has_lifespan(self) -> bool:
        """Whether handlers count on a lifespan, so that a transport has to hold it."""
        return self._lifespan is not None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[object, None]:
        """Hold the lifespan; a transport does so while it serves. Gives its value, or None."""
        if self._lifespan is None:
            yield None
            return
        async with self._lifespan() as value:
            yield value

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        """Serve one request. Only cancellation is raised; every fault becomes a reply."""
        proceed = self._traced if collects_spans() else self._proceed
        return await settled(proceed, request, exchange)

    async def _traced(self, request: Request, exchange: Exchange) -> Reply:
        # Settled twice: a fault of the program's telemetry is a fault like any other.
        with request_span(request, exchange.transport, self._methods) as span:
            reply = await settled(self._proceed, request, exchange)
            span.end(reply)
            return reply

    async def _reply(self, request: Request, exchange: Exchange) -> Reply:
        result = await self._serve(request, exchange)
        meta = result.get("_meta")
        more = meta if isinstance(meta, dict) else {}
        return Success(request.id, {**result, "_meta": {**more, **self._named}})

    async def _serve(self, request: Request, exchange: Exchange) -> JsonObject:
        if request.method == INITIALIZE:
            self._refuse_handshake(request.params)
        meta = read_meta(request.params)
        if request.method not in self._methods:
            raise method_not_found(request.method)
        incoming = Incoming(request.id, request.method, request.params, meta, exchange)
        if self._boundary is None or request.method not in TARGETS:
            return await self._handled(incoming)
        return await self._boundary.serve(incoming, self._handled)

    async def _handled(self, incoming: Incoming) -> JsonObject:
        handler = self._methods[incoming.method]
        return allowed(incoming, await handler(incoming))

    def _check_handshake(self, params: JsonObject) -> None:
        if not self.handshake:
            self._refuse_handshake(params)

    def _refuse_handshake(self, params: JsonObject) -> None:
        """Name the versions served: it is all that a client of the handshake era can show."""
        versions = ", ".join(SUPPORTED_VERSIONS)
        text = f"This server speaks MCP {versions} and has no initialize handshake"
        if names_its_revision(params):
            raise ProtocolError(METHOD_NOT_FOUND, text)
        requested = params.get("protocolVersion")
        raise unsupported_version(
            requested if isinstance(requested, str) else "", SUPPORTED_VERSIONS, text
        )

    # -- earlier revisions --------------------------------------------------------------------

    def open_session(self, params: JsonObject) -> HandshakeSession:
        """Begin with a client of an earlier revision; for transports.

        Args:
            params: those of its ``initialize``.

        Raises:
            ProtocolError: -32602, they are malformed; -32022, such clients are not served.
        """
        from .handshake_session import HandshakeSession  # late: many servers never need it

        self._check_handshake(params)
        return HandshakeSession.begun(self, params)

    def sessionless(self, version: str) -> HandshakeSession:
        """Serve one request of such a client where no session is kept; it is asked nothing.

        Raises:
            ProtocolError: -32022, such clients are not served.
        """
        from .handshake_session import HandshakeSession

        self._check_handshake({"protocolVersion": version})
        return HandshakeSession(self, version, {}, None, remembered=False)

    async def tell_changes(self, wanted: WantedChanges, exchange: Exchange) -> None:
        """Tell of changes, by notifications without a subscription's id, until all is closed.

        This server has none to tell of.
        """
        del wanted, exchange
        await trio.lowlevel.checkpoint()

    # -- discovery ----------------------------------------------------------------------------

    async def _discover(self, _: Incoming) -> JsonObject:
        result: JsonObject = {
            "resultType": COMPLETE,
            "supportedVersions": list(SUPPORTED_VERSIONS),
            "capabilities": self.capabilities(),
            **self._caching,
        }
        if self.instructions is not None:
            result["instructions"] = self.instructions
        return result

    def capabilities(self) -> JsonObject:
        """What ``server/discover`` declares."""
        if not self.extensions:
            return self._capabilities
        return {**self._capabilities, "extensions": dict(self.extensions)}
