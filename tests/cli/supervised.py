"""A server for several workers, and the command that supervises them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import trio
from attrs import define, frozen

from antiphon import Asking, Done, Flow, Form, Server
from tests.cli.running import ROOT, running

CONFIG = Path(os.environ.get("ANTIPHON_TEST_CONFIG", "nowhere"))
"""A file whose first line is a word, and whose others are keys, read at import."""


# -- what is served ---------------------------------------------------------------------------


@frozen
class Nothing:
    pass


@frozen
class Colour:
    name: Literal["red", "blue"]


@frozen
class ChoosingColour(Asking[Colour]):
    def ask(self) -> Form[Colour]:
        return Form("Which colour?", Colour, key="colour")


@frozen
class Paint(Flow[Nothing]):
    """Paint something."""

    name = "paint"

    async def begin(self, args: Nothing) -> ChoosingColour:
        return ChoosingColour()

    @ChoosingColour.answered
    async def chosen(self, at: ChoosingColour, colour: Colour) -> Done[str]:
        return Done(f"painted {colour.name}")


def make() -> Server:
    """The server, with a word and keys that are read when it is made."""
    word, *keys = CONFIG.read_text().split()
    server = Server("Staff", keys=keys)
    server.tool(Paint())

    @server.tool
    async def said() -> str:
        """Say the word that was read."""
        return word

    @server.tool
    async def linger(port: int) -> str:
        """Tell somebody, and go on when they say so."""
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.receive_some()
        return "released"

    # Standard output may be anybody's; this is for the test that reads along.
    sys.stderr.write(f"<{os.getpid()}>\n")
    sys.stderr.flush()
    return server


# -- the command ------------------------------------------------------------------------------


@define
class Supervisor:
    """The command, and what it has said so far."""

    process: trio.Process
    config: Path
    text: str = ""
    _seen: int = 0

    @property
    def pids(self) -> list[int]:
        """The workers, in the order in which they have come."""
        return [int(pid) for pid in re.findall(r"<(\d+)>\n", self.text)]

    @property
    def port(self) -> int:
        """The port of the address where they serve."""
        return int(self.url.rpartition(":")[2].partition("/")[0])

    @property
    def url(self) -> str:
        """Where they serve."""
        found = re.search(r"http://\S+", self.text)
        assert found is not None, self.text
        return found[0]

    async def see(self, text: str) -> None:
        """Wait until it says something that was not seen before."""
        while (at := self.text.find(text, self._seen)) < 0:
            data = await self._read()
            assert data, f"it ended before it said {text!r}:\n{self.text}"
        self._seen = at + len(text)

    async def see_end(self) -> int:
        """Wait until it and all its workers have ended; its status."""
        while await self._read():
            pass
        return await self.process.wait()

    async def _read(self) -> bytes:
        assert self.process.stderr is not None
        data = bytes(await self.process.stderr.receive_some())
        self.text += data.decode()
        return data


@asynccontextmanager
async def supervising(
    folder: Path, keys: Sequence[str], *options: str, workers: int = 2
) -> AsyncGenerator[Supervisor, None]:
    """Serve :func:`make` by so many workers, from when they do until the end of the block."""
    config = folder / "config"
    configure(config, "one", keys)
    async with running(
        *("serve", "tests.cli.supervised:make", "--http", "--bind", "127.0.0.1:0"),
        *("--workers", str(workers), *options),
        cwd=ROOT,
        ANTIPHON_TEST_CONFIG=str(config),
    ) as process:
        supervisor = Supervisor(process, config)
        await supervisor.see(f"by {workers} workers\n" if workers > 1 else "/mcp\n")
        yield supervisor


def configure(config: Path, word: str, keys: Sequence[str]) -> None:
    """Write what the next worker will read."""
    config.write_text("\n".join([word, *keys]))


# -- somebody who is waited for ---------------------------------------------------------------


@define
class Lingering:
    """Where calls of ``linger`` wait until they are released."""

    _listener: trio.SocketListener

    @property
    def port(self) -> int:
        """Where to tell us."""
        port: int = self._listener.socket.getsockname()[1]
        return port

    @asynccontextmanager
    async def until_released(self) -> AsyncGenerator[trio.SocketStream, None]:
        """From when a call has come; at the end of the block it may go on."""
        async with await self._listener.accept() as stream:
            yield stream


@asynccontextmanager
async def lingering() -> AsyncGenerator[Lingering, None]:
    """A place for calls to wait at."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        yield Lingering(listener)
