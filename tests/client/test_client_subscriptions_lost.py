"""A subscription whose stream is lost: it is made again, not too often, and says so."""

from __future__ import annotations

import logging

import pytest
import trio

from antiphon.engine.call_errors import LegTimeout, ServerError
from antiphon.engine.changes import Change, ListChanged, Reconnected, Watched
from antiphon.engine.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallError,
    InvalidReply,
    UsageError,
)
from antiphon.engine.exchange import Deferral, TransportLost
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.reconnecting import RECONNECT, STEADY, Losses, may_pass
from antiphon.engine.retrying import RetryPolicy
from antiphon.transports.http_answer import BadStatus
from tests.client.listening import (
    STEADY_WAITS,
    Script,
    Stream,
    client_of,
    cut,
    ending,
    failing,
    lost,
    never,
    raising,
    standing,
    take_all,
)
from tests.engine.subscribing import ended


def deferred(after: float | None) -> InvalidReply:
    """The server would not serve the request now."""
    error = InvalidReply("too much to do")
    error.deferral = Deferral(unserved=True, after=after)
    return error


async def test_a_lost_stream_is_made_again_and_said_so(autojump_clock: object) -> None:
    client, server = client_of(standing(100), ending)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == [Reconnected(1.0, "the line is cut")]
        assert changes.ended
    first, second = server.requests
    assert first.id != second.id
    assert first.params["notifications"] == second.params["notifications"]


async def test_the_time_without_a_stream_is_told(autojump_clock: object) -> None:
    async def slow(stream: Stream) -> JsonObject:
        await trio.sleep(5)
        return await ending(stream)

    client, _ = client_of(standing(50), never, never, slow)
    async with client.subscribe(tools=True) as changes:
        # Three waits of 1, 2 and 4 seconds, and five for the acknowledgement.
        assert await take_all(changes) == [Reconnected(12.0, "the line is cut")]


async def test_what_was_heard_before_a_loss_comes_before_it(autojump_clock: object) -> None:
    async def chatty(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.changed("tools")
        raise lost()

    async def chatty_again(stream: Stream) -> JsonObject:
        stream.acknowledge()
        stream.changed("prompts")
        return ended(stream.id)

    client, _ = client_of(chatty, chatty_again)
    async with client.subscribe(tools=True, prompts=True) as changes:
        await trio.sleep(10)
        assert await take_all(changes) == [
            ListChanged("tools"),
            Reconnected(1.0, "the line is cut"),
            ListChanged("prompts"),
        ]


async def test_losses_that_nobody_has_taken_yet_are_told_as_one(autojump_clock: object) -> None:
    client, server = client_of(standing(20), standing(20), standing(20), ending)
    async with client.subscribe(tools=True) as changes:
        await trio.sleep(100)
        assert await take_all(changes) == [Reconnected(1.0, "the line is cut")]
    assert len(server.requests) == 4


async def test_what_another_server_honours_is_told_after_a_loss(autojump_clock: object) -> None:
    async def poorer(stream: Stream) -> JsonObject:
        stream.acknowledge(toolsListChanged=True)
        await trio.sleep_forever()
        raise AssertionError

    client, _ = client_of(standing(20), poorer)
    async with client.subscribe(tools=True, prompts=True) as changes:
        assert changes.honoured == Watched(tools=True, prompts=True)
        assert isinstance(await anext(changes), Reconnected)
        assert changes.honoured == Watched(tools=True)


async def test_a_hook_hears_of_a_loss_too(autojump_clock: object) -> None:
    heard: list[Change] = []
    client, _ = client_of(standing(20), ending)
    client.on_change(heard.append)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == heard == [Reconnected(1.0, "the line is cut")]


async def test_the_reason_has_no_words_of_a_child(autojump_clock: object) -> None:
    async def dying(stream: Stream) -> JsonObject:
        stream.acknowledge()
        raise TransportLost("it died", sent=True, detail="a traceback\nof many lines")

    client, _ = client_of(dying, ending)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == [Reconnected(1.0, "it died")]


async def test_every_loss_is_logged(
    autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    client, _ = client_of(cut, never, ending)
    async with client.subscribe(tools=True) as changes:
        await take_all(changes)
    told = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert told == [
        "The subscription at 'scripted' was lost (the line is cut); it is made again in 1.0 s",
        "The subscription at 'scripted' was lost (nobody is there); it is made again in 2.0 s",
    ]


# -- when it is made again --------------------------------------------------------------------


async def test_attempts_that_fail_wait_longer_and_longer_and_then_it_is_over(
    autojump_clock: object,
) -> None:
    client, server = client_of(standing(50), never)
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(TransportLost, match="nobody is there"):
            await anext(changes)
        with pytest.raises(TransportLost):  # and it stays over
            await anext(changes)
        assert not changes.ended
    assert server.waits == [51, 2, 4, 8]


async def test_a_server_that_acknowledges_and_hangs_up_is_not_asked_for_ever(
    autojump_clock: object,
) -> None:
    heard: list[Change] = []
    client, server = client_of(cut)
    client.on_change(heard.append)
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(TransportLost):
            await take_all(changes)
    assert server.waits == [1, 2, 4, 8]
    assert heard == [Reconnected(float(n), "the line is cut") for n in (1, 2, 4, 8)]


async def test_a_stream_that_stood_for_a_while_makes_the_waits_short_again(
    autojump_clock: object,
) -> None:
    client, server = client_of(standing(STEADY), never, never, standing(STEADY), ending)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == [
            Reconnected(7.0, "the line is cut"),
            Reconnected(1.0, "the line is cut"),
        ]
    assert server.waits == [STEADY + 1, 2, 4, STEADY + 1]


async def test_streams_that_are_cut_regularly_go_on_for_days(autojump_clock: object) -> None:
    client, server = client_of(*[standing(60)] * 500, ending)
    async with client.subscribe(tools=True) as changes:
        assert len(await take_all(changes)) == 500
    assert set(server.waits) == {61}


@pytest.mark.parametrize("after", [0.0, 3.0, 30.0])
async def test_the_time_that_a_server_asks_for_comes_first(
    after: float, autojump_clock: object
) -> None:
    client, server = client_of(standing(20), raising(deferred(after)), ending)
    async with client.subscribe(tools=True) as changes:
        await take_all(changes)
    assert server.waits == [21, after + 2]


async def test_a_server_that_wants_to_be_left_alone_for_long_is(autojump_clock: object) -> None:
    client, server = client_of(standing(20), raising(deferred(31)))
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(InvalidReply, match="too much to do"):
            await take_all(changes)
    assert len(server.requests) == 2


async def test_acknowledgements_that_do_not_come_are_attempts_that_fail(
    autojump_clock: object,
) -> None:
    async def mute(_: Stream) -> JsonObject:
        await trio.sleep_forever()
        raise AssertionError

    client, server = client_of(standing(20), mute, ending, leg_timeout=5)
    async with client.subscribe(tools=True) as changes:
        assert await take_all(changes) == [Reconnected(8.0, "the line is cut")]
    assert server.cancelled == 1


async def test_nothing_is_made_again_where_that_is_not_wanted() -> None:
    client, server = client_of(cut, reconnect=None)
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(TransportLost, match="the line is cut"):
            await anext(changes)
    assert len(server.requests) == 1


async def test_a_client_that_is_closed_makes_nothing_again(autojump_clock: object) -> None:
    client, server = client_of(standing(20))
    async with client.subscribe(tools=True) as changes:
        client.close()
        with pytest.raises(UsageError, match="This client is closed"):
            await anext(changes)
    assert len(server.requests) == 1


# -- what is mended ---------------------------------------------------------------------------


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, INVALID_PARAMS, -32020, -32021])
@pytest.mark.parametrize("before", [[], [never]])
async def test_what_cannot_be_mended_is_raised(
    code: int, before: list[Script], autojump_clock: object
) -> None:
    client, server = client_of(standing(20), *before, failing(code))
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(ServerError) as caught:
            await anext(changes)
    assert caught.value.code == code
    assert len(server.requests) == 2 + len(before)


