"""A server with registries: what is registered is listed, run, suggested and sealed.

It opens no socket: :mod:`antiphon.transports` carries its messages. Each request is served by
what it brings along and nothing else. Specification: basic/index, server/*.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from .carried import CarriedCall
from .checks import present, refuse, text_faults
from .completion import NOTHING, Wanted
from .display import Icon
from .errors import (
    INVALID_PARAMS,
    ProtocolError,
    ResourceNotFound,
    UsageError,
    method_not_found,
)
from .exchange import Exchange, verified_principal
from .incoming import Incoming
from .jsonrpc import JsonObject
from .limits import Limits
from .lowlevel import Lifespan, LowLevelServer
from .middleware import Middleware
from .mirrored import Mirrored
from .prompts import PromptEntry
from .protocol import (
    COMPLETE,
    CacheScope,
    CallToolParams,
    CompleteParams,
    GetPromptParams,
    PageParams,
    ReadResourceParams,
)
from .registry import Registry
from .resource_registry import ResourceRegistry
from .resources import ResourceEntry, TemplateEntry
from .sealing import Codec, StateSealer
from .structuring import structure
from .subscription_filter import Honoured, WantedChanges
from .subscriptions import LISTEN, Subscriptions
from .tools import ToolEntry
from .uri_syntax import normal
from .uri_templates import check_uri

BindPrincipal: TypeAlias = Callable[[Exchange], str | None]

_LONGEST_URI: Final = 2048


def _everything() -> Honoured:
    """What a subscriber may hear of: it may come before the first tool is registered."""
    return Honoured(tools=True, prompts=True, resources=True, updates=True)


class ServerCore(LowLevelServer):
    """The registries of a server, and the methods that serve them.

    Args:
        name: how the server names itself; also the audience of its tokens.
        version: of the server program.
        title: a name for people.
        description: what it is for, for people.
        website_url: where to read more.
        icons: pictures for a user interface.
        instructions: for the models that use it.
        keys: secrets of at least 32 bytes: the first seals, all open. Without keys one is made
            at start, which serves one process.
        codec: seals in place of the keys; it owes integrity only.
        ttl: how long a question may wait for its answer, in seconds; renewed at each round.
        audience: who may open the tokens, where it is not simply ``name``.
        bind_principal: from a request to the identity that a token is bound to; by default
            that of :attr:`Exchange.principal`.
        reveal_errors: send the text of unexpected exceptions to the client, for development.
        list_ttl_ms: how long a client may keep lists and discovery, in milliseconds.
        list_scope: whether these are the same for everybody.
        extensions: the extensions that are served, by identifier, with their settings.
        middleware: stands around every request, the first outermost.
        lifespan: an async context manager function; each transport enters it while it serves,
            and handlers reach its value by ``call.lifespan(Kind)``.
        limits: see :class:`~antiphon.engine.limits.Limits`.
        handshake: whether clients of earlier revisions, which begin with ``initialize``, are
            served too, by the same handlers.
        clock: the wall clock, in seconds since the epoch.

    Raises:
        UsageError: keys, codec, ttl, audience or an extension's name do not fit.
        DefinitionError: all that is of the wrong kind, as of a :class:`.LowLevelServer`.
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
        keys: Sequence[bytes | str] | None = None,
        codec: Codec | None = None,
        ttl: float = 600.0,
        audience: str | None = None,
        bind_principal: BindPrincipal = verified_principal,
        reveal_errors: bool = False,
        list_ttl_ms: int = 0,
        list_scope: CacheScope = "private",
        extensions: Mapping[str, JsonObject] | None = None,
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
        limits: Limits | None = None,
        handshake: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            name,
            version=version,
            title=title,
            description=description,
            website_url=website_url,
            icons=icons,
            instructions=instructions,
            extensions=extensions,
            middleware=middleware,
            lifespan=lifespan,
            limits=limits,
            list_ttl_ms=list_ttl_ms,
            list_scope=list_scope,
            handshake=handshake,
        )
        refuse("Server", text_faults(**present(audience=audience)))
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
        self.subscriptions: Final = Subscriptions(self.limits, _everything)
        told = self.subscriptions
        self.tools: Final = Registry[ToolEntry]("tool", changed=told.tools_changed)
        self.prompts: Final = Registry[PromptEntry]("prompt", changed=told.prompts_changed)
        self.resources: Final = ResourceRegistry(
            longest=_LONGEST_URI, changed=told.resources_changed
        )
        self.templates: Final = Registry[TemplateEntry](
            "resource template", longest=_LONGEST_URI, changed=told.resources_changed
        )
        self._suggested = False
        self._methods.update(
            {
                "tools/list": partial(self._list, "tools", self.tools),
                "tools/call": partial(self._run_named, self.tools, CallToolParams),
                "prompts/list": partial(self._list, "prompts", self.prompts),
                "prompts/get": partial(self._run_named, self.prompts, GetPromptParams),
                "resources/list": partial(self._list, "resources", self.resources),
                "resources/templates/list": partial(
                    self._list, "resourceTemplates", self.templates
                ),
                "resources/read": self._read_resource,
                "completion/complete": self._suggest,
                LISTEN: self._listen,
            }
        )

    @property
    def ephemeral_keys(self) -> bool:
        """Whether the key was made at start, so that no other process can open the tokens."""
        return self.sealer.ephemeral

    def seal_states(self, **_: object) -> None:
        """It seals its states from the start.

        Raises:
            UsageError: always; keys and codec are arguments of the server.
        """
        raise UsageError("A Server seals its states by itself; give keys to Server(keys=[...])")

    def mirrored(self, name: str) -> tuple[Mirrored, ...]:
        """The parameters of a tool that HTTP repeats in headers; none where it is unknown."""
        tool = self.tools.get(name)
        return tool.mirrored if tool is not None else ()

    def capabilities(self) -> JsonObject:
        """What the registries hold, or have held, and what is always there."""
        declared: JsonObject = {"logging": {}, **super().capabilities()}
        if self._offers(self.tools):
            declared["tools"] = {"listChanged": True}
        if self._offers(self.prompts):
            declared["prompts"] = {"listChanged": True}
        if self._offers(self.resources):
            declared["resources"] = {"listChanged": True, "subscribe": True}
        if self._suggests:
            declared["completions"] = {}
        return declared

    def _offers(self, registry: Registry[Any]) -> bool:
        if registry in (self.resources, self.templates):
            return self.resources.used or self.templates.used
        return registry.used

    @property
    def _suggests(self) -> bool:
        # As with the registries, what was declared once stays.
        entries = (*self.prompts, *self.templates)
        self._suggested = self._suggested or any(entry.completers for entry in entries)
        return self._suggested

    # -- what changes -------------------------------------------------------------------------

    def tools_changed(self) -> None:
        """Tell subscribers that the tools are others now; registering and removing does so."""
        self.subscriptions.tools_changed()

    def prompts_changed(self) -> None:
        """Tell subscribers that the prompts are others now; registering and removing does so."""
        self.subscriptions.prompts_changed()

    def resources_changed(self) -> None:
        """Tell subscribers that resources or templates are others now; so does registering."""
        self.subscriptions.resources_changed()

    def resource_updated(self, uri: str) -> None:
        """Tell those who watch a resource that reading it gives something else now.

        Like the others it waits for nobody, and may be called from any thread.
        """
        self.subscriptions.resource_updated(uri)

    # -- methods ------------------------------------------------------------------------------

    async def _list(self, member: str, registry: Registry[Any], request: Incoming) -> JsonObject:
        self._declared(registry, request)
        cursor = structure(request.params, PageParams).cursor
        entries, following = registry.page(cursor, self.limits.page)
        result: JsonObject = {"resultType": COMPLETE, member: entries, **self._caching}
        if following is not None:
            result["nextCursor"] = following
        return result

    def _declared(self, registry: Registry[Any], request: Incoming) -> None:
        """What is not declared is not there."""
        if not self._offers(registry):
            raise method_not_found(request.method)

    async def _run_named(
        self,
        registry: Registry[ToolEntry] | Registry[PromptEntry],
        kind: type[CallToolParams | GetPromptParams],
        request: Incoming,
    ) -> JsonObject:
        self._declared(registry, request)
        asked = structure(request.params, kind)
        entry = registry.find(asked.name)
        given = asked.arguments or {}
        return await CarriedCall(self, entry, asked.name, given, asked, request).serve()

    async def _read_resource(self, request: Incoming) -> JsonObject:
        self._declared(self.resources, request)
        asked = structure(request.params, ReadResourceParams)
        entry, given = self._found(asked.uri)
        return await CarriedCall(self, entry, asked.uri, given, asked, request).serve()

    def _found(self, uri: str) -> tuple[ResourceEntry | TemplateEntry, JsonObject]:
        """What a uri names, in any spelling, with the values of its variables.

        Raises:
            ProtocolError: -32602, nothing, or no uri.
        """
        spelled = check_uri(uri, self.limits)
        if (resource := self.resources.spelled(spelled)) is not None:
            return resource, {}
        for template in self.templates:
            if (variables := template.template.match_normal(spelled)) is not None:
                if (resource := self.resources.valued(template.template, variables)) is not None:
                    return resource, {}
                return template, {**variables}
        raise ResourceNotFound().answer(uri)

    async def tell_changes(self, wanted: WantedChanges, exchange: Exchange) -> None:
        """Tell a client of an earlier revision what changes; see the low-level server."""
        await self.subscriptions.tell(wanted, exchange)

    async def _listen(self, request: Incoming) -> JsonObject:
        return await self.subscriptions.listen(request.id, request.params, request.exchange)

    async def _suggest(self, request: Incoming) -> JsonObject:
        if not self._suggests:
            raise method_not_found(request.method)
        wanted = Wanted.read(structure(request.params, CompleteParams), self.limits)
        entry: PromptEntry | TemplateEntry
        if wanted.kind == "ref/prompt":
            entry = self.prompts.find(wanted.key)
        elif (template := self._named_template(wanted.key)) is not None:
            entry = template
        elif self.resources.get(wanted.key) is not None:
            return NOTHING
        else:
            raise ProtocolError(INVALID_PARAMS, f"Unknown resource template: {wanted.key[:128]}")
        return await wanted.serve(entry, request.call(), self.limits.handler_seconds)

    def _named_template(self, key: str) -> TemplateEntry | None:
        """The template itself, or the one of this uri: a client may name either."""
        if (named := self.templates.get(key)) is not None:
            return named
        # What is completed may be no uri yet.
        spelled = normal(key) if len(key) <= self.limits.uri_bytes else None
        if spelled is None:
            return None
        matching = (entry for entry in self.templates if entry.template.match_normal(spelled))
        return next(matching, None)
