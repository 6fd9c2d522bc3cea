"""A client that leaves cancels its call, whatever the call was doing, and nothing is left."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
import trio

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Reply, Request, write_message
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import (
    ScriptedServer,
    Visit,
    call,
    head_of,
    listing,
    progress,
    success,
    visit,
)

logger = logging.getLogger("antiphon")


class Diary:
    """A handler that runs until it is cancelled, and notes what became of it."""

    def __init__(self, *, speak: bool = False, cleanup: float = 0) -> None:
        self.entries: list[str] = []
        self.started = trio.Event()
        self.speak = speak
        self.cleanup = cleanup

    async def __call__(self, request: Request, exchange: Exchange) -> Reply:
        try:
            if self.speak:
                await exchange.notify(progress(1))
            self.started.set()
            await trio.sleep_forever()
        except trio.Cancelled:
            self.entries.append("cancelled")
            raise
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(self.cleanup)
                await exchange.notify(progress(2))
            self.entries.append("cleaned up")


def tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living


@pytest.mark.parametrize("speak", [False, True])
async def test_client_that_leaves_during_its_call_cancels_it(
    speak: bool, caplog: pytest.LogCaptureFixture
) -> None:
    diary = Diary(speak=speak)
    asking = visit(call())
    before = tasks()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.run, http_app(ScriptedServer(diary)))
        await diary.started.wait()
        asking.left.set()
    assert diary.entries == ["cancelled", "cleaned up"]
    assert len(asking.answer.chunks) == speak, "nothing is sent to who has left"
    assert not asking.answer.ended
    assert tasks() == before
    assert caplog.records == []


@pytest.mark.parametrize("speak", [False, True])
async def test_shielded_cleanup_is_waited_for(
    speak: bool, autojump_clock: trio.testing.MockClock
) -> None:
    diary = Diary(speak=speak, cleanup=100)
    asking = visit(call())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.run, http_app(ScriptedServer(diary)))
        await diary.started.wait()
        asking.left.set()
    assert diary.entries == ["cancelled", "cleaned up"]
    assert trio.current_time() >= 100
    assert len(asking.answer.chunks) == speak


async def test_client_that_leaves_after_the_keepalive_began_cancels_its_call(
    autojump_clock: trio.testing.MockClock,
) -> None:
    diary = Diary()
    asking = visit(call())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.run, http_app(ScriptedServer(diary)))
        await trio.sleep(40)
        asking.left.set()
    assert diary.entries == ["cancelled", "cleaned up"]
    assert len(asking.answer.chunks) == 2
    assert trio.current_time() == 40


async def test_client_that_leaves_while_it_does_not_read_cancels_its_call() -> None:
    async def crowded(event: Mapping[str, Any]) -> None:
        if event["type"] == "http.response.body":
            await trio.sleep_forever()

    diary = Diary(speak=True)
    asking = visit(call())
    asking.on_send = crowded
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.run, http_app(ScriptedServer(diary)))
        await trio.testing.wait_all_tasks_blocked()
        asking.left.set()
    assert diary.entries == ["cancelled", "cleaned up"]


async def test_call_that_ends_in_spite_of_its_cancellation_answers_nobody() -> None:
    async def stubborn(request: Request, exchange: Exchange) -> Reply:
        asking.left.set()
        with trio.CancelScope(shield=True):
            await trio.testing.wait_all_tasks_blocked()
        return success(request)

    asking = visit(call())
    answer = await asking.run(http_app(ScriptedServer(stubborn)))
    assert not asking.opened.is_set()
    assert answer.chunks == []


@pytest.mark.parametrize("chunks", [[], [b""], [b'{"jsonrpc":'], [b"a", b"b"]])
async def test_client_that_leaves_between_head_and_body_asks_nothing(
    chunks: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    server = ScriptedServer()
    leaving = Visit(head_of(call()), chunks, complete=False)
    leaving.left.set()
    await leaving.run(http_app(server))
    assert not leaving.opened.is_set()
    assert server.requests == []
    assert caplog.records == []


@pytest.mark.parametrize("speak", [False, True])
async def test_server_that_raises_for_a_lost_client_makes_no_noise(
    speak: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(event: Mapping[str, Any]) -> None:
        raise ConnectionResetError("the client has left")

    async def handler(request: Request, exchange: Exchange) -> Reply:
        if speak:
            await exchange.notify(progress(1))
            asking.left.set()
            await trio.sleep_forever()
        return success(request)

    asking = visit(call())
    asking.on_send = broken
    await asking.run(http_app(ScriptedServer(handler)))
    assert caplog.records == []


async def test_server_that_ends_cancels_calls_and_their_cleanup_runs() -> None:
    diary = Diary()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(visit(call()).run, http_app(ScriptedServer(diary)))
            await diary.started.wait()
            scope.cancel()
    assert scope.cancelled_caught
    assert diary.entries == ["cancelled", "cleaned up"]


async def test_application_that_hands_out_the_body_again_is_not_asked_in_circles() -> None:
    """Simple drivers answer every receive at once, with the request."""
    request = listing()

    async def again() -> dict[str, Any]:
        return {"type": "http.request", "body": write_message(request), "more_body": False}

    async def patient(request: Request, exchange: Exchange) -> Reply:
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        return success(request)

    answer = await visit(request).run(http_app(ScriptedServer(patient)), again)
    assert answer.status == 200


async def test_one_client_that_leaves_does_not_touch_another() -> None:
    diary = Diary()
    app = http_app(ScriptedServer(diary))
    leaving, staying = visit(call()), visit(call())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leaving.run, app)
        nursery.start_soon(staying.run, app)
        await trio.testing.wait_all_tasks_blocked()
        leaving.left.set()
        await trio.testing.wait_all_tasks_blocked()
        assert diary.entries == ["cancelled", "cleaned up"]
        staying.left.set()
    assert diary.entries == ["cancelled", "cleaned up"] * 2
