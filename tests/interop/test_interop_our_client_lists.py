"""A client of ours asks servers of the official SDK for pages, suggestions, promised results."""

from __future__ import annotations

import pytest

from antiphon import PromptRef, ServerError, TemplateRef
from antiphon.engine.client_schemas import ResultInvalid
from antiphon.engine.errors import METHOD_NOT_FOUND
from tests.interop.clients import CARRIERS, PAGES, our_client, reachable
from tests.interop.servers import Over


async def test_all_pages_of_every_list_are_read(over: Over) -> None:
    async with reachable(over, PAGES) as connect, connect() as client:
        tools = [tool.name async for tool in client.list_tools()]
        prompts = await client.list_prompts()
        resources = await client.list_resources()
        templates = await client.list_resource_templates()
    assert tools == ["tool0", "tool1", "tool2", "tool3", "honest", "lying", "close"]
    assert [prompt.name for prompt in prompts] == ["prompt0", "prompt2", "prompt3"]
    (argument,) = prompts[0].arguments
    assert (argument.title, argument.description, argument.required) == (
        "Whom",
        "Whose name",
        True,
    )
    assert [resource.uri for resource in resources] == [f"page://{n}" for n in range(4)]
    assert {resource.size for resource in resources} == {2**40}
    assert [each.uri_template for each in templates] == [f"page://{n}/{{+rest}}" for n in range(4)]


async def test_arguments_and_variables_are_completed(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        cities = await client.complete(PromptRef("plan"), "city", "Ber")
        others = await client.complete(
            TemplateRef("shelf://books/{name}"), "name", "d", {"shelf": "größe"}
        )
        nothing = await client.complete(PromptRef("plan"), "city", "X")
    assert cities.values == ["Bergen", "Berlin"]
    assert (cities.total, cities.has_more) == (3, True)
    assert others.values == ["shelf://books/{name} name", "shelf=größe"]
    assert (nothing.values, nothing.total, nothing.has_more) == ([], 0, False)


async def test_server_without_completion_says_so() -> None:
    async with our_client(PAGES) as client:
        with pytest.raises(ServerError) as caught:
            await client.complete(PromptRef("prompt0"), "name", "A")
    assert caught.value.code == METHOD_NOT_FOUND


async def test_promised_results_are_held_against_their_schema(over: Over) -> None:
    async with reachable(over, PAGES) as connect, connect() as client:
        before = await client.call_tool("lying")  # it has not been listed
        await client.list_tools()
        honest = await client.call_tool("honest")
        with pytest.raises(ResultInvalid, match="lying") as caught:
            await client.call_tool("lying")
        unchecked = await client.call_tool("lying", check_results=False)
    assert honest.structured == {"count": 1}
    assert before.structured == unchecked.structured == {"count": -1}
    assert caught.value.result.text == "lying"


async def test_schemas_that_the_sdk_writes_are_understood() -> None:
    async with our_client(CARRIERS) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        result = await client.call_tool("weather", {"place": "Bergen"})
    assert tools["weather"].output_schema is not None
    assert result.structured == {
        "result": [
            {"place": "Bergen", "degrees": -0.5, "rain": None},
            {"place": "Bergen", "degrees": 21, "rain": True},
        ]
    }


async def test_parameters_are_mirrored_as_the_sdk_checks_them(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        await client.list_tools()
        plain = await client.call_tool("mirrored", {"region": "eu"})
        odd = await client.call_tool(
            "mirrored", {"region": " größe 🚢\n", "level": -(2**53) + 1, "loud": True}
        )
    assert plain.text == "'eu' 0 False"
    assert odd.text == "' größe 🚢\\n' -9007199254740991 True"


async def test_tools_are_listed_by_itself_where_a_header_was_missing() -> None:
    async with our_client(CARRIERS) as client:
        assert (await client.call_tool("mirrored", {"region": "eu"})).text == "'eu' 0 False"
