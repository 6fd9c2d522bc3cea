"""A client of the official SDK reads resources of ours, and keeps what it may."""

from __future__ import annotations

import base64
import json

import pytest
from mcp import Client, MCPError
from mcp.client import CacheConfig
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    ReadResourceResult,
    TextResourceContents,
)

from tests.interop.lists import all_resources, all_templates, pages, wire
from tests.interop.servers import HTTP, LEAVES_GARBAGE, WHOLE, Over, served
from tests.interop.whole import BOOKS
from tests.interop.whole_tools import ICON, MARK, PNG

pytestmark = LEAVES_GARBAGE


def text_in(result: ReadResourceResult) -> str:
    """The text of a resource of one part."""
    (part,) = result.contents
    assert isinstance(part, TextResourceContents)
    return part.text


async def refusal(client: Client, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    return caught.value


# -- lists -------------------------------------------------------------------------------------


async def test_resources_are_listed_with_all_that_is_said_of_them() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        found = await pages(client.list_resources)
        resources = {resource.uri: resource for resource in await all_resources(client)}
    assert [len(page.resources) for page in found] == [5, 3]
    assert {(page.ttl_ms, page.cache_scope) for page in found} == {(60_000, "public")}
    assert wire(resources["library://motto"]) == {
        "uri": "library://motto",
        "name": "motto",
        "title": "The motto",
        "description": "What stands on the wall.",
        "mimeType": "text/plain",
        "size": 11,
        "icons": [ICON.wire()],
        "annotations": {
            "audience": ["user", "assistant"],
            "priority": 1,
            "lastModified": "2026-07-28T12:00:00Z",
        },
        "_meta": MARK,
    }


async def test_templates_are_listed_with_all_that_is_said_of_them() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        found = await pages(client.list_resource_templates)
        templates = {template.name: template for template in await all_templates(client)}
    assert [len(page.resource_templates) for page in found] == [5, 3]
    assert templates["search"].uri_template == "library://search{?author,limit}"
    assert wire(templates["book"]) == {
        "uriTemplate": "library://books/{title}",
        "name": "book",
        "title": "A book",
        "description": "A book's author.",
        "mimeType": "text/plain",
        "icons": [ICON.wire()],
        "annotations": {"audience": ["assistant"]},
        "_meta": MARK,
    }


# -- reading -----------------------------------------------------------------------------------


async def test_text_bytes_values_and_several_parts_are_read(over: Over) -> None:
    async with served(over, WHOLE) as server, server.client() as client:
        motto = await client.read_resource("library://motto")
        logo = await client.read_resource("library://logo")
        stock = await client.read_resource("library://stock")
        parts = await client.read_resource("library://parts")
    assert text_in(motto) == "sapere aude\u2028名"
    assert motto.contents[0].mime_type == "text/plain"
    (blob,) = logo.contents
    assert isinstance(blob, BlobResourceContents)
    assert (base64.b64decode(blob.blob), blob.mime_type) == (PNG, "image/png")
    assert json.loads(text_in(stock)) == {"books": BOOKS, "lent": None, "price": 1.5}
    assert stock.contents[0].mime_type == "application/json"
    one, two = parts.contents
    assert isinstance(one, TextResourceContents)
    assert (one.uri, one.text, one.meta) == ("library://parts/1", "one", MARK)
    assert isinstance(two, BlobResourceContents)
    assert (two.uri, base64.b64decode(two.blob)) == ("library://parts/2", b"\x00two")


async def test_templates_are_read_by_the_uris_that_they_describe() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        book = await client.read_resource("library://books/Emma")
        plain = await client.read_resource("library://search")
        found = await client.read_resource("library://search?author=J%20A%C3%B6&limit=3")
    assert text_in(book) == "Austen"
    assert book.contents[0].uri == "library://books/Emma"
    assert json.loads(text_in(plain)) == ["by anybody", "at most 10"]
    assert json.loads(text_in(found)) == ["by J Aö", "at most 3"]


async def test_resource_that_is_not_there_is_an_error_that_names_it() -> None:
    uris = ["library://none", "library://burnt", "library://books/Ulysses", "no-uri-at-all"]
    strange = "library://search?limit=few"
    async with served(HTTP, WHOLE) as server, server.client() as client:
        errors = [await refusal(client, uri) for uri in (*uris, strange)]
        assert text_in(await client.read_resource("library://books/Dune")) == "Herbert"
    assert [error.code for error in errors] == [INVALID_PARAMS] * 5
    assert [error.data for error in errors if error.data] == [
        {"uri": uri} for uri in (*uris, strange)
    ]
    assert "limit" in errors[-1].message
    assert server.complaints.texts == []


# -- caching -----------------------------------------------------------------------------------


async def test_client_keeps_what_it_may_and_asks_again_when_it_has_to() -> None:
    now = 1000.0
    config = CacheConfig(clock=lambda: now)
    async with served(HTTP, WHOLE) as server, server.client(cache=config) as client:

        async def read(uri: str) -> str:
            return text_in(await client.read_resource(uri))

        first = await client.read_resource("library://kept")
        assert (first.ttl_ms, first.cache_scope) == (60_000, "public")
        never = await client.read_resource("library://not-kept")
        assert (never.ttl_ms, never.cache_scope) == (0, "private")
        now += 59
        assert [await read("library://kept"), await read("library://not-kept")] == ["1", "2"]
        now += 2
        assert [await read("library://kept"), await read("library://not-kept")] == ["2", "3"]
        refreshed = await client.read_resource("library://kept", cache_mode="refresh")
        assert text_in(refreshed) == "3"
