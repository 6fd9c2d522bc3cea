"""Servers of ours on real pipes and sockets, and clients of the official SDK to call them."""

from __future__ import annotations

import gc
import logging
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

import httpx2
import pytest
import trio
from attrs import define, field
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from antiphon import generate_key, http_app
from tests.http_server.serving import serving
from tests.interop.tap import Tap

Over: TypeAlias = Literal["stdio", "http"]
HTTP: Final[Over] = "http"
"""For what does not depend on the transport, since it starts no process."""

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE: Final = 60.0
"""Seconds after which a test has failed; each takes one or two on an idle machine."""

LEAVES_GARBAGE: Final = pytest.mark.filterwarnings(
    # Their client leaves what reads a stream to the garbage collector, which trio reports.
    "ignore:Async generator 'http:ResourceWarning"
)

PROVISION: Final = "examples.provision"
REPORT: Final = "examples.slow_report"
REVIEW: Final = "examples.review"
HARBOUR: Final = "tests.interop.ours"
WHOLE: Final = "tests.interop.whole"


def program(module: str) -> str:
    """The file of a module of this repository."""
    return str(ROOT.joinpath(*module.split(".")).with_suffix(".py"))


def python_path() -> dict[str, str]:
    """What a child needs to import what its parent imports."""
    return {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


class Complaints(logging.Handler):
    """Warnings and worse of the server's side."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def __enter__(self) -> Self:
        for name in ("antiphon", "hypercorn"):
            logging.getLogger(name).addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        for name in ("antiphon", "hypercorn"):
            logging.getLogger(name).removeHandler(self)


@define
class Served:
    """A server of ours that clients can reach.

    Attributes:
        complaints: what it logged as a warning or worse, or wrote to standard error.
    """

    _transport: Callable[[], AbstractAsyncContextManager[TransportStreams]]
    complaints: Complaints = field(factory=Complaints)

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Client]:
        """A client of it; over stdio, of a process of its own, with the keys in common.

        All that it hears is held against the SDK's own models.
        """
        tap = Tap(self._transport())
        async with Client(tap, **options) as client:
            yield client
        tap.check()


@asynccontextmanager
async def served(over: Over, module: str) -> AsyncGenerator[Served]:
    """Serve a module: as a child for each client, or by one hypercorn of this process."""
    with trio.fail_after(PATIENCE):
        kind = _by_stdio if over == "stdio" else _by_http
        async with kind(module) as server:
            yield server


@asynccontextmanager
async def _by_stdio(module: str) -> AsyncGenerator[Served]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-W", "error", program(module)],
        env={**python_path(), "ANTIPHON_KEYS": generate_key()},
        cwd=ROOT,
    )
    with tempfile.TemporaryFile("w+") as errors:
        server = Served(lambda: stdio_client(command, errors))
        yield server
        errors.seek(0)
        server.complaints.texts += errors.readlines()


@asynccontextmanager
async def _by_http(module: str) -> AsyncGenerator[Served]:
    loaded = import_module(module)
    app = http_app(loaded.make()) if hasattr(loaded, "make") else loaded.app
    with _collecting(), Complaints() as complaints:
        async with serving(app) as port:
            url = f"http://127.0.0.1:{port}/mcp"
            yield Served(lambda: over_http(url), complaints)


@contextmanager
def _collecting() -> Generator[None, None, None]:
    """See LEAVES_GARBAGE: it is reported here, where it is expected, and not in another test."""
    gc.freeze()  # what was there before need not be looked at
    yield
    gc.collect()
    gc.unfreeze()


@asynccontextmanager
async def over_http(url: str) -> AsyncGenerator[TransportStreams]:
    """The transport of their client, without the certificates that it would load each time."""
    async with (
        httpx2.AsyncClient(verify=False, timeout=PATIENCE) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def text_of(result: CallToolResult) -> str:
    """The text of a result of one block."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
