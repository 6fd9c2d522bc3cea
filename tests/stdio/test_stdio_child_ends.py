"""A server as a child process: how it dies, starts again and ends."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import pytest
import trio
import trio.testing

from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Request
from antiphon.transports.child import Restarts, open_child
from tests.stdio.child_side import lost, result, tiny, warnings
from tests.stdio.harness import (
    TINY,
    cancelled_at,
    children,
    descriptors,
    ignored,
    request,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


# -- dying ------------------------------------------------------------------------------------


async def test_a_child_that_exits_ends_its_exchanges_with_status_and_last_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcomes: list[TransportLost] = []

    async def ask(id: int) -> None:
        outcomes.append(await lost(server, "ignored", id))

    async with tiny(stderr=lambda _: None) as server, trio.open_nursery() as nursery:
        for id in range(2, 5):
            nursery.start_soon(ask, id)
        await trio.testing.wait_all_tasks_blocked()
        outcomes.append(await lost(server, "exit", words="Traceback: it broke\n", status=3))
    assert len(outcomes) == 4
    for error in outcomes:
        assert error.sent
        assert error.detail == "Traceback: it broke"
        assert "tiny.py exited with status 3; the server may have the request" in str(error)
    assert len(warnings(caplog)) == 1


async def test_a_killed_child_is_told_by_its_signal() -> None:
    async with tiny() as server:
        error = await lost(server, "kill")
    assert error.sent
    assert "was killed by SIGKILL" in str(error)


async def test_a_last_reply_is_taken_before_the_death_is_told() -> None:
    async with tiny() as server:
        assert await result(server, "answer_and_exit") == {"last": True}


async def test_a_child_that_only_closes_its_output_is_stopped_and_told() -> None:
    async with tiny(close_timeout=0.1) as server:
        error = await lost(server, "mute")
    assert "closed its output without exiting, and was stopped" in str(error)
    assert error.sent


async def test_a_request_that_a_child_cannot_read_any_more_was_not_sent() -> None:
    outcomes: dict[str | int, TransportLost] = {}
    announced = trio.Event()

    async with tiny(close_timeout=0.1) as server, trio.open_nursery() as nursery:

        async def ask(each: Request) -> None:
            with pytest.raises(TransportLost) as caught:
                await server.exchange(each, lambda _: announced.set())
            outcomes[each.id] = caught.value

        nursery.start_soon(ask, request(1, "stop_reading"))
        await announced.wait()
        nursery.start_soon(ask, request(2, "echo", text="x" * 1_000_000))
    assert outcomes[1].sent
    assert not outcomes[2].sent
    assert "the request was not sent" in str(outcomes[2])


async def test_a_request_that_was_cut_by_the_death_was_not_sent() -> None:
    outcomes: dict[int, TransportLost] = {}

    async def ask(id: int, method: str) -> None:
        outcomes[id] = await lost(server, method, id, text="x" * 500_000 if id > 2 else "")

    async with tiny() as server, trio.open_nursery() as nursery:
        pid = (await result(server, "pid"))["pid"]
        nursery.start_soon(ask, 2, "stall")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, 3, "echo")  # does not fit into the pipe
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, 4, "echo")  # waits for room
        await trio.testing.wait_all_tasks_blocked()
        os.kill(pid, signal.SIGKILL)
    assert {id: error.sent for id, error in outcomes.items()} == {2: True, 3: False, 4: False}


async def test_a_child_of_the_child_that_holds_the_pipes_delays_nothing_for_long() -> None:
    async with tiny() as server:
        group = (await result(server, "pid"))["pid"]
        with trio.fail_after(15):
            error = await lost(server, "leave_a_child", 2)
        assert "exited with status 0" in str(error)
    os.killpg(group, signal.SIGKILL)


# -- starting again ---------------------------------------------------------------------------


async def test_the_next_request_finds_a_fresh_child_and_nothing_is_sent_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with tiny(stderr=lambda _: None) as server:
        first = await result(server, "pid")
        await lost(server, "kill", 2)
        second = await result(server, "pid", 3)
        assert (await result(server, "seen", 4))["seen"] == [["pid", {}], ["seen", {}]]
    assert first["pid"] != second["pid"]
    assert "is started again" in caplog.text


async def test_many_requests_at_once_start_one_child() -> None:
    pids: set[int] = set()

    async def ask(id: int) -> None:
        pids.add((await result(server, "pid", id))["pid"])

    async with tiny() as server:
        await lost(server, "kill")
        async with trio.open_nursery() as nursery:
            for id in range(10):
                nursery.start_soon(ask, id)
    assert len(pids) == 1


async def test_a_child_that_keeps_dying_is_not_started_for_ever() -> None:
    async with tiny(stderr=lambda _: None) as server:
        for id in range(len(Restarts().delays) + 1):
            error = await lost(server, "exit", id, words="no key given\n")
            assert error.sent
        error = await lost(server, "echo", 99)
    assert not error.sent
    assert "has died 4 times within 30 seconds and is not started again for now" in str(error)
    assert error.detail == "no key given"


def test_restarts_come_later_and_later_and_then_not_until_the_window_has_passed() -> None:
    restarts = Restarts(delays=(0.0, 1.0, 5.0), window=60.0)
    assert [restarts.delay(now) for now in (0.0, 10.0, 20.0, 30.0, 59.9)] == [0, 1, 5, None, None]
    assert restarts.delay(60.0) == 5.0
    assert restarts.delay(60.0) is None
    assert [restarts.delay(now) for now in (200.0, 201.0)] == [0, 1]


async def test_after_the_block_nothing_is_started() -> None:
    async with tiny() as server:
        pass
    with pytest.raises(UsageError, match="is closed"):
        await server.exchange(request(1), ignored)


async def test_a_child_started_while_the_block_is_left_is_seen_out() -> None:
    async def ask() -> None:
        with pytest.raises((UsageError, TransportLost)):
            await server.exchange(request(2, "never_answered"), ignored)

    for waits in range(1, 8):
        async with trio.open_nursery() as nursery, tiny() as server:
            await lost(server, "kill")
            nursery.start_soon(ask)
            for _ in range(waits):
                await trio.testing.wait_all_tasks_blocked()


# -- ending -----------------------------------------------------------------------------------


async def test_closing_its_input_is_enough_for_a_child_that_listens() -> None:
    start = time.monotonic()
    async with tiny(close_timeout=60) as server:
        await result(server, "echo")
    assert time.monotonic() - start < 30


async def test_an_interrupt_while_a_child_is_listened_to_leaves_nothing_behind() -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(BaseExceptionGroup) as caught:
        async with tiny(stderr=interrupt, close_timeout=60) as server:
            await result(server, "shout", bytes=64 * 1024, end="\n")
    assert caught.group_contains(KeyboardInterrupt)


@pytest.mark.parametrize("ignored_signal", ["nothing", "SIGTERM"])
async def test_a_child_that_ignores_the_end_is_terminated_and_then_killed(
    ignored_signal: str,
) -> None:
    async with tiny(close_timeout=0.1, terminate_timeout=0.1) as server:
        pid = (await result(server, "pid"))["pid"]
        if ignored_signal == "SIGTERM":
            await result(server, "deafen", 2)
        else:
            with trio.move_on_after(0.1):
                await result(server, "stall", 2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_child_is_seen_out_under_cancellation_and_with_an_exception() -> None:
    pids: list[int] = []
    with trio.move_on_after(60) as scope:
        async with tiny(close_timeout=0.1, terminate_timeout=0.1) as server:
            pids.append((await result(server, "pid"))["pid"])
            await result(server, "deafen", 2)
            scope.cancel()
            await trio.sleep_forever()

    async def fail() -> None:
        async with tiny() as server:
            pids.append((await result(server, "pid"))["pid"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_the_childs_own_children_are_stopped_with_it() -> None:
    shell = ["/bin/sh", "-c", 'trap "" TERM; "$@"; true', "sh", *TINY]
    async with open_child(shell, close_timeout=0.1, terminate_timeout=0.1) as server:
        pid = (await result(server, "pid"))["pid"]
        await result(server, "deafen", 2)
    with trio.fail_after(10):
        await end_of(pid)


async def end_of(pid: int) -> None:
    """Wait for a process that is not our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await trio.lowlevel.wait_readable(fd)
    finally:
        os.close(fd)


# -- cancellation at every await --------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
async def test_cancelling_at_any_await_leaves_no_task_descriptor_or_child_behind(
    late: bool,
) -> None:
    async def work() -> None:
        async with open_child(TINY, close_timeout=0.2, terminate_timeout=0.2) as server:
            await result(server, "echo", 1, text="x" * 300_000)
            await lost(server, "kill", 2)
            await result(server, "echo", 3)

    tasks = trio.lowlevel.current_statistics().tasks_living
    before = descriptors(), children()
    for step in range(1, 100):
        over = await cancelled_at(step, work, late=late)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        assert (descriptors(), children()) == before
        if over:
            break
    else:
        pytest.fail("the work never came to its end")
    assert step > 8


async def test_an_exchange_cancelled_at_any_await_leaves_the_connection_usable() -> None:
    async with tiny() as server:
        for step in range(1, 50):
            work = partial(result, server, "echo", step, text="x" * 300_000)
            if await cancelled_at(step, work):
                break
        else:
            pytest.fail("the work never came to its end")
        assert await result(server, "echo", 1000) == {"params": {}}
    assert step > 1
