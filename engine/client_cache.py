"""A client's reads, answered from what it has kept where that is still fresh.

Discovery, the pages of lists and resources are kept for their ``ttlMs``, and given up at once
when a subscription tells of a change. Never kept: errors, interim results, and what depends on
answers or a state. Specification: server/utilities/caching.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Final, Protocol, TypeAlias, cast, runtime_checkable

import msgspec
import trio
from attrs import define, field

from .changes import Change, ListChanged, ListName, ResourceUpdated
from .client_messages import (
    Cacheable,
    Discovery,
    PromptPage,
    ReadResourceResult,
    ResourcePage,
    ResourceTemplatePage,
    ToolPage,
)
from .client_wire import Outgoing
from .errors import ProtocolError
from .exchange import ClientTransport, FullyNamed
from .jsonrpc import JsonObject, dumps
from .protocol import COMPLETE
from .result_cache import Asked, ResultCache
from .stored import home_of
from .structuring import structure

Send: TypeAlias = Callable[[Outgoing], Awaitable[JsonObject]]

_KINDS: Final[Mapping[str, type[Cacheable]]] = {
    "server/discover": Discovery,
    "tools/list": ToolPage,
    "prompts/list": PromptPage,
    "resources/list": ResourcePage,
    "resources/templates/list": ResourceTemplatePage,
    "resources/read": ReadResourceResult,
}

_LISTED: Final[Mapping[ListName, tuple[str, ...]]] = {
    "tools": ("tools/list",),
    "prompts": ("prompts/list",),
    "resources": ("resources/list", "resources/templates/list"),
}

_LONGEST_MS: Final = 10**15

_TRACING: Final = frozenset({"traceparent", "tracestate", "baggage"})
"""Members of ``_meta`` that no result depends on."""

_canonical: Final = msgspec.json.Encoder(order="deterministic").encode


@runtime_checkable
class Authorized(Protocol):
    """A client's transport to a server that others reach too, each with credentials."""

    async def authorization(self) -> Hashable:
        """What the credentials of the next request are recognized by, as they are now.

        Raises:
            UsageError: there are none that can be used.
        """
        ...


@define(eq=False)
class CachedReads:
    """What one client reads, through its cache.

    Attributes:
        cache: keeps the results; None to keep nothing.
        transport: says which server this is, and who asks.
        timeout: seconds that the transport may take to say so.
    """

    cache: ResultCache | None
    transport: ClientTransport
    timeout: float
    _owner: object = field(init=False, factory=object)
    _home: Hashable = field(init=False)

    def __attrs_post_init__(self) -> None:
        # Only what is reached over an address is known to be the same server for two clients:
        # a command starts another process each time.
        shared = isinstance(self.transport, Authorized) and isinstance(self.transport, FullyNamed)
        self._home = home_of(self.transport) if shared else self._owner

    async def through(self, outgoing: Outgoing, send: Send, *, fresh: bool = False) -> JsonObject:
        """The result of a request: a kept one, or what the server answers to it now.

        Args:
            outgoing: the request.
            send: sends it.
            fresh: whether what is kept does not do.
        """
        cache = self.cache
        if cache is None or outgoing.method not in _KINDS or _depends(outgoing.params):
            return await send(outgoing)
        asked, private = self._asked(outgoing), await self._private()
        if fresh:
            # What is still on its way is not kept either: it is older than what comes now.
            cache.forget(lambda kept: kept == asked)
        else:
            kept = cache.take(asked, None) or cache.take(asked, private)
            if kept is not None:
                await trio.lowlevel.checkpoint()
                return cast(JsonObject, msgspec.json.decode(kept))
        before = cache.forgotten
        result = await send(outgoing)
        await self._keep(cache, asked, private, result, before)
        return result

    async def _keep(
        self, cache: ResultCache, asked: Asked, private: Hashable, result: JsonObject, before: int
    ) -> None:
        received, hints = trio.current_time(), _hints(asked.method, result)
        # It may be what another account was given, where the credentials have changed meanwhile.
        if hints.cache_scope == "private" and hints.ttl_ms and await self._private() != private:
            return
        # A change that was told meanwhile may be missing in it.
        if cache.forgotten != before:
            return
        # Its scope may have changed, so that it is looked for in both.
        cache.drop(asked, None)
        cache.drop(asked, private)
        whose = None if hints.cache_scope == "public" else private
        # An integer of hundreds of digits is no float.
        seconds = min(hints.ttl_ms, _LONGEST_MS) / 1000
        cache.keep(asked, whose, dumps(result), received + seconds)

    def heard(self, change: Change) -> None:
        """Give up what a change makes stale; what may have been missed makes all of it so."""
        if isinstance(change, ListChanged):
            self.forget(*_LISTED[change.which])
        elif isinstance(change, ResourceUpdated):
            self._forget(lambda asked: _covers(asked, change.uri))
        else:
            self._forget(lambda _: True)

    def forget(self, *methods: str) -> bool:
        """Give up the results of these methods; whether there were any."""
        return self._forget(lambda asked: asked.method in methods)

    def close(self) -> None:
        """Forget what is private to this client."""
        if self.cache is not None:
            self.cache.forget_owner(self._owns)

    def _owns(self, whose: Hashable) -> bool:
        return isinstance(whose, tuple) and whose[0] is self._owner

    def _forget(self, concerns: Callable[[Asked], bool]) -> bool:
        if self.cache is None:
            return False
        return self.cache.forget(lambda asked: asked.home == self._home and concerns(asked))

    def _asked(self, outgoing: Outgoing) -> Asked:
        uri = outgoing.params.get("uri")
        return Asked(
            self._home,
            outgoing.method,
            digest_of(outgoing),
            uri if isinstance(uri, str) else None,
        )

    async def _private(self) -> Hashable:
        known: Hashable = None
        if isinstance(self.transport, Authorized):
            known = object()  # found nowhere: the request itself will take too long
            with trio.move_on_after(self.timeout):
                known = await self.transport.authorization()
        return (self._owner, known)


def digest_of(outgoing: Outgoing) -> bytes:
    """What the parameters that a result may depend on are recognized by, whatever their order."""
    meta = {name: value for name, value in outgoing.meta.items() if name not in _TRACING}
    text = _canonical([outgoing.params, meta, outgoing.capabilities])
    return hashlib.blake2b(text, digest_size=32).digest()


def _depends(params: JsonObject) -> bool:
    return "inputResponses" in params or "requestState" in params


def _hints(method: str, result: JsonObject) -> Cacheable:
    """What a result says of keeping it: nothing where it is interim, or not what it should be."""
    if result.get("resultType", COMPLETE) != COMPLETE:
        return Cacheable()
    try:
        return structure(result, _KINDS[method], part="result")
    except ProtocolError:
        return Cacheable()  # its reader tells what is wrong with it


def _covers(asked: Asked, uri: str) -> bool:
    """Whether a resource that was read is this one, lies below it, or holds it."""
    read = asked.uri
    return read is not None and (read.startswith(uri) or uri.startswith(read))
