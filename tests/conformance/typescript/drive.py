"""A client of ours drives official TypeScript servers.

One is of this revision, :file:`server.mjs`; the other one of 2025-11-25, the official example.
"""

import json
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Final, Literal, TypeAlias

import trio
from attrs import frozen

from tests.conformance.node import node
from tests.conformance.typescript import (
    drive_asks,
    drive_changes,
    drive_plain,
    drive_prompts,
    drive_resources,
)
from tests.conformance.typescript.judging import Connect, checks_of, connecting, judge
from tests.conformance.typescript.older import drive_asks as older_asks
from tests.conformance.typescript.older import drive_changes as older_changes
from tests.conformance.typescript.older import drive_plain as older_plain
from tests.conformance.typescript.runner import HERE, Check

Over: TypeAlias = Literal["stdio", "http"]

TRANSPORTS: Final[tuple[Over, ...]] = ("stdio", "http")
EXAMPLE: Final = HERE.parent / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


@frozen
class Driven:
    """A server, and what is checked of it.

    Attributes:
        name: for the report.
        rooms: the modules whose functions are the checks.
        serving: what Node runs for each transport; over HTTP it prints its port first.
    """

    name: str
    rooms: tuple[ModuleType, ...]
    serving: Mapping[Over, list[str]]


SERVERS: Final = (
    Driven(
        "server",
        (drive_plain, drive_asks, drive_prompts, drive_resources, drive_changes),
        {over: [str(HERE / "server.mjs"), over] for over in TRANSPORTS},
    ),
    Driven(
        "older-server",
        (older_plain, older_asks, older_changes),
        {"stdio": [str(EXAMPLE)], "http": [str(HERE / "older" / "everything.mjs")]},
    ),
)


async def drive(results: Path, driven: Driven, over: Over) -> list[Check]:
    """Run all checks, and keep what the server complains of.

    Args:
        results: the folder for the log.
        driven: the server.
        over: the transport.
    """
    with (results / f"typescript-{driven.name}-{over}.log").open("w") as log:
        async with _connecting([node(), *driven.serving[over]], over, log) as connect:
            return [await judge(name, check, connect) for name, check in checks_of(*driven.rooms)]


@asynccontextmanager
async def _connecting(command: list[str], over: Over, log: IO[str]) -> AsyncGenerator[Connect]:
    if over == "stdio":

        def complain(line: str) -> None:
            log.write(f"{line}\n")

        yield connecting(command, stderr=complain)
        return
    async with trio.open_nursery() as nursery:
        start = partial(trio.run_process, stdout=subprocess.PIPE, stderr=log, check=False)
        server: trio.Process = await nursery.start(start, command)
        yield connecting(f"http://127.0.0.1:{await _port(server)}/mcp")
        nursery.cancel_scope.cancel()


async def _port(server: trio.Process) -> int:
    assert server.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        part = await server.stdout.receive_some()
        if not part:
            raise RuntimeError("The TypeScript server ended before it listened")
        line += part
    port: int = json.loads(line)["port"]
    return port
