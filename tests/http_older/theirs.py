"""A server of the official SDK which asks, tells and takes its time, as earlier revisions do."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.shared.exceptions import MCPDeprecationWarning, UrlElicitationRequiredError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestURLParams,
    EmptyResult,
    JSONRPCMessage,
    ListResourcesResult,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
    UnsubscribeRequestParams,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.http_server.serving import serving
from tests.interop.theirs_old import VERSION_HEADER

Context: TypeAlias = ServerRequestContext[Any]

URI: Final = "test://watched"
FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


def text(content: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=str(content))])


async def log(context: Context, data: str) -> None:
    params = LoggingMessageNotificationParams(level="info", data=data)
    message = LoggingMessageNotification(params=params)
    await context.session.send_notification(message, context.request_id)


class Their:
    """What the server's handlers have seen."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.cancelled = anyio.Event()
        self.heard = anyio.Event()
        self.subscribed: list[str] = []
        self.levels: list[str] = []
        self.visits = 0

    async def call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        tools: dict[str, Callable[[Context], Awaitable[object]]] = {
            "ask": self.ask,
            "twice": self.twice,
            "sample": self.sample,
            "roots": self.roots,
            "tell": self.tell,
            "slow": self.slow,
            "poll": self.poll,
            "change": self.change,
            "visit": self.visit,
        }
        return text(await tools[params.name](context))

    async def ask(self, context: Context) -> object:
        result = await context.session.elicit_form("Who?", FORM, context.request_id)
        return f"{result.action} {result.content}"

    async def twice(self, context: Context) -> object:
        return f"{await self.ask(context)}, {await self.ask(context)}"

    async def sample(self, context: Context) -> object:
        message = SamplingMessage(role="user", content=TextContent(type="text", text="Hello?"))
        params = CreateMessageRequestParams(messages=[message], max_tokens=9)
        own = ServerMessageMetadata(related_request_id=context.request_id)
        result = await context.session.send_request(
            CreateMessageRequest(params=params), CreateMessageResult, metadata=own
        )
        assert isinstance(result.content, TextContent)
        return result.content.text

    async def roots(self, context: Context) -> object:
        # As the SDK itself does: on the stream that belongs to no request.
        result = await context.session.send_request(ListRootsRequest(), ListRootsResult)
        return [str(root.uri) for root in result.roots]

    async def tell(self, context: Context) -> object:
        session = context.session
        for step in (1, 2):
            await session.report_progress(step, 2, f"step {step}")
            await log(context, f"log {step}")
        return "told"

    async def slow(self, context: Context) -> None:
        del context
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()

    async def poll(self, context: Context) -> object:
        assert context.close_sse_stream is not None
        await log(context, "before")
        await self.heard.wait()
        await context.close_sse_stream()
        await log(context, "meanwhile")
        return "polled"

    async def change(self, context: Context) -> object:
        await context.session.send_resource_updated(URI)
        await context.session.send_tool_list_changed()
        return "changed"

    async def visit(self, context: Context) -> object:
        del context
        self.visits += 1
        if self.visits == 1:
            link = ElicitRequestURLParams(
                message="Sign in", url="https://example.org/in", elicitation_id="an-id"
            )
            raise UrlElicitationRequiredError([link])
        return "visited"

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        del context
        self.subscribed.append(str(params.uri))
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        del context
        self.subscribed.remove(str(params.uri))
        return EmptyResult()

    async def set_level(self, context: Context, params: SetLevelRequestParams) -> EmptyResult:
        del context
        self.levels.append(params.level)
        return EmptyResult()

    def server(self) -> Server[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            return Server(  # pyright: ignore[reportDeprecated]  # for logging/setLevel
                "Theirs",
                version="1",
                on_list_tools=list_tools,
                on_call_tool=self.call,
                on_list_resources=list_resources,
                on_read_resource=read,
                on_subscribe_resource=self.subscribe,
                on_unsubscribe_resource=self.unsubscribe,
                on_set_logging_level=self.set_level,
            )


async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    del context, params
    return ListToolsResult(tools=[Tool(name="ask", input_schema={"type": "object"})])


async def list_resources(
    context: Context, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    del context, params
    return ListResourcesResult(resources=[Resource(uri=URI, name="watched")])


async def read(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    del context
    return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text="here")])


class Events(EventStore):
    """Keeps all events for a client that comes back."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number = int(last_event_id)
        stream, _ = self.events[number - 1]
        for later in range(number, len(self.events)):
            of, message = self.events[later]
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(later + 1)))
        return stream


def _hiding_version(app: ASGIApp) -> ASGIApp:
    async def hiding(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [pair for pair in scope["headers"] if pair[0] != VERSION_HEADER]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return hiding


@asynccontextmanager
async def their_server(
    *,
    json: bool = False,
    events: EventStore | None = None,
    retry: int | None = None,
    only_older: bool = False,
) -> AsyncGenerator[tuple[str, Their]]:
    """Serve it on a port of the system's choice; its address, and what it sees.

    ``only_older`` hides the header by which the SDK tells the eras apart.
    """
    their = Their()
    app = their.server().streamable_http_app(
        json_response=json, event_store=events, retry_interval=retry
    )
    async with serving(_hiding_version(app) if only_older else app) as port:
        yield f"http://127.0.0.1:{port}/mcp", their
