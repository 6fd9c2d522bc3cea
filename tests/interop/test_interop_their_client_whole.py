"""A client of the official SDK and a whole server of ours: what is declared, and results."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from tests.interop.lists import all_tools, pages, wire
from tests.interop.servers import HTTP, LEAVES_GARBAGE, WHOLE, Over, served, text_of
from tests.interop.whole_tools import MARK, PNG, STRUCTURED, WAV

pytestmark = LEAVES_GARBAGE

ICON = {
    "src": "data:image/png;base64,iVBORw0KGgo=",
    "mimeType": "image/png",
    "sizes": ["48x48"],
    "theme": "dark",
}


# -- what is declared --------------------------------------------------------------------------


async def test_whole_server_is_discovered(over: Over) -> None:
    async with served(over, WHOLE) as server, server.client() as client:
        assert wire(client.server_capabilities) == {
            "logging": {},
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "extensions": {"com.example/shelves": {"depth": 3}},
        }
        assert wire(client.server_info) == {
            "name": "Library",
            "version": "1.2",
            "title": "The library",
            "description": "Lends books.",
            "websiteUrl": "https://example.org/",
            "icons": [ICON, {"src": "https://example.org/icon.svg", "sizes": ["any"]}],
        }
        assert client.instructions == "Be quiet."
        discovered = client.session.discover_result
        assert discovered is not None
        assert (discovered.ttl_ms, discovered.cache_scope) == (60_000, "public")
    assert server.complaints.texts == []


async def test_tools_are_listed_with_all_that_is_said_of_them() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        found = await pages(client.list_tools)
    assert [len(page.tools) for page in found] == [5, 5, 5, 5, 5, 1]
    assert {(page.ttl_ms, page.cache_scope) for page in found} == {(60_000, "public")}
    (say,) = [tool for page in found for tool in page.tools if tool.name == "say"]
    assert wire(say) == {
        "name": "say",
        "title": "Say it",
        "description": "Say it again.",
        "icons": [ICON],
        "annotations": {"title": "Say", "readOnlyHint": True, "openWorldHint": False},
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "_meta": MARK,
    }


# -- results -----------------------------------------------------------------------------------


async def test_structured_content_of_every_kind_passes_the_clients_check(
    over: Over, caplog: pytest.LogCaptureFixture
) -> None:
    given = {function.__name__: value for function, value in STRUCTURED.items()}
    async with served(over, WHOLE) as server, server.client() as client:
        tools = {tool.name: tool for tool in await all_tools(client)}
        results = {name: await client.call_tool(name) for name in given}
    assert all(tools[name].output_schema for name in given)
    assert {name: result.structured_content for name, result in results.items()} == given
    assert all("structured_content" in result.model_fields_set for result in results.values())
    assert text_of(results["give_text"]) == "told in other words"
    assert text_of(results["give_null"]) == "null"
    assert "cannot validate" not in caplog.text


async def test_content_blocks_of_every_kind_arrive_with_their_hints() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        result = await client.call_tool("show")
    text, image, audio, link, told, shown = result.content
    assert isinstance(text, TextContent)
    assert text.meta == MARK
    hints = {"audience": ["user"], "priority": 0.25, "lastModified": "2026-07-28T12:00:00Z"}
    assert wire(text.annotations) == hints
    assert isinstance(image, ImageContent)
    assert (base64.b64decode(image.data), image.mime_type) == (PNG, "image/png")
    assert isinstance(audio, AudioContent)
    assert (base64.b64decode(audio.data), audio.mime_type) == (WAV, "audio/wav")
    assert isinstance(link, ResourceLink)
    assert (link.uri, link.title, link.size) == ("library://motto", "The motto", 12)
    assert wire(link)["icons"] == [ICON]
    assert isinstance(told, EmbeddedResource)
    assert isinstance(told.resource, TextResourceContents)
    assert told.resource.text == "sapere aude"
    assert isinstance(shown, EmbeddedResource)
    assert isinstance(shown.resource, BlobResourceContents)
    assert base64.b64decode(shown.resource.blob) == PNG


async def test_meta_reaches_the_handler_and_comes_back() -> None:
    meta: Any = {"com.example/trail": [1, {"a": None}]}
    async with served(HTTP, WHOLE) as server, server.client() as client:
        await all_tools(client)
        result = await client.call_tool("remember", meta=meta)
    assert result.structured_content == meta
    assert result.meta is not None
    assert {**result.meta, **MARK} == result.meta


async def test_parameters_are_repeated_in_headers() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        with pytest.raises(MCPError) as caught:  # it does not know yet that it has to
            await client.session.call_tool("route", {"region": "here"})
        assert caught.value.code == HEADER_MISMATCH
        # This one lists the tools then, and asks again.
        said = await client.call_tool("route", {"region": "größe \t", "floor": -3})
        again = await client.call_tool("route", {"region": "=?base64?eA==?="})
    assert text_of(said) == "größe \t -3"
    assert text_of(again) == "=?base64?eA==?= 0"
