"""Serving on descriptors of this process."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from antiphon.engine.errors import UsageError
from antiphon.transports.stdio import serve_stdio
from tests.stdio.harness import (
    call,
    cancelled_at,
    descriptors,
    line,
)
from tests.stdio.scripted import Scripted

# -- descriptors of this process --------------------------------------------------------------


async def test_descriptors_are_replaced_while_serving_and_then_put_back() -> None:
    source, ours = os.pipe()
    theirs, sink = os.pipe()
    os.set_inheritable(sink, True)
    before = descriptors()
    handler = Scripted()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve_stdio, handler, stdin_fd=source, stdout_fd=sink))
        os.write(ours, line(call(1, "park")))
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert handler.running == 1
        assert os.read(source, 100) == b""
        assert os.path.samestat(os.fstat(sink), os.fstat(2))
        nursery.cancel_scope.cancel()
    assert descriptors() == before
    assert os.get_inheritable(sink)
    assert not os.get_inheritable(source)
    os.write(ours, b"for the next reader")
    assert os.read(source, 100) == b"for the next reader"
    for fd in (source, ours, theirs, sink):
        os.close(fd)


async def test_cancelling_at_any_await_leaves_no_task_or_descriptor_behind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def work() -> None:
        source, ours = os.pipe()
        theirs, sink = os.pipe()
        try:
            os.write(ours, line(call(1)) + line(call(2, "flood", count=10)))
            os.close(ours)
            await serve_stdio(Scripted(), stdin_fd=source, stdout_fd=sink)
        finally:
            for fd in (source, theirs, sink):
                os.close(fd)

    tasks = trio.lowlevel.current_statistics().tasks_living
    before = descriptors()
    steps = 0
    over = False
    while not over:
        steps += 1
        over = await cancelled_at(steps, work)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        assert descriptors() == before
    assert steps > 3


async def test_no_child_inherits_the_client(tmp_path: Path) -> None:
    source, ours = os.pipe()
    theirs, sink = os.pipe()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve_stdio, Scripted(), stdin_fd=source, stdout_fd=sink))
        await trio.testing.wait_all_tasks_blocked(0.01)
        listing = await trio.run_process(
            [sys.executable, "-S", "-c", _LIST_PIPES], capture_stdout=True, close_fds=False
        )
        nursery.cancel_scope.cancel()
    inherited = json.loads(listing.stdout)
    assert os.readlink(f"/proc/self/fd/{source}") not in inherited
    assert os.readlink(f"/proc/self/fd/{sink}") not in inherited
    for fd in (source, ours, theirs, sink):
        os.close(fd)


_LIST_PIPES = """
import json, os
found = []
for fd in os.listdir("/proc/self/fd"):
    try:
        found.append(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        pass
print(json.dumps(found))
"""


async def test_a_descriptor_that_is_not_open_is_a_usage_error() -> None:
    source, sink = os.pipe()
    os.close(sink)
    before = descriptors()
    with pytest.raises(UsageError, match=f"Cannot serve on file descriptor {sink}"):
        await serve_stdio(Scripted(), stdin_fd=source, stdout_fd=sink)
    assert descriptors() == before
    os.close(source)
