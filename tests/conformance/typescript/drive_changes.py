"""Subscriptions: what is told, to whom, and how one ends."""

from typing import Final

from antiphon import ListChanged, Reconnected, ResourceUpdated, TransportLost
from antiphon.engine.changes import Watched
from antiphon.engine.retrying import RetryPolicy
from tests.conformance.typescript.judging import Connect, equal, raising

AT_ONCE: Final = RetryPolicy(attempts=20, initial=0.001, maximum=0.001)


async def changes_are_told(connect: Connect) -> None:
    async with (
        connect() as client,
        client.subscribe(
            tools=True, prompts=True, resources=True, uris=["shelf://dune"]
        ) as changes,
    ):
        equal(changes.honoured, changes.asked)
        await client.call_tool("change_lists")
        await client.call_tool("rewrite", {"to": "Sand."})
        told = [await anext(changes) for _ in range(4)]
        text = (await client.read_resource("shelf://dune")).text
    lists = [ListChanged("tools"), ListChanged("prompts"), ListChanged("resources")]
    equal(told, [*lists, ResourceUpdated("shelf://dune")])
    equal(text, "Sand.")


async def only_what_was_asked_for_is_told(connect: Connect) -> None:
    async with connect() as client, client.subscribe(prompts=True) as changes:
        await client.call_tool("rewrite", {"to": "Water."})
        await client.call_tool("change_lists")
        equal(await anext(changes), ListChanged("prompts"))
    equal(changes.honoured, Watched(prompts=True, uris=()))


async def several_subscriptions_do_not_mix(connect: Connect) -> None:
    async with (
        connect() as client,
        client.subscribe(tools=True) as tools,
        client.subscribe(uris=["shelf://dune"]) as dune,
    ):
        await client.call_tool("change_lists")
        await client.call_tool("rewrite", {"to": "Sand."})
        equal(await anext(dune), ResourceUpdated("shelf://dune"))
        equal(await anext(tools), ListChanged("tools"))


async def calls_go_on_when_one_was_left(connect: Connect) -> None:
    async with connect() as client:
        async with client.subscribe(tools=True):
            pass
        async with client.subscribe(tools=True) as again:
            await client.call_tool("change_lists")
            equal(await anext(again), ListChanged("tools"))


async def a_lost_one_is_made_again(connect: Connect) -> None:
    async with connect(reconnect=AT_ONCE) as client, client.subscribe(tools=True) as changes:
        with raising(TransportLost) as caught:
            await client.call_tool("lose")
        assert caught.error.sent
        assert isinstance(await anext(changes), Reconnected)
        await client.call_tool("change_lists")
        equal(await anext(changes), ListChanged("tools"))
