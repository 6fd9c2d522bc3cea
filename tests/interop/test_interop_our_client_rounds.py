"""A client of ours takes the official SDK's flows through all their rounds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import trio
from attrs import define, evolve

from antiphon import (
    Accept,
    AnswerInvalid,
    Asked,
    Cancel,
    Conversation,
    Decline,
    FormRequest,
    QuestionRefused,
    Root,
    RoundsExceeded,
    SamplingReply,
    SamplingRequest,
    ServerError,
    UrlRequest,
    open_client,
    open_http,
)
from antiphon.engine.asked import ElicitationAnswer
from antiphon.engine.client_messages import CallToolResult
from antiphon.engine.errors import INVALID_PARAMS, MISSING_CAPABILITY
from antiphon.engine.exchange import ClientTransport, OnNotification
from antiphon.engine.jsonrpc import JsonObject, Reply, Request
from tests.interop.answering import person
from tests.interop.clients import LOW, THEIRS, our_client, reachable, served_at
from tests.interop.servers import Over
from tests.interop.theirs_low import STATES

FORMS = ["by_hand", "by_dependency"]
"""The two ways in which the SDK writes the same tool."""

# -- one question after the other --------------------------------------------------------------


async def test_production_is_confirmed_in_a_second_round(over: Over) -> None:
    async with reachable(over, THEIRS) as connect:
        answers: list[ElicitationAnswer] = [
            {"region": "prod"},
            {"sure": True},
            {"region": "eu-west-1"},
        ]
        asked = person(*answers * 2)
        async with connect(elicitation=asked) as client:
            for tool in FORMS:
                prod = await client.call_tool(tool, {"name": "orders"})
                europe = await client.call_tool(tool, {"name": "orders"})
                assert prod.structured == {"name": "orders", "region": "prod"}
                assert europe.structured == {"name": "orders", "region": "eu-west-1"}
    region, sure, again, *_ = asked.asked
    assert (region.server, region.target) == ("Theirs", "by_hand")
    assert region.message == again.message == "Which region for 'orders'?"
    assert isinstance(region, FormRequest)
    (named,) = region.fields
    assert [choice.value for choice in named.choices] == ["eu-west-1", "us-east-1", "prod"]
    assert sure.message == "This is production. Go ahead?"


@pytest.mark.parametrize("tool", FORMS)
async def test_refusals_reach_their_tool(tool: str) -> None:
    asked = person({"region": "prod"}, Decline(), Cancel())
    async with our_client(elicitation=asked) as client:
        declined = await client.call_tool(tool, {"name": "orders"})
        cancelled = await client.call_tool(tool, {"name": "orders"})
    assert declined.is_error
    assert "decline" in declined.text
    assert cancelled.is_error
    assert "cancel" in cancelled.text


async def test_every_outcome_reaches_a_dependency() -> None:
    async with our_client(
        elicitation=person({"sure": True}, {"sure": False}, Decline(), Cancel())
    ) as client:
        outcomes = [(await client.call_tool("by_outcome")).text for _ in range(4)]
    assert outcomes == ["accepted: True", "accepted: False", "declined", "cancelled"]


async def test_link_is_agreed_to() -> None:
    asked = person(Accept(), Decline())
    async with our_client(elicitation=asked) as client:
        outcomes = [(await client.call_tool("by_link")).text for _ in range(2)]
    assert outcomes == ["accept", "decline"]
    link = asked.asked[0]
    assert isinstance(link, UrlRequest)
    assert (link.url, link.host) == ("https://example.org/sign-in", "example.org")


# -- several at once ---------------------------------------------------------------------------


async def test_model_roots_and_person_are_asked_in_one_round(over: Over) -> None:
    asked = person({"name": "Ada", "age": 36, "colours": ["red", "blue"]})
    here = trio.Event()

    async def answer(question: FormRequest | UrlRequest) -> ElicitationAnswer:
        await here.wait()  # for the model, which is asked at the same time
        return await asked(question)

    async def sample(request: SamplingRequest) -> SamplingReply:
        assert request.max_tokens == 50
        here.set()
        return SamplingReply("SAFE", model="parrot", stop_reason="endTurn")

    roots = ["file:///home/ada", Root("file:///srv", "Server")]
    async with (
        reachable(over, THEIRS) as connect,
        connect(elicitation=answer, sampling=sample, roots=roots) as client,
    ):
        result = await client.call_tool("by_everything")
    assert not result.is_error, result.text
    assert isinstance(result.structured, Mapping)
    assert result.structured["result"] == [
        "SAFE",
        "file:///home/ada",
        "file:///srv",
        '{"name":"Ada","age":36,"height":null,"colours":["red","blue"],"newsletter":false}',
    ]


async def test_form_is_understood_and_checked_before_it_is_sent() -> None:
    asked = person({"name": "A", "age": 151, "colours": ["mauve"]})
    async with our_client(elicitation=asked, sampling=_parrot, roots=["file:///srv"]) as client:
        with pytest.raises(AnswerInvalid) as caught:
            await client.call_tool("by_everything")
    assert len(caught.value.faults) == 3
    question = asked.asked[0]
    assert isinstance(question, FormRequest)
    name, age, height, colours, newsletter = question.fields
    assert (name.title, name.min_length, name.max_length) == ("Your name", 2, 20)
    assert (age.type, age.minimum, age.maximum, age.required) == ("integer", 0, 150, True)
    assert (height.type, height.required) == ("number", False)
    assert [choice.value for choice in colours.choices] == ["red", "green", "blue"]
    assert colours.default == ("red",)
    assert (newsletter.type, newsletter.default) == ("boolean", False)


async def _parrot(request: SamplingRequest) -> str:
    return "SAFE"


# -- rounds without questions ------------------------------------------------------------------


async def test_polls_lead_to_the_result_with_progress(over: Over) -> None:
    heard: list[float] = []
    async with reachable(over, THEIRS) as connect, connect() as client:
        result = await client.call_tool(
            "by_waiting", progress=lambda done, total, message: heard.append(done)
        )
    assert result.text == "ready"
    assert heard == [0, 1, 2, 3]


async def test_state_is_sent_back_as_it_was_and_never_looked_into() -> None:
    async with our_client(LOW) as client:
        answers = [
            (await client.call_tool("state", {"state": number})).text
            for number in range(len(STATES))
        ]
    assert answers == ["same"] * len(STATES)


# -- what a client does not take ---------------------------------------------------------------


async def test_questions_without_an_end_are_given_up() -> None:
    async with our_client(elicitation=person(*[{"sure": True}] * 3), max_rounds=3) as client:
        with pytest.raises(RoundsExceeded) as caught:
            await client.call_tool("without_end")
    assert caught.value.rounds == 4
    assert caught.value.interim is not None


async def test_client_that_answers_nothing_is_refused_or_refuses() -> None:
    async with our_client() as client:
        with pytest.raises(ServerError, match="register the callback") as refused:
            await client.call_tool("by_dependency", {"name": "orders"})
        with pytest.raises(QuestionRefused) as refuses:
            await client.call_tool("by_hand", {"name": "orders"})
    assert refused.value.code == MISSING_CAPABILITY
    assert refused.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert (refuses.value.key, refuses.value.kind) == ("region", "form")


async def test_question_that_was_not_declared_is_refused() -> None:
    async with our_client(LOW, elicitation=person()) as client:
        with pytest.raises(QuestionRefused) as caught:
            await client.call_tool("undeclared")
    assert (caught.value.key, caught.value.kind) == ("said", "sampling")


# -- by hand, and elsewhere --------------------------------------------------------------------


async def test_conversation_goes_on_in_another_client(over: Over) -> None:
    stored: list[bytes] = []
    async with reachable(over, THEIRS) as connect:
        async with connect(elicitation=person()) as client:
            for tool in FORMS:
                conversation = client.conversation(tool, {"name": "orders"})
                await _answer(conversation, {"region": "prod"})
                stored.append(conversation.dump())
        async with connect(elicitation=person()) as client:
            for dump in stored:
                conversation = client.load(dump)
                result = await _answer(conversation, {"sure": True})
                assert isinstance(result, CallToolResult)
                assert result.structured == {"name": "orders", "region": "prod"}


async def _answer(conversation: Conversation[CallToolResult], content: JsonObject) -> object:
    """Answer the one question of a round."""
    step = conversation.step or await conversation.advance()
    assert isinstance(step, Asked)
    (key,) = step.questions
    return await conversation.advance({key: Accept(content)})


@define
class Forging:
    """A transport that changes each state on its way back."""

    inner: ClientTransport
    name: str = "forging"

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        if "requestState" in request.params:
            state = f"{request.params['requestState']}A"
            request = evolve(request, params={**request.params, "requestState": state})
        return await self.inner.exchange(request, on_notification)


async def test_refused_state_is_an_error_with_its_code() -> None:
    async with (
        served_at(THEIRS) as url,
        open_http(url) as transport,
        open_client(Forging(transport), elicitation=person({"region": "prod"})) as client,
    ):
        with pytest.raises(ServerError, match="requestState") as caught:
            await client.call_tool("by_hand", {"name": "orders"})
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.interim is not None


# -- many at once ------------------------------------------------------------------------------


async def test_fifty_conversations_at_once_lose_nothing_to_each_other(over: Over) -> None:
    results: dict[int, object] = {}
    regions = ["eu-west-1", "us-east-1", "prod"]

    async def answer(question: FormRequest | UrlRequest) -> ElicitationAnswer:
        if "production" in question.message:
            return {"sure": True}
        return {"region": regions[int(question.message.split("'")[1]) % 3]}

    async with (
        reachable(over, THEIRS) as connect,
        connect(elicitation=answer) as client,
        trio.open_nursery() as nursery,
    ):

        async def call(tool: str, number: int) -> None:
            result = await client.call_tool(tool, {"name": str(number)})
            results[number] = result.structured

        for number in range(50):
            nursery.start_soon(call, FORMS[number % 2], number)
    assert results == {
        number: {"name": str(number), "region": regions[number % 3]} for number in range(50)
    }
