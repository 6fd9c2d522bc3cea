"""Rounds by hand."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon.engine.asked import Accept, Decline, FormRequest
from antiphon.engine.call_errors import AnswerInvalid, QuestionRefused, ServerError
from antiphon.engine.client_messages import CallToolResult
from antiphon.engine.conversation import Asked, Waiting
from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Failure
from antiphon.engine.pacing import Backoff
from tests.client.scripted import ROOTS, asks, client_of, done, form, poll, sampling


async def test_the_rounds_come_one_by_one() -> None:
    client, server = client_of(
        asks({"region": form("Which?")}, "s1"), poll("s2"), done(), schedule=Backoff(jitter=0)
    )
    conversation = client.conversation("provision", {"name": "orders"})
    assert (conversation.step, conversation.done) == (None, False)

    step = await conversation.advance()
    assert isinstance(step, Asked)
    question = step.questions["region"]
    assert isinstance(question, FormRequest)
    assert question.message == "Which?"

    step = await conversation.advance({"region": Accept({"name": "prod"})})
    assert step == Waiting(0.05)

    step = await conversation.advance()
    assert isinstance(step, CallToolResult)
    assert (step.text, conversation.step, conversation.done) == ("done", step, True)
    assert [p.get("requestState") for p in server.params] == [None, "s1", "s2"]
    assert (conversation.tally.legs, conversation.tally.rounds, conversation.tally.polls) == (
        3,
        1,
        1,
    )
    assert conversation.tally.accepted == 1


async def test_advance_itself_never_waits_for_a_poll(autojump_clock: object) -> None:
    client, _ = client_of(poll(retry_ms=9000), done())
    conversation = client.conversation("report")
    assert isinstance(await conversation.advance(), Waiting)
    await conversation.advance()
    assert trio.current_time() == 0


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (None, "waits for answers to 'a', 'b'"),
        ({}, "waits for answers to 'a', 'b'"),
        ({"a": Decline()}, "waits for answers to 'b'"),
        ({"a": Decline(), "b": Decline(), "c": Decline()}, "did not ask for 'c'"),
        ({"a": Decline(), "b": Decline(), 3: Decline()}, "did not ask for '3'"),
    ],
)
async def test_wrong_or_missing_keys_are_our_callers_mistake(answers: Any, told: str) -> None:
    client, server = client_of(asks({"a": form(), "b": form()}), done())
    conversation = client.conversation("t")
    await conversation.advance()
    with pytest.raises(UsageError, match=told):
        await conversation.advance(answers)
    assert len(server.requests) == 1
    await conversation.advance({"a": Decline(), "b": Decline()})
    assert conversation.done


async def test_answers_that_nobody_asked_for_are_refused() -> None:
    client, server = client_of(poll(), done())
    conversation = client.conversation("t")
    with pytest.raises(UsageError):
        await conversation.advance({"a": Decline()})
    await conversation.advance()
    with pytest.raises(UsageError):
        await conversation.advance({"a": Decline()})
    assert len(server.requests) == 1


async def test_a_finished_conversation_does_not_go_on() -> None:
    client, server = client_of(done(), done())
    conversation = client.conversation("t")
    result = await conversation.advance()
    with pytest.raises(UsageError, match="finished"):
        await conversation.advance()
    with pytest.raises(UsageError, match="finished"):
        conversation.dump()
    assert await conversation.run() is result
    assert len(server.requests) == 1


async def test_an_answer_that_does_not_fit_can_be_given_again() -> None:
    client, _ = client_of(asks({"q": form()}, "s"), done())
    conversation = client.conversation("t")
    await conversation.advance()
    with pytest.raises(AnswerInvalid):
        await conversation.advance({"q": {"name": "elsewhere"}})
    await conversation.advance({"q": {"name": "dev"}})
    assert conversation.done


@pytest.mark.parametrize(
    "failure", [TransportLost("gone", sent=False), Failure(None, -32603, "Internal error")]
)
async def test_a_leg_that_failed_can_be_taken_again(failure: Any) -> None:
    client, server = client_of(asks({"q": form()}, "s"), failure, done(), retry=None)
    conversation = client.conversation("t")
    await conversation.advance()
    with pytest.raises((TransportLost, ServerError)) as caught:
        await conversation.advance({"q": {"name": "dev"}})
    assert caught.value.interim is conversation.interim
    await conversation.advance({"q": {"name": "dev"}})
    assert conversation.done
    assert server.params[1]["requestState"] == server.params[2]["requestState"] == "s"
    assert server.requests[1]["id"] != server.requests[2]["id"]


async def test_a_lost_connection_is_never_repaired_by_a_second_tool_call() -> None:
    client, server = client_of(TransportLost("gone", sent=True), done())
    with pytest.raises(TransportLost):
        await client.call_tool("t")
    assert len(server.requests) == 1


async def test_by_hand_every_kind_is_declared_that_is_not_refused() -> None:
    client, server = client_of(asks({"q": sampling(), "r": ROOTS}), done(), refuse=["url"])
    conversation = client.conversation("t")
    await conversation.advance()
    await conversation.advance({"q": "text", "r": ["file:///a"]})
    assert server.params[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {
        "elicitation": {"form": {}},
        "sampling": {},
        "roots": {},
    }


async def test_by_hand_fewer_kinds_can_be_declared() -> None:
    client, server = client_of(asks({"q": sampling()}))
    conversation = client.conversation("t", kinds=["form"])
    with pytest.raises(QuestionRefused):
        await conversation.advance()
    assert server.params[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {
        "elicitation": {"form": {}}
    }


async def test_an_unknown_kind_is_refused() -> None:
    client, _ = client_of()
    with pytest.raises(UsageError, match="dialog"):
        client.conversation("t", kinds=["dialog"])  # type: ignore[list-item]


async def test_the_callbacks_can_take_over() -> None:
    async def person(_: object) -> dict[str, str]:
        return {"name": "dev"}

    client, _ = client_of(asks(), asks(), done(), elicitation=person)
    conversation = client.conversation("t")
    await conversation.advance()
    assert (await conversation.run()).text == "done"


async def test_without_a_callback_nobody_can_take_over() -> None:
    client, _ = client_of(asks(), done())
    conversation = client.conversation("t")
    await conversation.advance()
    with pytest.raises(UsageError, match="No callback answers question 'region'"):
        await conversation.run()
    await conversation.advance({"region": Decline()})
    assert conversation.done


async def test_two_tasks_cannot_move_one_conversation(autojump_clock: object) -> None:
    async def slowly(_: object) -> Any:
        await trio.sleep(1)
        return done()

    client, server = client_of(slowly, done())
    conversation = client.conversation("t")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(conversation.advance)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(UsageError, match="Two tasks"):
            await conversation.advance()
    assert len(server.requests) == 1


async def test_the_remaining_time_is_told(autojump_clock: trio.testing.MockClock) -> None:
    client, _ = client_of(asks(), clock=trio.current_time)
    conversation = client.conversation("t", deadline=60)
    await trio.sleep(20)
    assert (conversation.deadline, conversation.remaining) == (60, 40)
    assert client.conversation("t").remaining == float("inf")


@pytest.mark.parametrize(
    "arguments",
    [{"a": object()}, {"a": float("nan")}, {"a": [float("inf")]}, {"a": "\ud800"}, {"a": {1, 2}}],
)
async def test_arguments_that_are_no_json_are_our_callers_mistake(arguments: Any) -> None:
    client, server = client_of(done())
    if arguments == {"a": {1, 2}}:
        await client.call_tool("t", arguments)
        assert server.params[0]["arguments"] == {"a": [1, 2]}
        return
    with pytest.raises(UsageError, match="The arguments"):
        await client.call_tool("t", arguments)
    assert server.requests == []
