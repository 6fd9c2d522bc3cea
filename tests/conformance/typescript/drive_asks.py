"""Tools that ask: each kind of question, several at once, one after the other, none at all."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from attrs import define, evolve

from antiphon import (
    Accept,
    Asked,
    Cancel,
    Decline,
    FormRequest,
    Root,
    RoundsExceeded,
    SamplingReply,
    SamplingRequest,
    ServerError,
    UrlRequest,
)
from antiphon.engine.asked import ElicitationAnswer
from antiphon.engine.client_messages import CallToolResult
from antiphon.engine.errors import INVALID_PARAMS, MISSING_CAPABILITY
from antiphon.engine.exchange import ClientTransport, OnNotification
from antiphon.engine.jsonrpc import JsonObject, Reply, Request
from tests.conformance.typescript.judging import Connect, equal, raising

Question: TypeAlias = FormRequest | UrlRequest

ADA: Final[JsonObject] = {"name": "Ada", "age": 36, "colour": "g", "mail": "ada@example.org"}
ROOTS: Final = ["file:///home/ada", Root("file:///srv", "Server")]
LISTED: Final = [{"uri": "file:///home/ada"}, {"uri": "file:///srv", "name": "Server"}]


def _saying(*answers: ElicitationAnswer) -> Callable[[Question], Awaitable[ElicitationAnswer]]:
    left = list(answers)

    async def answer(question: Question) -> ElicitationAnswer:
        return left.pop(0)

    return answer


async def _sample(request: SamplingRequest) -> SamplingReply:
    equal((request.max_tokens, request.system), (50, "Be brief."))
    equal(request.messages[0]["content"], {"type": "text", "text": "Is it safe?"})
    return SamplingReply("Yes.", model="parrot", stop_reason="endTurn")


# -- one round ---------------------------------------------------------------------------------


async def a_form_is_shown_and_filled_in(connect: Connect) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> ElicitationAnswer:
        asked.append(question)
        return ADA

    async with connect(elicitation=answer) as client:
        result = await client.call_tool("ask_form")
    content: JsonObject = {**ADA, "pets": ["cat"], "news": False}
    equal(json.loads(result.text), {"form": _accepted(content)})
    [question] = asked
    assert isinstance(question, FormRequest)
    equal((question.server, question.target), ("typescript", "ask_form"))
    name, age, height, colour, pets, news, mail = question.fields
    equal((name.title, name.min_length, name.max_length), ("Your name", 2, 20))
    equal((age.type, age.minimum, age.maximum, age.required), ("integer", 0, 150, True))
    equal((height.type, height.required), ("number", False))
    equal(
        [(choice.value, choice.title) for choice in colour.choices], [("r", "Red"), ("g", "Green")]
    )
    equal([choice.value for choice in pets.choices], ["cat", "dog"])
    equal((news.type, news.default, mail.format), ("boolean", False, "email"))


def _accepted(content: JsonObject) -> dict[str, Any]:
    return {"kind": "elicit", "action": "accept", "content": content}


async def refusals_reach_their_tool(connect: Connect) -> None:
    for kind in ("form", "link"):
        async with connect(elicitation=_saying(Decline(), Cancel())) as client:
            for action in ("decline", "cancel"):
                told = json.loads((await client.call_tool(f"ask_{kind}")).text)
                equal(told, {kind: {"kind": "elicit", "action": action}})


async def a_link_is_agreed_to(connect: Connect) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> ElicitationAnswer:
        asked.append(question)
        return Accept()

    async with connect(elicitation=answer) as client:
        told = json.loads((await client.call_tool("ask_link")).text)
    equal(told["link"]["action"], "accept")
    [link] = asked
    assert isinstance(link, UrlRequest)
    equal((link.url, link.host), ("https://example.org/in?of=1", "example.org"))


async def a_model_answers(connect: Connect) -> None:
    async with connect(sampling=_sample) as client:
        told = json.loads((await client.call_tool("ask_model")).text)
    equal(told["model"]["result"]["content"], {"type": "text", "text": "Yes."})
    equal(told["model"]["result"]["model"], "parrot")


async def roots_are_listed(connect: Connect) -> None:
    async with connect(roots=ROOTS) as client:
        told = json.loads((await client.call_tool("ask_roots")).text)
    equal(told, {"roots": {"kind": "roots", "roots": LISTED}})


async def all_are_asked_in_one_round(connect: Connect) -> None:
    async def answer(question: Question) -> ElicitationAnswer:
        return ADA if isinstance(question, FormRequest) else Accept()

    async with connect(elicitation=answer, sampling=_sample, roots=ROOTS) as client:
        told = json.loads((await client.call_tool("ask_all")).text)
    equal(told["form"]["content"]["name"], "Ada")
    equal(told["link"]["action"], "accept")
    equal(told["model"]["result"]["content"]["text"], "Yes.")
    equal(told["roots"]["roots"], LISTED)


# -- several rounds ----------------------------------------------------------------------------


async def one_round_follows_another(connect: Connect) -> None:
    async with connect(elicitation=_saying({"name": "Ada"}, {"colour": "blue"})) as client:
        equal((await client.call_tool("steps")).text, "Ada likes blue.")


async def a_refusal_in_the_second_round_reaches_its_tool(connect: Connect) -> None:
    async with connect(elicitation=_saying({"name": "Ada"}, Cancel())) as client:
        result = await client.call_tool("steps")
    equal((result.is_error, result.text), (True, "cancel at colour"))


async def a_conversation_goes_on_in_another_client(connect: Connect) -> None:
    async with connect(elicitation=_saying()) as client:
        conversation = client.conversation("steps")
        assert isinstance(await conversation.advance(), Asked)
        await conversation.advance({"name": Accept({"name": "Ada"})})
        stored = conversation.dump()
    async with connect(elicitation=_saying()) as client:
        result = await client.load(stored).advance({"colour": Accept({"colour": "blue"})})
    assert isinstance(result, CallToolResult)
    equal(result.text, "Ada likes blue.")


async def rounds_without_questions_lead_to_the_result(connect: Connect) -> None:
    async with connect() as client:
        equal((await client.call_tool("waiting")).text, "ready")


async def questions_without_an_end_are_given_up(connect: Connect) -> None:
    async with connect(elicitation=_saying(*[{"more": True}] * 3), max_rounds=3) as client:
        with raising(RoundsExceeded) as caught:
            await client.call_tool("ask_for_ever")
        equal(caught.error.rounds, 4)


@define
class _Forging:
    """A transport that changes each state on its way back."""

    inner: ClientTransport
    name: str = "forging"

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        if "requestState" in request.params:
            state = f"{request.params['requestState']}A"
            request = evolve(request, params={**request.params, "requestState": state})
        return await self.inner.exchange(request, on_notification)


async def a_forged_state_is_refused(connect: Connect) -> None:
    async with connect(wrap=_Forging, elicitation=_saying({"name": "Ada"})) as client:
        with raising(ServerError) as caught:
            await client.call_tool("steps")
        equal(caught.error.code, INVALID_PARAMS)
        equal(caught.error.data, {"reason": "invalid_request_state"})


# -- who is not asked --------------------------------------------------------------------------


MISSING: Final[dict[str, JsonObject]] = {
    "form": {"elicitation": {"form": {}}},
    "link": {"elicitation": {"url": {}}},
    "model": {"sampling": {}},
    "roots": {"roots": {}},
}


async def who_answers_nothing_is_not_asked(connect: Connect) -> None:
    async with connect() as client:
        for kind, capabilities in MISSING.items():
            with raising(ServerError) as caught:
                await client.call_tool(f"ask_{kind}")
            equal(caught.error.code, MISSING_CAPABILITY)
            equal(caught.error.data, {"requiredCapabilities": capabilities})
