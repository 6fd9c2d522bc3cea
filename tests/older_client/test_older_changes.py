"""Subscriptions at servers of earlier revisions, as ``client.subscribe`` has them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import TransportLost
from antiphon.engine.changes import Change, ListChanged, ResourceUpdated
from antiphon.engine.client import Client
from tests.older_client.older_server import Asked, OlderServer, Refused, client_of

settled = trio.testing.wait_all_tasks_blocked
LEGACY: Any = {"mode": "legacy"}


async def listen(client: Client, heard: list[Change], **asked: Any) -> None:
    async with client.subscribe(**asked) as changes:
        async for change in changes:
            heard.append(change)


async def test_changes_that_were_asked_for_are_told_and_no_others() -> None:
    server, heard = OlderServer(), list[Change]()
    async with client_of(server, **LEGACY) as client, trio.open_nursery() as nursery:
        nursery.start_soon(partial(listen, client, heard, tools=True, uris=["file:///a"]))
        await settled()
        await server.tell("tools/list_changed")
        await server.tell("prompts/list_changed")
        await server.tell("resources/updated", uri="file:///a/part")
        await server.tell("resources/updated", uri="file:///b")
        await server.tell("resources/list_changed")
        await settled()
        assert heard == [ListChanged("tools"), ResourceUpdated("file:///a/part")]
        nursery.cancel_scope.cancel()
    assert server.params("resources/subscribe") == [{"uri": "file:///a"}]


async def test_what_is_honoured_is_what_the_server_declares() -> None:
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
    server = OlderServer(capabilities=capabilities)
    asked: Any = {"tools": True, "prompts": True, "resources": True, "uris": ["file:///a"]}
    async with client_of(server, **LEGACY) as client, client.subscribe(**asked) as changes:
        honoured = changes.honoured
    assert (honoured.tools, honoured.prompts, honoured.resources) == (True, False, False)
    assert honoured.uris == ()
    assert "resources/subscribe" not in server.asked


async def test_a_resource_that_the_server_refuses_is_not_honoured() -> None:
    async def subscribe(asked: Asked) -> Any:
        if asked.params["uri"] == "file:///bad":
            raise Refused(-32002, "Resource not found")
        return {}

    server = OlderServer({"resources/subscribe": subscribe})
    uris = ["file:///bad", "file:///good"]
    async with client_of(server, **LEGACY) as client, client.subscribe(uris=uris) as changes:
        assert changes.honoured.uris == ("file:///good",)
    await settled()
    assert [params["uri"] for params in server.params("resources/unsubscribe")] in (
        [],
        ["file:///good"],
    )


async def test_a_resource_is_subscribed_to_once_and_left_with_the_last() -> None:
    server = OlderServer()
    async with client_of(server, **LEGACY) as client:
        async with client.subscribe(uris=["file:///a"]):
            async with client.subscribe(uris=["file:///a", "file:///b"]):
                await settled()
            await settled()
            assert server.params("resources/unsubscribe") == [{"uri": "file:///b"}]
        await settled()
    assert server.params("resources/subscribe") == [{"uri": "file:///a"}, {"uri": "file:///b"}]
    assert server.params("resources/unsubscribe") == [{"uri": "file:///b"}, {"uri": "file:///a"}]


async def test_what_changes_before_the_acknowledgement_is_told_after_it() -> None:
    async def subscribe(asked: Asked) -> Any:
        for _ in range(3):
            await asked.server.tell("resources/updated", uri="file:///a")
        return {}

    server, heard = OlderServer({"resources/subscribe": subscribe}), list[Change]()
    async with client_of(server, **LEGACY) as client, trio.open_nursery() as nursery:
        nursery.start_soon(partial(listen, client, heard, uris=["file:///a"]))
        await settled()
        assert heard == [ResourceUpdated("file:///a")]
        nursery.cancel_scope.cancel()


async def test_a_subscription_is_lost_with_its_connection() -> None:
    server = OlderServer()
    async with (
        client_of(server, **LEGACY, reconnect=None, retry=None) as client,
        client.subscribe(tools=True) as changes,
    ):
        await settled()
        await server.hang_up()
        with pytest.raises(TransportLost):
            await anext(changes)


async def test_a_subscription_that_is_cancelled_before_it_stands_leaves_nothing() -> None:
    async def never(asked: Asked) -> Any:
        await trio.sleep_forever()

    server = OlderServer({"resources/subscribe": never})
    async with client_of(server, **LEGACY) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(listen, client, [], uris=["file:///a"]))
            await settled()
            nursery.cancel_scope.cancel()
        await settled()
        assert len(server.cancelled) == 1
        assert server.params("resources/unsubscribe") == [{"uri": "file:///a"}]


async def test_who_leaves_early_takes_no_subscription_from_those_who_wait_for_the_same() -> None:
    slow = trio.Event()
    taken: list[Any] = []

    async def subscribe(asked: Asked) -> Any:
        await slow.wait()
        taken.append(asked.params["uri"])
        return {}

    server = OlderServer({"resources/subscribe": subscribe})
    heard: list[Any] = []

    async def hear() -> None:
        async with client.subscribe(uris=["file:///a"]) as changes:
            async for change in changes:
                heard.append(change)
                break

    async with client_of(server, **LEGACY) as client, trio.open_nursery() as nursery:
        async with trio.open_nursery() as early:
            early.start_soon(hear)
            await settled()
            nursery.start_soon(hear)
            await settled()
            early.cancel_scope.cancel()
        await settled()
        slow.set()
        await settled()
        assert taken == ["file:///a"]
        await server.tell("resources/updated", uri="file:///a")
    assert len(heard) == 1
