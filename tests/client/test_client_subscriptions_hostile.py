"""A subscription at a server that breaks the rules."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import trio

from antiphon.engine.changes import Change, ListChanged, Watched
from antiphon.engine.errors import InvalidReply
from antiphon.engine.jsonrpc import Failure, JsonObject, Notification
from tests.client.listening import (
    Stream,
    client_of,
    ending,
    raising,
    take_all,
)
from tests.engine.subscribing import ended, tagged


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def foreign(stream: Stream, params: JsonObject) -> None:
    stream.hear(Notification("notifications/tools/list_changed", params))


SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

OFFENCES: dict[str, Callable[[Stream], None]] = {
    "no id": lambda stream: foreign(stream, {}),
    "meta of a strange kind": lambda stream: foreign(stream, {"_meta": [1]}),
    "another id": lambda stream: stream.say("tools/list_changed", "another"),
    "an id of another type": lambda stream: foreign(stream, {"_meta": {SUBSCRIPTION: 1}}),
    "an id of a strange kind": lambda stream: foreign(stream, {"_meta": {SUBSCRIPTION: [1]}}),
    "what was not asked for": lambda stream: stream.changed("prompts", "resources"),
    "a resource that is not watched": lambda stream: stream.updated("file:///other"),
    "a resource without a name": lambda stream: stream.say("resources/updated"),
    "a resource of a strange name": lambda stream: stream.say("resources/updated", uri=["a"]),
    "a log message": lambda stream: stream.say("message", level="info", data="hello"),
    "a log message of nobody": lambda stream: stream.hear(
        Notification("notifications/message", {"level": "info", "data": "hello"})
    ),
    "progress": lambda stream: stream.say("progress", progressToken=stream.id, progress=1),
    "an unknown method": lambda stream: stream.say("\x1b[2Jnew"),
    "a second acknowledgement": lambda stream: stream.acknowledge(promptsListChanged=True),
}


@pytest.mark.parametrize("offence", OFFENCES.values(), ids=OFFENCES.keys())
async def test_what_does_not_belong_there_is_dropped_with_one_warning(
    offence: Callable[[Stream], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        for _ in range(1000):
            offence(stream)
        stream.changed("tools")
        return ended(stream.id)

    client, _ = client_of(script)
    async with client.subscribe(tools=True, uris=["file:///watched"]) as changes:
        assert await take_all(changes) == [ListChanged("tools")]
        assert changes.honoured == Watched(tools=True, uris=("file:///watched",))
    (warning,) = warnings(caplog)
    assert warning.startswith("'scripted' sent ")
    assert "\x1b" not in warning


async def test_what_comes_before_the_acknowledgement_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.changed("tools")
        return await ending(stream)

    client, _ = client_of(script)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == []
    assert "before it acknowledged" in warnings(caplog)[0]


async def test_what_comes_after_the_end_is_not_heard() -> None:
    streams: list[Stream] = []

    async def script(stream: Stream) -> JsonObject:
        streams.append(stream)
        return await ending(stream)

    client, _ = client_of(script)
    heard: list[Change] = []
    client.on_change(heard.append)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == []
        streams[0].changed("tools")
        streams[0].acknowledge()
        assert await take_all(changes) == []
    assert heard == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": [1]},
        {"notifications": {"toolsListChanged": "yes"}},
        {"notifications": {"resourceSubscriptions": "file:///a"}},
        {"notifications": {"resourceSubscriptions": [1]}},
    ],
)
async def test_an_acknowledgement_that_makes_no_sense_is_an_error(params: JsonObject) -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.hear(tagged(stream.id, "subscriptions/acknowledged", **params))
        await trio.sleep_forever()
        raise AssertionError

    client, server = client_of(script)
    with pytest.raises(InvalidReply, match="acknowledged the subscription wrongly"):
        async with client.subscribe(tools=True):
            raise AssertionError
    assert (server.open, len(server.requests)) == (0, 1)


async def test_a_result_without_an_acknowledgement_is_an_error() -> None:
    async def script(stream: Stream) -> JsonObject:
        await trio.lowlevel.checkpoint()
        return ended(stream.id)

    client, _ = client_of(script)
    with pytest.raises(InvalidReply, match="without having acknowledged"):
        async with client.subscribe(tools=True):
            raise AssertionError


@pytest.mark.parametrize(
    "result", [{"resultType": "input_required", "requestState": "s"}, {"resultType": "strange"}]
)
async def test_a_result_of_another_kind_is_an_error(result: JsonObject) -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        return result

    client, server = client_of(script)
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(InvalidReply):
            await take_all(changes)
        assert not changes.ended
    assert len(server.requests) == 1


async def test_the_revision_is_agreed_upon_as_for_any_request() -> None:
    async def refuse(stream: Stream) -> Failure:
        await trio.lowlevel.checkpoint()
        data: JsonObject = {"supported": ["2026-07-28"], "requested": "?"}
        return Failure(None, -32022, "unsupported", data)

    client, server = client_of(refuse, ending)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == []
    first, second = server.requests
    assert first.id != second.id


async def test_an_error_of_the_transport_before_the_first_stream_is_raised() -> None:
    client, _ = client_of(raising(InvalidReply("not even JSON")))
    with pytest.raises(InvalidReply, match="not even JSON"):
        async with client.subscribe(tools=True):
            raise AssertionError
