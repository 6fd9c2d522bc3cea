"""Processes of the measured sides, and what they cost the machine. Linux only: it reads /proc."""

import os
import secrets
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

_ENVIRONMENT: Final = {**os.environ, "BENCH_KEY": secrets.token_hex(32)}
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PATIENCE: Final = 10.0


@contextmanager
def running(
    *command: str, pass_fds: Sequence[int] = ()
) -> Generator["subprocess.Popen[bytes]", None, None]:
    """Run a Python module until the block ends; its standard error is ours."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=_ENVIRONMENT,
        pass_fds=pass_fds,
    )
    with process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used, in all its threads."""
    # The second field is the program's name in brackets, which may hold anything.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_bytes(pid: int) -> int:
    """Memory of a process that is in RAM now, shared libraries included."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
