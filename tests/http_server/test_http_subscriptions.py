"""Subscriptions over HTTP, without a network: streams that stay open, beside calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define

from antiphon.engine.closing import Closing
from antiphon.engine.errors import BUSY, INVALID_PARAMS
from antiphon.engine.jsonrpc import JsonValue, RequestId, Success
from antiphon.engine.limits import Limits
from antiphon.transports.asgi import HttpApp, http_app
from antiphon.transports.stopping import stoppable
from tests.engine.subscribing import (
    Watched,
    acknowledged,
    ended,
    listen,
    tools_changed,
    updated,
)
from tests.http_server.scripted import Visit, call, post, visit

settled = trio.testing.wait_all_tasks_blocked

COMMENT = b": keep-alive\n\n"
TOOLS = acknowledged(toolsListChanged=True)


@define
class Here:
    """An application, its server, and those who visit it."""

    server: Watched
    app: HttpApp
    nursery: trio.Nursery

    async def subscribe(self, id: RequestId = 1, **filter: JsonValue) -> Visit:
        visiting = visit(listen(id, **filter))
        self.nursery.start_soon(visiting.run, self.app)
        await settled()
        return visiting


@asynccontextmanager
async def serving(keepalive: float = 1e6, **limits: int) -> AsyncGenerator[Here]:
    """At the end of the block all clients leave."""
    server = Watched(Limits(**limits))
    app = http_app(server, keepalive=keepalive)
    async with trio.open_nursery() as nursery:
        yield Here(server, app, nursery)
        server.hub.close()
        server.go_on.set()


# -- one stream -------------------------------------------------------------------------------


async def test_stream_opens_with_the_acknowledgement_and_stays_open() -> None:
    async with serving() as here:
        visiting = await here.subscribe()
        assert visiting.answer.status == 200
        assert visiting.answer.headers[b"content-type"] == b"text/event-stream"
        assert visiting.answer.headers[b"x-accel-buffering"] == b"no"
        assert visiting.answer.messages == [TOOLS]
        here.server.hub.tools_changed()
        await settled()
        assert visiting.answer.messages == [TOOLS, tools_changed()]
        assert not visiting.answer.ended


async def test_change_that_a_call_makes_is_heard_on_the_streams_that_asked_for_it() -> None:
    async with serving() as here:
        tools = await here.subscribe(1)
        resources = await here.subscribe(2, resourceSubscriptions=["file:///a"])
        assert (await post(here.app, call("change"))).status == 200
        here.server.hub.resource_updated("file:///a")
        await settled()
        assert tools.answer.messages[1:] == [tools_changed(1)]
        assert resources.answer.messages[1:] == [updated("file:///a", 2)]


async def test_result_is_the_last_event() -> None:
    async with serving() as here:
        visiting = await here.subscribe("s")
        here.server.hub.close()
        await settled()
        assert visiting.answer.messages[-1] == Success("s", ended("s"))
        assert visiting.answer.ended


async def test_silent_stream_is_kept_alive_by_comments(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with serving(keepalive=15) as here:
        visiting = await here.subscribe()
        await trio.sleep(16)
        assert visiting.answer.chunks[1:] == [COMMENT]
        await trio.sleep(10)  # at 26: a word puts the next comment off
        here.server.hub.tools_changed()
        await trio.sleep(14)
        assert visiting.answer.chunks[1:].count(COMMENT) == 1
        await trio.sleep(600)
        assert visiting.answer.chunks.count(COMMENT) == 41
        assert visiting.answer.messages == [TOOLS, tools_changed()]


@pytest.mark.parametrize("after", [0, 20])
async def test_client_that_leaves_ends_its_subscription_and_frees_its_place(
    after: float, autojump_clock: trio.testing.MockClock
) -> None:
    async with serving(keepalive=15, subscriptions=1) as here:
        for id in range(3):
            visiting = await here.subscribe(id)
            assert visiting.answer.messages == [acknowledged(id, toolsListChanged=True)]
            await trio.sleep(after)
            visiting.left.set()
            await settled()
            assert here.server.cancelled[-1] == id
            assert not visiting.answer.ended


async def test_client_that_does_not_read_hears_of_everything_once() -> None:
    room = trio.Event()
    room.set()

    async def crowded(event: Mapping[str, Any]) -> None:
        await room.wait()

    async with serving() as here:
        visiting = visit(listen(resourceSubscriptions=["file:///a", "file:///b"]))
        visiting.on_send = crowded
        here.nursery.start_soon(visiting.run, here.app)
        await settled()
        room = trio.Event()
        for _ in range(100):
            here.server.hub.resource_updated("file:///a")
            here.server.hub.resource_updated("file:///b")
            await settled()
        room.set()
        await settled()
        assert visiting.answer.messages[1:] == [
            *map(updated, ("file:///a", "file:///b", "file:///a"))
        ]


# -- beside calls -----------------------------------------------------------------------------


async def test_subscriptions_take_nobodys_turn() -> None:
    limits = {"concurrent_calls": 1, "waiting_calls": 1, "pending_bytes": 1000}
    async with serving(**limits) as here:
        uris: list[JsonValue] = [f"file:///{n}" for n in range(100)]
        visits = [await here.subscribe(id, resourceSubscriptions=uris) for id in range(5)]
        assert [visiting.answer.status for visiting in visits] == [200] * 5
        assert (await post(here.app, call("change"))).status == 200


async def test_calls_that_wait_do_not_hold_up_a_subscription() -> None:
    async with serving(concurrent_calls=1, waiting_calls=1) as here:
        for _ in range(2):
            here.nursery.start_soon(visit(call("park")).run, here.app)
            await settled()
        assert (await post(here.app, call("change"))).status == 503
        assert (await here.subscribe()).answer.messages == [TOOLS]


async def test_further_subscriptions_are_refused_by_the_name_of_the_limit() -> None:
    async with serving(subscriptions=2) as here:
        first, _, third = [await here.subscribe(id) for id in range(3)]
        assert third.answer.status == 503
        assert third.answer.headers[b"retry-after"].isdigit()
        assert third.answer.code == BUSY
        assert third.answer.error["data"] == {"limit": "subscriptions", "value": 2}
        first.left.set()
        await settled()
        assert (await here.subscribe(4)).answer.status == 200


async def test_too_large_and_malformed_ones_are_refused_with_400_and_take_no_place() -> None:
    async with serving(subscriptions=1, subscription_bytes=1000) as here:
        large = await here.subscribe(1, resourceSubscriptions=["file:///" + "x" * 1000])
        assert large.answer.status == 400
        assert large.answer.error["data"] == {"limit": "subscription_bytes", "value": 1000}
        malformed = await here.subscribe(2, toolsListChanged="yes")
        assert (malformed.answer.status, malformed.answer.code) == (400, INVALID_PARAMS)
        assert (await here.subscribe(3)).answer.status == 200


# -- shutting down ----------------------------------------------------------------------------


async def test_shut_down_ends_subscriptions_and_lets_calls_go_on() -> None:
    async with serving() as here:
        parked = visit(call("park"))
        here.nursery.start_soon(parked.run, here.app)
        visits = [await here.subscribe(id) for id in range(3)]
        here.app.shut_down()
        here.app.shut_down()
        await settled()
        for id, visiting in enumerate(visits):
            assert visiting.answer.messages[-1] == Success(id, ended(id))
            assert visiting.answer.ended
        late = await here.subscribe()
        assert late.answer.messages == [TOOLS, Success(1, ended())]
        assert not parked.answer.ended
        assert (await post(here.app, call("change"))).status == 200


async def test_two_applications_of_one_server_shut_down_apart() -> None:
    async with serving() as here:
        other = http_app(here.server)
        staying = visit(listen())
        here.nursery.start_soon(staying.run, other)
        leaving = await here.subscribe()
        here.app.shut_down()
        await settled()
        assert leaving.answer.ended
        assert not staying.answer.ended


async def test_end_of_the_lifespan_ends_subscriptions_and_a_new_one_begins_anew() -> None:
    async with serving() as here:
        for _ in range(2):
            events, events_in = trio.open_memory_channel[dict[str, Any]](1)
            sent: list[Mapping[str, Any]] = []

            async def send(event: Mapping[str, Any], sent: list[Any] = sent) -> None:
                sent.append(event)

            here.nursery.start_soon(here.app, {"type": "lifespan"}, events_in.receive, send)
            await events.send({"type": "lifespan.startup"})
            await settled()
            visiting = await here.subscribe()
            assert visiting.answer.messages == [TOOLS]
            await events.send({"type": "lifespan.shutdown"})
            await settled()
            assert visiting.answer.messages == [TOOLS, Success(1, ended())]
            assert sent[-1] == {"type": "lifespan.shutdown.complete"}


async def test_whoever_serves_the_application_can_close_it_through_what_mounts_it() -> None:
    closing = Closing()
    async with serving() as here:

        async def mounting(scope: Mapping[str, Any], *more: Any) -> None:
            await here.app({**scope, "root_path": "/tools", "path": "/tools/mcp"}, *more)

        app = stoppable(mounting, closing)
        visits = [visit(listen(id)) for id in range(2)]
        for visiting in visits:
            here.nursery.start_soon(visiting.run, app)
        await settled()
        assert not visits[0].answer.ended
        closing.close()
        await settled()
        for id, visiting in enumerate(visits):
            assert visiting.answer.messages[-1] == Success(id, ended(id))
        late = visit(listen("late"))
        await late.run(app)
        assert late.answer.messages[-1] == Success("late", ended("late"))


# -- a worker of hypercorn --------------------------------------------------------------------


class Stop:
    """An event of multiprocessing; it counts how often it is looked at."""

    def __init__(self) -> None:
        self.set = False
        self.asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.set


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Make this process look like a worker that hypercorn has started."""
    stop = Stop()
    process = SimpleNamespace(_kwargs={"shutdown_event": stop})
    monkeypatch.setattr("antiphon.transports.stopping.current_process", lambda: process)
    return stop


