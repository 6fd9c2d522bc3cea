"""A low-level server of the official SDK: lists in pages, false promises, a graceful end."""

from __future__ import annotations

from typing import Any, Final

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    TextContent,
    Tool,
)

PAGES: Final = 4
COUNT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"count": {"$ref": "#/$defs/count"}},
    "required": ["count"],
    "$defs": {"count": {"type": "integer", "minimum": 0}},
}

Listing = PaginatedRequestParams | None


def _page(params: Listing) -> tuple[int, str | None]:
    number = int(params.cursor.partition(" ")[2]) if params and params.cursor else 0
    return number, f"größe {number + 1}" if number + 1 < PAGES else None


async def list_tools(context: ServerRequestContext[Any], params: Listing) -> ListToolsResult:
    number, cursor = _page(params)
    names = [f"tool{number}"] + (["honest", "lying", "close"] if cursor is None else [])
    promises = {"honest": COUNT, "lying": COUNT}
    tools = [
        Tool(name=name, input_schema={"type": "object"}, output_schema=promises.get(name))
        for name in names
    ]
    return ListToolsResult(tools=tools, next_cursor=cursor)


async def list_prompts(context: ServerRequestContext[Any], params: Listing) -> ListPromptsResult:
    number, cursor = _page(params)
    argument = PromptArgument(name="name", title="Whom", description="Whose name", required=True)
    prompts = [] if number == 1 else [Prompt(name=f"prompt{number}", arguments=[argument])]
    return ListPromptsResult(prompts=prompts, next_cursor=cursor)


async def list_resources(
    context: ServerRequestContext[Any], params: Listing
) -> ListResourcesResult:
    number, cursor = _page(params)
    resource = Resource(uri=f"page://{number}", name=f"page{number}", size=2**40)
    return ListResourcesResult(resources=[resource], next_cursor=cursor)


async def list_templates(
    context: ServerRequestContext[Any], params: Listing
) -> ListResourceTemplatesResult:
    number, cursor = _page(params)
    template = ResourceTemplate(uri_template=f"page://{number}/{{+rest}}", name=f"pages{number}")
    return ListResourceTemplatesResult(resource_templates=[template], next_cursor=cursor)


def make() -> Server[Any]:
    """The server."""
    bus = InMemorySubscriptionBus()
    listen = ListenHandler(bus)

    async def call_tool(
        context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        if params.name == "close":
            await bus.publish(ToolsListChanged())
            listen.close()
        count: Any = -1 if params.name == "lying" else 1
        content = TextContent(type="text", text=params.name)
        return CallToolResult(content=[content], structured_content={"count": count})

    return Server(
        "Pages",
        on_list_tools=list_tools,
        on_list_prompts=list_prompts,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_call_tool=call_tool,
        on_subscriptions_listen=listen,
    )


async def main() -> None:
    server = make()
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
