"""A client of the official SDK gets prompts of ours, and has their arguments completed."""

from __future__ import annotations

import base64

import pytest
from mcp import Client, MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    TextContent,
)

from tests.interop.lists import all_prompts, pages, wire
from tests.interop.servers import HARBOUR, HTTP, LEAVES_GARBAGE, WHOLE, Over, served
from tests.interop.whole_tools import ICON, MARK, PNG

pytestmark = LEAVES_GARBAGE


def said_in(result: GetPromptResult) -> str:
    """The text of a prompt of one message."""
    (message,) = result.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def refusal(client: Client, prompt: str, **arguments: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt(prompt, arguments)
    return caught.value


# -- prompts -----------------------------------------------------------------------------------


async def test_prompts_are_listed_with_all_that_is_said_of_them() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        found = await pages(client.list_prompts)
    assert [len(page.prompts) for page in found] == [5, 3]
    assert {(page.ttl_ms, page.cache_scope) for page in found} == {(60_000, "public")}
    (greet,) = [prompt for page in found for prompt in page.prompts if prompt.name == "greet"]
    assert wire(greet) == {
        "name": "greet",
        "title": "Greeting",
        "description": "Greet somebody.",
        "icons": [ICON.wire()],
        "arguments": [
            {
                "name": "name",
                "title": "The name",
                "description": "Who is greeted",
                "required": True,
            },
            {"name": "tone", "required": False},
        ],
        "_meta": MARK,
    }


async def test_prompt_takes_its_arguments_as_texts(over: Over) -> None:
    async with served(over, WHOLE) as server, server.client() as client:
        plain = await client.get_prompt("greet", {"name": "größe 名\u2028🚢"})
        cool = await client.get_prompt("greet", {"name": "Ada", "tone": "cool"})
    assert said_in(plain) == "Give größe 名\u2028🚢 a warm greeting."
    assert said_in(cool) == "Give Ada a cool greeting."
    assert cool.description == "Greet somebody."


async def test_messages_hold_content_of_every_kind_in_either_role() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        result = await client.get_prompt("discuss", {"title": "Dune", "author": "Herbert"})
    assert [message.role for message in result.messages] == [
        *("user", "assistant", "user", "user", "assistant")
    ]
    first, _, image, embedded, link = [message.content for message in result.messages]
    assert isinstance(first, TextContent)
    assert first.text == "What is Dune, Herbert?"
    assert isinstance(image, ImageContent)
    assert base64.b64decode(image.data) == PNG
    assert isinstance(embedded, EmbeddedResource)
    assert embedded.resource.uri == "library://books/Dune"
    assert isinstance(link, ResourceLink)
    assert link.uri == "library://motto"


async def test_prompt_that_cannot_be_given_is_an_error_and_the_next_is_served() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        unknown = await refusal(client, "shout")
        missing = await refusal(client, "greet")
        strange = await refusal(client, "greet", name="Ada", tone="hot")
        refused = await refusal(client, "discuss", title="Ulysses")
        assert said_in(await client.get_prompt("greet", {"name": "Ada"}))
    assert [e.code for e in (unknown, missing, strange)] == [INVALID_PARAMS] * 3
    assert "shout" in unknown.message
    assert "name" in missing.message
    assert '"warm"' in strange.message
    assert refused.message == "Nobody discusses Ulysses."
    assert server.complaints.texts == []


# -- completion --------------------------------------------------------------------------------


async def test_arguments_and_variables_are_completed(over: Over) -> None:
    greet, discuss = PromptReference(name="greet"), PromptReference(name="discuss")
    books = ResourceTemplateReference(uri="library://books/{title}")
    unknown = ResourceTemplateReference(uri="library://{none}")
    async with served(over, WHOLE) as server, server.client() as client:
        tones = await client.complete(greet, {"name": "tone", "value": "co"})
        titles = await client.complete(discuss, {"name": "title", "value": ""})
        of_one = await client.complete(
            discuss, {"name": "title", "value": ""}, context_arguments={"author": "Austen"}
        )
        many = await client.complete(discuss, {"name": "author", "value": "A"})
        none = await client.complete(greet, {"name": "name", "value": "A"})
        book = await client.complete(books, {"name": "title", "value": "E"})
        with pytest.raises(MCPError) as caught:
            await client.complete(unknown, {"name": "none", "value": ""})
    assert tones.completion.values == ["cool", "cold"]
    assert titles.completion.values == ["Dune", "Emma", "Persuasion"]
    assert of_one.completion.values == ["Emma", "Persuasion"]
    assert many.completion.values == [f"A{number}" for number in range(100)]
    assert (many.completion.total, many.completion.has_more) == (5000, True)
    assert none.completion.values == []
    assert book.completion.values == ["Emma"]
    assert caught.value.code == INVALID_PARAMS


async def test_server_without_prompts_has_none_of_this() -> None:
    async with served(HTTP, HARBOUR) as server, server.client() as client:
        with pytest.raises(MCPError) as listing:
            await all_prompts(client)
        with pytest.raises(MCPError) as completing:
            await client.complete(PromptReference(name="greet"), {"name": "tone", "value": ""})
    assert [e.value.code for e in (listing, completing)] == [METHOD_NOT_FOUND] * 2
