"""A peer that began with ``initialize``: what it said then, and its requests from then on.

Its requests become requests of this revision, which the server serves as any other; results,
errors and questions come back in the peer's own terms. Authors of tools never learn of it.
Specification: 2025-11-25, basic/lifecycle, server/utilities/logging, server/resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import trio
from attrs import evolve

from .bridged import BridgedExchange
from .errors import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    ProtocolError,
    method_not_found,
)
from .exchange import Exchange
from .handshake_bridge import Bridge, Serve, ended
from .handshake_changes import Watching
from .handshake_results import older_failure, older_info, older_result
from .handshake_versions import negotiated
from .jsonrpc import JsonObject, JsonValue, Notification, Reply, Request, Success, failure
from .limits import raising
from .middleware import settled
from .own_requests import Kept, OwnRequests, Post, Room
from .protocol import (
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_PREFIX,
    META_VERSION,
    PROGRESS,
    SUPPORTED_VERSIONS,
    Implementation,
    LogLevel,
    is_log_level,
)
from .sealing import StateSealer
from .structuring import structure
from .subscriptions import LISTEN

if TYPE_CHECKING:
    from .lowlevel import LowLevelServer

_OwnMethod: TypeAlias = Callable[[JsonObject], None]

NO_SESSION: Final = (
    " This server cannot ask here, whatever the client declares: it serves HTTP without sessions."
    " Its operator enables them by http_app(server, sessions=True)."
)
_FOREVER: Final = 1e9
_MODERN_ONLY: Final = frozenset({"server/discover", LISTEN})


class HandshakeSession:
    """One peer of an earlier revision.

    Args:
        server: what serves it.
        version: the revision that was negotiated.
        capabilities: what the peer declared.
        client: how it names itself.
        remembered: whether its answers find their way back here. Where they do not, it is not
            asked anything.

    Attributes:
        version: see above.
        own: the requests that the server has sent it.
    """

    def __init__(
        self,
        server: LowLevelServer,
        version: str,
        capabilities: JsonObject,
        client: JsonObject | None,
        *,
        remembered: bool = True,
    ) -> None:
        self.version: Final = version
        self.own: Final = OwnRequests()
        self._server: Final = server
        self._capabilities: Final = _declared(capabilities) if remembered else {}
        self._client: Final = client
        self._remembered: Final = remembered
        self._level: LogLevel = "info"
        self._sealer: Final = StateSealer(audience=server.name, ttl=_FOREVER, limits=server.limits)
        self._watching: Final = Watching(server.limits)
        self._methods: Final[Mapping[str, _OwnMethod]] = {
            "ping": _pong,
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._watching.add,
            "resources/unsubscribe": self._watching.remove,
        }

    @classmethod
    def begun(cls, server: LowLevelServer, params: JsonObject) -> HandshakeSession:
        """A session by the parameters of ``initialize``.

        Raises:
            ProtocolError: -32602, they are malformed.
        """
        if not isinstance(params.get("protocolVersion"), str):
            raise ProtocolError(INVALID_PARAMS, 'Invalid params: "protocolVersion" must be text')
        capabilities, client = params.get("capabilities"), params.get("clientInfo")
        if not isinstance(capabilities, dict):
            raise ProtocolError(INVALID_PARAMS, 'Invalid params: "capabilities" must be an object')
        structure(client, Implementation, part="clientInfo")
        known = client if isinstance(client, dict) else None
        return cls(server, negotiated(params["protocolVersion"]), capabilities, known)

    def welcome(self, *, changes: bool = True) -> JsonObject:
        """The result of ``initialize``.

        Args:
            changes: whether there is a way to tell the peer what changes.
        """
        server = self._server
        declared = {n: v for n, v in server.capabilities().items() if n != "extensions"}
        if not changes:
            declared = {name: _without_changes(value) for name, value in declared.items()}
        result: JsonObject = {
            "protocolVersion": self.version,
            "capabilities": declared,
            "serverInfo": older_info(server.info.wire(), self.version),
        }
        if server.instructions is not None:
            result["instructions"] = server.instructions
        return result

    # -- requests -----------------------------------------------------------------------------

    async def handle(
        self,
        request: Request,
        exchange: Exchange,
        post: Post | None,
        serve: Serve | None = None,
        room: Room | None = None,
    ) -> Reply:
        """Serve one request of the peer; only cancellation is raised.

        Args:
            request: the request.
            exchange: the transport's.
            post: sends the server's own requests, on the way that belongs to this one.
            serve: serves one round of it; by default the server does at once.
            room: for the answers to its questions; by default there is no end of it.
        """
        own = self._methods.get(request.method)
        if own is not None or request.method in _MODERN_ONLY:
            await trio.lowlevel.checkpoint()
            return self._done_here(request, own)
        try:
            inner = evolve(request, params=self._modern(request.params))
        except ProtocolError as error:
            return failure(error, request.id)
        return self._told(request, await self._served(inner, exchange, post, serve, room))

    def _done_here(self, request: Request, own: _OwnMethod | None) -> Reply:
        try:
            if own is None or not self._offers(request.method):
                raise method_not_found(request.method)
            own(request.params)
        except ProtocolError as error:
            return failure(error, request.id)
        return Success(request.id, {})

    def _offers(self, method: str) -> bool:
        """Whether the server has declared what one of the session's own methods belongs to."""
        if method == "logging/setLevel":
            return "logging" in self._server.capabilities()
        if method in ("resources/subscribe", "resources/unsubscribe"):
            resources = self._server.capabilities().get("resources")
            told = isinstance(resources, dict) and bool(resources.get("subscribe"))
            return told and self._remembered
        return True

    def _modern(self, params: JsonObject) -> JsonObject:
        """The parameters as a client of this revision would send them."""
        given = params.get("_meta")
        given = {} if given is None else given
        if not isinstance(given, dict):
            raise ProtocolError(INVALID_PARAMS, 'Invalid params: "_meta" must be an object')
        meta = {name: v for name, v in given.items() if not name.startswith(META_PREFIX)}
        meta[META_VERSION] = SUPPORTED_VERSIONS[0]
        meta[META_CAPABILITIES] = self._capabilities
        meta[META_LOG_LEVEL] = self._level
        if self._client is not None:
            meta[META_CLIENT] = self._client
        return {**params, "_meta": meta}

    async def _served(
        self,
        request: Request,
        exchange: Exchange,
        post: Post | None,
        serve: Serve | None,
        room: Room | None,
    ) -> Reply:
        inner = _bridged(exchange, self._sealer)
        limits = self._server.limits
        bridge = Bridge(
            serve or self._server.handle,
            self.version,
            limits,
            self.own,
            post if self._remembered else None,
            Kept(room),
        )
        with trio.move_on_after(limits.open_seconds):
            return await settled(lambda whole, _: bridge.run(whole, inner), request, inner)
        text = (
            f"The call was open for {limits.open_seconds:g} seconds, which is limit open_seconds "
            f"{raising('open_seconds')}, so nothing more was done."
        )
        return ended(request, text)

    def _told(self, request: Request, reply: Reply) -> Reply:
        """The reply in the peer's own terms."""
        if isinstance(reply, Success):
            return Success(reply.id, older_result(reply.result, self.version))
        if reply.code == MISSING_CAPABILITY:
            return ended(request, reply.message + ("" if self._remembered else NO_SESSION))
        return older_failure(reply, request.method)

    # -- the rest of a session ----------------------------------------------------------------

    def _set_level(self, params: JsonObject) -> None:
        level = params.get("level")
        if not is_log_level(level):
            raise ProtocolError(INVALID_PARAMS, 'Invalid params: "level" must name a log level')
        self._level = level

    async def changes(self, exchange: Exchange) -> None:
        """Tell the peer what changes, through the exchange, until the server or it closes."""
        await self._server.tell_changes(self._watching, exchange)