async def test_subscriptions_end_soon_after_hypercorn_tells_its_workers_to_stop(
    stop: Stop, autojump_clock: trio.testing.MockClock
) -> None:
    async with serving() as here:
        visits = [await here.subscribe(id) for id in range(3)]
        await trio.sleep(100)
        visits[0].left.set()  # the one that watches; another goes on
        await trio.sleep(100)
        assert [visiting.answer.ended for visiting in visits] == [False] * 3
        stop.set = True
        await trio.sleep(0.3)
        for id in (1, 2):
            assert visits[id].answer.messages[-1] == Success(id, ended(id))
            assert visits[id].answer.ended


async def test_workers_stop_is_watched_once_for_all_and_only_while_somebody_subscribes(
    stop: Stop, autojump_clock: trio.testing.MockClock
) -> None:
    async with serving() as here:
        assert (await post(here.app, call("change"))).status == 200
        await trio.sleep(100)
        assert stop.asked == 0
        visits = [await here.subscribe(id) for id in range(20)]
        await trio.sleep(100)
        assert 400 < stop.asked < 600
        for visiting in visits:
            visiting.left.set()
        await settled()
        before = stop.asked
        await trio.sleep(100)
        assert stop.asked == before


@pytest.mark.parametrize("arguments", [{}, {"shutdown_event": None}, {"shutdown_event": "x"}])
async def test_process_that_is_no_worker_of_hypercorn_serves_all_the_same(
    arguments: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = SimpleNamespace(_kwargs=arguments)
    monkeypatch.setattr("antiphon.transports.stopping.current_process", lambda: process)
    async with serving() as here:
        assert (await here.subscribe()).answer.messages == [TOOLS]
