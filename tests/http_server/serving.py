"""The application behind a real hypercorn, and clients that speak raw bytes to it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import h11
import trio
from attrs import define, field
from hypercorn.config import Config
from hypercorn.trio import serve  # pyright: ignore[reportUnknownVariableType]  # a bare dict

from antiphon.engine.jsonrpc import Request, write_message
from tests.http_server.scripted import Answer, RawHeaders

ROOT = Path(__file__).resolve().parents[2]


@asynccontextmanager
async def serving(app: Any, *, patience: float = 3.0) -> AsyncGenerator[int]:
    """Serve on a port of the system's choice; it ends when all connections have ended.

    At the latest that is after ``patience`` seconds.
    """
    config = Config()
    config.graceful_timeout = patience
    config.bind = ["127.0.0.1:0"]
    config.errorlog = logging.getLogger("hypercorn.of.the.test")
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        binds = await nursery.start(partial(serve, app, config, shutdown_trigger=stop.wait))
        yield int(binds[0].rpartition(":")[2])
        stop.set()


@define
class RawClient:
    """One HTTP/1.1 connection."""

    stream: trio.SocketStream
    connection: h11.Connection = field(factory=lambda: h11.Connection(h11.CLIENT))

    async def ask(self, request: Request, headers: RawHeaders) -> Answer:
        body = write_message(request)
        await self.send_head([*headers, (b"content-length", b"%d" % len(body))])
        await self.send_body(body)
        return await self.receive()

    async def send_head(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        event = h11.Request(method="POST", target="/mcp", headers=list(headers))
        await self._send(event)

    async def send_body(self, *chunks: bytes) -> None:
        for chunk in chunks:
            await self._send(h11.Data(data=chunk))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Event) -> None:
        data = self.connection.send(event)
        assert data is not None
        if data:
            await self.stream.send_all(data)

    async def receive(self) -> Answer:
        """Read a whole response; the connection is ready for another request then."""
        answer = Answer()
        while not answer.ended:
            await self.receive_event(answer)
        if self.connection.our_state is h11.DONE:
            self.connection.start_next_cycle()
        return answer

    async def receive_chunk(self, answer: Answer) -> None:
        """Read on until one more part of the body has come."""
        before = len(answer.chunks)
        while len(answer.chunks) == before:
            await self.receive_event(answer)

    async def receive_event(self, answer: Answer) -> None:
        """Read one more part of a response: its head, a part of its body, its end."""
        await self._take(await self._next_event(), answer)

    async def _take(self, event: object, answer: Answer) -> None:
        if isinstance(event, h11.Response):
            answer.status = event.status_code
            answer.headers = dict(event.headers)
        elif isinstance(event, h11.Data):
            answer.chunks.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            answer.ended = True
        else:
            assert isinstance(event, h11.InformationalResponse), event

    async def _next_event(self) -> object:
        while (event := self.connection.next_event()) is h11.NEED_DATA:
            self.connection.receive_data(await self.stream.receive_some())
        return event


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[RawClient]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        assert isinstance(stream, trio.SocketStream)
        yield RawClient(stream)


@define
class Hypercorn:
    """A hypercorn command that runs."""

    process: trio.Process
    lines: list[str] = field(factory=list[str])

    async def wait_for(self, text: str, times: int = 1) -> None:
        """Read the log until a text has come so often."""
        assert self.process.stderr is not None
        buffer = "".join(self.lines)
        while buffer.count(text) < times:
            data = await self.process.stderr.receive_some()
            assert data, f"it ended first:\n{buffer}"
            buffer += data.decode()
        self.lines = buffer.splitlines(keepends=True)

    async def read_on(self) -> str:
        """Wait for its end; everything that it said."""
        assert self.process.stderr is not None
        rest = b"".join([data async for data in self.process.stderr])
        await self.process.wait()
        return "".join(self.lines) + rest.decode()

    @property
    def port(self) -> int:
        (line, *_) = [line for line in self.lines if "Running on http://" in line]
        return int(line.partition("127.0.0.1:")[2].split()[0])


def hypercorn(
    *arguments: str, app: str = "served", folder: str = "tests.http_server"
) -> AbstractAsyncContextManager[Hypercorn]:
    """Run ``hypercorn`` with the application of such a module, by default of one beside this."""
    return _running(
        [sys.executable, "-m", "hypercorn", "-b", "127.0.0.1:0", *arguments,
         f"{folder}.{app}:app"]
    )  # fmt: skip


@asynccontextmanager
async def _running(command: list[str]) -> AsyncGenerator[Hypercorn]:
    process = await trio.lowlevel.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        yield Hypercorn(process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        with trio.CancelScope(shield=True):
            await process.wait()
            await process.stderr.aclose()
