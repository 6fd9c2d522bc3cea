"""A client of the official SDK is asked by tools, prompts and templates of ours alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import pytest
from attrs import frozen
from mcp import Client, MCPError
from mcp_types import (
    INTERNAL_ERROR,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    TextResourceContents,
)

from tests.interop.lists import all_prompts, all_tools
from tests.interop.people import AGREE, CANCEL, DECLINE, accept, list_roots, model, person
from tests.interop.servers import HTTP, LEAVES_GARBAGE, WHOLE, Over, served, text_of

pytestmark = LEAVES_GARBAGE


# -- one thing, asked for in three ways --------------------------------------------------------


async def of_tool(client: Client, name: str) -> str:
    result = await client.call_tool(name, {"title": "Dune"})
    if result.is_error:
        raise ToolFailed(text_of(result))
    return text_of(result)


async def of_prompt(client: Client, name: str) -> str:
    (message,) = (await client.get_prompt(name, {"title": "Dune"})).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def of_template(client: Client, name: str) -> str:
    result = await client.read_resource(f"{name}://Dune")
    # What answers went into is nobody's to keep.
    assert (result.ttl_ms, result.cache_scope) == (0, "private")
    (part,) = result.contents
    assert isinstance(part, TextResourceContents)
    assert part.uri == f"{name}://Dune"
    return part.text


Way: TypeAlias = Callable[[Client, str], Awaitable[str]]
WAYS: Final[tuple[Way, ...]] = (of_tool, of_prompt, of_template)


class ToolFailed(Exception):
    """The text of a result that is an error."""


async def failure(client: Client, way: Way, name: str) -> str:
    """How it is told that something was refused."""
    with pytest.raises((ToolFailed, MCPError)) as caught:
        await way(client, name)
    if isinstance(caught.value, MCPError):
        assert way is not of_tool
        assert caught.value.code == INTERNAL_ERROR
        return caught.value.message
    return str(caught.value)


# -- a flow ------------------------------------------------------------------------------------


async def test_flow_asks_in_all_its_rounds_whatever_it_is_served_as(over: Over) -> None:
    asked = person(*[accept(name="Ada"), AGREE] * 3)
    async with (
        served(over, WHOLE) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        told = [await way(client, "lend") for way in WAYS]
    assert told == ["Dune is lent to Ada."] * 3
    assert asked.messages == ["Who borrows Dune?", "Sign for it, Ada."] * 3
    assert isinstance(asked.asked[1], ElicitRequestURLParams)
    assert server.complaints.texts == []


async def test_refusals_are_told_by_the_error_of_each() -> None:
    unsigned = [accept(name="Ada"), DECLINE]
    asked = person(*[*unsigned, DECLINE, CANCEL] * 3)
    async with (
        served(HTTP, WHOLE) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        told = [[await failure(client, way, "lend") for _ in range(3)] for way in WAYS]
    assert told[0] == told[1] == told[2]
    unsigned_told, declined, cancelled = told[0]
    assert unsigned_told == "Dune stays here: Ada did not sign."
    assert "declined" in declined
    assert "closed" in cancelled
    assert asked.answers == []


async def test_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        for way in WAYS:
            with pytest.raises(MCPError) as caught:
                await way(client, "lend")
            assert caught.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
            assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# -- a question of every kind ------------------------------------------------------------------


async def answer_either(context: object, params: ElicitRequestParams) -> ElicitResult:
    return AGREE if isinstance(params, ElicitRequestURLParams) else accept(name="Ada")


EVERYBODY: Final[Mapping[str, Any]] = {
    "elicitation_callback": answer_either,
    "sampling_callback": model("hello"),
    "list_roots_callback": list_roots,
}


async def test_every_kind_of_question_is_asked_in_one_round(over: Over) -> None:
    async with served(over, WHOLE) as server, server.client(**EVERYBODY) as client:
        told = [await way(client, "survey") for way in WAYS]
    assert told == ["Dune: Ada and hello, with 2 roots"] * 3


# -- by hand -----------------------------------------------------------------------------------


async def test_function_asks_by_hand_whatever_it_is_served_as() -> None:
    asked = person(*[accept(colour="blue")] * 3)
    async with (
        served(HTTP, WHOLE) as server,
        server.client(elicitation_callback=asked, list_roots_callback=list_roots) as client,
    ):
        told = [await way(client, "stamp") for way in WAYS]
    assert told == ["Dune is stamped blue for 2 roots in round 3."] * 3
    assert asked.messages == ["Which ink?"] * 3


async def test_function_that_asks_by_hand_hears_of_refusals() -> None:
    asked = person(*[DECLINE, CANCEL] * 3)
    async with (
        served(HTTP, WHOLE) as server,
        server.client(elicitation_callback=asked, list_roots_callback=list_roots) as client,
    ):
        told = [[await failure(client, way, "stamp") for _ in range(2)] for way in WAYS]
    refused = ("declined", "cancelled")
    assert told == [[f"Dune is not stamped: the ink was {how}." for how in refused]] * 3


# -- by hand, at both ends --------------------------------------------------------------------

NOWHERE: Any = None


@frozen
class Manually:
    """One request, round by round."""

    _ask: Callable[..., Awaitable[object]]

    async def interim(self, answers: Any = None, state: str | None = None) -> InputRequiredResult:
        result = await self._ask(
            input_responses=answers, request_state=state, allow_input_required=True
        )
        assert isinstance(result, InputRequiredResult)
        return result


def _prompts_of(client: Client) -> Manually:
    async def ask(**more: Any) -> object:
        return await client.session.get_prompt("stamp", {"title": "Dune"}, **more)

    return Manually(ask)


def _resources_of(client: Client) -> Manually:
    async def ask(**more: Any) -> object:
        return await client.session.read_resource("stamp://Dune", **more)

    return Manually(ask)


async def test_rounds_of_prompts_and_resources_are_driven_by_hand() -> None:
    answers = {"ink": accept(colour="red")}
    async with served(HTTP, WHOLE) as server, server.client(**EVERYBODY) as client:
        for ask in (_prompts_of(client), _resources_of(client)):
            first = await ask.interim()
            assert first.input_requests is not None
            assert set(first.input_requests) == {"ink", "roots"}
            # One answer is missing, so the function asks again.
            second = await ask.interim(answers, first.request_state)
            assert second.input_requests is not None
            assert set(second.input_requests) == {"ink", "roots"}
            roots = await list_roots(NOWHERE)
            third = await ask.interim({**answers, "roots": roots}, second.request_state)
            assert not third.input_requests
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await ask.interim(None, f"{third.request_state}A")


# -- by parameters -----------------------------------------------------------------------------


async def test_parameters_ask_in_one_round_what_they_can_and_then_what_depends(
    over: Over,
) -> None:
    near, far, yes = accept(name="near"), accept(name="far"), accept(sure="yes")
    asked = person(*[near, far, yes] * 3)
    options = {**EVERYBODY, "elicitation_callback": asked}
    async with served(over, WHOLE) as server, server.client(**options) as client:
        told = [[await way(client, "reserve") for _ in range(2)] for way in WAYS]
    expected = [f"Dune, hello, is reserved {where} for 2 roots." for where in ("near", "far")]
    assert told == [expected] * 3
    branch, sure = "Which branch has Dune?", "That is far. Still?"
    assert asked.messages == [branch, branch, sure] * 3
    assert server.complaints.texts == []


async def test_refusal_of_a_parameter_ends_the_call_or_is_what_it_takes() -> None:
    far = accept(name="far")
    asked = person(*[DECLINE, far, DECLINE, far, CANCEL] * 3)
    options = {**EVERYBODY, "elicitation_callback": asked}
    async with served(HTTP, WHOLE) as server, server.client(**options) as client:
        for way in WAYS:
            assert "declined" in await failure(client, way, "reserve")
            assert await way(client, "reserve") == "Dune was declined."
            assert await way(client, "reserve") == "Dune was cancelled."


async def test_parameters_that_ask_are_no_arguments() -> None:
    async with served(HTTP, WHOLE) as server, server.client(**EVERYBODY) as client:
        (tool,) = [tool for tool in await all_tools(client) if tool.name == "reserve"]
        (prompt,) = [each for each in await all_prompts(client) if each.name == "reserve"]
        supplied = await client.call_tool("reserve", {"title": "Dune", "branch": {"name": "far"}})
    assert list(tool.input_schema["properties"]) == ["title"]
    assert [argument.name for argument in prompt.arguments or ()] == ["title"]
    assert supplied.is_error
    assert "branch" in text_of(supplied)
