"""Replies that stream: from the first notification, or when a call is long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio

from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, Notification, Reply, Request
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import ScriptedServer, call, post, progress, success, visit

COMMENT = b": keep-alive\n\n"


async def three_steps(request: Request, exchange: Exchange) -> Reply:
    for step in (1, 2, 3):
        await exchange.notify(progress(step))
    return success(request)


async def test_notifications_and_the_reply_are_one_event_each() -> None:
    answer = await post(http_app(ScriptedServer(three_steps)), call(id="x"))
    assert answer.status == 200
    assert answer.headers == {
        b"content-type": b"text/event-stream",
        b"cache-control": b"no-store",
        b"x-accel-buffering": b"no",
    }
    assert len(answer.chunks) == 4
    assert all(chunk.startswith(b"data: {") and chunk.endswith(b"}\n\n") for chunk in answer.chunks)
    assert answer.messages == [progress(1), progress(2), progress(3), success(call(id="x"))]
    assert answer.ended


async def test_error_after_a_notification_is_an_event_too() -> None:
    async def fail(request: Request, exchange: Exchange) -> Reply:
        await exchange.notify(progress(1))
        return Failure(request.id, -32603, "no")

    answer = await post(http_app(ScriptedServer(fail)), call())
    assert answer.status == 200
    assert answer.events[-1] == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32603, "message": "no"},
    }


@pytest.mark.parametrize("text", ["\n", "\r", "\r\n", "\u2028", "\x85", "data: x\n\n", ":\n"])
async def test_line_ends_in_a_message_do_not_cut_the_event(text: str) -> None:
    async def speak(request: Request, exchange: Exchange) -> Reply:
        await exchange.notify(Notification("notifications/message", {"data": text}))
        return success(request, text=text)

    answer = await post(http_app(ScriptedServer(speak)), call())
    said, result = answer.events
    assert said["params"] == {"data": text}
    assert result["result"] == {"resultType": "complete", "text": text}
    assert b"\r" not in answer.body
    assert answer.body.count(b"\n") == 4


async def test_event_is_sent_before_the_handler_goes_on() -> None:
    sent: list[int] = []

    async def look(request: Request, exchange: Exchange) -> Reply:
        await exchange.notify(progress(1))
        sent.append(len(asking.answer.chunks))
        return success(request)

    asking = visit(call())
    await asking.run(http_app(ScriptedServer(look)))
    assert sent == [1]


async def test_client_that_does_not_read_holds_the_handler_back() -> None:
    room = trio.Event()
    said: list[int] = []

    async def crowded(event: Mapping[str, Any]) -> None:
        if event["type"] == "http.response.body":
            await room.wait()

    async def speak(request: Request, exchange: Exchange) -> Reply:
        for step in (1, 2):
            await exchange.notify(progress(step))
            said.append(step)
        return success(request)

    asking = visit(call())
    asking.on_send = crowded
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking.run, http_app(ScriptedServer(speak)))
        await trio.testing.wait_all_tasks_blocked()
        assert said == []
        room.set()
    assert said == [1, 2]
    assert len(asking.answer.events) == 3


async def test_tasks_of_one_handler_may_speak_at_the_same_time() -> None:
    async def speak(request: Request, exchange: Exchange) -> Reply:
        async with trio.open_nursery() as nursery:
            for step in range(50):
                nursery.start_soon(exchange.notify, progress(step))
        return success(request)

    answer = await post(http_app(ScriptedServer(speak)), call())
    *said, result = answer.messages
    assert sorted(map(repr, said)) == sorted(repr(progress(step)) for step in range(50))
    assert result == success(call())


async def test_handlers_own_deadline_around_a_notification_leaves_the_stream_whole(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(event: Mapping[str, Any]) -> None:
        await trio.sleep(1)

    async def impatient(request: Request, exchange: Exchange) -> Reply:
        with trio.move_on_after(0.5):
            await exchange.notify(progress(1))
        return success(request)

    asking = visit(call())
    asking.on_send = slow
    answer = await asking.run(http_app(ScriptedServer(impatient)))
    assert answer.ended
    assert answer.events[-1]["result"] == {"resultType": "complete"}


async def test_notification_that_json_cannot_say_is_the_handlers_mistake_and_sends_nothing() -> (
    None
):
    async def speak(request: Request, exchange: Exchange) -> Reply:
        with pytest.raises(UsageError):
            await exchange.notify(Notification("notifications/message", {"data": "\ud800"}))
        return success(request)

    answer = await post(http_app(ScriptedServer(speak)), call())
    assert answer.json["result"] == {"resultType": "complete"}


@pytest.mark.parametrize("first", [True, False])
async def test_what_is_said_after_the_reply_is_dropped(first: bool) -> None:
    kept: list[Exchange] = []

    async def keep(request: Request, exchange: Exchange) -> Reply:
        kept.append(exchange)
        if first:
            await exchange.notify(progress(1))
        return success(request)

    answer = await post(http_app(ScriptedServer(keep)), call())
    sent = len(answer.chunks)
    await kept[0].notify(progress(2))
    assert len(answer.chunks) == sent


# -- keep-alive -------------------------------------------------------------------------------


def sleeper(seconds: float) -> ScriptedServer:
    async def sleep(request: Request, exchange: Exchange) -> Reply:
        await trio.sleep(seconds)
        return success(request)

    return ScriptedServer(sleep)


async def test_call_shorter_than_the_keepalive_is_one_json_body(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answer = await post(http_app(sleeper(14.9)), call())
    assert answer.json["result"] == {"resultType": "complete"}


async def test_silent_call_becomes_a_stream_with_a_comment_every_keepalive(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answer = await post(http_app(sleeper(130)), call())
    assert answer.chunks[:-1] == [COMMENT] * 8
    assert len(answer.events) == 1
    assert trio.current_time() == 130


async def test_keepalive_can_be_chosen(autojump_clock: trio.testing.MockClock) -> None:
    answer = await post(http_app(sleeper(10), keepalive=3), call())
    assert answer.chunks[:-1] == [COMMENT] * 3


async def test_keepalive_counts_from_the_last_word(autojump_clock: trio.testing.MockClock) -> None:
    times: list[tuple[float, bool]] = []

    async def note(event: Mapping[str, Any]) -> None:
        if event["type"] == "http.response.body":
            times.append((trio.current_time(), event["body"] == COMMENT))

    async def speak(request: Request, exchange: Exchange) -> Reply:
        for pause in (10, 10, 20):
            await trio.sleep(pause)
            await exchange.notify(progress(1))
        return success(request)

    asking = visit(call())
    asking.on_send = note
    await asking.run(http_app(ScriptedServer(speak)))
    assert times == [(10, False), (20, False), (35, True), (40, False), (40, False)]


async def test_keepalive_waits_behind_a_client_that_does_not_read(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def crowded(event: Mapping[str, Any]) -> None:
        if event.get("body", b"").startswith(b"data"):
            await trio.sleep(100)

    async def speak(request: Request, exchange: Exchange) -> Reply:
        await exchange.notify(progress(1))
        return success(request)

    asking = visit(call())
    asking.on_send = crowded
    answer = await asking.run(http_app(ScriptedServer(speak)))
    assert len(answer.events) == 2
    assert answer.chunks.count(COMMENT) <= 1


async def test_endless_keepalive_is_none(autojump_clock: trio.testing.MockClock) -> None:
    answer = await post(http_app(sleeper(10_000), keepalive=float("inf")), call())
    assert answer.json["result"] == {"resultType": "complete"}
