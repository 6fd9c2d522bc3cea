"""The bridge, where one of the two sides does what it should not, or leaves."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from antiphon import Incoming, Server
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, JsonObject, Notification, Request
from antiphon.engine.own_requests import LAST_WORD
from tests.older_server.asking import Greet, asks, done, form, low, make
from tests.older_server.desk import Desk, answering, desk
from tests.older_server.peer import DECLINE, VERSIONS, accept, text_of
from tests.stdio.harness import cancelled_at

# -- what the client must not decide ----------------------------------------------------------


async def test_states_and_answers_of_the_client_are_dropped(autojump_clock: MockClock) -> None:
    seen: list[Any] = []

    async def handler(request: Incoming) -> JsonObject:
        seen.append({"inputResponses", "requestState"} & request.params.keys())
        return done()

    await desk(low(handler)).tool_with(
        {"name": "t", "inputResponses": {"q0": 1}, "requestState": "s"}
    )
    assert seen == [set()]


@pytest.mark.parametrize("seal", [False, True])
async def test_state_comes_back_to_a_low_level_handler_sealed_or_not(
    seal: bool, autojump_clock: MockClock
) -> None:
    seen: list[Any] = []

    async def handler(request: Incoming) -> JsonObject:
        seen.append(request.params.get("requestState"))
        return done() if len(seen) == 3 else asks(form(), state=f"round {len(seen)}")

    client = desk(low(handler, seal=seal))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, accept(name="a"), accept(name="b"))
        await client.tool("t")
    assert seen == [None, "round 1", "round 2"]
    assert not [q for q in client.asked if "requestState" in q.params]


async def test_state_of_a_sealing_server_does_not_age_while_its_call_is_open(
    autojump_clock: MockClock,
) -> None:
    now = 0.0
    server = Server("Old", ttl=10, clock=lambda: now)
    server.tool(Greet())
    client = desk(server)

    async def person() -> None:
        nonlocal now
        (question,) = await client.questions(1)
        now = 1000.0
        client.answer(question, accept(name="Ada"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(person)
        assert text_of(await client.tool("greet")) == "Hello, Ada."


async def test_question_that_was_not_declared_ends_in_words_for_a_model(
    autojump_clock: MockClock,
) -> None:
    declared: list[JsonObject] = [{}, {"sampling": {}}, {"elicitation": {"url": {}}}]
    for capabilities in declared:
        client = desk(make(), capabilities=capabilities)
        result = await client.tool("greet")
        assert result["isError"] is True
        assert "elicitation" in text_of(result)
        assert client.asked == []


async def test_elicitation_without_modes_is_a_form(autojump_clock: MockClock) -> None:
    client = desk(make(), "2025-06-18", {"elicitation": {}})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, accept(name="Ada"))
        assert text_of(await client.tool("greet")) == "Hello, Ada."
    assert "mode" not in client.asked[0].params


async def test_session_that_is_not_remembered_is_asked_nothing(autojump_clock: MockClock) -> None:
    session = make().sessionless("2025-11-25")
    client = Desk(session)
    result = await client.tool("greet")
    assert "sessions=True" in text_of(result)
    assert client.asked == []


# -- faults of the server ---------------------------------------------------------------------


class Odd:
    """Nothing that JSON can say."""


@pytest.mark.parametrize(
    "value", [Odd(), float("nan"), "\ud800"], ids=["object", "nan", "surrogate"]
)
async def test_question_that_cannot_be_sent_is_the_servers_fault(
    value: Any, caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    async def handler(request: Incoming) -> JsonObject:
        return asks({**form(), "more": value}, form(), state="s")

    reply = await desk(low(handler)).send("tools/call", {"name": "t"})
    assert reply == Failure(reply.id, -32603, "Internal error")
    assert "cannot be sent" in caplog.text


async def test_handler_that_asks_what_is_no_question_is_the_servers_fault(
    autojump_clock: MockClock,
) -> None:
    async def handler(request: Incoming) -> JsonObject:
        return {"resultType": "input_required", "inputRequests": {"a": {"method": "ping"}}}

    reply = await desk(low(handler)).send("tools/call", {"name": "t"})
    assert isinstance(reply, Failure)
    assert reply.code == -32603


async def test_way_that_breaks_ends_the_call_and_not_the_session(
    caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    client = desk(make())

    async def broken(message: Request | Notification) -> None:
        raise RuntimeError("the way is broken")

    request = Request(1, "tools/call", {"name": "greet", "arguments": {}})
    reply = await client.session.handle(request, Exchange(), broken)
    assert reply == Failure(1, -32603, "Internal error")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, accept(name="Ada"))
        assert text_of(await client.tool("greet")) == "Hello, Ada."


# -- cancellation -----------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("tool", ["greet", "two", "look"])
async def test_cancellation_at_each_await_takes_the_questions_back(
    tool: str, late: bool, autojump_clock: MockClock
) -> None:
    for step in range(1, 200):
        client = desk(make(), slow=0.1)
        answers = (accept(name="Ada"), accept(name="Bea"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answering, client, *answers)
            over = await cancelled_at(step, partial(client.tool, tool), late=late)
            nursery.cancel_scope.cancel()
        assert len(client.session.own) == 0
        asked = [question.id for question in client.asked]
        # Those that were put and not answered; the last ones may just have been on their way.
        assert set(asked) <= set(client.taken_back) | set(asked[: len(answers)])
        if over:
            return
    raise AssertionError("it never came to an end")


async def test_cancelled_call_waits_no_longer_than_a_second_for_a_client_that_does_not_read(
    autojump_clock: MockClock,
) -> None:
    client = desk(make())
    before = trio.current_time()
    with trio.move_on_after(5):
        async with trio.open_nursery() as nursery:

            async def stall() -> None:
                await client.questions(1)
                client.slow = 1000

            nursery.start_soon(stall)
            await client.tool("greet")
    assert trio.current_time() - before == 5 + LAST_WORD


async def test_many_calls_at_once_keep_their_answers_apart(autojump_clock: MockClock) -> None:
    client = desk(make())
    told: dict[int, str] = {}

    async def call(number: int) -> None:
        told[number] = text_of(await client.tool("greet"))

    async def people() -> None:
        asked = await client.questions(200)
        for number, question in enumerate(reversed(asked)):
            client.answer(question, accept(name=f"n{number}"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(people)
        for number in range(200):
            nursery.start_soon(call, number)
    assert sorted(told.values()) == sorted(f"Hello, n{number}." for number in range(200))
    assert len(client.session.own) == 0


# -- without end ------------------------------------------------------------------------------


async def test_rounds_by_hand_are_bounded_whatever_is_answered(autojump_clock: MockClock) -> None:
    served = 0

    async def handler(request: Incoming) -> JsonObject:
        nonlocal served
        served += 1
        return asks(form())

    client = desk(low(handler, rounds=5))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(answering, client, *[DECLINE] * 6))
        result = await client.tool("t")
    assert served == 6
    assert result["isError"] is True
    assert "limit rounds" in text_of(result)


async def test_flow_says_itself_that_it_had_all_its_rounds(autojump_clock: MockClock) -> None:
    result = await desk(make(rounds=5)).tool("look", most=100)
    assert text_of(result).startswith("look: gave up after 5 rounds")


# -- what is declared -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("elicitation", "asked"),
    [
        ({}, True),
        ({"form": {}, "url": {}}, True),
        ({"form": {"applyDefaults": True}}, True),
        ({"applyDefaults": True}, True),
        ({"url": {}}, False),
        (None, False),
        (True, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", VERSIONS)
async def test_forms_go_to_whoever_declares_elicitation_and_not_links_alone(
    elicitation: Any, asked: bool, version: str, autojump_clock: MockClock
) -> None:
    client = desk(make(), version, {"elicitation": elicitation})
    with trio.move_on_after(1):
        await client.tool("greet")
    assert len(client.asked) == asked
