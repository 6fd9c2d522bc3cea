"""Prompts, one of which asks, and what completes their arguments."""

from antiphon import Accept, Asked, Cancel, FormRequest, PromptRef, ServerError, UrlRequest
from antiphon.engine.asked import ElicitationAnswer
from antiphon.engine.client_messages import GetPromptResult
from antiphon.engine.errors import INVALID_PARAMS
from tests.conformance.typescript.judging import Connect, equal, raising


async def _answer(question: FormRequest | UrlRequest) -> ElicitationAnswer:
    assert isinstance(question, FormRequest)
    equal(question.target, "plan")
    [field] = question.fields
    return {"month": 7} if field.name == "month" else {"sure": True}


async def prompts_are_listed_and_got(connect: Connect) -> None:
    async with connect() as client:
        prompts = {prompt.name: prompt async for prompt in client.list_prompts()}
        travel = await client.get_prompt("travel", {"city": "größe 🚢", "tone": "loud"})
    arguments = prompts["travel"].arguments
    equal([(each.name, each.required) for each in arguments], [("city", True), ("tone", False)])
    equal((prompts["travel"].title, travel.description), ("Travel", "Go away."))
    equal([message.role for message in travel.messages], ["user", "assistant"])
    equal(travel.text, "größe 🚢, loud\nYes.")


async def a_prompt_that_fails_is_an_error(connect: Connect) -> None:
    async with connect() as client:
        for name in ("travel", "nowhere"):
            with raising(ServerError) as caught:
                await client.get_prompt(name)
            equal(caught.error.code, INVALID_PARAMS)


async def a_prompt_asks_round_by_round(connect: Connect) -> None:
    async with connect(elicitation=_answer) as client:
        result = await client.get_prompt("plan", {"city": "Bern"})
    equal(result.text, "Bern in 7: true")


async def a_refusal_reaches_its_prompt(connect: Connect) -> None:
    async def cancel(question: FormRequest | UrlRequest) -> ElicitationAnswer:
        return Cancel()

    async with connect(elicitation=cancel) as client:
        equal((await client.get_prompt("plan", {"city": "Bern"})).text, "cancel at month")


async def a_prompt_goes_on_in_another_client(connect: Connect) -> None:
    async with connect(elicitation=_answer) as client:
        conversation = client.prompt_conversation("plan", {"city": "Bonn"})
        await conversation.advance()
        assert isinstance(await conversation.advance({"month": Accept({"month": 1})}), Asked)
        stored = conversation.dump()
    async with connect(elicitation=_answer) as client:
        result = await client.load(stored).advance({"sure": Accept({"sure": False})})
    assert isinstance(result, GetPromptResult)
    equal(result.text, "Bonn in 1: false")


async def arguments_are_completed(connect: Connect) -> None:
    async with connect() as client:
        cities = await client.complete(PromptRef("travel"), "city", "Ber")
        tone = await client.complete(PromptRef("travel"), "tone", "loud", {"city": "Bonn"})
    equal(cities.values, ["Bergen", "Berlin", "Bern"])
    equal(tone.values, ["loud Bonn"])
