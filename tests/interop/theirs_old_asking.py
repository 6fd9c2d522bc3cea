"""The official SDK's server of an earlier revision, which asks, over lines."""

from __future__ import annotations

import anyio
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

from tests.http_older.theirs import Their


async def main() -> None:
    async with stdio_server() as (receive, send):
        await serve_loop(Their().server(), receive, send, lifespan_state={})


if __name__ == "__main__":
    anyio.run(main)
