"""Flows inside one process, without any transport: its parent says how long, it says how many."""

import sys
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

Runner: TypeAlias = Callable[[str, float], tuple[int, float]]
"""Takes what to run and for how many seconds; how many flows were completed, in what time."""


def obey(run: Runner) -> None:
    """Read lines that say what to run and how long, and answer each."""
    for line in sys.stdin:
        part, seconds = line.split()
        flows, spent = run(part, float(seconds))
        print(flows, spent, flush=True)


async def repeated(flow: Callable[[], Awaitable[object]], seconds: float) -> tuple[int, float]:
    """Run one flow after the other, on any event loop."""
    started = time.perf_counter()
    flows = 0
    while time.perf_counter() - started < seconds:
        await flow()
        flows += 1
    return flows, time.perf_counter() - started
