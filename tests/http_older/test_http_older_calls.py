"""Calls that are left, and very many of them."""

from __future__ import annotations

import json
from typing import cast

import pytest
import trio
from trio.testing import MockClock

from antiphon.engine.jsonrpc import JsonObject, Request, Success
from antiphon.transports.http_client import open_http
from antiphon.transports.http_older import CALLS, OlderHttp
from tests.http_client.scripted import (
    STREAM_HEAD,
    Peer,
    Received,
    answer,
    chunk,
    event,
    failure,
    serving,
    stream,
    success,
)
from tests.http_older.scripted import (
    ACCEPTED,
    SESSION,
    Heard,
    OlderServer,
    Play,
    asked,
    begin,
    call,
    in_session,
    linked,
    numbered,
    serves,
    shake,
    silence,
    streaming,
    watched,
)


async def leave(link: OlderHttp, server: OlderServer, request: Request, heard: Heard) -> float:
    """Send a request and cancel it once it is there; for how long that took."""
    scope = trio.CancelScope()

    async def exchange() -> None:
        with scope:
            await link.exchange(request, heard.notification, heard.request)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(exchange)
        await server.until(request.method)
        scope.cancel()
        began = trio.current_time()
    return trio.current_time() - began


@pytest.mark.parametrize("play", [silence, streaming(numbered("e0")), streaming()])
@pytest.mark.parametrize("id", [1, "one"])
async def test_the_server_is_told_of_a_cancelled_call(play: Play, id: int | str) -> None:
    server, closed = watched(play, "tools_call")
    async with in_session(server) as (link, heard):
        await leave(link, server, call(id), heard)
        (cancelled,) = server.of("notifications/cancelled")
        await closed.wait()
    message = cast(JsonObject, json.loads(cancelled.body))
    assert message["params"] == {"requestId": id}
    assert cancelled["mcp-session-id"] == SESSION


async def test_a_call_that_waits_for_the_rest_of_its_stream_is_cancelled_too(
    patient_clock: MockClock,
) -> None:
    server = serves(tools_call=stream(numbered("e0", retry=60_000)))
    async with in_session(server) as (link, heard):
        with trio.move_on_after(5) as scope:
            await link.exchange(call(), heard.notification, heard.request)
    assert scope.cancelled_caught
    assert server.names[2:] == ["tools/call", "notifications/cancelled"]


async def test_telling_it_takes_a_second_at_most(patient_clock: MockClock) -> None:
    server = serves(tools_call=silence, notifications_cancelled=silence)
    async with in_session(server) as (link, heard):
        assert await leave(link, server, call(), heard) == pytest.approx(1.0, abs=0.1)


async def test_a_handshake_is_not_cancelled() -> None:
    server = serves(initialize=silence)
    async with linked(server) as (link, _):
        await leave(link, server, begin(), Heard())
    assert server.names == ["initialize"]


async def test_a_call_that_never_went_out_is_not_cancelled() -> None:
    server = serves()
    async with in_session(server) as (link, heard):
        with trio.CancelScope() as scope:
            scope.cancel()
            await link.exchange(call(), heard.notification, heard.request)
    assert server.names == ["initialize", "notifications/initialized"]


async def test_a_reply_that_is_there_makes_no_cancellation() -> None:
    server = serves(tools_call=stream(event(success())))
    async with in_session(server) as (link, heard):
        await link.exchange(call(), heard.notification, heard.request)
    assert "notifications/cancelled" not in server.names


async def test_more_open_calls_than_connections_can_be_answered() -> None:
    """Each call holds a connection until its question is answered, which takes another."""
    answered: set[object] = set()
    changed = trio.Condition()

    async def asking(peer: Peer, received: Received) -> None:
        await peer.send(STREAM_HEAD + chunk(event(asked(received.id))))
        async with changed:
            while received.id not in answered:
                await changed.wait()
        await peer.send(chunk(event(success(received.id))))
        raise EOFError

    async def take(peer: Peer, received: Received) -> None:
        await peer.send(ACCEPTED)
        async with changed:
            answered.add(received.id)
            changed.notify_all()

    number = CALLS + 40
    server = serves(tools_call=asking, answer=take)
    async with in_session(server) as (link, heard), trio.open_nursery() as nursery:
        for id in range(1, number + 1):
            nursery.start_soon(link.exchange, call(id), heard.notification, heard.request)
        await heard.until(CALLS)
        done = 0
        while done < number:
            await heard.until(done + 1)
            await link.say(Success(heard.requests[done].id, {}))
            done += 1
    assert answered == set(range(1, number + 1))


# -- statuses ---------------------------------------------------------------------------------


async def test_the_status_of_each_answer_to_a_request_is_told() -> None:
    told: list[tuple[str, object, int]] = []

    def tell(request: Request, status: int) -> None:
        told.append((request.method, request.id, status))

    heard, refused = Heard(), answer(failure(2), status=400)
    server = serves(tools_call=[stream(event(success(1))), refused])
    async with serving(server) as http, open_http(http.url) as transport:
        link = transport.older()
        transport.on_status = tell
        await shake(link, heard)
        for id in (1, 2):
            await link.exchange(call(id), heard.notification, heard.request)
        await link.end()
    assert told == [("initialize", 0, 200), ("tools/call", 1, 200), ("tools/call", 2, 400)]
