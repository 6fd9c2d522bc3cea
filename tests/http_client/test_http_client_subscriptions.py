"""Subscriptions of a client over HTTP: silent streams, cut ones, and hostile ones."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from antiphon.engine.changes import ListChanged, Reconnected
from antiphon.engine.client import Client
from antiphon.engine.client_subscriptions import Changes
from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Message, write_message
from antiphon.engine.limits import Limits
from antiphon.engine.retrying import RetryPolicy
from antiphon.transports.asgi import http_app
from antiphon.transports.connect import connect_client, open_client
from antiphon.transports.http_answer import BadStatus
from tests.engine.subscribing import Watched, acknowledged, ended, tagged
from tests.http_client.scripted import (
    STREAM_END,
    STREAM_HEAD,
    Peer,
    RawServer,
    Received,
    answer,
    chunk,
    event,
    serving,
)
from tests.http_server.serving import hypercorn
from tests.http_server.serving import serving as hypercorn_here

SOON = 20
"""Seconds; far more than anything here takes."""

AT_ONCE = RetryPolicy(attempts=3, initial=0.001, chance=lambda: 0.0)
OPTIONS: Any = {"reconnect": AT_ONCE, "retry": None, "mode": "2026-07-28"}

TOOLS = {"toolsListChanged": True}

Turn = Callable[[Peer, Received], Awaitable[None]]


def said(*messages: Message) -> bytes:
    return b"".join(chunk(event(write_message(message))) for message in messages)


def opening(received: Received) -> bytes:
    """The beginning of a good stream."""
    return STREAM_HEAD + said(acknowledged(id_of(received), **TOOLS))


def changed(received: Received) -> bytes:
    return said(tagged(id_of(received), "tools/list_changed"))


def ending(received: Received) -> bytes:
    id = id_of(received)
    reply = {"jsonrpc": "2.0", "id": id, "result": ended(id)}
    return chunk(event(json.dumps(reply).encode())) + STREAM_END


def id_of(received: Received) -> str:
    id = received.id
    assert isinstance(id, str)
    return id


def turns(*script: Turn) -> Callable[[Peer], Awaitable[None]]:
    """A server that serves each request as the next turn says."""
    left = iter(script)

    async def handler(peer: Peer) -> None:
        while True:
            received = await peer.request()
            await next(left)(peer, received)

    return handler


def sending(*parts: bytes | Callable[[Received], bytes]) -> Turn:
    """Sends these parts one after the other; the connection stays open."""

    async def turn(peer: Peer, received: Received) -> None:
        for part in parts:
            await peer.send(part if isinstance(part, bytes) else part(received))

    return turn


def cutting(*parts: bytes | Callable[[Received], bytes]) -> Turn:
    """Sends these parts, and is gone."""

    async def turn(peer: Peer, received: Received) -> None:
        await sending(*parts)(peer, received)
        raise EOFError

    return turn


@asynccontextmanager
async def subscribed(
    *script: Turn, limits: Limits | None = None
) -> AsyncGenerator[tuple[Changes, RawServer]]:
    """A subscription at a server that takes these turns."""
    async with (
        serving(turns(*script)) as server,
        open_client(server.url, **OPTIONS, limits=limits or Limits()) as client,
        client.subscribe(tools=True) as changes,
    ):
        yield changes, server


@asynccontextmanager
async def subscribed_at(port: int) -> AsyncGenerator[tuple[Client, Changes]]:
    """A client of a real server and its subscription."""
    async with (
        open_client(f"http://127.0.0.1:{port}/mcp", **OPTIONS) as client,
        client.subscribe(tools=True) as changes,
    ):
        yield client, changes


async def test_comments_keep_a_stream_alive_and_nothing_else() -> None:
    quiet = chunk(b": keep-alive\n\n") * 100
    async with subscribed(sending(opening, quiet, changed, quiet, ending)) as (changes, server):
        assert [change async for change in changes] == [ListChanged("tools")]
        assert changes.ended
    assert server.accepted == 1


async def test_leaving_the_block_closes_the_connection_of_the_stream() -> None:
    async with (
        serving(turns(sending(opening))) as server,
        open_client(server.url, **OPTIONS) as client,
    ):
        async with client.subscribe(tools=True):
            assert server.open == 1
        await server.all_left()


@pytest.mark.parametrize(
    "end",
    [b"", STREAM_END, chunk(b"data: {"), chunk(b"data: ping\n\n") + STREAM_END],
    ids=["cut off", "ended", "cut within an event", "ended after what is no message"],
)
async def test_a_stream_that_is_cut_is_made_again(end: bytes) -> None:
    again = sending(opening, changed, ending)
    async with subscribed(cutting(opening, end), again) as (changes, _):
        reconnected, after = [change async for change in changes]
    assert isinstance(reconnected, Reconnected)
    assert after == ListChanged("tools")


@pytest.mark.parametrize(
    "trouble",
    [
        answer(b"busy", "Retry-After: 0", status=503, kind="text/plain"),
        answer(b"busy", "Retry-After: 0", status=429, kind="text/plain"),
        answer(b"<html>", status=502, kind="text/html"),
        answer(b"<html>", status=504, kind="text/html"),
    ],
    ids=["503", "429", "502", "504"],
)
async def test_trouble_in_between_passes(trouble: bytes) -> None:
    script = cutting(opening), sending(trouble), sending(opening, ending)
    async with subscribed(*script) as (changes, _):
        (told,) = [change async for change in changes]
        assert isinstance(told, Reconnected)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_what_does_not_pass_is_raised(status: int) -> None:
    refusal = answer(b"no", status=status, kind="text/plain")
    async with subscribed(cutting(opening), sending(refusal)) as (changes, _):
        with pytest.raises(BadStatus) as caught:
            await anext(changes)
    assert caught.value.status == status


async def test_a_time_that_is_too_long_to_wait_is_raised() -> None:
    refusal = answer(b"no", "Retry-After: 3600", status=503, kind="text/plain")
    async with subscribed(cutting(opening), sending(refusal)) as (changes, _):
        with pytest.raises(BadStatus, match="3600"):
            await anext(changes)


async def test_a_reply_in_place_of_a_stream_is_an_error() -> None:
    def reply(received: Received) -> bytes:
        message = {"jsonrpc": "2.0", "id": received.id, "result": ended(id_of(received))}
        return answer(json.dumps(message).encode())

    async with serving(turns(sending(reply))) as server, open_client(server.url) as client:
        with pytest.raises(InvalidReply, match="without having acknowledged"):
            async with client.subscribe(tools=True):
                raise AssertionError


async def test_an_endless_event_is_refused_and_the_client_goes_on() -> None:
    async def flood(peer: Peer, received: Received) -> None:
        await peer.send(opening(received))
        while True:
            await peer.send(chunk(b"data: " + b"x" * 10_000))

    script = flood, sending(opening, changed, ending)
    async with subscribed(*script, limits=Limits(message_bytes=50_000)) as (changes, _):
        reconnected, after = [change async for change in changes]
    assert isinstance(reconnected, Reconnected)
    assert "message_bytes" in reconnected.reason
    assert after == ListChanged("tools")


async def test_a_flood_of_changes_is_taken_as_one() -> None:
    def flood(received: Received) -> bytes:
        return changed(received) * 5000

    gone_by = trio.Event()

    async def script(peer: Peer, received: Received) -> None:
        await sending(opening, flood, ending)(peer, received)
        gone_by.set()

    async with subscribed(script) as (changes, _):
        await gone_by.wait()
        heard = [change async for change in changes]
    # How many of them had come when the first was taken, nobody knows.
    assert set(heard) == {ListChanged("tools")}
    assert len(heard) < 5000


async def test_a_client_that_is_closed_ends_its_subscriptions() -> None:
    async with serving(turns(sending(opening))) as server, trio.open_nursery() as nursery:
        client = await connect_client(nursery, server.url, **OPTIONS)
        async with client.subscribe(tools=True) as changes:
            await client.aclose()
            with pytest.raises((UsageError, TransportLost)):
                await anext(changes)
        await server.all_left()


# -- a real server ----------------------------------------------------------------------------


async def test_the_application_behind_hypercorn_tells_of_changes_and_of_its_end() -> None:
    app = http_app(Watched())
    with trio.fail_after(SOON):
        async with (
            hypercorn_here(app, patience=1000) as port,
            subscribed_at(port) as (
                client,
                changes,
            ),
        ):
            await client.call_tool("change")
            assert await anext(changes) == ListChanged("tools")
            app.shut_down()
            assert [change async for change in changes] == []
            assert changes.ended


async def test_a_hypercorn_process_that_is_terminated_ends_the_subscription() -> None:
    with trio.fail_after(SOON):
        async with hypercorn("-k", "trio", "--graceful-timeout", "1000", app="subscribed") as it:
            await it.wait_for("Running on")
            async with subscribed_at(it.port) as (client, changes):
                await client.call_tool("change")
                assert await anext(changes) == ListChanged("tools")
                it.process.terminate()
                assert [change async for change in changes] == []
                assert changes.ended
            await it.read_on()


async def test_a_hypercorn_process_that_is_killed_is_a_loss() -> None:
    with trio.fail_after(SOON):
        async with hypercorn("-k", "trio", app="subscribed") as it:
            await it.wait_for("Running on")
            async with subscribed_at(it.port) as (_, changes):
                os.killpg(it.process.pid, signal.SIGKILL)
                with pytest.raises(TransportLost):
                    await anext(changes)
                assert not changes.ended
