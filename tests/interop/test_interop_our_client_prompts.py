"""A client of ours gets prompts of the official SDK, those that ask included."""

from __future__ import annotations

import pytest

from antiphon import Accept, Asked, Cancel, Decline, FormRequest, ServerError
from antiphon.engine.client_messages import GetPromptResult
from antiphon.engine.driver import Conversation
from antiphon.engine.jsonrpc import JsonObject
from tests.interop.answering import Progressed, person
from tests.interop.clients import CARRIERS, our_client, reachable
from tests.interop.servers import Over


async def test_prompts_are_listed_and_got(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        prompts = {prompt.name: prompt async for prompt in client.list_prompts()}
        greeting = await client.get_prompt("greet", {"name": "größe 🚢\n", "tone": "loud"})
        friendly = await client.get_prompt("greet", {"name": "Ada"})
        illustrated = await client.get_prompt("illustrated")
    arguments = prompts["greet"].arguments
    assert [(each.name, each.required) for each in arguments] == [("name", True), ("tone", False)]
    assert prompts["greet"].description == greeting.description == "Greet somebody."
    assert greeting.text == "Greet größe 🚢\n in a loud tone."
    assert friendly.text == "Greet Ada in a friendly tone."
    told = [(message.role, message.content["type"]) for message in illustrated.messages]
    assert told == [
        ("user", "text"),
        ("user", "image"),
        ("user", "resource"),
        ("assistant", "text"),
    ]
    assert illustrated.messages[1].content["data"] == "AAEC"


async def test_everything_that_a_prompt_can_fail_of_is_an_error() -> None:
    async with our_client(CARRIERS) as client:
        with pytest.raises(ServerError) as broken:
            await client.get_prompt("broken")
        with pytest.raises(ServerError):
            await client.get_prompt("greet")
        with pytest.raises(ServerError):
            await client.get_prompt("unknown")
        assert (await client.get_prompt("greet", {"name": "Ada"})).text
    assert "secret" not in str(broken.value)


async def test_prompt_asks_once_or_twice(over: Over) -> None:
    answers: list[JsonObject] = [{"month": 7}, {"month": 1}, {"agreed": True}]
    asked = person(*answers)
    progress = Progressed()
    async with reachable(over, CARRIERS) as connect, connect(elicitation=asked) as client:
        summer = await client.get_prompt("plan", {"city": "Bergen"})
        winter = await client.get_prompt("plan", {"city": "Bergen"}, progress=progress)
    assert summer.text == "Plan a journey to Bergen in month 7."
    assert winter.text == "Plan a journey to Bergen in month 1."
    assert asked.messages == ["When do you go to Bergen?"] * 2 + ["Bergen is cold then. Go?"]
    question = asked.asked[0]
    assert isinstance(question, FormRequest)
    assert (question.server, question.target) == ("Carriers", "plan")
    assert [(field.minimum, field.maximum) for field in question.fields] == [(1, 12)]
    assert progress.told == [
        (1, 3, "asking for a month"),
        (2, 3, "asking for a confirmation"),
        (3, 3, "planned"),
    ]


async def test_refusals_reach_their_prompt() -> None:
    asked = person(Decline(), {"month": 12}, Cancel())
    async with our_client(CARRIERS, elicitation=asked) as client:
        texts = [(await client.get_prompt("plan", {"city": "Bonn"})).text for _ in range(2)]
    assert texts == ["Do not plan a journey to Bonn."] * 2


async def test_prompt_goes_on_in_another_client(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect:
        async with connect(elicitation=person()) as client:
            conversation = client.prompt_conversation("plan", {"city": "Bern"})
            await _answer(conversation, {"month": 2})
            stored = conversation.dump()
        async with connect(elicitation=person()) as client:
            result = await _answer(client.load(stored), {"agreed": True})
    assert isinstance(result, GetPromptResult)
    assert result.text == "Plan a journey to Bern in month 2."


async def _answer(conversation: Conversation[GetPromptResult], content: JsonObject) -> object:
    """Answer the one question of a round."""
    step = conversation.step or await conversation.advance()
    assert isinstance(step, Asked)
    (key,) = step.questions
    return await conversation.advance({key: Accept(content)})
