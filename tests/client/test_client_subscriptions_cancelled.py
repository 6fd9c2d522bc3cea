"""A subscription that one side cancels."""

from __future__ import annotations

import pytest
import trio

from antiphon.engine.changes import ListChanged, Reconnected
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import JsonObject
from tests.client.listening import (
    Stream,
    client_of,
    cut,
    ending,
    never,
    silent,
    take,
    take_all,
)
from tests.engine.subscribing import ended


async def test_a_cancellation_by_the_server_is_a_loss(autojump_clock: object) -> None:
    async def cancelling(stream: Stream) -> JsonObject:
        stream.acknowledge()
        await trio.sleep(100)
        stream.changed("tools")
        stream.cancel("another")
        await trio.sleep(100)
        stream.cancel()
        await trio.sleep_forever()
        raise AssertionError

    client, server = client_of(cancelling, ending)
    async with client.subscribe(tools=True) as changes:
        assert await take(changes, 1) == [ListChanged("tools")]
        (told,) = await take_all(changes)
    assert told == Reconnected(1.0, "'scripted' cancelled the subscription")
    assert server.cancelled == 1


async def test_a_cancellation_with_a_result_is_an_end_in_good_order(
    autojump_clock: object,
) -> None:
    async def leaving(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.cancel()
        await trio.sleep(0.5)
        return ended(stream.id)

    client, server = client_of(leaving)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == []
        assert changes.ended
    assert len(server.requests) == 1


async def test_a_cancellation_in_place_of_the_acknowledgement_is_an_error(
    autojump_clock: object,
) -> None:
    async def refusing(stream: Stream) -> JsonObject:
        stream.cancel()
        await trio.sleep_forever()
        raise AssertionError

    client, _ = client_of(refusing)
    with pytest.raises(TransportLost, match="cancelled the subscription"):
        async with client.subscribe(tools=True):
            raise AssertionError


# -- cancelled by us --------------------------------------------------------------------------


async def test_the_block_can_be_left_while_the_stream_is_lost(autojump_clock: object) -> None:
    client, server = client_of(cut, never)
    with trio.move_on_after(1.5) as scope:
        async with client.subscribe(tools=True) as changes:
            await take(changes, 1)
    assert scope.cancelled_caught
    assert (server.open, trio.current_time()) == (0, 1.5)


async def test_a_taker_that_is_cancelled_takes_nothing(autojump_clock: object) -> None:
    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        await trio.sleep(10)
        stream.changed("tools")
        return await silent(stream)

    client, _ = client_of(script)
    async with client.subscribe(tools=True) as changes:
        with trio.move_on_after(5):
            await anext(changes)
        await trio.sleep(10)
        with trio.CancelScope() as scope:
            scope.cancel()
            await anext(changes)
        assert await anext(changes) == ListChanged("tools")
