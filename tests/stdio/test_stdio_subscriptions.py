"""Subscriptions on a stream of lines: several on one channel, beside calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.closing import Closing
from antiphon.engine.errors import BUSY, INVALID_PARAMS, INVALID_REQUEST
from antiphon.engine.jsonrpc import JsonObject, JsonValue, Message, RequestId, write_message
from antiphon.engine.limits import Limits
from antiphon.transports.stdio import serve_lines
from tests.engine.subscribing import (
    Watched,
    acknowledged,
    ended,
    listen,
    tools_changed,
    updated,
)
from tests.stdio.harness import Peer, call, cancel, line, served, stream_pair

settled = trio.testing.wait_all_tasks_blocked


def listening(id: RequestId = 1, **filter: JsonValue) -> JsonObject:
    return as_sent(listen(id, **filter))


def as_sent(message: Message) -> JsonObject:
    decoded: JsonObject = json.loads(write_message(message))
    return decoded


def tool(id: RequestId, name: str) -> JsonObject:
    return call(id, "tools/call", name=name)


async def subscribed(peer: Peer, *ids: RequestId) -> None:
    for id in ids:
        await peer.say(listening(id))
        assert await peer.hear() == as_sent(acknowledged(id, toolsListChanged=True))


def result(id: RequestId) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "result": ended(id)}


async def test_several_subscriptions_share_the_channel_and_are_told_apart_by_their_ids() -> None:
    server = Watched()
    async with served(server) as peer:
        await peer.say(listening(1), listening("1"))
        await peer.say(listening(2, resourceSubscriptions=["file:///a"]))
        heard = [await peer.hear() for _ in range(3)]
        for expected in (
            acknowledged(1, toolsListChanged=True),
            acknowledged("1", toolsListChanged=True),
            acknowledged(2, resourceSubscriptions=["file:///a"]),
        ):
            assert as_sent(expected) in heard
        server.hub.tools_changed()
        server.hub.resource_updated("file:///a")
        heard = [await peer.hear() for _ in range(3)]
        for expected in (tools_changed(1), tools_changed("1"), updated("file:///a", 2)):
            assert as_sent(expected) in heard
        await peer.hear_nothing()


async def test_change_that_a_call_makes_is_heard_by_the_subscription_beside_it() -> None:
    async with served(Watched()) as peer:
        await subscribed(peer, "s")
        await peer.say(tool(7, "change"))
        heard = [await peer.hear(), await peer.hear()]
        assert as_sent(tools_changed("s")) in heard
        assert [message["id"] for message in heard if "id" in message] == [7]


async def test_cancellation_ends_one_subscription_without_a_word() -> None:
    server = Watched()
    async with served(server) as peer:
        await subscribed(peer, 1, 2)
        await peer.say(cancel(1))
        await settled()
        assert server.cancelled == [1]
        server.hub.tools_changed()
        assert await peer.hear() == as_sent(tools_changed(2))
        await peer.hear_nothing()
        await subscribed(peer, 1)  # its id is free


async def test_cancelled_subscriptions_give_their_places_back() -> None:
    async with served(Watched(Limits(subscriptions=1))) as peer:
        for id in range(5):
            await subscribed(peer, id)
            await peer.say(cancel(id))
            await settled()


async def test_id_of_an_open_subscription_cannot_be_used_again() -> None:
    async with served(Watched()) as peer:
        await subscribed(peer, 1)
        for again in (listening(1), tool(1, "change")):
            await peer.say(again)
            reply = await peer.hear()
            assert (reply["id"], reply["error"]["code"]) == (1, INVALID_REQUEST)


# -- beside calls -----------------------------------------------------------------------------


async def test_subscriptions_take_no_place_of_calls_and_calls_none_of_theirs() -> None:
    limits = Limits(concurrent_calls=1, waiting_calls=1, pending_bytes=1000, subscriptions=3)
    server = Watched(limits)
    async with served(server) as peer:
        await subscribed(peer, "a", "b")
        await peer.say(tool(1, "change"))
        assert {(await peer.hear()).get("id") for _ in range(3)} == {None, 1}
        await peer.say(tool(2, "park"), tool(3, "park"), tool(4, "park"))
        assert (await peer.hear())["error"]["data"]["limit"] == "waiting_calls"
        await subscribed(peer, "c")
        server.go_on.set()
        assert set(await peer.hear_all(2)) == {2, 3}


async def test_subscription_of_many_bytes_does_not_count_among_those_of_calls() -> None:
    limits = Limits(pending_bytes=500)
    server = Watched(limits)
    async with served(server) as peer:
        await peer.say(tool("first", "park"))
        uris: list[JsonValue] = [f"file:///{n}" for n in range(100)]
        await peer.say(listening(1, resourceSubscriptions=uris))
        assert await peer.hear() == as_sent(acknowledged(1, resourceSubscriptions=uris))
        await peer.say(tool("second", "change"))
        assert (await peer.hear())["id"] == "second"


async def test_further_subscriptions_are_refused_by_the_name_of_the_limit() -> None:
    async with served(Watched(Limits(subscriptions=1))) as peer:
        await subscribed(peer, 1)
        await peer.say(listening(2))
        error = (await peer.hear())["error"]
        assert error["code"] == BUSY
        assert error["data"] == {"limit": "subscriptions", "value": 1}
        assert "limit subscriptions is 1" in error["message"]


async def test_cancelled_subscription_counts_until_its_cleanup_is_over() -> None:
    """What a handler does around a subscription is bounded too."""
    go_on = trio.Event()

    class Slow(Watched):
        async def handle(self, request: Any, exchange: Any) -> Any:
            try:
                return await super().handle(request, exchange)
            finally:
                with trio.CancelScope(shield=True):
                    await go_on.wait()

    async with served(Slow(Limits(subscriptions=1))) as peer:
        await subscribed(peer, 1)
        await peer.say(cancel(1), listening(2))
        assert (await peer.hear())["error"]["data"]["limit"] == "subscriptions"
        go_on.set()
        await settled()
        await subscribed(peer, 3)


async def test_request_that_is_too_large_to_be_kept_is_refused_by_the_name_of_the_limit() -> None:
    async with served(Watched(Limits(subscription_bytes=1000))) as peer:
        request = listening(1)
        request["params"]["junk"] = "x" * 1000  # type: ignore[call-overload,index]
        await peer.say(request)
        error = (await peer.hear())["error"]
        assert error["code"] == INVALID_PARAMS
        assert error["data"] == {"limit": "subscription_bytes", "value": 1000}


async def test_malformed_filter_is_answered_and_takes_no_place() -> None:
    async with served(Watched(Limits(subscriptions=1))) as peer:
        await peer.say(listening(1, toolsListChanged="yes"))
        assert (await peer.hear())["error"]["code"] == INVALID_PARAMS
        await subscribed(peer, 1)


async def test_peer_that_does_not_read_costs_no_memory_and_hears_of_everything_once() -> None:
    server = Watched(Limits(subscription_bytes=100_000))
    uris: list[JsonValue] = [f"file:///{'x' * 500}/{n}" for n in range(100)]
    ours, theirs = stream_pair(tight=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, server, theirs, theirs)
        peer = Peer(ours)
        await peer.say(listening(1, resourceSubscriptions=uris, toolsListChanged=True))
        await peer.hear()
        for _ in range(30):
            for uri in uris:
                server.hub.resource_updated(str(uri))
            await settled()
        server.hub.tools_changed()
        last = as_sent(tools_changed(1))
        count = 0
        while await peer.hear() != last:
            count += 1
        # What was on its way when the reading stopped, and each of them once more.
        assert count < 1000
        await peer.leave()


# -- the end ----------------------------------------------------------------------------------


async def test_end_of_the_input_ends_subscriptions_with_their_results_and_lets_calls_finish(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = Watched()
    async with served(server, grace=5) as peer:
        await subscribed(peer, 1, 2)
        await peer.say(tool(3, "park"))
        await settled()
        await peer.hang_up()
        heard = await peer.hear_all(2)
        assert [heard[1], heard[2]] == [result(1), result(2)]
        await trio.sleep(4)
        server.go_on.set()
        assert (await peer.hear())["id"] == 3
        assert await peer.hear() is None
    assert server.cancelled == []


async def test_end_of_one_connection_leaves_the_subscriptions_of_another() -> None:
    server = Watched()
    async with served(server) as staying:
        await subscribed(staying, 1)
        async with served(server) as leaving:
            await subscribed(leaving, 1)
            await leaving.hang_up()
            assert await leaving.hear() == result(1)
            assert await leaving.hear() is None
        server.hub.tools_changed()
        assert await staying.hear() == as_sent(tools_changed(1))


@pytest.mark.parametrize("grace", [0.0, 5.0])
async def test_closing_reads_no_more_ends_subscriptions_and_gives_calls_their_grace(
    grace: float, autojump_clock: trio.testing.MockClock
) -> None:
    server, closing = Watched(), Closing()
    ours, theirs = stream_pair()
    peer = Peer(ours)
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            await serve_lines(server, theirs, theirs, grace=grace, closing=closing)
            await theirs.aclose()

        nursery.start_soon(serve)
        await subscribed(peer, 1)
        await peer.say(tool(2, "park"))
        await settled()
        start = trio.current_time()
        closing.close()
        await peer.raw(line(tool(3, "change")))  # too late
        if grace:
            assert await peer.hear() == result(1)
            assert trio.current_time() == start
            assert await peer.hear() is None
        await settled()
    assert trio.current_time() == start + grace
    assert 2 in server.cancelled


async def test_closed_before_it_begins_it_serves_nothing() -> None:
    closing = Closing()
    closing.close()
    ours, theirs = stream_pair()
    await Peer(ours).say(tool(1, "change"))
    await serve_lines(Watched(), theirs, theirs, closing=closing)
    await theirs.aclose()
    assert await Peer(ours).hear() is None


async def test_peer_that_stops_reading_holds_its_connection_no_longer_than_the_grace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = Watched()
    ours, theirs = stream_pair(tight=True)
    await_end = trio.Event()
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            await serve_lines(server, theirs, theirs, grace=3)
            await_end.set()

        nursery.start_soon(serve)
        peer = Peer(ours)
        await subscribed(peer, 1)
        server.hub.tools_changed()
        await settled()
        start = trio.current_time()
        await peer.hang_up()
        await await_end.wait()
    assert trio.current_time() == start + 3