def _declared(capabilities: JsonObject) -> JsonObject:
    """What a peer declared, in terms of this revision.

    Before there were links, elicitation was of forms, whatever else stood there.
    """
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, dict) or not elicitation.keys().isdisjoint(("form", "url")):
        return capabilities
    return {**capabilities, "elicitation": {**elicitation, "form": {}}}


def _without_changes(capability: JsonValue) -> JsonValue:
    if not isinstance(capability, dict):
        return capability
    return {n: v for n, v in capability.items() if n not in ("listChanged", "subscribe")}


def _pong(params: JsonObject) -> None:
    del params


def _bridged(exchange: Exchange, sealer: StateSealer) -> BridgedExchange:
    notify = exchange.notify
    reached: dict[str, float] = {}

    async def rising(notification: Notification) -> None:
        """Progress only rises, and each round begins its own."""
        if notification.method == PROGRESS:
            token = str(notification.params.get("progressToken"))
            done = notification.params.get("progress")
            if not isinstance(done, int | float) or done <= reached.get(token, float("-inf")):
                return
            reached[token] = done
        await notify(notification)

    return BridgedExchange(
        principal=exchange.principal,
        notify=rising,
        transport=exchange.transport,
        lifespan=exchange.lifespan,
        sealer=sealer,
    )
