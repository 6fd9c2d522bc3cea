"""Subscriptions of a client over lines: one channel, where each hears its own; and a real child."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.changes import Change, ListChanged, Reconnected, ResourceUpdated
from antiphon.engine.client import Client
from antiphon.engine.client_subscriptions import Changes
from antiphon.engine.exchange import TransportLost
from antiphon.engine.hearing import LogMessage
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.retrying import RetryPolicy
from antiphon.transports.connect import open_client
from antiphon.transports.line_client import open_lines
from antiphon.transports.stdio import serve_lines
from tests.engine.subscribing import Watched
from tests.stdio.client_side import connected, result
from tests.stdio.harness import HERE, PYTHONPATH, Peer, stream_pair

settled = trio.testing.wait_all_tasks_blocked

AT_ONCE = RetryPolicy(attempts=3, initial=0.001, chance=lambda: 0.0)

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def notification(method: str, id: JsonValue = None, **params: JsonValue) -> JsonObject:
    tag: JsonObject = {} if id is None else {"_meta": {SUBSCRIPTION: id}}
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": {**tag, **params}}


def acknowledged(request: Any) -> JsonObject:
    asked = request["params"]["notifications"]
    return notification("subscriptions/acknowledged", request["id"], notifications=asked)


class Taker:
    """Takes the changes of one subscription in a task, for as long as its nursery is open."""

    def __init__(self) -> None:
        self.heard: list[Change] = []
        self.ended = False
        self.opened = trio.Event()

    async def run(self, client: Client, **asked: Any) -> None:
        async with client.subscribe(**asked) as changes:
            self.opened.set()
            async for change in changes:
                self.heard.append(change)
        self.ended = changes.ended


@asynccontextmanager
async def two_subscribers(
    **options: Any,
) -> AsyncGenerator[tuple[Client, Peer, list[Any], list[Taker], trio.Nursery], None]:
    """A client with two subscriptions on one channel, whose other end is spoken by hand."""
    takers = [Taker(), Taker()]
    async with (
        connected() as (lines, peer),
        open_client(lines, mode="2026-07-28", **options) as client,
        trio.open_nursery() as nursery,
    ):
        requests: list[Any] = []
        for taker in takers:
            nursery.start_soon(partial(taker.run, client, tools=True, uris=["file:///a"]))
            requests.append(await peer.hear())
        for request in reversed(requests):
            await peer.say(acknowledged(request))
        for taker in takers:
            await taker.opened.wait()
        yield client, peer, [request["id"] for request in requests], takers, nursery
        nursery.cancel_scope.cancel()


async def test_each_subscription_hears_its_own(caplog: pytest.LogCaptureFixture) -> None:
    async with two_subscribers() as (_, peer, (one, two), (first, second), _):
        await peer.say(
            notification("tools/list_changed", two),
            notification("resources/updated", one, uri="file:///a"),
        )
        await settled()
        assert first.heard == [ResourceUpdated("file:///a")]
        assert second.heard == [ListChanged("tools")]
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


async def test_what_belongs_to_a_call_reaches_no_subscription(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[LogMessage] = []
    async with two_subscribers(log=told.append) as (client, peer, _, takers, nursery):
        nursery.start_soon(client.call_tool, "t")
        call = await peer.hear()
        await peer.say(
            notification("message", level="info", data="about the call"),
            notification("tools/list_changed"),
            result(call["id"], resultType="complete", content=[]),
        )
        await settled()
        assert [taker.heard for taker in takers] == [[], []]
    assert [message.data for message in told] == ["about the call"]
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


async def test_what_belongs_to_a_subscription_reaches_no_call() -> None:
    told: list[LogMessage] = []
    async with two_subscribers(log=told.append) as (client, peer, (one, _), _, nursery):
        nursery.start_soon(client.call_tool, "t")
        await peer.hear()
        await peer.say(notification("message", one, level="info", data="of a subscription"))
        await settled()
    assert told == []


async def test_ids_that_are_nobodys_reach_nobody() -> None:
    strange: list[JsonValue] = [7, True, ["x"], {}, "nobody"]
    async with two_subscribers() as (_, peer, _, takers, _):
        for id in strange:
            await peer.say(notification("tools/list_changed", id))
            await peer.say(notification("cancelled", requestId=id))
        await settled()
        assert [taker.heard for taker in takers] == [[], []]


async def test_leaving_one_block_cancels_its_request_and_no_other() -> None:
    async with two_subscribers() as (client, peer, (one, _), (first, _), _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(Taker().run, client, prompts=True))
            third = await peer.hear()
            await peer.say(acknowledged(third))
            await settled()
            nursery.cancel_scope.cancel()
        cancelled = await peer.hear()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == third["id"]
        await peer.say(notification("tools/list_changed", one))
        await settled()
        assert first.heard == [ListChanged("tools")]


async def test_a_cancellation_by_the_server_meets_one_subscription(
    autojump_clock: object,
) -> None:
    async with two_subscribers(reconnect=AT_ONCE) as (_, peer, (_, two), (first, second), _):
        await peer.say(notification("cancelled", requestId=two))
        assert (await peer.hear())["method"] == "notifications/cancelled"
        again = await peer.hear()
        assert again["method"] == "subscriptions/listen"
        assert again["id"] != two
        await peer.say(acknowledged(again))
        await settled()
        assert first.heard == []
        (change,) = second.heard
        assert isinstance(change, Reconnected)


async def test_a_call_made_in_between_changes_what_is_heard() -> None:
    ours, theirs = stream_pair()
    server = Watched()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, server, theirs, theirs)
        async with (
            open_lines(ours, ours) as lines,
            open_client(lines, mode="2026-07-28") as client,
            client.subscribe(tools=True) as changes,
        ):
            await client.call_tool("change")
            assert await anext(changes) == ListChanged("tools")
            server.hub.close()
            assert [change async for change in changes] == []
            assert changes.ended


async def test_a_connection_that_is_over_is_told_of(autojump_clock: object) -> None:
    async with (
        connected() as (lines, peer),
        open_client(lines, mode="2026-07-28", reconnect=AT_ONCE) as client,
        trio.open_nursery() as nursery,
    ):

        async def taking() -> None:
            async with client.subscribe(tools=True) as changes:
                with pytest.raises(TransportLost):
                    await anext(changes)

        nursery.start_soon(taking)
        await peer.say(acknowledged(await peer.hear()))
        await peer.leave()


# -- a real child -----------------------------------------------------------------------------


@asynccontextmanager
async def child() -> AsyncGenerator[tuple[Client, Changes], None]:
    command = [sys.executable, str(HERE / "watched_child.py")]
    async with (
        open_client(command, env=PYTHONPATH, reconnect=AT_ONCE) as client,
        client.subscribe(tools=True) as changes,
    ):
        yield client, changes


@pytest.mark.usefixtures("nothing_is_left_behind")
async def test_a_child_tells_of_changes_until_it_ends_the_subscription() -> None:
    async with child() as (client, changes):
        await client.call_tool("change")
        assert await anext(changes) == ListChanged("tools")
        await client.call_tool("end")
        assert [change async for change in changes] == []
        assert changes.ended


@pytest.mark.usefixtures("nothing_is_left_behind")
async def test_a_child_that_dies_is_subscribed_to_again() -> None:
    async with child() as (client, changes):
        with pytest.raises(TransportLost):
            await client.call_tool("die")
        told = await anext(changes)
        assert isinstance(told, Reconnected)
        assert "status 3" in told.reason
        await client.call_tool("change")
        assert await anext(changes) == ListChanged("tools")
