"""A subscription of a client: what it hears, in which order, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.call_errors import LegTimeout, ServerError
from antiphon.engine.changes import Change, ListChanged, ResourceUpdated, Watched
from antiphon.engine.errors import INVALID_PARAMS, METHOD_NOT_FOUND, UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.hearing import LogMessage
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.limits import Limits
from antiphon.engine.protocol import META_CAPABILITIES, META_CLIENT, META_VERSION
from antiphon.engine.retrying import RetryPolicy
from tests.client.listening import (
    Stream,
    client_of,
    ending,
    failing,
    never,
    silent,
    take_all,
)
from tests.engine.subscribing import ended

settled = trio.testing.wait_all_tasks_blocked


async def test_changes_come_in_the_order_in_which_they_were_told() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.updated("file:///b")
        stream.changed("prompts", "tools", "resources")
        stream.updated("file:///a")
        return ended(stream.id)

    client, _ = client_of(script)
    async with client.subscribe(
        tools=True, prompts=True, resources=True, uris=["file:///a", "file:///b"]
    ) as changes:
        assert await take_all(changes) == [
            ResourceUpdated("file:///b"),
            ListChanged("prompts"),
            ListChanged("tools"),
            ListChanged("resources"),
            ResourceUpdated("file:///a"),
        ]
        assert changes.ended


async def test_the_request_is_one_of_the_protocol() -> None:
    client, server = client_of(silent)
    async with client.subscribe(tools=True, uris=["file:///b", "file:///a", "file:///b"]):
        pass
    (request,) = server.requests
    assert request.method == "subscriptions/listen"
    assert request.params["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["file:///b", "file:///a"],
    }
    meta = request.params["_meta"]
    assert isinstance(meta, dict)
    # Neither progress nor log messages are asked for: a stream has no place for them.
    assert meta.keys() == {META_VERSION, META_CLIENT, META_CAPABILITIES}


async def test_a_client_that_hears_log_messages_asks_for_none_on_a_stream() -> None:
    told: list[LogMessage] = []
    client, server = client_of(silent, log=told.append)
    async with client.subscribe(tools=True):
        pass
    meta = server.requests[0].params["_meta"]
    assert isinstance(meta, dict)
    assert meta.keys() == {META_VERSION, META_CLIENT, META_CAPABILITIES}


async def test_what_the_server_honours_is_told() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge(
            toolsListChanged=True,
            promptsListChanged=False,
            resourcesListChanged=True,
            resourceSubscriptions=["file:///a", "file:///never-asked-for"],
            somethingNew=True,
        )
        return ended(stream.id)

    client, _ = client_of(script)
    wanted: Any = {"tools": True, "prompts": True, "uris": ["file:///b", "file:///a"]}
    async with client.subscribe(**wanted) as changes:
        assert changes.asked == Watched(tools=True, prompts=True, uris=("file:///b", "file:///a"))
        assert changes.honoured == Watched(tools=True, uris=("file:///a",))


async def test_the_block_begins_with_the_acknowledgement(autojump_clock: object) -> None:
    async def script(stream: Stream) -> JsonObject:
        await trio.sleep(7)
        return await silent(stream)

    client, _ = client_of(script)
    async with client.subscribe(tools=True):
        assert trio.current_time() == 7


async def test_a_silent_stream_is_not_cut_by_the_time_limit(autojump_clock: object) -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        await trio.sleep(80_000)
        stream.changed("tools")
        await trio.sleep(80_000)
        return ended(stream.id)

    client, server = client_of(script, leg_timeout=5)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == [ListChanged("tools")]
    assert (trio.current_time(), len(server.requests)) == (160_000, 1)


async def test_an_acknowledgement_that_does_not_come_is_a_timeout(autojump_clock: object) -> None:
    async def script(stream: Stream) -> JsonObject:
        for _ in range(100):
            await trio.sleep(1)
            stream.changed("tools")
        raise AssertionError

    client, server = client_of(script, leg_timeout=5)
    with pytest.raises(LegTimeout):
        async with client.subscribe(tools=True):
            raise AssertionError
    assert (trio.current_time(), server.cancelled, server.open) == (5, 1, 0)


# -- one who takes slowly ---------------------------------------------------------------------


async def test_what_waits_already_is_told_once() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        for _ in range(1000):
            stream.changed("tools", "prompts")
            stream.updated("file:///a")
        return ended(stream.id)

    client, _ = client_of(script)
    async with client.subscribe(tools=True, prompts=True, uris=["file:///a"]) as changes:
        await settled()
        expected = [ListChanged("tools"), ListChanged("prompts"), ResourceUpdated("file:///a")]
        assert await take_all(changes) == expected


async def test_what_was_taken_is_told_again_when_it_changes_again() -> None:
    again = trio.Event()

    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.changed("tools")
        await again.wait()
        stream.changed("tools")
        return ended(stream.id)

    client, _ = client_of(script)
    async with client.subscribe(tools=True) as changes:
        assert await anext(changes) == ListChanged("tools")
        again.set()
        assert await take_all(changes) == [ListChanged("tools")]


async def test_parts_of_a_watched_resource_are_told_and_do_not_pile_up() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.updated("file:///src/main.rs", "file:///notes#top", "file:///srcs")
        for n in range(10_000):
            stream.updated(f"file:///src/{n}")
        stream.updated("file:///src/" + "x" * 100)
        return ended(stream.id)

    client, _ = client_of(script, limits=Limits(uri_bytes=100))
    async with client.subscribe(uris=["file:///src", "file:///notes"]) as changes:
        await settled()
        heard = await take_all(changes)
    assert heard[:2] == [
        ResourceUpdated("file:///src/main.rs"),
        ResourceUpdated("file:///notes#top"),
    ]
    assert 250 < len(heard) < 300
    assert ResourceUpdated("file:///srcs") not in heard
    assert ResourceUpdated("file:///src") in heard  # in place of those for which was no room


async def test_a_long_name_of_a_part_counts_as_the_whole() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.updated("file:///src/" + "x" * 100)
        return ended(stream.id)

    client, _ = client_of(script, limits=Limits(uri_bytes=100))
    async with client.subscribe(uris=["file:///src/"]) as changes:
        assert await take_all(changes) == [ResourceUpdated("file:///src/")]


async def test_two_tasks_share_the_changes(nursery: trio.Nursery) -> None:
    go_on = trio.Event()
    heard: list[Change] = []

    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        await go_on.wait()
        stream.changed("tools", "prompts")
        return ended(stream.id)

    client, _ = client_of(script)
    async with client.subscribe(tools=True, prompts=True) as changes, trio.open_nursery() as both:

        async def taker() -> None:
            heard.extend(await take_all(changes))

        both.start_soon(taker)
        both.start_soon(taker)
        await settled()
        go_on.set()
    assert {type(change) for change in heard} == {ListChanged}
    assert len(heard) == 2


# -- how it ends ------------------------------------------------------------------------------


async def test_leaving_the_block_cancels_the_request_and_leaves_no_task() -> None:
    client, server = client_of(silent)
    before = trio.lowlevel.current_statistics().tasks_living
    async with client.subscribe(tools=True) as changes:
        assert server.open == 1
    assert (server.open, server.cancelled) == (0, 1)
    assert trio.lowlevel.current_statistics().tasks_living == before
    assert not changes.ended
    with pytest.raises(UsageError, match="its block has ended"):
        await anext(changes)


async def test_a_task_that_waits_for_changes_is_told_when_the_block_ends() -> None:
    client, _ = client_of(silent)
    async with trio.open_nursery() as nursery:

        async def taker(changes: Any) -> None:
            with pytest.raises(UsageError):
                await anext(changes)

        async with client.subscribe(tools=True) as changes:
            nursery.start_soon(taker, changes)
            await settled()


async def test_the_end_in_good_order_ends_the_iteration_and_nothing_is_sent_again() -> None:
    client, server = client_of(ending)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == []
        assert changes.ended
        assert await take_all(changes) == []
    assert (len(server.requests), server.cancelled) == (1, 0)


async def test_what_was_told_before_the_end_is_not_lost() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.changed("tools")
        return ended(stream.id)

    client, _ = client_of(script)
    async with client.subscribe(tools=True) as changes:
        await settled()
        assert changes.ended
        assert await take_all(changes) == [ListChanged("tools")]


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, INVALID_PARAMS, -32603, 429])
async def test_an_error_in_place_of_the_first_stream_is_raised_as_it_is(code: int) -> None:
    client, server = client_of(failing(code))
    with pytest.raises(ServerError) as caught:
        async with client.subscribe(tools=True):
            raise AssertionError
    assert (caught.value.code, len(server.requests)) == (code, 1)


async def test_a_server_that_is_not_there_is_told_of_at_once() -> None:
    client, server = client_of(never)
    with pytest.raises(TransportLost, match="nobody is there"):
        async with client.subscribe(tools=True):
            raise AssertionError
    assert len(server.requests) == 1


async def test_the_first_stream_is_tried_as_often_as_any_request(autojump_clock: object) -> None:
    twice = RetryPolicy(attempts=3, initial=1, chance=lambda: 1.0)
    client, server = client_of(never, never, silent, retry=twice)
    async with client.subscribe(tools=True):
        assert server.waits == [1, 2]
    client, server = client_of(never, retry=twice)
    with pytest.raises(TransportLost):
        async with client.subscribe(tools=True):
            raise AssertionError
    assert server.waits == [1, 2]


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    client, server = client_of(silent)
    with pytest.raises(LookupError, match="mine"):
        async with client.subscribe(tools=True):
            raise LookupError("mine")
    assert server.open == 0


async def test_a_closed_client_subscribes_no_more() -> None:
    client, server = client_of(silent)
    client.close()
    with pytest.raises(UsageError, match="closed"):
        async with client.subscribe(tools=True):
            raise AssertionError
    assert server.requests == []


@pytest.mark.parametrize(
    "wrong", [{}, {"uris": []}, {"uris": "file:///a"}, {"uris": [1]}, {"tools": False}]
)
async def test_asking_for_nothing_is_a_mistake(wrong: Any) -> None:
    client, _ = client_of(silent)
    with pytest.raises(UsageError):
        client.subscribe(**wrong)


# -- who hears besides ------------------------------------------------------------------------


async def test_a_hook_hears_each_change_as_it_arrives() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.changed("tools", "prompts", "tools")
        return ended(stream.id)

    client, _ = client_of(script)
    heard: list[Change] = []
    client.on_change(heard.append)
    async with client.subscribe(tools=True) as changes:
        await settled()
        # Before anybody has taken one, and each time.
        assert heard == [ListChanged("tools"), ListChanged("tools")]
        assert await take_all(changes) == [ListChanged("tools")]


async def test_a_hook_that_fails_ends_the_subscription_with_its_error() -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.changed("tools", "tools")
        await trio.sleep_forever()
        raise AssertionError

    def broken(_: Change) -> None:
        raise LookupError("broken hook")

    client, server = client_of(script)
    client.on_change(broken)
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(LookupError, match="broken hook"):
            await take_all(changes)
    assert (server.open, len(server.requests)) == (0, 1)
