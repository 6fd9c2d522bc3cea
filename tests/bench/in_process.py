"""Flows inside one process: its parent says what and how long, it says how many there were."""

import sys
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from attrs import frozen


@frozen
class Count:
    """How many flows were completed, in how many seconds, and of how much processor time."""

    flows: int
    seconds: float
    cpu_seconds: float


Runner: TypeAlias = Callable[[str, float], Count]
"""Takes what to run, and for how many seconds."""


def obey(run: Runner) -> None:
    """Read lines that say what to run and how long, and answer each."""
    for line in sys.stdin:
        part, seconds = line.split()
        done = run(part, float(seconds))
        print(done.flows, done.seconds, done.cpu_seconds, flush=True)


async def repeated(flow: Callable[[], Awaitable[object]], seconds: float) -> Count:
    """Run one flow after the other, on any event loop; the first one is not counted."""
    await flow()  # it may connect, and learn what the tool's results are to be
    started, used = time.perf_counter(), time.process_time()
    flows = 0
    while time.perf_counter() - started < seconds:
        await flow()
        flows += 1
    return Count(flows, time.perf_counter() - started, time.process_time() - used)
