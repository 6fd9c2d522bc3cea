"""A call is attended to from its first wait on, and passes its waits through unchanged."""

import pytest
import trio
from trio.testing import MockClock

from antiphon.transports.noticing import noticing


async def at_once() -> str:
    return "done"


async def after(seconds: float) -> str:
    await trio.sleep(seconds)
    await trio.sleep(seconds)
    return "done"


async def test_a_call_that_never_waits_is_not_noticed() -> None:
    noticed: list[float] = []
    assert await noticing(at_once(), lambda: noticed.append(trio.current_time())) == "done"
    assert noticed == []


async def test_a_call_that_waits_is_noticed_once_and_before_its_wait(
    autojump_clock: MockClock,
) -> None:
    noticed: list[float] = []
    began = trio.current_time()
    assert await noticing(after(3), lambda: noticed.append(trio.current_time())) == "done"
    assert noticed == [began]
    assert trio.current_time() == began + 6


async def test_what_a_call_raises_comes_out() -> None:
    async def failing() -> None:
        await trio.lowlevel.checkpoint()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await noticing(failing(), lambda: None)


async def test_cancellation_reaches_the_call(autojump_clock: MockClock) -> None:
    ended: list[str] = []

    async def cleaning_up() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("cleaned up")

    with trio.move_on_after(1) as scope:
        await noticing(cleaning_up(), lambda: None)
    assert scope.cancelled_caught
    assert ended == ["cleaned up"]


async def test_a_call_may_catch_a_cancellation_of_its_own(autojump_clock: MockClock) -> None:
    async def patient() -> str:
        with trio.move_on_after(1):
            await trio.sleep_forever()
        await trio.sleep(1)
        return "went on"

    assert await noticing(patient(), lambda: None) == "went on"


async def test_a_task_started_at_the_first_wait_runs_beside_the_call(
    autojump_clock: MockClock,
) -> None:
    heard = trio.Event()

    async def waiting() -> str:
        await heard.wait()
        return "heard"

    async def speak() -> None:
        heard.set()

    async with trio.open_nursery() as nursery:
        assert await noticing(waiting(), lambda: nursery.start_soon(speak)) == "heard"
