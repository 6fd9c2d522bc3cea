"""A client of ours hears what changes at servers of the official SDK."""

from __future__ import annotations

import pytest
import trio

from antiphon import Changes, ListChanged, Reconnected, ResourceUpdated, TransportLost
from antiphon.engine.changes import Change, Watched
from antiphon.engine.retrying import RetryPolicy
from tests.interop.clients import CARRIERS, PAGES, our_client, reachable
from tests.interop.servers import Over


async def test_lists_and_resources_that_change_are_told(over: Over) -> None:
    async with (
        reachable(over, CARRIERS) as connect,
        connect() as client,
        client.subscribe(
            tools=True, prompts=True, resources=True, uris=["shelf://dune"]
        ) as changes,
    ):
        await client.call_tool("grow")
        await client.call_tool("rewrite", {"to": "Sand."})
        told = [await anext(changes) for _ in range(4)]
    assert changes.honoured == changes.asked
    assert told == [
        ListChanged("tools"),
        ListChanged("prompts"),
        ListChanged("resources"),
        ResourceUpdated("shelf://dune"),
    ]


async def test_only_what_was_asked_for_is_told(over: Over) -> None:
    async with (
        reachable(over, CARRIERS) as connect,
        connect() as client,
        client.subscribe(prompts=True) as changes,
    ):
        await client.call_tool("rewrite", {"to": "Sand."})
        await client.call_tool("grow")
        assert await anext(changes) == ListChanged("prompts")
    assert changes.honoured == Watched(prompts=True)


async def test_what_is_kept_is_forgotten_when_it_changes(over: Over) -> None:
    async with (
        reachable(over, CARRIERS) as connect,
        connect() as client,
        client.subscribe(tools=True, uris=["shelf://dune"]) as changes,
    ):
        tools = {tool.name for tool in await client.list_tools()}
        text = (await client.read_resource("shelf://dune")).text
        await client.call_tool("rewrite", {"to": "Water."})
        await client.call_tool("grow")
        assert await _two(changes) == {ResourceUpdated("shelf://dune"), ListChanged("tools")}
        more = {tool.name for tool in await client.list_tools()}
        new = (await client.read_resource("shelf://dune")).text
    assert (text, new) == ("Spice.", "Water.")
    assert more - tools == {"grown"}


async def test_what_their_server_calls_fresh_is_not_read_again() -> None:
    async with our_client(CARRIERS) as client:
        await client.read_resource("shelf://dune")
        await client.call_tool("rewrite", {"to": "Water."})
        kept = await client.read_resource("shelf://dune")
        fresh = await client.read_resource("shelf://dune", fresh=True)
    assert (kept.text, fresh.text) == ("Spice.", "Water.")


async def _two(changes: Changes) -> set[Change]:
    return {await anext(changes), await anext(changes)}


async def test_leaving_frees_their_handler(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        async with client.subscribe(tools=True), client.subscribe(uris=["shelf://dune"]):
            pass
        assert (await client.call_tool("until_left")).text == "left"


async def test_several_subscriptions_do_not_mix(over: Over) -> None:
    async with (
        reachable(over, CARRIERS) as connect,
        connect() as client,
        client.subscribe(tools=True) as tools,
        client.subscribe(uris=["shelf://dune"]) as dune,
    ):
        await client.call_tool("grow")
        await client.call_tool("rewrite", {"to": "Sand."})
        assert await anext(dune) == ResourceUpdated("shelf://dune")
        assert await anext(tools) == ListChanged("tools")


async def test_graceful_end_ends_the_iteration(over: Over) -> None:
    async with reachable(over, PAGES) as connect, connect() as client:
        async with client.subscribe(tools=True, prompts=True) as changes:
            await client.call_tool("close")
            told = [change async for change in changes]
        assert changes.ended
    assert told == [ListChanged("tools")]


async def test_subscription_outlives_a_child_that_dies() -> None:
    at_once = RetryPolicy(attempts=20, initial=0.001, maximum=0.001)
    async with (
        reachable("stdio", CARRIERS) as connect,
        connect(reconnect=at_once) as client,
        client.subscribe(tools=True) as changes,
    ):
        with pytest.raises(TransportLost):
            await client.call_tool("die")
        again = await anext(changes)
        assert isinstance(again, Reconnected)
        assert again.after > 0
        await client.call_tool("grow")
        assert await anext(changes) == ListChanged("tools")


async def test_fifty_subscriptions_of_one_client_are_all_told() -> None:
    heard = 0

    async with our_client(CARRIERS) as client, trio.open_nursery() as nursery:

        async def listen(*, task_status: trio.TaskStatus[None]) -> None:
            nonlocal heard
            async with client.subscribe(uris=["shelf://dune"]) as changes:
                task_status.started()
                assert await anext(changes) == ResourceUpdated("shelf://dune")
                heard += 1

        for _ in range(50):
            await nursery.start(listen)
        await client.call_tool("rewrite", {"to": "Sand."})
    assert heard == 50
