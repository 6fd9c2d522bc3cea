"""The low-level server of the official SDK, serving the handshake of earlier revisions only."""

from __future__ import annotations

import anyio
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.interop.theirs_low import make

VERSION_HEADER = b"mcp-protocol-version"


def make_app(*, stateless: bool) -> ASGIApp:
    """An HTTP application to which every request is one of an earlier revision.

    The SDK tells the eras apart by one header, which earlier ones looked at after the session.
    """
    app = make().streamable_http_app(stateless_http=stateless)

    async def without_version(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(name, value) for name, value in scope["headers"] if name != VERSION_HEADER]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return without_version


async def main() -> None:
    async with stdio_server() as (receive, send):
        await serve_loop(make(), receive, send, lifespan_state={})


if __name__ == "__main__":
    anyio.run(main)
