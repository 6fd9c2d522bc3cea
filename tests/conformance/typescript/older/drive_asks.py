"""The official example server of revision 2025-11-25: its tools that ask in an open call."""

from typing import Any, Final, TypeAlias

import trio

from antiphon import (
    Accept,
    Asked,
    Cancel,
    Decline,
    FormRequest,
    Root,
    SamplingReply,
    SamplingRequest,
    ServerError,
    UrlRequest,
    UsageError,
)
from antiphon.engine.asked import ElicitationAnswer
from antiphon.engine.client_messages import CallToolResult
from antiphon.engine.jsonrpc import JsonObject
from tests.conformance.typescript.judging import Connect, equal, raising

Question: TypeAlias = FormRequest | UrlRequest

FORM: Final = "trigger-elicitation-request"
LINK: Final = "trigger-url-elicitation"
MODEL: Final = "trigger-sampling-request"
ROOTS: Final = "get-roots-list"
SIGN_IN: Final[JsonObject] = {
    "url": "https://example.org/in?of=1",
    "message": "Sign in",
    "elicitationId": "an-id",
}


async def _fill_in(question: Question) -> ElicitationAnswer:
    return {"name": "Ada"} if isinstance(question, FormRequest) else Accept()


async def _decline(question: Question) -> ElicitationAnswer:
    return Decline()


async def _sample(request: SamplingRequest) -> SamplingReply:
    equal((request.max_tokens, request.system), (7, "You are a helpful test server."))
    said = f"Resource {MODEL} context: Is it safe?"
    equal(request.messages[0]["content"], {"type": "text", "text": said})
    return SamplingReply("Yes.", model="parrot", stop_reason="endTurn")


async def who_can_be_asked_is_offered_the_tools(connect: Connect) -> None:
    asking = {FORM, LINK, MODEL, ROOTS}
    async with connect() as client:
        alone = {tool.name async for tool in client.list_tools()}
    async with connect(elicitation=_fill_in, sampling=_sample, roots=["file:///a"]) as client:
        people = {tool.name async for tool in client.list_tools()}
    equal((alone & asking, people & asking), (set[str](), asking))


async def a_form_is_shown_and_filled_in(connect: Connect) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> ElicitationAnswer:
        asked.append(question)
        return {"name": "Ada", "check": True, "birthdate": "1815-12-10"}

    async with connect(elicitation=answer) as client:
        told = (await client.call_tool(FORM)).text
    for line in ("- Name: Ada", "- Agreed to terms: true", "- Birthdate: 1815-12-10"):
        assert line in told, told
    for default in ("- Favorite Integer: 42", "- Favorite Number: 3.14", '"fish-1"', '"pet-1"'):
        assert default in told, told
    [question] = asked
    assert isinstance(question, FormRequest)
    equal((question.server, question.target), ("mcp-servers/everything", FORM))
    _check_fields({field.name: field for field in question.fields})


def _check_fields(fields: dict[str, Any]) -> None:
    equal(len(fields), 13)
    equal((fields["name"].required, fields["check"].required), (True, False))
    equal((fields["integer"].type, fields["integer"].maximum), ("integer", 100))
    formats = [fields[name].format for name in ("email", "homepage", "birthdate")]
    equal(formats, ["email", "uri", "date"])
    for name, title in {"titledSingleSelectEnum": "Superman", "legacyTitledEnum": "Cats"}.items():
        equal(fields[name].choices[0].title, title)
    several = fields["titledMultipleSelectEnum"]
    equal((several.type, several.min_items, several.max_items), ("array", 1, 3))


async def refusals_reach_their_tool(connect: Connect) -> None:
    answers: list[ElicitationAnswer] = [Decline(), Cancel()] * 2

    async def answer(question: Question) -> ElicitationAnswer:
        return answers.pop(0)

    async with connect(elicitation=answer) as client:
        for name, arguments in ((FORM, None), (LINK, SIGN_IN)):
            for word in ("declined", "cancelled"):
                assert word in (await client.call_tool(name, arguments)).text


