"""A client of ours for servers of the official SDK, on real pipes and sockets."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeAlias

import trio

from antiphon import Client, open_client
from tests.http_server.serving import serving
from tests.interop.servers import PATIENCE, Over, program, python_path

THEIRS: Final = "tests.interop.theirs"
CARRIERS: Final = "tests.interop.theirs_carriers"
PAGES: Final = "tests.interop.theirs_pages"
LOW: Final = "tests.interop.theirs_low"
OLD: Final = "tests.interop.theirs_old"

Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def reachable(over: Over, module: str) -> AsyncGenerator[Connect]:
    """Something that makes clients of one server; over stdio, each of a child of its own."""
    if over == "http":
        async with served_at(module) as url:
            yield partial(open_client, url)
        return
    with trio.fail_after(PATIENCE):
        yield partial(open_client, [sys.executable, program(module)], env=python_path())


@asynccontextmanager
async def served_at(module: str) -> AsyncGenerator[str]:
    """The address of a server behind hypercorn's trio worker."""
    app = import_module(module).make().streamable_http_app()
    with trio.fail_after(PATIENCE):
        async with serving(app) as port:
            yield f"http://127.0.0.1:{port}/mcp"


@asynccontextmanager
async def our_client(module: str = THEIRS, **options: Any) -> AsyncGenerator[Client]:
    """A client over HTTP, for what does not depend on the transport."""
    async with served_at(module) as url, open_client(url, **options) as client:
        yield client
