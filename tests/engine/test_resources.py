"""Static resources: how they are listed, read and cached, and how reading fails."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from attrs import frozen

from antiphon import (
    Annotations,
    Call,
    Done,
    Failed,
    Form,
    Icon,
    InputRequired,
    Limits,
    ProtocolError,
    ResourceContents,
    ResourceNotFound,
    Text,
    ToolError,
)
from antiphon.engine.errors import INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.offering import Tone, contents_text, error_of, offering, read, read_error
from tests.engine.peer import Peer, accept

URI = "config://app"


def holding(outcome: Callable[[], Awaitable[Any]], **options: Any) -> Peer:
    """A peer of a server with one resource."""
    server = offering()

    @server.resource(URI, **options)
    async def config() -> Any:
        return await outcome()

    return Peer(server)


def giving(value: object) -> Callable[[], Awaitable[Any]]:
    async def outcome() -> object:
        return value

    return outcome


def raising(error: Exception) -> Callable[[], Awaitable[Any]]:
    async def outcome() -> Any:
        raise error

    return outcome


async def contents(value: object, **options: Any) -> list[dict[str, Any]]:
    result = await read(holding(giving(value), **options), URI)
    return list(result["contents"])


# -- what reading gives -----------------------------------------------------------------------


@frozen
class Settings:
    debug: bool
    level: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", {"text": "text"}),
        ("", {"text": ""}),
        (b"\x00\xff", {"blob": "AP8="}),
        (bytearray(b"ab"), {"blob": "YWI="}),
        ({"a": [1, None]}, {"text": '{"a":[1,null]}', "mimeType": "application/json"}),
        ([], {"text": "[]", "mimeType": "application/json"}),
        (7, {"text": "7", "mimeType": "application/json"}),
        (
            Settings(True, 3),
            {"text": '{"debug":true,"level":3}', "mimeType": "application/json"},
        ),
        (Done("text"), {"text": "text"}),
    ],
)
async def test_every_kind_of_contents_can_be_read(value: object, expected: JsonObject) -> None:
    assert await contents(value) == [{"uri": URI, **expected}]


async def test_the_registered_type_is_that_of_the_contents() -> None:
    assert await contents({"a": 1}, mime_type="text/x-json") == [
        {"uri": URI, "text": '{"a":1}', "mimeType": "text/x-json"}
    ]


async def test_several_contents_may_stand_behind_one_uri() -> None:
    parts = [
        ResourceContents("one"),
        ResourceContents(b"2", uri="config://app/2", mime_type="image/png", meta={"a/b": 1}),
    ]
    assert await contents(parts, mime_type="text/plain") == [
        {"uri": URI, "text": "one", "mimeType": "text/plain"},
        {"uri": "config://app/2", "blob": "Mg==", "mimeType": "image/png", "_meta": {"a/b": 1}},
    ]


async def test_a_resource_may_take_the_call() -> None:
    server = offering()

    @server.resource("who://am-i")
    async def who(call: Call[Any]) -> str:
        assert call.args is None
        return f"{call.client.name if call.client else ''} in round {call.round}"

    assert contents_text(await read(Peer(server), "who://am-i")) == "peer in round 1"


# -- what a client may keep -------------------------------------------------------------------


def caching(result: dict[str, Any]) -> tuple[int, str]:
    return result["ttlMs"], result["cacheScope"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (0, "private")),
        ({"ttl_ms": 5000}, (5000, "private")),
        ({"ttl_ms": 5000, "cache_scope": "public"}, (5000, "public")),
        ({"cache_scope": "public"}, (0, "public")),
    ],
)
async def test_caching_hints_are_those_of_the_registration(
    options: dict[str, Any], expected: tuple[int, str]
) -> None:
    peer = holding(giving("text"), **options)
    assert caching(await read(peer, URI)) == expected


@pytest.mark.parametrize("responses", [{}, {"tone": accept(tone="dry")}])
async def test_what_was_read_with_answers_is_not_kept(responses: JsonObject) -> None:
    peer = holding(giving("text"), ttl_ms=5000, cache_scope="public")
    assert caching(await read(peer, URI, responses=responses)) == (0, "private")


# -- how reading fails ------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["config://ap", "config://app/", "CONFIG://app", "x", "", "é"])
async def test_an_unknown_uri_is_invalid_params_and_named(uri: str) -> None:
    error = await read_error(holding(giving("text")), uri)
    assert error.code == INVALID_PARAMS
    assert error.data == {"uri": uri}


async def config() -> str:
    return "text"


@pytest.mark.parametrize("params", [{}, {"uri": 5}, {"uri": None}, {"uri": ["x"]}])
async def test_a_uri_that_is_no_text_is_invalid_params(params: JsonObject) -> None:
    error = await error_of(holding(giving("text")), "resources/read", params)
    assert error.code == INVALID_PARAMS


@pytest.mark.parametrize(
    "error",
    [ResourceNotFound(), ExceptionGroup("of a nursery", [ResourceNotFound("its row is gone")])],
)
async def test_a_handler_may_find_that_nothing_is_there(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    told = await read_error(holding(raising(error)), URI)
    assert (told.code, told.message) == (INVALID_PARAMS, "Resource not found")
    assert told.data == {"uri": URI}
    assert not caplog.records


@pytest.mark.parametrize(
    "outcome", [raising(ToolError("On strike.")), giving(Failed("On strike."))]
)
async def test_the_authors_own_words_reach_the_client(
    outcome: Callable[[], Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    error = await read_error(holding(outcome), URI)
    assert (error.code, error.message) == (INTERNAL_ERROR, "On strike.")
    assert not caplog.records


@pytest.mark.parametrize(
    "outcome",
    [
        raising(KeyError("secret 1")),
        raising(ProtocolError(-32000, "secret 2")),
        giving(None),
        giving(float("nan")),
        giving("half \ud800 of a pair"),
        giving([ResourceContents("a"), "b"]),
        giving(Text("a block")),
        giving(InputRequired({"tone": Form("Which?", Tone)})),
        giving(InputRequired({}, state={"a": 1})),
    ],
)
async def test_what_is_not_expected_is_masked_and_logged(
    outcome: Callable[[], Awaitable[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    error = await read_error(holding(outcome), URI)
    assert error.code == INTERNAL_ERROR
    assert error.message == "config failed because of an error in the server. It has been logged."
    assert error.data is None
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "Resource 'config' failed in round 1" in record.getMessage()
    assert record.exc_info


async def test_the_log_says_that_a_static_resource_cannot_ask(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await read_error(holding(giving(InputRequired({"tone": Form("Which?", Tone)}))), URI)
    assert "'config' cannot ask; make it a resource template" in caplog.text


async def test_a_resource_that_takes_too_long_is_ended(autojump_clock: object) -> None:
    server = offering(limits=Limits(handler_seconds=5))
    server.resource(URI)(trio.sleep_forever)
    error = await read_error(Peer(server), URI)
    assert error.code == INTERNAL_ERROR
    assert "which is limit handler_seconds" in error.message


# -- how they are listed ----------------------------------------------------------------------


async def listed(peer: Peer) -> list[Any]:
    return list((await peer.ask("resources/list"))["resources"])


async def test_options_say_how_a_resource_is_listed() -> None:
    peer = holding(
        giving("text"),
        name="The settings",
        title="Settings",
        description="What is set.",
        icons=[Icon("https://example.com/i.png")],
        meta={"com.example/team": "red"},
        mime_type="text/plain",
        annotations=Annotations(["user"], 0.5, "2025-01-12T15:00:58Z"),
        size=4,
        ttl_ms=1,
    )
    assert await listed(peer) == [
        {
            "uri": URI,
            "name": "The settings",
            "title": "Settings",
            "description": "What is set.",
            "icons": [{"src": "https://example.com/i.png"}],
            "_meta": {"com.example/team": "red"},
            "mimeType": "text/plain",
            "annotations": {
                "audience": ["user"],
                "priority": 0.5,
                "lastModified": "2025-01-12T15:00:58Z",
            },
            "size": 4,
        }
    ]


async def test_a_bare_resource_is_listed_by_its_name_alone() -> None:
    assert await listed(holding(giving("text"))) == [{"uri": URI, "name": "config"}]


async def test_a_client_without_what_a_resource_needs_is_refused() -> None:
    peer = holding(giving("text"), needs={"extensions": {"com.example/x": {}}})
    error = await read_error(peer, URI)
    assert error.code == MISSING_CAPABILITY
    assert error.data == {"requiredCapabilities": {"extensions": {"com.example/x": {}}}}
    peer.capabilities = {"extensions": {"com.example/x": {}}}
    assert contents_text(await read(peer, URI)) == "text"


async def test_resources_come_and_go_while_the_server_runs() -> None:
    peer = holding(giving("text"))
    peer.server.resource("config://other")(config)
    assert [resource["uri"] for resource in await listed(peer)] == [URI, "config://other"]
    peer.server.resources.remove(URI)
    assert [resource["uri"] for resource in await listed(peer)] == ["config://other"]
    assert (await read_error(peer, URI)).data == {"uri": URI}
    peer.server.resources.remove("config://other")
    assert await listed(peer) == []
