"""Subscriptions: what is acknowledged, what is heard, and what ends them."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from antiphon.engine.errors import BUSY, INVALID_PARAMS, ProtocolError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, JsonValue, RequestId
from antiphon.engine.limits import Limits
from antiphon.engine.subscription_filter import Honoured
from antiphon.engine.subscriptions import Subscriptions
from tests.engine.subscribing import (
    ALL,
    EVERYTHING,
    Subscriber,
    acknowledged,
    data_of,
    ended,
    tagged,
    tools_changed,
    updated,
)

settled = trio.testing.wait_all_tasks_blocked


def hub_of(honoured: Honoured = ALL, **limits: int) -> Subscriptions:
    return Subscriptions(Limits(**limits), lambda: honoured)


# -- acknowledgement --------------------------------------------------------------------------


@pytest.mark.parametrize("id", [1, "1", "listen-1", 0])
async def test_acknowledgement_comes_first_and_everything_carries_the_requests_id(
    id: RequestId, nursery: trio.Nursery
) -> None:
    hub = hub_of()
    subscriber = Subscriber(hub, id)
    nursery.start_soon(lambda: subscriber.subscribe(**EVERYTHING))
    await settled()
    assert subscriber.heard == [acknowledged(id, **EVERYTHING)]
    hub.tools_changed()
    hub.resource_updated("file:///b")
    await settled()
    assert subscriber.heard[1:] == [tools_changed(id), updated("file:///b", id)]
    hub.close()
    await settled()
    assert subscriber.result == ended(id)


@pytest.mark.parametrize(
    ("honoured", "granted"),
    [
        (Honoured(), {}),
        (Honoured(tools=True), {"toolsListChanged": True}),
        (
            Honoured(prompts=True, resources=True),
            {"promptsListChanged": True, "resourcesListChanged": True},
        ),
        (Honoured(updates=True), {"resourceSubscriptions": ["file:///a", "file:///b"]}),
        (ALL, EVERYTHING),
    ],
)
async def test_only_what_the_server_honours_is_acknowledged_and_heard(
    honoured: Honoured, granted: JsonObject, nursery: trio.Nursery
) -> None:
    hub = hub_of(honoured)
    subscriber = Subscriber(hub)
    nursery.start_soon(lambda: subscriber.subscribe(**EVERYTHING))
    await settled()
    assert subscriber.heard == [acknowledged(**granted)]
    tell_everything(hub)
    await settled()
    assert set(subscriber.told) == words(granted)
    hub.close()


def tell_everything(hub: Subscriptions) -> None:
    hub.tools_changed()
    hub.prompts_changed()
    hub.resources_changed()
    for uri in ("file:///a", "file:///b", "file:///c", "file:///a/under", "FILE:///a"):
        hub.resource_updated(uri)


def words(filter: JsonObject) -> set[str]:
    uris = filter.get("resourceSubscriptions", [])
    assert isinstance(uris, list)
    lists = {member.removesuffix("ListChanged") for member in filter if filter[member] is True}
    return {*map(str, uris), *lists}


@pytest.mark.parametrize(
    "filter",
    [
        {"toolsListChanged": True},
        {"promptsListChanged": True},
        {"resourcesListChanged": True},
        {"resourceSubscriptions": ["file:///a"]},
        {"resourceSubscriptions": ["file:///c", "file:///a"], "toolsListChanged": True},
    ],
)
async def test_nothing_outside_the_filter_is_heard(
    filter: JsonObject, nursery: trio.Nursery
) -> None:
    hub = hub_of()
    subscriber = Subscriber(hub)
    nursery.start_soon(lambda: subscriber.subscribe(**filter))
    await settled()
    tell_everything(hub)
    await settled()
    assert len(subscriber.told) == len(words(filter))
    assert set(subscriber.told) == words(filter)
    hub.close()


async def test_false_empty_repeated_and_unknown_members_of_the_filter_are_left_out(
    nursery: trio.Nursery,
) -> None:
    hub = hub_of()
    plain, repeated = Subscriber(hub, 1), Subscriber(hub, 2)
    nursery.start_soon(
        lambda: plain.subscribe(toolsListChanged=False, resourceSubscriptions=[], taskIds=["t"])
    )
    uris: JsonValue = ["file:///b", "file:///a", "file:///b"]
    nursery.start_soon(lambda: repeated.subscribe(resourceSubscriptions=uris))
    await settled()
    assert plain.heard == [acknowledged(1)]
    assert repeated.heard == [acknowledged(2, resourceSubscriptions=["file:///b", "file:///a"])]
    hub.close()


async def test_what_a_server_honours_is_asked_at_each_subscription(nursery: trio.Nursery) -> None:
    honoured = [Honoured(), Honoured(tools=True)]
    hub = Subscriptions(Limits(), lambda: honoured.pop(0))
    first, second = Subscriber(hub), Subscriber(hub)
    for subscriber in (first, second):
        nursery.start_soon(lambda who: who.subscribe(toolsListChanged=True), subscriber)
        await settled()
    assert first.heard == [acknowledged()]
    assert second.heard == [acknowledged(toolsListChanged=True)]
    hub.close()


# -- order and memory -------------------------------------------------------------------------


async def test_what_changes_before_the_acknowledgement_is_out_is_heard_after_it(
    nursery: trio.Nursery,
) -> None:
    hub = hub_of()
    subscriber = Subscriber(hub)
    reading = subscriber.stop_reading()
    nursery.start_soon(lambda: subscriber.subscribe(toolsListChanged=True))
    await settled()
    hub.tools_changed()
    await settled()
    assert subscriber.heard == []
    reading.set()
    await settled()
    assert subscriber.heard == [acknowledged(toolsListChanged=True), tools_changed()]
    hub.close()


async def test_slow_reader_hears_of_each_thing_once_however_often_it_changed(
    nursery: trio.Nursery,
) -> None:
    hub = hub_of()
    slow, quick = Subscriber(hub, 1), Subscriber(hub, 2)
    for subscriber in (slow, quick):
        nursery.start_soon(lambda who: who.subscribe(**EVERYTHING), subscriber)
    await settled()
    reading = slow.stop_reading()
    hub.resource_updated("file:///b")  # it is on its way, and what follows is not
    await settled()
    for _ in range(3):
        for _ in range(100):
            tell_everything(hub)
        await settled()
    reading.set()
    await settled()
    expected = ["tools", "prompts", "resources", "file:///a", "file:///b"]
    assert slow.told == ["file:///b", *expected]
    assert quick.told == ["file:///b", *expected * 3]
    hub.close()


async def test_change_while_the_same_is_being_told_is_told_again(nursery: trio.Nursery) -> None:
    hub = hub_of()
    subscriber = Subscriber(hub)
    nursery.start_soon(lambda: subscriber.subscribe(toolsListChanged=True))
    await settled()
    reading = subscriber.stop_reading()
    hub.tools_changed()
    await settled()  # the subscriber may have read the list already
    hub.tools_changed()
    reading.set()
    await settled()
    assert subscriber.told == ["tools", "tools"]
    hub.close()


# -- the end ----------------------------------------------------------------------------------


async def test_close_ends_all_with_their_results_after_what_had_changed() -> None:
    hub = hub_of()
    subscribers = [Subscriber(hub, id) for id in range(3)]
    async with trio.open_nursery() as nursery:
        for subscriber in subscribers:
            nursery.start_soon(lambda who: who.subscribe(**EVERYTHING), subscriber)
        await settled()
        reading = subscribers[0].stop_reading()
        hub.tools_changed()
        await settled()
        hub.resource_updated("file:///a")
        hub.close()
        hub.close()
        hub.prompts_changed()  # nobody need hear of it any more
        await settled()
        assert [who.result for who in subscribers] == [None, ended(1), ended(2)]
        reading.set()
    assert subscribers[0].result == ended(0)
    assert [who.told for who in subscribers] == [["tools", "file:///a"]] * 3


async def test_subscription_after_the_close_is_acknowledged_and_ended() -> None:
    hub = hub_of()
    hub.close()
    subscriber = Subscriber(hub)
    await subscriber.subscribe(toolsListChanged=True)
    assert subscriber.heard == [acknowledged(toolsListChanged=True)]
    assert subscriber.result == ended()


async def test_closing_transport_ends_its_own_subscriptions_alone(nursery: trio.Nursery) -> None:
    hub = hub_of()
    here, there = Subscriber(hub, "here"), Subscriber(hub, "there")
    for subscriber in (here, there):
        nursery.start_soon(lambda who: who.subscribe(toolsListChanged=True), subscriber)
    await settled()
    here.closing.close()
    hub.tools_changed()
    await settled()
    assert (here.result, here.told) == (ended("here"), [])
    assert (there.result, there.told) == (None, ["tools"])
    await here.subscribe(toolsListChanged=True)  # on the same, closed transport
    assert here.heard[1:] == [acknowledged("here", toolsListChanged=True)]
    hub.close()


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "named"),
    [
        ({"toolsListChanged": 1}, "toolsListChanged"),
        ({"promptsListChanged": "yes"}, "promptsListChanged"),
        ({"resourcesListChanged": None}, "resourcesListChanged"),
        ({"resourceSubscriptions": "file:///a"}, "resourceSubscriptions"),
        ({"resourceSubscriptions": {"file:///a": 1}}, "resourceSubscriptions"),
        ({"resourceSubscriptions": ["file:///a", 7]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": ["file:///a", ""]}, "an array of absolute URIs"),
        ({"resourceSubscriptions": ["no uri"]}, "an array of absolute URIs"),
        ({"resourceSubscriptions": ["/etc/passwd"]}, "an array of absolute URIs"),
        ({"resourceSubscriptions": ["file:///\x00"]}, "an array of absolute URIs"),
    ],
)
@pytest.mark.parametrize("honoured", [ALL, Honoured()])
async def test_malformed_filter_is_refused_by_its_member_and_nothing_is_sent(
    filter: JsonObject, named: str, honoured: Honoured
) -> None:
    subscriber = Subscriber(hub_of(honoured))
    await subscriber.subscribe(**filter)
    assert subscriber.error is not None
    assert subscriber.error.code == INVALID_PARAMS
    assert named in subscriber.error.message
    assert subscriber.heard == []


@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": []}])
async def test_request_without_a_filter_is_refused(params: JsonObject) -> None:
    with pytest.raises(ProtocolError, match='"notifications" must be an object') as caught:
        await hub_of().listen(1, params, Exchange())
    assert caught.value.code == INVALID_PARAMS


async def test_further_subscription_than_the_limit_is_refused_until_another_ends() -> None:
    hub = hub_of(subscriptions=2)
    first, second, third = (Subscriber(hub, id) for id in range(3))
    async with trio.open_nursery() as nursery:
        for subscriber in (first, second):
            nursery.start_soon(lambda who: who.subscribe(toolsListChanged=True), subscriber)
        await settled()
        await third.subscribe(toolsListChanged=True)
        assert third.error is not None
        assert third.error.code == BUSY
        assert "limit subscriptions is 2" in third.error.message
        assert data_of(third.error) == {"limit": "subscriptions", "value": 2}
        assert third.heard == []
        first.closing.close()
        await settled()
        nursery.start_soon(lambda: third.subscribe(toolsListChanged=True))
        await settled()
        assert third.heard == [acknowledged(2, toolsListChanged=True)]
        hub.close()


async def test_tags_of_two_requests_with_alike_ids_differ(nursery: trio.Nursery) -> None:
    hub = hub_of()
    number, text = Subscriber(hub, 1), Subscriber(hub, "1")
    for subscriber in (number, text):
        nursery.start_soon(lambda who: who.subscribe(promptsListChanged=True), subscriber)
    await settled()
    hub.prompts_changed()
    await settled()
    assert number.heard[1:] == [tagged(1, "prompts/list_changed")]
    assert text.heard[1:] == [tagged("1", "prompts/list_changed")]
    hub.close()
