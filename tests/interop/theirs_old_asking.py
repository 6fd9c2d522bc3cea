"""The official SDK's server of an earlier revision, which asks, over lines."""

from __future__ import annotations

import warnings

import anyio
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.http_older.theirs import Their, list_resources, list_tools, read


async def main() -> None:
    their = Their()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server = Server(  # pyright: ignore[reportDeprecated]  # for logging/setLevel
            "Theirs",
            version="1",
            on_list_tools=list_tools,
            on_call_tool=their.call,
            on_list_resources=list_resources,
            on_read_resource=read,
            on_subscribe_resource=their.subscribe,
            on_unsubscribe_resource=their.unsubscribe,
            on_set_logging_level=their.set_level,
        )
    async with stdio_server() as (receive, send):
        await serve_loop(server, receive, send, lifespan_state={})


if __name__ == "__main__":
    anyio.run(main)
