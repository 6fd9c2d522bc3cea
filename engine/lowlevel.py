"""A server with one handler for each method, and nothing else.

It reads the envelope and ``_meta``, negotiates the revision, and turns what a handler raises
into a reply. It validates no parameters, lists nothing and seals no state, unless
:meth:`LowLevelServer.seal_states` is called. :class:`~antiphon.Server` is built on it.
Specification: basic/index, basic/versioning, server/discover.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final, TypeAlias, TypeVar

from .boundary import TARGETS, Boundary
from .display import Icon
from .errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ProtocolError,
    UsageError,
    method_not_found,
    unsupported_version,
)
from .exchange import Exchange, verified_principal
from .incoming import Incoming, MethodHandler
from .jsonrpc import Failure, JsonObject, JsonValue, Reply, Request, Success, failure
from .limits import Limits
from .protocol import (
    COMPLETE,
    INPUT_REQUIRED,
    META_SERVER,
    META_VERSION,
    SUPPORTED_VERSIONS,
    CacheScope,
    Implementation,
    read_meta,
)
from .sealing import Codec, StateSealer

_log = logging.getLogger("antiphon.server")

H = TypeVar("H", bound=MethodHandler)
Proceed: TypeAlias = Callable[[Request, Exchange], Awaitable[Reply]]
Middleware: TypeAlias = Callable[[Request, Exchange, Proceed], Awaitable[Reply]]
"""Stands around every request: ``await proceed(request, exchange)`` serves it."""

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

    Raises:
        UsageError: an extension's identifier has no prefix, ``list_ttl_ms`` is negative.
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
    ) -> None:
        if list_ttl_ms < 0:
            raise UsageError("Server(list_ttl_ms=...) must not be negative")
        self.name: Final = name
        self.info: Final = Implementation(
            name,
            version,
            title,
            description,
            website_url,
            [icon.wire() for icon in icons] or None,
        )
        self.instructions: Final = instructions
        self.limits: Final = limits or Limits()
        self.extensions: Final = _identified(extensions or {})
        self._named: Final[JsonObject] = {META_SERVER: self.info.wire()}
        self._capabilities: Final[JsonObject] = dict(capabilities or {})
        self._caching: Final[JsonObject] = {"ttlMs": list_ttl_ms, "cacheScope": list_scope}
        self._lifespan: Final = lifespan
        self._boundary: Boundary | None = None
        self._methods: Final[dict[str, MethodHandler]] = {"server/discover": self._discover}
        self._proceed: Final[Proceed] = (
            _around(middleware, self._answered) if middleware else self._reply
        )

    def method(self, name: str) -> Callable[[H], H]:
        """Serve a method by the function that this decorates; the last one given counts."""

        def register(handler: H) -> H:
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
        return await _settled(self._proceed, request, exchange)

    async def _answered(self, request: Request, exchange: Exchange) -> Reply:
        # Middleware sees every fault as the reply that it is.
        return await _settled(self._reply, request, exchange)

    async def _reply(self, request: Request, exchange: Exchange) -> Reply:
        result = await self._serve(request, exchange)
        meta = result.get("_meta")
        more = meta if isinstance(meta, dict) else {}
        return Success(request.id, {**result, "_meta": {**self._named, **more}})

    async def _serve(self, request: Request, exchange: Exchange) -> JsonObject:
        if request.method == "initialize":
            self._refuse_handshake(request)
        meta = read_meta(request.params)
        handler = self._methods.get(request.method)
        if handler is None:
            raise method_not_found(request.method)
        if self._boundary is not None and request.method in TARGETS:
            handler = self._boundary.around(handler)
        incoming = Incoming(request.id, request.method, request.params, meta, exchange)
        return _only_where_allowed(request.method, await handler(incoming))

    def _refuse_handshake(self, request: Request) -> None:
        """Name the versions served: it is all that a client of the handshake era can show."""
        versions = ", ".join(SUPPORTED_VERSIONS)
        text = f"This server speaks MCP {versions} and has no initialize handshake"
        meta = request.params.get("_meta")
        if isinstance(meta, dict) and META_VERSION in meta:
            raise ProtocolError(METHOD_NOT_FOUND, text)
        requested = request.params.get("protocolVersion")
        raise unsupported_version(
            requested if isinstance(requested, str) else "", SUPPORTED_VERSIONS, text
        )

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


def _only_where_allowed(method: str, result: JsonObject) -> JsonObject:
    if result.get("resultType") == INPUT_REQUIRED and method not in TARGETS:
        raise UsageError(f"{method} must not answer input_required")
    return result


async def _settled(proceed: Proceed, request: Request, exchange: Exchange) -> Reply:
    try:
        return await proceed(request, exchange)
    except ProtocolError as error:
        return failure(error, request.id)
    except Exception:  # noqa: BLE001  # our own fault; the next request is served
        _log.exception("%s could not be served", request.method)
        return Failure(request.id, INTERNAL_ERROR, "Internal error")


def _around(middleware: Sequence[Middleware], innermost: Proceed) -> Proceed:
    proceed = innermost
    for layer in reversed(middleware):
        proceed = partial(_layered, layer, proceed)
    return proceed


async def _layered(
    layer: Middleware, proceed: Proceed, request: Request, exchange: Exchange
) -> Reply:
    return await layer(request, exchange, proceed)


def _identified(extensions: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    for name in extensions:
        prefix, slash, rest = name.partition("/")
        if not (prefix and slash and rest):
            raise UsageError(
                f"Extension {name!r} needs an identifier with a prefix, such as 'com.example/name'"
            )
    return dict(extensions)
