"""Flows inside one process, without any transport: its parent says how long, it says how many."""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

Runner: TypeAlias = Callable[[float], tuple[int, float]]
"""Runs flows for that many seconds; how many were completed, and in what time."""


def obey(runners: Mapping[str, Runner]) -> None:
    """Read lines of a runner's name and seconds, and answer each."""
    for line in sys.stdin:
        name, seconds = line.split()
        flows, spent = runners[name](float(seconds))
        print(flows, spent, flush=True)


async def repeated(flow: Callable[[], Awaitable[object]], seconds: float) -> tuple[int, float]:
    """Run one flow after the other, on any event loop."""
    started = time.perf_counter()
    flows = 0
    while time.perf_counter() - started < seconds:
        await flow()
        flows += 1
    return flows, time.perf_counter() - started
