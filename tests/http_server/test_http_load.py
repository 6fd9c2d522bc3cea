"""More calls than may run: they wait their turn, and too many are refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define, field

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Reply, Request, write_message
from antiphon.engine.limits import Limits
from antiphon.transports.asgi import HttpApp, http_app
from antiphon.transports.busy import BUSY
from tests.http_server.scripted import (
    Answer,
    ScriptedServer,
    Visit,
    call,
    listing,
    post,
    success,
    visit,
)

settled = trio.testing.wait_all_tasks_blocked


@define
class Parking:
    """A script that serves calls when it is told so; it remembers who ran, and with whom."""

    go_on: trio.Event = field(factory=trio.Event)
    begun: list[object] = field(factory=list[object])
    running: int = 0
    most_running: int = 0

    async def __call__(self, request: Request, exchange: Exchange) -> Reply:
        self.begun.append(request.id)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if request.params.get("name") == "fail":
                raise ZeroDivisionError
            await self.go_on.wait()
        finally:
            self.running -= 1
        return success(request)


@define
class Crowd:
    """An application with small limits, and those who visit it."""

    app: HttpApp
    parking: Parking
    nursery: trio.Nursery

    async def enter(self, *ids: int, size: int = 0) -> list[Visit]:
        """Let visitors in one by one, until they are answered or wait."""
        visits = [visit(sized(id, size)) for id in ids]
        for visiting in visits:
            self.nursery.start_soon(visiting.run, self.app)
            await settled()
        return visits


@asynccontextmanager
async def crowd(**limits: int) -> AsyncGenerator[Crowd]:
    parking = Parking()
    app = http_app(ScriptedServer(parking, limits=Limits(**limits)), keepalive=1e6)
    async with trio.open_nursery() as nursery:
        yield Crowd(app, parking, nursery)
        parking.go_on.set()


def sized(id: int, size: int) -> Request:
    """A call whose body has so many bytes, or those that it needs."""
    bare = len(write_message(call(id=id, arguments={"text": ""})))
    return call(id=id, arguments={"text": "x" * (size - bare)})


def assert_refused(answer: Answer, id: int, limit: str, value: int) -> None:
    assert answer.status == 503
    assert answer.headers[b"retry-after"].isdigit()
    assert answer.json["id"] == id
    assert answer.code == BUSY
    assert answer.error["data"] == {"limit": limit, "value": value}
    assert f"{limit} is {value}" in answer.message


async def test_no_more_calls_run_than_the_limit_and_all_are_answered() -> None:
    async with crowd(concurrent_calls=3) as here:
        visits = await here.enter(*range(10))
        assert here.parking.begun == [0, 1, 2]
    assert here.parking.most_running == 3
    assert {asking.answer.status for asking in visits} == {200}
    assert [asking.answer.json["id"] for asking in visits] == list(range(10))


async def test_calls_that_wait_have_their_turn_in_the_order_in_which_they_came() -> None:
    async with crowd(concurrent_calls=1) as here:
        await here.enter(*range(10))
    assert here.parking.begun == list(range(10))


async def test_too_many_waiting_calls_are_refused_by_the_name_of_the_limit() -> None:
    async with crowd(concurrent_calls=1, waiting_calls=2) as here:
        *served, refused = await here.enter(0, 1, 2, 3)
        assert_refused(refused.answer, 3, "waiting_calls", 2)
    assert here.parking.begun == [0, 1, 2]
    assert {asking.answer.status for asking in served} == {200}


@pytest.mark.parametrize("concurrent", [1, 2, 10])
async def test_calls_of_too_many_bytes_together_are_refused_by_the_name_of_the_limit(
    concurrent: int,
) -> None:
    async with crowd(concurrent_calls=concurrent, pending_bytes=1000) as here:
        served = await here.enter(0, 1, size=500)
        (refused,) = await here.enter(2)
        assert_refused(refused.answer, 2, "pending_bytes", 1000)
    assert {asking.answer.status for asking in served} == {200}


async def test_call_that_comes_alone_is_served_whatever_its_size() -> None:
    server = ScriptedServer(limits=Limits(pending_bytes=1))
    assert (await post(http_app(server), sized(1, 100_000))).status == 200


async def test_client_that_leaves_while_it_waits_frees_its_place_and_its_bytes() -> None:
    async with crowd(concurrent_calls=1, waiting_calls=1, pending_bytes=1000) as here:
        _, leaving = await here.enter(0, 1, size=500)
        leaving.left.set()
        await settled()
        assert not leaving.opened.is_set()
        (following,) = await here.enter(2, size=500)
        assert not following.opened.is_set(), "it waits"
    assert here.parking.begun == [0, 2]
    assert following.answer.status == 200


async def test_client_that_leaves_while_it_runs_hands_its_turn_on() -> None:
    async with crowd(concurrent_calls=1) as here:
        leaving, _, _ = await here.enter(0, 1, 2)
        leaving.left.set()
        await settled()
        assert here.parking.begun == [0, 1]
        assert here.parking.running == 1


async def test_turn_that_passed_on_is_not_given_to_who_comes_next_as_well() -> None:
    async with crowd(concurrent_calls=1) as here:
        leaving, _ = await here.enter(0, 1)
        leaving.left.set()
        await settled()
        await here.enter(2)
        assert here.parking.begun == [0, 1]
    assert here.parking.begun == [0, 1, 2]
    assert here.parking.most_running == 1


async def test_call_that_ended_in_whatever_way_leaves_no_trace() -> None:
    async with crowd(concurrent_calls=1, waiting_calls=1, pending_bytes=1000) as here:
        leaving, waiting, _ = await here.enter(0, 1, 2, size=400)
        waiting.left.set()
        leaving.left.set()
        await settled()
        with pytest.RaisesGroup(ZeroDivisionError):
            await post(here.app, call("fail", id=3))
        running, follows = await here.enter(4, 5, size=500)
        assert not running.opened.is_set()
        assert not follows.opened.is_set()
        assert here.parking.begun == [0, 3, 4]


async def test_notification_needs_no_turn() -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'
    async with crowd(concurrent_calls=1, waiting_calls=1) as here:
        await here.enter(0, 1)
        answer = await Visit(visit(call()).headers, [body]).run(here.app)
        assert answer.status == 202


async def test_client_that_does_not_read_its_reply_keeps_no_turn() -> None:
    async def crowded(event: Mapping[str, Any]) -> None:
        await trio.sleep_forever()

    app = http_app(ScriptedServer(limits=Limits(concurrent_calls=1)))
    stuck = visit(listing())
    stuck.on_send = crowded
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stuck.run, app)
        await settled()
        assert (await post(app, listing())).status == 200
        nursery.cancel_scope.cancel()


async def test_call_that_waits_for_long_is_kept_alive(
    autojump_clock: trio.testing.MockClock,
) -> None:
    parking = Parking()
    app = http_app(ScriptedServer(parking, limits=Limits(concurrent_calls=1)), keepalive=10)
    running, waiting = visit(call(id=0)), visit(call(id=1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.run, app)
        await settled()
        nursery.start_soon(waiting.run, app)
        await trio.sleep(15)
        assert parking.begun == [0]
        assert waiting.answer.chunks == [b": keep-alive\n\n"]
        parking.go_on.set()
    assert [event["id"] for event in waiting.answer.events] == [1]


async def test_application_that_is_given_up_begins_no_call_that_waited() -> None:
    async with crowd(concurrent_calls=1) as here:
        await here.enter(0, 1, 2)
        here.nursery.cancel_scope.cancel()
    assert here.parking.begun == [0]
