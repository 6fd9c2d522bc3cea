"""What a client asks a server that has no rounds: discovery, lists, suggestions.

Specification: server/discover, server/utilities/pagination, server/utilities/completion.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TypeVar, Unpack

import attrs
import trio
from attrs import frozen

from .call_errors import quoted
from .change_box import ChangeBox
from .change_feed import Feed, Listening
from .changes import Change, ListChanged, OnChange, Reconnected, watched
from .client_cache import CachedReads
from .client_messages import (
    CompleteResult,
    Discovery,
    Prompt,
    PromptPage,
    Resource,
    ResourcePage,
    ResourceTemplate,
    ResourceTemplatePage,
    Suggestions,
    Tool,
    ToolPage,
)
from .client_options import ClientOptions, Settings, check_plain, check_seconds
from .client_roots import RootsDesk
from .client_schemas import OutputSchemas
from .client_subscriptions import Changes, subscription
from .client_wire import Outgoing, Wire
from .conversation import read_complete
from .errors import UsageError
from .exchange import AskedForRoots, ClientTransport, HoldingOpen
from .jsonrpc import JsonObject
from .listing import Fetch, Listing, Page
from .reconnecting import Losses
from .request_options import RequestOptions, hearing, own_meta
from .sending import Sender
from .stored import home_of
from .subscriptions import LISTEN

T = TypeVar("T")


@frozen
class PromptRef:
    """A prompt, as something whose arguments are completed."""

    name: str

    def wire(self) -> JsonObject:
        """The JSON form."""
        return {"type": "ref/prompt", "name": self.name}


@frozen
class TemplateRef:
    """A template of resources, as something whose variables are completed."""

    uri_template: str

    def wire(self) -> JsonObject:
        """The JSON form."""
        return {"type": "ref/resource", "uri": self.uri_template}


class ReadingClient:
    """What a client asks that has no rounds; the rest of it is :class:`~.client.Client`.

    Calls may run concurrently, from any number of tasks. Each raises, besides what its own
    documentation says: ServerError, LegTimeout, TransportLost, InvalidReply, and UsageError once
    the client is closed.
    """

    def __init__(self, transport: ClientTransport, **options: Unpack[ClientOptions]) -> None:
        """Make a client of a transport that somebody else keeps open.

        Args:
            transport: what carries the requests.
            options: see :class:`~.client_options.Settings`.

        Raises:
            UsageError: an option makes no sense.
        """
        self._settings = settings = Settings(**options)
        timeout = check_seconds("leg_timeout", settings.leg_timeout)
        self._wire = Wire(transport, settings.client_info, timeout)
        self._sender = Sender(self._wire, settings.retry, settings.limits, self._tool_changed)
        self._kinds = settings.callbacks.kinds - settings.refused
        self._home = home_of(transport)
        self._cached = CachedReads(settings.cache, transport, timeout)
        self._schemas = OutputSchemas(settings.limits)
        self._on_change: list[OnChange] = [self._cached.heard, self._relearn]
        self._closed = False
        self._closer: Callable[[], Awaitable[None]] | None = None
        if "roots" in self._kinds and isinstance(transport, AskedForRoots):
            transport.answer_roots(RootsDesk(settings, transport.name, lambda: self.name).answer)

    @property
    def name(self) -> str:
        """How the server names itself; before its first reply, the target's name."""
        return self._wire.server or self._wire.transport.name

    async def aclose(self) -> None:
        """Close the client, and the transport where the client was connected into a nursery.

        Calls that are still running may end with TransportLost.
        """
        self.close()
        if self._closer is not None:
            await self._closer()
        else:
            await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """Take no further request; for those who own the transport."""
        self._closed = True
        self._cached.close()

    def close_by(self, closer: Callable[[], Awaitable[None]]) -> None:
        """Let :meth:`aclose` wait for this; for those who own the transport."""
        self._closer = closer

    # -- plain requests -----------------------------------------------------------------------

    async def discover(
        self, *, fresh: bool = False, **options: Unpack[RequestOptions]
    ) -> Discovery:
        """Ask what the server is and can do (server/discover).

        Args:
            fresh: whether the server is asked although it has called an earlier answer fresh;
                the same of lists and resources.
            options: see :class:`~.request_options.RequestOptions`; the same of lists. An answer
                that was kept has nothing to say besides, and stands for the same ``meta`` only.

        Raises:
            UsageError: the meta cannot be sent.
        """
        return await self._plain(self._reading("server/discover", options), Discovery, fresh)

    def list_tools(
        self, *, fresh: bool = False, **options: Unpack[RequestOptions]
    ) -> Listing[Tool]:
        """The tools: ``await client.list_tools()``, or ``async for tool in ...``.

        Over HTTP, those are left out that cannot be called there: their ``x-mcp-header`` breaks
        a rule. A warning in the log says which.

        Raises:
            UsageError: the meta cannot be sent.
        """
        asked = self._reading("tools/list", options)

        async def fetch(cursor: str | None) -> Page[Tool]:
            before = self._schemas.cleared
            page = await self._page(asked, cursor, ToolPage, fresh)
            # A change that was told meanwhile may be missing in it.
            if self._schemas.cleared == before:
                self._schemas.learn(page.tools)
            return self._sender.listed(page.tools), page.next_cursor

        return self._listing("tool list", asked.method, fetch)

    def list_prompts(
        self, *, fresh: bool = False, **options: Unpack[RequestOptions]
    ) -> Listing[Prompt]:
        """The prompts, as :meth:`list_tools`."""
        asked = self._reading("prompts/list", options)

        async def fetch(cursor: str | None) -> Page[Prompt]:
            page = await self._page(asked, cursor, PromptPage, fresh)
            return page.prompts, page.next_cursor

        return self._listing("prompt list", asked.method, fetch)

    def list_resources(
        self, *, fresh: bool = False, **options: Unpack[RequestOptions]
    ) -> Listing[Resource]:
        """The resources that can be read as they are, as :meth:`list_tools`."""
        asked = self._reading("resources/list", options)

        async def fetch(cursor: str | None) -> Page[Resource]:
            page = await self._page(asked, cursor, ResourcePage, fresh)
            return page.resources, page.next_cursor

        return self._listing("resource list", asked.method, fetch)

    def list_resource_templates(
        self, *, fresh: bool = False, **options: Unpack[RequestOptions]
    ) -> Listing[ResourceTemplate]:
        """The templates of resources, as :meth:`list_tools`."""
        asked = self._reading("resources/templates/list", options)

        async def fetch(cursor: str | None) -> Page[ResourceTemplate]:
            page = await self._page(asked, cursor, ResourceTemplatePage, fresh)
            return page.resource_templates, page.next_cursor

        return self._listing("resource template list", asked.method, fetch)

    def _listing(self, what: str, method: str, fetch: Fetch[T]) -> Listing[T]:
        told = f"The {what} of {quoted(self.name)}"
        return Listing(fetch, self._settings.limits, told, lambda: self._cached.forget(method))

    async def _page(self, asked: Outgoing, cursor: str | None, kind: type[T], fresh: bool) -> T:
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        return await self._plain(attrs.evolve(asked, params=params), kind, fresh)

    async def complete(
        self,
        ref: PromptRef | TemplateRef,
        argument: str,
        value: str,
        others: Mapping[str, str] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Suggestions:
        """Ask for suggestions (completion/complete).

        Args:
            ref: ``PromptRef(name)`` or ``TemplateRef(uri_template)``.
            argument: the argument or variable that is being filled in.
            value: what was typed so far.
            others: those that are filled in already.
            options: see :class:`~.request_options.RequestOptions`.

        Raises:
            UsageError: the meta cannot be sent.
        """
        params: JsonObject = {
            "ref": ref.wire(),
            "argument": {"name": argument, "value": value},
        }
        if others:
            params["context"] = {"arguments": {**others}}
        asked = self._reading("completion/complete", options, params)
        return (await self._plain(asked, CompleteResult)).completion

    # -- changes ------------------------------------------------------------------------------

    def subscribe(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Collection[str] = (),
        meta: Mapping[str, object] | None = None,
    ) -> AbstractAsyncContextManager[Changes]:
        """Hear of changes, for the length of a block (subscriptions/listen).

        ``async with client.subscribe(tools=True) as changes`` waits until the server has
        acknowledged it, then ``async for change in changes`` takes what changes. A stream that
        is lost is made again by the client's ``reconnect``, and a ``Reconnected`` says so:
        what changed meanwhile was not told. Leaving the block cancels the subscription.

        Args:
            tools, prompts, resources: hear when the list changes.
            uris: resources of which updates are to be heard.
            meta: members for the ``_meta`` of the request, each time that it is made.

        Raises:
            UsageError: nothing is asked for, the uris are no texts, or the meta cannot be sent.
        """
        asked = watched(tools=tools, prompts=prompts, resources=resources, uris=uris)
        settings = self._settings
        box = ChangeBox(asked, settings.limits.uri_bytes)
        feed = Feed(lambda: self.name, asked, self._tell_change, box)
        outgoing = Outgoing(
            LISTEN,
            {"notifications": asked.wire()},
            settings.declared(self._kinds),
            own_meta(meta),
            Listening(feed=feed),
            reads=True,
        )
        return subscription(
            self._listen, outgoing, feed, Losses(settings.retry, settings.reconnect)
        )

    def on_change(self, heard: OnChange) -> None:
        """Have each change that a subscription of this client hears of told, as it arrives.

        ``heard`` is a plain function that returns at once. It is called before whoever iterates
        is served, and also where what is told waits there already. What it raises ends the
        subscription.

        Raises:
            UsageError: it is an async function.
        """
        check_plain("on_change", heard)
        self._on_change.append(heard)

    def _tell_change(self, change: Change) -> None:
        for heard in self._on_change:
            heard(change)

    def give_up(self, state: str) -> None:
        """Tell the transport that nobody will come back with a state."""
        transport = self._wire.transport
        if isinstance(transport, HoldingOpen):
            transport.abandon(state)

    async def _listen(self, outgoing: Outgoing) -> JsonObject:
        # Beneath the sender, which would ask again without saying so.
        self._check_open()
        return await self._wire.send(outgoing)

    def _relearn(self, change: Change) -> None:
        if isinstance(change, Reconnected) or change == ListChanged("tools"):
            self._schemas.clear()

    def _tool_changed(self, tool: Tool) -> None:
        self._cached.forget("tools/list")
        self._schemas.learn([tool])

    def _reading(
        self, method: str, options: RequestOptions, params: JsonObject | None = None
    ) -> Outgoing:
        settings = self._settings
        return Outgoing(
            method,
            params or {},
            settings.declared(self._kinds),
            own_meta(options.get("meta")),
            hearing(options, settings),
            reads=True,
        )

    async def _plain(self, asked: Outgoing, kind: type[T], fresh: bool = False) -> T:
        result = await self._read(asked, fresh)
        return read_complete(result, kind, f"{asked.method} of {quoted(self.name)}")

    async def _read(self, outgoing: Outgoing, fresh: bool = False) -> JsonObject:
        self._check_open()
        return await self._cached.through(outgoing, self.send, fresh=fresh)

    async def send(self, outgoing: Outgoing) -> JsonObject:
        """Send one request, again where that does no harm; the result of its reply."""
        self._check_open()
        return await self._sender.send(outgoing)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("This client is closed; open another one")
