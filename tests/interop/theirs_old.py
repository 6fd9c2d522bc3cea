"""A server of the official SDK that knows the handshake of earlier revisions only."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.interop.theirs import add

VERSION_HEADER = b"mcp-protocol-version"


def make() -> MCPServer[Any]:
    server = MCPServer("Old", version="1", log_level="CRITICAL")
    server.add_tool(add)
    return server


def make_app(*, stateless: bool) -> ASGIApp:
    """Its HTTP application, to which every request is one of an earlier revision.

    It tells the eras apart by a header; earlier ones do not look at it before the session.
    """
    app = make().streamable_http_app(stateless_http=stateless)

    async def without_version(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(k, v) for k, v in scope["headers"] if k != VERSION_HEADER]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return without_version


async def main() -> None:
    async with stdio_server() as (receive, send):
        await serve_loop(make()._lowlevel_server, receive, send, lifespan_state={})


if __name__ == "__main__":
    anyio.run(main)
