"""Subscriptions: changes told from wherever, and what a cancellation leaves behind."""

from __future__ import annotations

import threading
import tracemalloc
from functools import partial

import pytest
import trio
import trio.testing

from antiphon.engine.limits import Limits
from antiphon.engine.subscriptions import Subscriptions
from tests.engine.subscribing import ALL, EVERYTHING, Subscriber, acknowledged, ended
from tests.stdio.harness import cancelled_at

settled = trio.testing.wait_all_tasks_blocked


def hub_of(**limits: int) -> Subscriptions:
    return Subscriptions(Limits(**limits), lambda: ALL)


# -- threads ----------------------------------------------------------------------------------


def test_change_is_told_without_an_event_loop_where_nobody_listens() -> None:
    hub = hub_of()
    hub.tools_changed()
    hub.resource_updated("file:///a")
    hub.close()


async def test_thread_of_trio_may_tell_of_a_change_and_close() -> None:
    hub = hub_of()
    subscriber = Subscriber(hub)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: subscriber.subscribe(**EVERYTHING))
        await settled()
        await trio.to_thread.run_sync(hub.tools_changed)
        await trio.to_thread.run_sync(hub.resource_updated, "file:///a")
        await trio.to_thread.run_sync(hub.close)
    assert subscriber.told == ["tools", "file:///a"]
    assert subscriber.result == ended()


def test_any_thread_may_tell_the_subscribers_of_any_event_loop() -> None:
    hub = hub_of()
    subscribers = [Subscriber(hub, id) for id in range(3)]
    open = threading.Barrier(4)

    def serve(subscriber: Subscriber) -> None:
        async def main() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(subscriber.subscribe, toolsListChanged=True))
                await settled()
                await trio.to_thread.run_sync(open.wait)

        trio.run(main)

    threads = [threading.Thread(target=serve, args=(who,), daemon=True) for who in subscribers]
    for thread in threads:
        thread.start()
    open.wait(20)
    hub.tools_changed()
    hub.close()
    for thread in threads:
        thread.join(20)
    assert [who.told for who in subscribers] == [["tools"]] * 3
    assert [who.result for who in subscribers] == [ended(id) for id in range(3)]


async def test_thread_that_tells_while_the_loop_is_busy_costs_no_memory(
    nursery: trio.Nursery,
) -> None:
    hub = hub_of()
    subscriber = Subscriber(hub)
    nursery.start_soon(lambda: subscriber.subscribe(**EVERYTHING))
    await settled()

    def flood() -> None:
        for _ in range(10_000):
            hub.resource_updated("file:///a")
            hub.resource_updated("file:///b")
        hub.tools_changed()
        hub.close()

    tracemalloc.start()
    try:
        thread = threading.Thread(target=flood)
        thread.start()
        thread.join()  # without a turn of the loop
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000, "each change that was told is kept"
    await settled()
    assert subscriber.told == ["file:///a", "file:///b", "tools"]
    assert subscriber.result == ended()


# -- cancellation -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(1, 15))
async def test_cancelled_at_any_await_it_gives_its_place_back(step: int) -> None:
    hub = hub_of(subscriptions=1)
    subscriber = Subscriber(hub)

    async def change() -> None:
        await settled()
        hub.tools_changed()
        hub.resource_updated("file:///a")
        await settled()
        subscriber.closing.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(change)
        finished = await cancelled_at(step, lambda: subscriber.subscribe(**EVERYTHING))
        nursery.cancel_scope.cancel()
    assert finished == (subscriber.result is not None)
    following = Subscriber(hub)
    following.closing.close()
    await following.subscribe(toolsListChanged=True)
    assert following.heard == [acknowledged(toolsListChanged=True)]
    assert following.result == ended()
    if step == 14:
        assert finished, "there are more steps than are tried"
