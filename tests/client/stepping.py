"""Cancels something at each of its steps in turn: wherever one of its tasks gives way."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator

import trio
from attrs import define, field


@define(eq=False)
class Stop(trio.abc.Instrument):
    """Cancels its scope when the tasks inside have taken so many steps; counts them all."""

    at: int
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    passed: int = 0
    _outer: trio.lowlevel.Task = field(factory=trio.lowlevel.current_task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._outer in _ancestors(task):
            self.passed += 1
            if self.passed == self.at:
                self.scope.cancel()


def _ancestors(task: trio.lowlevel.Task) -> Iterator[trio.lowlevel.Task]:
    yield task
    while task.parent_nursery is not None:
        task = task.parent_nursery.parent_task
        yield task


async def at_each_step(
    act: Callable[[], Awaitable[None]], judge: Callable[[], Awaitable[None]]
) -> int:
    """Act again and again, cancelled one step later each time, until nothing is left to cancel.

    Args:
        act: what is cancelled. No task of it may live on.
        judge: looks at what it has left behind, after each.

    Returns:
        How many steps there were, each of which has been the last one.
    """
    for at in itertools.count(1):
        tasks = trio.lowlevel.current_statistics().tasks_living
        stop = Stop(at)
        trio.lowlevel.add_instrument(stop)
        try:
            with stop.scope:
                await act()
        finally:
            trio.lowlevel.remove_instrument(stop)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        await judge()
        if not stop.scope.cancel_called:
            return at - 1
    raise AssertionError
