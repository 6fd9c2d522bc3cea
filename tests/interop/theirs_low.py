"""A low-level server of the official SDK, which sends whatever its handler says."""

from __future__ import annotations

from typing import Any, Final

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    SamplingMessage,
    TextContent,
    Tool,
)

STATES: Final = [
    "a+b/c==",
    " spaced \t\r\n out ",
    "\u2028 größe 名前 🚢 \x00",
    '{"looks": ["like", "JSON"]}',
    "12345678901234567890",
    "null",
    "",
    "s" * 65_536,
]
"""What a client must send back as it is, and look into never."""


async def list_tools(
    context: ServerRequestContext[Any], params: PaginatedRequestParams | None
) -> ListToolsResult:
    del context
    number = int(params.cursor or 0) if params is not None else 0
    tool = Tool(name=f"tool{number}", input_schema={"type": "object"})
    return ListToolsResult(tools=[tool], next_cursor=str(number + 1) if number < 4 else None)


async def call_tool(
    context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    del context
    if params.name == "undeclared":
        content = TextContent(type="text", text="Hello?")
        message = SamplingMessage(role="user", content=content)
        asked = CreateMessageRequest(
            params=CreateMessageRequestParams(messages=[message], max_tokens=5)
        )
        return InputRequiredResult(input_requests={"said": asked})
    arguments: dict[str, Any] = params.arguments or {}
    state = STATES[int(arguments["state"])]
    if params.request_state is None:
        return InputRequiredResult(request_state=state, _meta={"trace": "an interim result"})
    same = params.request_state == state and not params.input_responses
    return CallToolResult(content=[TextContent(type="text", text="same" if same else "changed")])


def make() -> Server[Any]:
    """The server; its boundary for states is not switched on."""
    return Server("Low", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    server = make()
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
