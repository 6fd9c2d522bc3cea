"""The official SDK's server of an earlier revision, which asks for roots when a session begins."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListRootsRequest,
    ListRootsResult,
    NotificationParams,
    TextContent,
)

from tests.http_older.theirs import list_tools
from tests.http_server.serving import serving


class Curious:
    """What it was told when the session began."""

    def __init__(self) -> None:
        self.told = anyio.Event()
        self.roots = ""

    async def begun(self, context: ServerRequestContext[Any], _: NotificationParams) -> None:
        try:
            result = await context.session.send_request(ListRootsRequest(), ListRootsResult)
            self.roots = str([(str(root.uri), root.name) for root in result.roots])
        except MCPError as error:
            self.roots = f"error {error.error.code}"
        self.told.set()

    async def call(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        del context, params
        await self.told.wait()
        return CallToolResult(content=[TextContent(type="text", text=self.roots)])

    def server(self) -> Server[Any]:
        server = Server("Curious", version="1", on_list_tools=list_tools, on_call_tool=self.call)
        server.add_notification_handler("notifications/initialized", NotificationParams, self.begun)
        return server


@asynccontextmanager
async def curious_server() -> AsyncGenerator[str]:
    """Serve it over HTTP; its address."""
    async with serving(Curious().server().streamable_http_app()) as port:
        yield f"http://127.0.0.1:{port}/mcp"


async def main() -> None:
    async with stdio_server() as (receive, send):
        await serve_loop(Curious().server(), receive, send, lifespan_state={})


if __name__ == "__main__":
    anyio.run(main)
