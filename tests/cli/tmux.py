"""A real terminal that a person could sit at: tmux, driven by keys, read from its pane."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import trio
from attrs import define

from tests.cli.running import PATIENCE, ROOT, command, environment

TMUX: Final = shutil.which("tmux")
needs_tmux: Final = pytest.mark.skipif(
    TMUX is None, reason="tmux is not installed, and drives the terminal of this test"
)
_LINES: Final = 60
_COLUMNS: Final = 110
_POLL: Final = 0.05
"""Seconds between two looks at the pane; a test waits for what it shows, never for a time."""

_STATUS: Final = re.compile(r"^status=([0-9]+)$", re.MULTILINE)
_SHELL: Final = "exec env -u COLUMNS PS1='ready$ ' ENV= sh -i"


@define
class Pane:
    """A shell in a pane of a tmux server of its own."""

    _socket: str

    async def type(self, text: str) -> None:
        """Type a text as it is."""
        await self._tmux("send-keys", "-t", "0", "-l", "--", text)

    async def press(self, *keys: str) -> None:
        """Press keys by tmux's names: Enter, Escape, Up, Down, Space, C-c."""
        await self._tmux("send-keys", "-t", "0", *keys)

    async def run(self, *arguments: str) -> None:
        """Run the command, and have its exit status shown when it is over."""
        # On a line of its own, whatever the terminal echoed last.
        await self.type(rf"{shlex.join(command(*arguments))}; printf '\nstatus=%s\n' $?")
        await self.press("Enter")

    async def resize(self, columns: int, lines: int) -> None:
        """Make the window larger or smaller."""
        await self._tmux("resize-window", "-t", "0", "-x", str(columns), "-y", str(lines))

    async def see(self, *texts: str) -> str:
        """Wait until all these texts stand on the pane; what stands there."""
        return await self._until(lambda shown: all(text in shown for text in texts), str(texts))

    async def end(self) -> int:
        """Wait for the end of the command; its exit status."""
        shown = await self._until(lambda shown: bool(_STATUS.search(shown)), "an exit status")
        return int(_STATUS.findall(shown)[-1])

    async def shown(self) -> str:
        """What stands on the pane now."""
        # Lines that were too long for the pane are joined, so that a text is found in them.
        return await self._tmux("capture-pane", "-t", "0", "-p", "-J")

    async def styled(self) -> str:
        """The same with its colours and weights, as escape sequences."""
        return await self._tmux("capture-pane", "-t", "0", "-p", "-J", "-e")

    async def sane(self) -> str:
        """Clear the pane, and have the shell say how its terminal is set."""
        await self.type("clear; stty -g; echo that was''all")
        await self.press("Enter")
        shown = await self._until(lambda shown: "wasall" in shown and "''" not in shown, "a shell")
        return shown.split()[0]

    async def _until(self, fits: Callable[[str], bool], wanted: str) -> str:
        shown = ""
        with trio.move_on_after(PATIENCE):
            while not fits(shown := await self.shown()):  # noqa: ASYNC110  # it tells nobody
                await trio.sleep(_POLL)
            return shown
        raise AssertionError(f"The pane does not show {wanted}, but:\n{shown.rstrip()}")

    async def _tmux(self, *words: str) -> str:
        return await tmux(self._socket, *words)


async def tmux(socket: str, *words: str) -> str:
    """Run one command of tmux; its output."""
    assert TMUX is not None
    done = await trio.run_process(
        [TMUX, "-S", socket, "-f", "/dev/null", *words],
        capture_stdout=True,
        capture_stderr=True,
        env=environment(TERM="screen", LC_ALL="C.UTF-8"),
    )
    return done.stdout.decode()


@asynccontextmanager
async def pane(folder: Path) -> AsyncGenerator[Pane, None]:
    """A shell at a terminal, ended with the block."""
    socket = str(folder / "tmux")
    size = ["-x", str(_COLUMNS), "-y", str(_LINES)]
    await tmux(socket, "new-session", "-d", *size, "-c", str(ROOT), _SHELL)
    try:
        person = Pane(socket)
        await person.see("ready$")
        yield person
    finally:
        with trio.CancelScope(shield=True):
            await tmux(socket, "kill-server")