async def a_link_is_agreed_to(connect: Connect) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> ElicitationAnswer:
        asked.append(question)
        return Accept()

    async with connect(elicitation=answer) as client:
        told = (await client.call_tool(LINK, SIGN_IN)).text
    assert "User completed" in told
    assert "an-id" in told
    [link] = asked
    assert isinstance(link, UrlRequest)
    equal((link.url, link.host, link.message), (SIGN_IN["url"], "example.org", "Sign in"))


async def a_link_that_is_an_error_is_asked_and_the_call_made_again(connect: Connect) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> ElicitationAnswer:
        asked.append(question)
        return Accept()

    async with connect(elicitation=answer) as client:
        told = (await client.call_tool(LINK, {**SIGN_IN, "errorPath": True})).text
    assert "User completed" in told
    first, second = asked
    assert "satisfy the prerequisite" in first.message
    equal(second.message, "Sign in")


async def a_link_that_is_an_error_is_declined(connect: Connect) -> None:
    async with connect(elicitation=_decline) as client:
        with raising(ServerError) as caught:
            await client.call_tool(LINK, {**SIGN_IN, "errorPath": True})
    equal(caught.error.code, -32042)


async def a_model_answers(connect: Connect) -> None:
    async with connect(sampling=_sample) as client:
        told = await client.call_tool(MODEL, {"prompt": "Is it safe?", "maxTokens": 7})
    assert '"text": "Yes."' in told.text, told.text
    assert '"model": "parrot"' in told.text, told.text


async def roots_are_listed(connect: Connect) -> None:
    async with connect(roots=[Root("file:///srv", "Server"), "file:///home/ada"]) as client:
        told = (await client.call_tool(ROOTS)).text
    for part in ("2 total", "1. Server\n   URI: file:///srv", "file:///home/ada"):
        assert part in told, told


async def calls_that_ask_at_once_do_not_mix(connect: Connect) -> None:
    told: dict[str, str] = {}

    async def answer(question: Question) -> ElicitationAnswer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question, UrlRequest)
        return Decline() if question.url.endswith("1") else Accept()

    async with connect(elicitation=answer) as client, trio.open_nursery() as nursery:

        async def call(url: str) -> None:
            told[url] = (await client.call_tool(LINK, {**SIGN_IN, "url": url})).text

        for number in range(10):
            nursery.start_soon(call, f"https://example.org/{number % 2}/{number}")
    words = {"declined" if url.endswith("1") else "completed" for url in told}
    equal((len(told), words), (10, {"declined", "completed"}))
    for url, text in told.items():
        assert ("declined" if url.endswith("1") else "completed") in text, text


async def a_tool_that_runs_as_a_task_alone_is_refused(connect: Connect) -> None:
    async with connect(elicitation=_fill_in) as client:
        result = await client.call_tool("simulate-research-query", {"topic": "python"})
    assert result.is_error
    assert "task" in result.text, result.text


# -- by hand -------------------------------------------------------------------------------------


async def a_conversation_goes_on_in_its_connection_alone(connect: Connect) -> None:
    async with connect(elicitation=_fill_in) as client:
        conversation = client.conversation(FORM)
        asked = await conversation.advance()
        assert isinstance(asked, Asked)
        [key] = asked.questions
        with raising(UsageError):
            conversation.dump()
        result = await conversation.advance({key: Accept({"name": "Ada"})})
    assert isinstance(result, CallToolResult)
    assert "- Name: Ada" in result.text


async def a_person_who_is_left_alone_is_not_waited_for(connect: Connect) -> None:
    asking = trio.Event()

    async def answer(question: Question) -> ElicitationAnswer:
        asking.set()
        await trio.sleep_forever()
        raise AssertionError("nobody answers")

    async with connect(elicitation=answer) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, FORM)
            await asking.wait()
            nursery.cancel_scope.cancel()
        equal((await client.call_tool("echo", {"message": "here"})).text, "Echo: here")
