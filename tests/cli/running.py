"""The command as a real process: with pipes, or at a terminal that the test types into."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from fcntl import ioctl
from pathlib import Path
from struct import pack
from typing import Final

import trio
from attrs import define, frozen

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
SERVED: Final = [sys.executable, str(HERE / "served.py")]
LIBRARY: Final = [sys.executable, str(HERE / "library.py")]
PATIENCE: Final = 60.0
"""Seconds after which a process that says nothing more has failed the test."""

UP, DOWN, ENTER, ESC, SPACE = "\x1b[A", "\x1b[B", "\r", "\x1b", " "
CTRL_C, CTRL_D, CTRL_Z, CLEAR = "\x03", "\x04", "\x1a", "\x15"

_MAIN: Final = "import sys; from antiphon.transports.cli import main; sys.exit(main())"
WITHOUT_EXTRA: Final = """
import sys
for name in ("questionary", "rich", "prompt_toolkit"):
    sys.modules[name] = None
from antiphon.transports.cli import main
sys.exit(main())
"""
"""``antiphon`` as it is without the extra ``cli``."""

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z]|[=>])")


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "100", **more}


def command(*arguments: str, code: str = _MAIN) -> list[str]:
    """The command line of ``antiphon``."""
    return [sys.executable, "-c", code, *arguments]


def served(*arguments: str) -> list[str]:
    """Arguments for the server of :mod:`.served` as a child."""
    return [*arguments, "--env", "PYTHONPATH", "--", *SERVED]


def of_library(*arguments: str) -> list[str]:
    """Arguments for the server of :mod:`.library` as a child."""
    return [*arguments, "--env", "PYTHONPATH", "--", *LIBRARY]


# -- pipes ------------------------------------------------------------------------------------


@frozen
class Ended:
    """What a process left behind."""

    status: int
    out: str
    err: str


async def run(
    *arguments: str, stdin: bytes = b"", code: str = _MAIN, cwd: Path = ROOT, **env: str
) -> Ended:
    """Run the command to its end, with pipes."""
    with trio.fail_after(PATIENCE):
        done = await trio.run_process(
            command(*arguments, code=code),
            stdin=stdin,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env=environment(**env),
            cwd=cwd,
        )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


async def call(tool: str, *arguments: str) -> Ended:
    """Call a tool of the server of :mod:`.served` as a child, without a terminal."""
    return await run(*served("call", tool, *arguments))


async def call_at(url: str, tool: str, *arguments: str) -> Ended:
    """Call a tool of the server of :mod:`.served` over HTTP, without a terminal."""
    return await run("call", url, tool, *arguments)


@contextmanager
def serving(app: str = "tests.cli.served:server") -> Generator[str, None, None]:
    """A server over HTTP, that of :mod:`.served` unless another is named; its address."""
    words = command("serve", app, "--http", "--bind", "127.0.0.1:0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=environment(), cwd=ROOT) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline().decode()
            assert re.match("Serving [A-Za-z]+ at http://", line), line
            yield line.split()[-1]
        finally:
            process.kill()


@asynccontextmanager
async def running(
    *arguments: str, cwd: Path = ROOT, **env: str
) -> AsyncGenerator[trio.Process, None]:
    """A command with pipes, killed at the end where it is still there."""
    process = await trio.lowlevel.open_process(
        command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**env),
        cwd=cwd,
    )
    try:
        with trio.fail_after(PATIENCE):
            yield process
    finally:
        with trio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                assert pipe is not None
                await pipe.aclose()


async def read_until(stream: trio.abc.ReceiveStream | None, text: str) -> str:
    """Read until a text has come."""
    assert stream is not None
    seen = ""
    while text not in seen:
        data = await stream.receive_some()
        assert data, f"it ended before it said {text!r}:\n{seen}"
        seen += data.decode()
    return seen


# -- a terminal -------------------------------------------------------------------------------


@define
class Terminal:
    """A command at a terminal.

    Attributes:
        process: the command; its standard output is a pipe, everything else the terminal.
        keyboard: the other end of the terminal.
        modes: how the terminal was before the command.
        raw: all that came to the terminal so far.
    """

    process: trio.Process
    keyboard: trio.lowlevel.FdStream
    modes: list[object]
    raw: str = ""
    _read: int = 0

    @property
    def text(self) -> str:
        """What came, without the sequences that move, colour and clear."""
        return _SEQUENCE.sub("", self.raw)

    async def see(self, text: str) -> str:
        """Read until a text comes that was not seen before; what came up to there."""
        while (at := self.text.find(text, self._read)) < 0:
            data = await self._receive()
            assert data, f"it ended before it showed {text!r}:\n{self.text[self._read :]}"
        before = self._read
        self._read = at + len(text)
        return self.text[before : self._read]

    async def type(self, *keys: str) -> None:
        """Press keys."""
        await self.keyboard.send_all("".join(keys).encode())

    async def end(self) -> Ended:
        """Wait for the end of the command."""
        assert self.process.stdout is not None
        out = b""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._drain)
            out = b"".join([data async for data in self.process.stdout])
            status = await self.process.wait()
            nursery.cancel_scope.cancel()
        return Ended(status, out.decode(), self.text)

    @property
    def is_sane(self) -> bool:
        """Whether the terminal is as the command found it."""
        return termios.tcgetattr(self.keyboard.fileno()) == self.modes

    async def _drain(self) -> None:
        while await self._receive():
            pass

    async def _receive(self) -> bytes:
        try:
            data = bytes(await self.keyboard.receive_some())
        except trio.BrokenResourceError:  # how a terminal says that nobody is there any more
            return b""
        self.raw += data.decode("utf-8", "replace")
        return data


@asynccontextmanager
async def at_terminal(
    *arguments: str, code: str = _MAIN, **env: str
) -> AsyncGenerator[Terminal, None]:
    """Run the command at a terminal of 100 columns."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, pack("HHHH", 40, 100, 0, 0))
    process = await trio.lowlevel.open_process(
        command(*arguments, code=code),
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(**env),
        start_new_session=True,
        cwd=ROOT,
    )
    modes = termios.tcgetattr(slave)
    os.close(slave)
    terminal = Terminal(process, trio.lowlevel.FdStream(master), modes)
    try:
        with trio.fail_after(PATIENCE):
            yield terminal
    finally:
        with trio.CancelScope(shield=True):
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()
            await terminal.keyboard.aclose()
            assert process.stdout is not None
            await process.stdout.aclose()
