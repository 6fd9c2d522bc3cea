"""Calls of earlier revisions that wait for an answer: they end, whatever their client does."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import (
    AnswerInvalid,
    Asked,
    DeadlineExceeded,
    LegTimeout,
    PeopleTimeout,
    ServerError,
    TransportLost,
    UsageError,
)
from antiphon.engine.store import ConversationStore
from tests.older_client import older_server
from tests.older_client.older_server import (
    FORM,
    OlderServer,
    ask_region,
    client_of,
    hello,
    region,
    text,
)
from tests.stdio.harness import cancelled_at

settled = trio.testing.wait_all_tasks_blocked
LEGACY: Any = {"mode": "legacy"}


def asking() -> OlderServer:
    return OlderServer({"tools/call": ask_region, "tools/call:hello": hello})


async def parked(client: Any) -> Any:
    """A conversation that stands at its question."""
    conversation = client.conversation("t")
    assert isinstance(await conversation.advance(), Asked)
    return conversation


def gone(server: OlderServer) -> bool:
    """Whether the server has been told of the end of its one call, and has ended it."""
    return len(server.cancelled) == 1 and server.ended[-1] == "tools/call"


# -- a time limit -------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "limit"), [(None, 600), (30, 600), (5000, 5000)])
async def test_a_call_that_nobody_comes_back_for_is_given_up(
    people: float | None, limit: float, autojump_clock: trio.testing.MockClock
) -> None:
    server = asking()
    async with client_of(server, **LEGACY, people_timeout=people) as client:
        conversation = await parked(client)
        await trio.sleep(limit - 1)
        assert not gone(server)
        await trio.sleep(2)
        assert gone(server)
        with pytest.raises(ServerError, match=r"not open any more.*Begin the call anew") as caught:
            await conversation.advance({"question-1": {"name": "dev"}})
        assert caught.value.code == -32602


async def test_a_call_that_was_answered_may_take_its_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(asked: older_server.Asked) -> Any:
        await asked.ask("elicitation/create", FORM)
        await trio.sleep(5000)
        return text("done")

    server = OlderServer({"tools/call": slow})
    async with client_of(server, **LEGACY, elicitation=region, leg_timeout=None) as client:
        assert (await client.call_tool("t")).text == "done"


async def test_a_call_that_is_cancelled_before_it_is_sent_is_not_sent() -> None:
    server = asking()
    async with client_of(server, **LEGACY, elicitation=region) as client:
        await client.discover()
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.call_tool("t")
        await settled()
    assert "tools/call" not in server.asked
    assert server.cancelled == []


async def test_each_question_has_its_own_time(autojump_clock: trio.testing.MockClock) -> None:
    async def tool(asked: older_server.Asked) -> Any:
        for _ in range(3):
            await asked.ask("elicitation/create", FORM)
        return text("done")

    async def slow(_: object) -> Any:
        await trio.sleep(500)
        return {"name": "prod"}

    async with client_of(OlderServer({"tools/call": tool}), **LEGACY, elicitation=slow) as client:
        assert (await client.call_tool("t")).text == "done"


async def test_a_result_that_comes_while_nobody_waits_is_kept_and_for_so_long_only(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def impatient(asked: older_server.Asked) -> Any:
        with trio.move_on_after(10):
            await asked.ask("elicitation/create", FORM)
        return text("without an answer")

    server = OlderServer({"tools/call": impatient})
    async with client_of(server, **LEGACY) as client:
        for wait, comes in ((100, True), (700, False)):
            conversation = await parked(client)
            await trio.sleep(wait)
            if comes:
                result = await conversation.advance({"question-1": {"name": "dev"}})
                assert result.text == "without an answer"
            else:
                with pytest.raises(ServerError, match="not open any more"):
                    await conversation.advance({"question-1": {"name": "dev"}})
    assert server.answers == []


async def test_the_wire_has_its_time_and_people_have_theirs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(_: object) -> Any:
        await trio.sleep(500)
        return {"name": "prod"}

    async with client_of(asking(), **LEGACY, elicitation=slow, leg_timeout=5) as client:
        assert "prod" in (await client.call_tool("t")).text


# -- what ends a run ----------------------------------------------------------------------------


async def test_what_a_callback_raises_gives_the_call_up() -> None:
    async def broken(_: object) -> Any:
        raise OSError("no terminal")

    server = asking()
    async with client_of(server, **LEGACY, elicitation=broken) as client:
        with pytest.raises(OSError, match="no terminal"):
            await client.call_tool("t")
        await settled()
        assert gone(server)


async def test_an_answer_that_does_not_fit_gives_the_call_up() -> None:
    async def wrong(_: object) -> Any:
        return {"name": "mars"}

    server = asking()
    async with client_of(server, **LEGACY, elicitation=wrong) as client:
        with pytest.raises(AnswerInvalid):
            await client.call_tool("t")
        await settled()
        assert gone(server)


async def test_an_answer_by_hand_that_does_not_fit_can_be_given_anew() -> None:
    server = asking()
    async with client_of(server, **LEGACY) as client:
        conversation = await parked(client)
        with pytest.raises(AnswerInvalid):
            await conversation.advance({"question-1": {"name": "mars"}})
        assert "dev" in (await conversation.advance({"question-1": {"name": "dev"}})).text
    assert server.cancelled == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"deadline": 50}, DeadlineExceeded),
        ({"people_timeout": 50}, PeopleTimeout),
    ],
    ids=["deadline", "people"],
)
async def test_time_that_runs_out_while_a_person_thinks_gives_the_call_up(
    options: Any, error: Any, autojump_clock: trio.testing.MockClock
) -> None:
    async def endless(_: object) -> Any:
        await trio.sleep_forever()

    server = asking()
    async with client_of(server, **LEGACY, elicitation=endless, **options) as client:
        with pytest.raises(error):
            await client.call_tool("t")
        await settled()
        assert gone(server)


async def test_time_that_runs_out_on_the_wire_cancels_the_call(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(asked: older_server.Asked) -> Any:
        await asked.ask("elicitation/create", FORM)
        await trio.sleep_forever()

    server = OlderServer({"tools/call": slow})
    async with client_of(server, **LEGACY, elicitation=region, leg_timeout=5) as client:
        with pytest.raises(LegTimeout):
            await client.call_tool("t")
        await settled()
        assert gone(server)


async def test_a_conversation_can_be_abandoned() -> None:
    server = asking()
    async with client_of(server, **LEGACY) as client:
        conversation = await parked(client)
        conversation.abandon()
        conversation.abandon()
        await settled()
        assert gone(server)
        assert server.answers[0]["error"]["message"].endswith("given up")
        with pytest.raises(ServerError, match="not open any more"):
            await conversation.advance({"question-1": {"name": "dev"}})


async def test_the_end_of_the_client_ends_what_is_open() -> None:
    async def sleeps(asked: older_server.Asked) -> Any:
        await trio.sleep_forever()

    server = OlderServer({"tools/call": sleeps, "tools/call:t": ask_region})
    ends: list[Exception] = []

    async def call(client: Any) -> None:
        try:
            await client.call_tool("sleeps")
        except TransportLost as error:
            ends.append(error)

    async with trio.open_nursery() as nursery:
        async with client_of(server, **LEGACY) as client:
            conversation = await parked(client)
            nursery.start_soon(call, client)
            await settled()
        with pytest.raises(UsageError, match="closed"):
            await conversation.advance({"question-1": {"name": "dev"}})
        with pytest.raises(UsageError, match="closed"):
            await client.call_tool("t")
    assert len(ends) == 1
    assert len(server.cancelled) == 2
    assert server.ended.count("tools/call") == 2


async def test_the_end_of_the_connection_is_told_to_who_waits_and_to_who_comes_back() -> None:
    server = asking()
    async with client_of(server, **LEGACY, retry=None) as client:
        conversation = await parked(client)
        await server.hang_up()
        await settled()
        with pytest.raises(TransportLost) as caught:
            await conversation.advance({"question-1": {"name": "dev"}})
        assert caught.value.sent
        with pytest.raises(TransportLost) as caught:
            await client.call_tool("hello")
        assert not caught.value.sent


@pytest.mark.parametrize("late", [False, True], ids=["waiting", "after the wait"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_call_that_is_cancelled_anywhere_leaves_nothing_open(mode: str, late: bool) -> None:
    steps = 0
    while await cancelled_at_step(steps := steps + 1, mode, late=late):
        pass
    assert steps > 5  # the last of them has seen the call to its end


async def cancelled_at_step(step: int, mode: str, *, late: bool) -> bool:
    async def person(_: object) -> Any:
        await trio.lowlevel.checkpoint()
        return {"name": "prod"}

    server = asking()
    async with client_of(server, mode=mode, elicitation=person) as client:
        in_time = await cancelled_at(step, partial(client.call_tool, "t"), late=late)
        await settled()
        calls = server.asked.count("tools/call")
        assert calls == server.ended.count("tools/call") <= 1
        # The connection is as good as before.
        assert (await client.call_tool("hello")).text == "hello {}"
    return not in_time


# -- two who come at once, and states of others ---------------------------------------------------


async def test_one_state_is_good_for_one_leg_at_a_time() -> None:
    server = asking()
    async with client_of(server, **LEGACY) as client:
        one = await parked(client)
        state = one.interim.request_state
        assert len(state) >= 32
        other = client.conversation("t")
        assert isinstance(await other.advance(), Asked)
        assert other.interim is not None
        assert other.interim.request_state != state
        assert "dev" in (await one.advance({"question-1": {"name": "dev"}})).text
        second: Any = await other.advance({"question-1": {"name": "prod"}})
        assert "prod" in second.text


async def test_a_state_of_another_connection_is_refused_and_nothing_is_sent() -> None:
    from antiphon.engine.handshake_client import OlderTransport
    from antiphon.engine.jsonrpc import Failure, Request
    from antiphon.transports.line_client import open_lines
    from tests.stdio.harness import ignored, stream_pair

    ours, _ = stream_pair()
    async with open_lines(ours, ours) as lines, trio.open_nursery() as nursery:
        transport = OlderTransport("elder", lines.older, nursery)
        states: list[Any] = ["forged", "", 7, {}, "é" * 1000]
        for state in states:
            params: Any = {"name": "t", "requestState": state, "inputResponses": {}}
            reply = await transport.exchange(Request("1", "tools/call", params), ignored)
            assert isinstance(reply, Failure)
            assert reply.code == -32602
        await transport.close()


# -- storing ------------------------------------------------------------------------------------


async def test_an_open_call_cannot_be_stored_and_goes_on_all_the_same() -> None:
    async with client_of(asking(), **LEGACY) as client:
        conversation = client.conversation("t")
        assert conversation.storable
        assert client.load(conversation.dump()).step is None
        await conversation.advance()
        assert not conversation.storable
        with pytest.raises(UsageError, match=r"earlier revision.*lives in its connection"):
            conversation.dump()
        with pytest.raises(UsageError, match="lives in its connection"):
            await ConversationStore().save(conversation)
        result: Any = await conversation.advance({"question-1": {"name": "dev"}})
        assert "dev" in result.text


async def test_a_store_gives_a_call_up_that_it_cannot_keep() -> None:
    server, store = asking(), ConversationStore()
    async with client_of(server, **LEGACY) as client:
        conversation = client.conversation("t")
        with pytest.raises(UsageError, match="lives in its connection"):
            async with store.keeping(conversation):
                await conversation.advance()
        await settled()
        assert gone(server)
    assert await store.list() == []


async def test_a_store_keeps_a_call_that_asks_nothing() -> None:
    store = ConversationStore()
    async with client_of(asking(), **LEGACY) as client:
        conversation = client.conversation("hello")
        async with store.keeping(conversation):
            result: Any = await conversation.advance()
        assert result.text == "hello {}"
    assert await store.list() == []


async def test_many_calls_are_parked_and_answered_out_of_order() -> None:
    server = asking()
    async with client_of(server, **LEGACY) as client:
        conversations = [await parked(client) for _ in range(20)]
        for conversation in reversed(conversations):
            assert "dev" in (await conversation.advance({"question-1": {"name": "dev"}})).text
    assert server.cancelled == []
