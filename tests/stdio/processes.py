"""Servers as real processes, spoken to over pipes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from tests.stdio.harness import PYTHONPATH, SCRIPTED, line

SOON: Final = 20
"""Seconds within which a process must have ended; far more than it takes."""


def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return ours | PYTHONPATH


@contextmanager
def spawned(
    command: Sequence[str], *, stdin: Any = subprocess.PIPE, stdout: Any = subprocess.PIPE
) -> Generator[subprocess.Popen[bytes], None, None]:
    """A process on real descriptors; killed if it outlives the block."""
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def scripted(
    *arguments: str, stdin: Any = subprocess.PIPE, stdout: Any = subprocess.PIPE
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """The handler of :mod:`.scripted` as a process."""
    return spawned([*SCRIPTED, *arguments], stdin=stdin, stdout=stdout)


def say(process: subprocess.Popen[bytes], *messages: object) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(map(line, messages)))
    process.stdin.flush()


def hear(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def stop(process: subprocess.Popen[bytes], how: str) -> None:
    """By ``SIGTERM``, or by the ``end of input``."""
    if how == "SIGTERM":
        process.terminate()
        return
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None  # for communicate()
