"""A server: it takes requests as values and answers each of them.

It opens no socket: :mod:`antiphon.transports` carries its messages. Each request is served by
what it brings along and nothing else. Specification: basic/index, basic/versioning,
server/discover, server/tools.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from .errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ProtocolError,
    UsageError,
    unsupported_version,
)
from .exchange import Exchange, Principal
from .jsonrpc import Failure, JsonObject, Reply, Request, Success, dumps, failure
from .limits import Limits
from .protocol import (
    COMPLETE,
    META_SERVER,
    META_VERSION,
    SUPPORTED_VERSIONS,
    CacheScope,
    CallToolParams,
    Implementation,
    PageParams,
    RequestMeta,
    read_meta,
    structure,
)
from .registry import Registry, ToolEntry
from .sealing import Codec, StateSealer
from .tool_calls import ToolCall

_log = logging.getLogger("antiphon.server")

BindPrincipal: TypeAlias = Callable[[Exchange], str | None]
_Method: TypeAlias = Callable[[JsonObject, RequestMeta, Exchange], Awaitable[JsonObject]]


def verified_principal(exchange: Exchange) -> str | None:
    """What a token is bound to by default: the verified client, issuer and subject."""
    principal: Principal | None = exchange.principal
    if principal is None:
        return None
    return dumps([principal.client, principal.issuer, principal.subject]).decode()


class ServerCore:
    """The registries and the method table of a server.

    Args:
        name: how the server names itself; also the audience of its tokens.
        version: of the server program.
        title: a name for people.
        instructions: for the models that use it.
        keys: secrets of at least 32 bytes: the first seals, all open. Without keys one is made
            at start, which serves one process.
        codec: seals in place of the keys; it owes integrity only.
        ttl: how long a question may wait for its answer, in seconds; renewed at each round.
        audience: who may open the tokens, where it is not simply ``name``.
        bind_principal: from a request to the identity that a token is bound to; by default
            that of :attr:`Exchange.principal`.
        reveal_errors: send the text of unexpected exceptions to the client, for development.
        list_ttl_ms: how long a client may keep lists, in milliseconds.
        list_scope: whether lists are the same for everybody.
        limits: see :class:`~antiphon.engine.limits.Limits`.
        clock: the wall clock, in seconds since the epoch.

    Raises:
        UsageError: keys, codec, ttl or audience do not fit.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        instructions: str | None = None,
        keys: Sequence[bytes | str] | None = None,
        codec: Codec | None = None,
        ttl: float = 600.0,
        audience: str | None = None,
        bind_principal: BindPrincipal = verified_principal,
        reveal_errors: bool = False,
        list_ttl_ms: int = 0,
        list_scope: CacheScope = "private",
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if list_ttl_ms < 0:
            raise UsageError("Server(list_ttl_ms=...) must not be negative")
        self.name: Final = name
        self.info: Final = Implementation(name, version, title)
        self._named: Final[JsonObject] = {META_SERVER: self.info.wire()}
        self.instructions: Final = instructions
        self.limits: Final = limits or Limits()
        self.reveal_errors: Final = reveal_errors
        self.clock: Final = clock
        self.sealer: Final = StateSealer(
            keys=keys,
            codec=codec,
            ttl=ttl,
            audience=audience if audience is not None else name,
            limits=self.limits,
            clock=clock,
        )
        self.bind_principal: Final = bind_principal
        self.tools: Final = Registry()
        self._caching: Final[JsonObject] = {"ttlMs": list_ttl_ms, "cacheScope": list_scope}
        self._methods: Final[dict[str, _Method]] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }

    @property
    def ephemeral_keys(self) -> bool:
        """Whether the key was made at start, so that no other process can open the tokens."""
        return self.sealer.ephemeral

    def add_tool(self, tool: ToolEntry) -> None:
        """Register a tool; raises UsageError where its name is taken."""
        self.tools.add(tool)

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        """Serve one request. Only cancellation is raised; every fault becomes a reply."""
        try:
            result = await self._serve(request, exchange)
        except ProtocolError as error:
            return failure(error, request.id)
        except Exception:  # noqa: BLE001  # our own fault; the next request is served
            _log.exception("%s could not be served", request.method)
            return Failure(request.id, INTERNAL_ERROR, "Internal error")
        meta = result.get("_meta")
        more = meta if isinstance(meta, dict) else {}
        return Success(request.id, {**result, "_meta": {**self._named, **more}})

    async def _serve(self, request: Request, exchange: Exchange) -> JsonObject:
        if request.method == "initialize":
            self._refuse_handshake(request)
        meta = read_meta(request.params)
        method = self._methods.get(request.method)
        if method is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method[:128]}")
        return await method(request.params, meta, exchange)

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

    # -- methods ------------------------------------------------------------------------------

    async def _discover(self, _: JsonObject, __: RequestMeta, ___: Exchange) -> JsonObject:
        result: JsonObject = {
            "resultType": COMPLETE,
            "supportedVersions": list(SUPPORTED_VERSIONS),
            "capabilities": self._capabilities(),
            **self._caching,
        }
        if self.instructions is not None:
            result["instructions"] = self.instructions
        return result

    def _capabilities(self) -> JsonObject:
        return {"tools": {}}

    async def _list_tools(self, params: JsonObject, _: RequestMeta, __: Exchange) -> JsonObject:
        cursor = structure(params, PageParams).cursor
        tools, following = self.tools.page(cursor, self.limits.page)
        result: JsonObject = {"resultType": COMPLETE, "tools": tools, **self._caching}
        if following is not None:
            result["nextCursor"] = following
        return result

    async def _call_tool(
        self, params: JsonObject, meta: RequestMeta, exchange: Exchange
    ) -> JsonObject:
        asked = structure(params, CallToolParams)
        if asked.input_responses is not None and len(asked.input_responses) > self._most_answers:
            raise ProtocolError(
                INVALID_PARAMS,
                f"Invalid params: more than {self._most_answers} answers, which is four times "
                "limit questions",
            )
        tool = self.tools.find(asked.name)
        return await ToolCall(self, tool, asked, meta, exchange).serve()

    @property
    def _most_answers(self) -> int:
        # Unknown keys are ignored, so a client may send some; it may not send a flood.
        return 4 * self.limits.questions