async def test_an_acknowledgement_that_makes_no_sense_is_not_asked_for_again(
    autojump_clock: object,
) -> None:
    async def confused(stream: Stream) -> JsonObject:
        stream.say("subscriptions/acknowledged", notifications=[1])
        await trio.sleep_forever()
        raise AssertionError

    client, server = client_of(standing(20), confused)
    async with client.subscribe(tools=True) as changes:
        with pytest.raises(InvalidReply, match="acknowledged the subscription wrongly"):
            await anext(changes)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "broken",
    [
        lost(),
        InvalidReply("an event that is too long"),
        deferred(None),
        ServerError(INTERNAL_ERROR, "it went wrong"),
        ServerError(429, "too many subscriptions"),
        ServerError(-32000, "Connection closed"),
    ],
)
async def test_whatever_breaks_a_stream_off_it_is_made_again(
    broken: CallError, autojump_clock: object
) -> None:
    async def breaking(stream: Stream) -> JsonObject:
        stream.acknowledge()
        raise broken

    client, _ = client_of(breaking, ending)
    async with client.subscribe(tools=True) as changes:
        (change,) = await take_all(changes)
    assert isinstance(change, Reconnected)
    assert change.reason in str(broken)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (lost(sent=True), True),
        (lost(sent=False), True),
        (LegTimeout("no reply", 5), True),
        (deferred(None), True),
        (ServerError(INTERNAL_ERROR, "no"), True),
        (ServerError(429, "no"), True),
        (ServerError(-32602, "no"), False),
        (ServerError(-32022, "no"), False),
        (InvalidReply("no"), False),
        (BadStatus("no", status=502), True),
        (BadStatus("no", status=504), True),
        (BadStatus("no", status=401), False),
        (BadStatus("no", status=404), False),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(error: CallError, passes: bool) -> None:
    assert may_pass(error) is passes


def test_losses_are_counted_from_the_last_stream_that_stood() -> None:
    losses = Losses(None, STEADY_WAITS)
    assert losses.after_one(lost(), 1000) == 1
    assert [losses.after_one(lost(), None) for _ in range(2)] == [2, 4]
    assert losses.after_one(lost(), STEADY - 1) == 8
    assert losses.after_one(lost(), None) is None
    assert losses.after_one(lost(), STEADY) == 1
    assert losses.after_one(InvalidReply("HTML"), None) is None


def test_by_default_it_is_tried_for_some_minutes_and_never_in_a_tight_loop() -> None:
    longest = RetryPolicy(
        attempts=RECONNECT.attempts,
        initial=RECONNECT.initial,
        maximum=RECONNECT.maximum,
        chance=lambda: 1.0,
    )
    waits = [longest.wait(n) for n in range(1, RECONNECT.attempts)]
    assert waits[:7] == [1, 2, 4, 8, 16, 30, 30]
    assert 300 < sum(wait for wait in waits if wait is not None) < 900
    assert longest.wait(RECONNECT.attempts) is None
