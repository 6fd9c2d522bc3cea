"""nginx, configured as the guide says, in front of two processes of hypercorn."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio
from attrs import define, field

from antiphon import generate_key

ROOT: Final = Path(__file__).resolve().parents[2]
GUIDE: Final = ROOT / "docs" / "serving.md"

# Where Debian puts it is not on everybody's path.
NGINX: Final = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

_MAIN: Final = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr notice;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


@define
class Program:
    """A program that runs, and what it has said on its standard error."""

    process: trio.Process
    text: str = ""
    _news: trio.Event = field(factory=trio.Event)

    async def listen(self) -> None:
        """Take in what it says, until it has ended."""
        assert self.process.stderr is not None
        async for data in self.process.stderr:
            self.text += data.decode("utf-8", "replace")
            self._tell()
        self.text += "\n(it ended)"
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def see(self, text: str) -> None:
        """Wait until it has said something."""
        while text not in self.text:
            assert not self.text.endswith("(it ended)"), self.text
            await self._news.wait()

    async def kill(self) -> None:
        """End it by SIGKILL, and see it gone."""
        self.process.kill()
        await self.process.wait()


async def run(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    task_status: trio.TaskStatus[Program] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run a program until it ends or this is cancelled; what it says is read all the time."""
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT, env=env
    )
    program = Program(process)
    task_status.started(program)
    try:
        await program.listen()
    finally:
        assert process.stderr is not None
        with trio.CancelScope(shield=True):
            await program.kill()
            await process.stderr.aclose()


# -- the deployment ---------------------------------------------------------------------------


@define
class Site:
    """Two workers behind nginx.

    Attributes:
        url: where nginx serves.
        workers: by the numbers that the guide gives to their sockets.
    """

    url: str
    workers: dict[int, Program]
    _folder: Path
    _env: dict[str, str]
    _nursery: trio.Nursery

    async def start(self, number: int) -> None:
        """Start a worker, and wait until it serves."""
        bind = f"unix:{self._folder}/{number}.sock"
        command = [
            *(sys.executable, "-m", "hypercorn", "-k", "trio", "-w", "0", "--backlog", "1024"),
            *("--bind", bind, "tests.deployment.deployed:app"),
        ]
        worker: Program = await self._nursery.start(
            run, command, {**self._env, "WORKER": str(number)}
        )
        self.workers[number] = worker
        await worker.see("Running on")

    def number_of(self, pid: int) -> int:
        """Which worker a process is."""
        (number,) = [n for n, worker in self.workers.items() if worker.process.pid == pid]
        return number


@asynccontextmanager
async def deployed() -> AsyncGenerator[Site, None]:
    """A site that serves until the end of the block."""
    assert NGINX is not None
    # No folder of pytest's: the path of a Unix socket must be short.
    with TemporaryDirectory(prefix="antiphon-") as name, _reserved() as reserved:
        folder, port = Path(name), reserved.getsockname()[1]
        (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, site=_site(folder, port)))
        async with trio.open_nursery() as nursery:
            url = f"http://127.0.0.1:{port}/mcp"
            site = Site(url, {}, folder, _environment(), nursery)
            async with trio.open_nursery() as starting:
                starting.start_soon(site.start, 1)
                starting.start_soon(site.start, 2)
            nginx: Program = await nursery.start(
                run, [NGINX, "-p", name, "-c", str(folder / "nginx.conf")]
            )
            # It says that it starts once it listens.
            await nginx.see("[notice]")
            yield site
            nursery.cancel_scope.cancel()


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "ANTIPHON_KEYS": generate_key(), "PYTHONPATH": path}


def _reserved() -> socket.socket:
    """A port that the system gives to nobody else; with SO_REUSEADDR one may still listen there."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


def _site(folder: Path, port: int) -> str:
    """The guide's configuration, with our port and our folder."""
    (site,) = re.findall(r"^```nginx\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return _with(site, {"listen 80;": f"listen 127.0.0.1:{port};", "/run/workshop": str(folder)})


def _with(text: str, changes: Mapping[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, f"the guide's nginx configuration has no {old!r}"
        text = text.replace(old, new)
    return text
