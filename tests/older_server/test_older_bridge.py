"""The bridge: rounds within one open call, with every wait on a clock of the test."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from antiphon import Call, Form, Incoming, InputRequired, Limits, Server
from antiphon.engine.jsonrpc import Failure, JsonObject, Notification, Success
from antiphon.engine.own_requests import LAST_WORD
from tests.older_server.asking import Name, asks, done, form, low, make
from tests.older_server.desk import answering, desk
from tests.older_server.peer import CANCEL, DECLINE, accept, says, text_of

# -- answers ----------------------------------------------------------------------------------


async def test_answer_enters_by_the_same_door(autojump_clock: MockClock) -> None:
    client = desk(make())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, accept(name=""), accept(name="Ada"))
        result = await client.tool("greet")
    assert text_of(result) == "Hello, Ada."
    first, second = client.asked
    assert "at least" in str(second.params["message"]) or first.params != second.params
    assert client.taken_back == []
    assert len(client.session.own) == 0


async def test_questions_of_one_round_are_put_in_their_order(autojump_clock: MockClock) -> None:
    async def handler(request: Incoming) -> JsonObject:
        if "inputResponses" in request.params:
            return done()
        return asks(*(form(f"Question {number}?") for number in range(12)))

    client = desk(low(handler), slow=0.1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.tool, "t")
        asked = await client.questions(12)
        assert [question.params["message"] for question in asked] == [
            f"Question {number}?" for number in range(12)
        ]
        for question in asked:
            client.answer(question, accept(name="Ada"))


@pytest.mark.parametrize(
    ("answer", "told"), [(DECLINE, "declined"), (CANCEL, "cancelled")], ids=["decline", "cancel"]
)
async def test_refusals_take_their_edges(
    answer: JsonObject, told: str, autojump_clock: MockClock
) -> None:
    client = desk(make())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, answer)
        result = await client.tool("greet")
    assert (text_of(result), result["isError"]) == (told, True)


@pytest.mark.parametrize(
    ("code", "told"), [(-1, "declined"), (-32601, "cancelled"), (-32603, "cancelled")]
)
async def test_errors_in_place_of_answers_are_refusals(
    code: int, told: str, autojump_clock: MockClock
) -> None:
    client = desk(make())

    async def fail() -> None:
        (question,) = await client.questions(1)
        client.fail(question, code)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        result = await client.tool("greet")
    assert text_of(result) == told


@pytest.mark.parametrize(
    "hostile",
    [
        {},
        {"action": 5},
        {"action": "accept"},
        {"action": "accept", "content": []},
        {"action": "accept", "content": {"name": 5}},
        {"action": "accept", "content": {"name": "x" * 10, "more": {}}, "requestState": "s"},
        {"inputResponses": {}, "requestState": "a1.x", "resultType": "input_required"},
        says("I am a model"),
        {"roots": []},
    ],
    ids=str,
)
async def test_hostile_answers_end_in_a_result_and_change_nothing_else(
    hostile: JsonObject, autojump_clock: MockClock
) -> None:
    client = desk(make())

    async def always() -> None:
        number = 0
        while True:
            number += 1
            asked = await client.questions(number)
            client.answer(asked[number - 1], hostile)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(always)
        result = await client.tool("greet")
        nursery.cancel_scope.cancel()
    assert result["content"]
    assert len(client.asked) < 20
    assert len(client.session.own) == 0


async def test_questions_of_a_round_are_put_at_once_and_wait_for_each_other(
    autojump_clock: MockClock,
) -> None:
    client = desk(make())

    async def people() -> None:
        asked = {question.params["message"]: question for question in await client.questions(2)}
        client.answer(asked["Second?"], accept(name="Bea"))
        await trio.sleep(3)
        client.answer(asked["First?"], accept(name="Ada"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(people)
        result = await client.tool("two")
    assert text_of(result) == "Ada and Bea"


async def test_ids_that_nobody_waits_for_are_dropped(autojump_clock: MockClock) -> None:
    client = desk(make())

    async def people() -> None:
        (question,) = await client.questions(1)
        for id in (1, None, "server-1", "", str(question.id) + "1"):
            reply = Failure(id, -1, "no") if id is None else Success(id, accept(name="Eve"))
            client.session.own.answer(reply)
        client.answer(question, accept(name="Ada"))
        client.answer(question, accept(name="Eve"))
        client.fail(question, -1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(people)
        result = await client.tool("greet")
    assert text_of(result) == "Hello, Ada."
    client.answer(client.asked[0], accept(name="Eve"))


async def test_sessions_do_not_take_each_others_answers(autojump_clock: MockClock) -> None:
    server = make()
    one, other = desk(server), desk(server)

    async def people() -> None:
        (question,) = await one.questions(1)
        other.answer(question, accept(name="Eve"))
        await trio.testing.wait_all_tasks_blocked()
        one.answer(question, accept(name="Ada"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(people)
        assert text_of(await one.tool("greet")) == "Hello, Ada."


# -- time -------------------------------------------------------------------------------------


async def took(work: Any) -> tuple[float, Any]:
    before = trio.current_time()
    result = await work
    return trio.current_time() - before, result


async def test_question_waits_as_long_as_the_server_says(autojump_clock: MockClock) -> None:
    client = desk(make(question_seconds=40))
    seconds, result = await took(client.tool("greet"))
    assert (seconds, text_of(result)) == (40, "cancelled")
    assert client.taken_back == [client.asked[0].id]


async def test_question_that_says_so_itself_waits_as_long_as_it_says(
    autojump_clock: MockClock,
) -> None:
    client = desk(make(question_seconds=40))
    seconds, result = await took(client.tool("greet", seconds=1000))
    assert (seconds, text_of(result)) == (1000, "cancelled")
    seconds, _ = await took(client.tool("greet", seconds=0.5))
    assert seconds == 0.5


async def test_each_question_of_a_round_has_a_time_of_its_own(autojump_clock: MockClock) -> None:
    client = desk(make(question_seconds=40))
    seconds, result = await took(client.tool("two"))
    assert (seconds, text_of(result)) == (40, "refused")
    messages = {question.id: question.params["message"] for question in client.asked}
    assert [messages[id] for id in client.taken_back] == ["First?", "Second?"]


async def test_time_begins_anew_with_each_question(autojump_clock: MockClock) -> None:
    client = desk(make(question_seconds=40))

    async def slow_people() -> None:
        for number, answer in enumerate((accept(name=""), accept(name="Ada")), 1):
            asked = await client.questions(number)
            await trio.sleep(39)
            client.answer(asked[number - 1], answer)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow_people)
        seconds, result = await took(client.tool("greet"))
    assert (seconds, text_of(result)) == (78, "Hello, Ada.")


async def test_time_of_a_question_is_none_of_the_next_ones_by_its_key(
    autojump_clock: MockClock,
) -> None:
    client = desk(make(question_seconds=40))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, accept(name="Ada"))
        seconds, result = await took(client.tool("twice"))
    assert (seconds, text_of(result)) == (40, "the second")


async def test_own_time_of_a_question_holds_for_functions_too(autojump_clock: MockClock) -> None:
    server = Server("Own", limits=Limits(question_seconds=40))

    @server.tool
    async def by_hand(call: Call[Any]) -> str | InputRequired:
        if not call.input_responses:
            return InputRequired({"who": Form("Who?", Name, timeout=7)})
        return str(call.input_responses["who"])

    client = desk(server)
    seconds, result = await took(client.tool("by_hand"))
    assert seconds == 7
    assert "cancel" in text_of(result)


async def test_whole_call_is_open_no_longer_than_the_limit(autojump_clock: MockClock) -> None:
    client = desk(make(open_seconds=100, question_seconds=1000))
    seconds, result = await took(client.tool("greet"))
    assert seconds == 100
    assert result["isError"] is True
    assert "open_seconds" in text_of(result)
    assert client.taken_back == [client.asked[0].id]


async def test_polls_without_end_are_ended_too(autojump_clock: MockClock) -> None:
    client = desk(make(open_seconds=100))
    seconds, result = await took(client.tool("look", most=10_000))
    assert seconds == 100
    assert "open_seconds" in text_of(result)


async def test_call_of_a_prompt_that_was_open_too_long_is_an_error(
    autojump_clock: MockClock,
) -> None:
    server = make(open_seconds=10)

    @server.prompt
    async def ask(call: Call[Any]) -> str | InputRequired:
        return InputRequired({"who": Form("Who?", Name)})

    reply = await desk(server).send("prompts/get", {"name": "ask"})
    assert isinstance(reply, Failure)
    assert "open_seconds" in reply.message


async def test_slow_client_is_waited_for_within_the_questions_time(
    autojump_clock: MockClock,
) -> None:
    client = desk(make(question_seconds=40), slow=1000)
    seconds, result = await took(client.tool("greet"))
    # The question is taken back before it was sent whole; that has a second.
    assert (seconds, text_of(result)) == (40 + LAST_WORD, "cancelled")
    assert client.asked == []


async def test_polls_come_when_they_were_asked_for(autojump_clock: MockClock) -> None:
    client = desk(make())
    seconds, result = await took(client.tool("look", most=3))
    assert text_of(result) == "seen"
    assert 4 * 2.0 <= seconds <= 4 * 2.0 * 1.2


async def test_polls_without_a_wish_come_ever_slower(autojump_clock: MockClock) -> None:
    times: list[float] = []

    async def handler(request: Incoming) -> JsonObject:
        times.append(trio.current_time())
        return done() if len(times) == 6 else asks(state="s")

    await desk(low(handler)).tool("t")
    waits = [after - before for before, after in pairwise(times)]
    assert waits[0] >= 0.05
    assert all(0.05 <= wait <= 0.3 for wait in waits)
    assert waits[-1] >= 0.25


# -- progress ---------------------------------------------------------------------------------


async def test_progress_rises_across_rounds(autojump_clock: MockClock) -> None:
    async def handler(request: Incoming) -> JsonObject:
        call = request.call()
        for done_so_far in (1, 2, 3):
            await call.progress(done_so_far, 10)
        if request.params.get("inputResponses") is None:
            return asks(form())
        await call.progress(9)
        return done()

    client = desk(low(handler))
    params: JsonObject = {"name": "t", "_meta": {"progressToken": "p"}}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answering, client, accept(name="Ada"))
        await client.tool_with(params)
    assert [note.params["progress"] for note in client.notes] == [1, 2, 3, 9]


async def test_polls_tell_their_progress_to_those_who_want_it(autojump_clock: MockClock) -> None:
    client = desk(make())
    await client.tool_with(
        {"name": "look", "arguments": {"most": 3}, "_meta": {"progressToken": 7}}
    )
    told: list[Any] = [note.params["progress"] for note in client.notes]
    assert told == sorted(set(told))
    assert told[-1] == 3
    await client.tool("look", most=3)
    assert len(client.notes) == len(told)


@pytest.mark.off_the_wire(reason="the handler says what is no progress")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"progressToken": [1], "progress": "x"},
        {"progressToken": "p", "progress": None},
        {"progressToken": "p", "progress": [1]},
    ],
    ids=str,
)
async def test_odd_progress_of_a_handler_reaches_nobody(params: JsonObject) -> None:
    async def handler(request: Incoming) -> JsonObject:
        await request.exchange.notify(Notification("notifications/progress", params))
        return done()

    client = desk(low(handler))
    assert text_of(await client.tool("t")) == "done"
    assert client.notes == []
