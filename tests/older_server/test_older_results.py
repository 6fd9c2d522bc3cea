"""What leaves in an earlier revision: nothing of the present one, and all the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.handshake_results import (
    RESOURCE_NOT_FOUND,
    older_failure,
    older_info,
    older_question,
    older_result,
)
from antiphon.engine.jsonrpc import Failure, JsonObject
from tests.older_server.peer import LATEST, VERSIONS
from tests.wire import older

NAMES = st.sampled_from(
    [
        *sorted(older.MODERN),
        *("supportedVersions", "_meta", "content", "messages", "tools", "prompts", "resources"),
        *("resourceTemplates", "structuredContent", "isError", "type", "text", "outputSchema"),
        *("io.modelcontextprotocol/serverInfo", "com.example/a", "nextCursor", "contents"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
HOSTILE = st.dictionaries(NAMES, JSON, max_size=6)
VERSION = st.sampled_from(VERSIONS)

SERVER: JsonObject = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}


def text(value: str) -> JsonObject:
    return {"type": "text", "text": value}


def link(name: str) -> JsonObject:
    return {"type": "resource_link", "uri": "a:b", "name": name}


def tool_result(content: list[Any], structured: Any, meta: JsonObject, failed: bool) -> JsonObject:
    result: JsonObject = {
        "resultType": "complete",
        "content": content,
        "isError": failed,
        "_meta": {**SERVER, **meta},
    }
    return result if structured == "none" else {**result, "structuredContent": structured}


OTHERS: list[JsonObject] = [
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "a:b", "text": "x"}},
]
BLOCK = (
    st.builds(text, st.text(max_size=9))
    | st.builds(link, st.text(max_size=5))
    | st.sampled_from(OTHERS)
)
TOOL_RESULT = st.builds(
    tool_result,
    st.lists(BLOCK, max_size=4),
    JSON | st.just("none"),
    st.dictionaries(st.sampled_from(["com.example/a", "b"]), JSON, max_size=2),
    st.booleans(),
)


@given(result=HOSTILE, version=VERSION)
def test_whatever_a_handler_gives_leaves_without_members_of_this_revision(
    result: JsonObject, version: str
) -> None:
    before = json.dumps(result)
    told = older_result(result, version)
    assert list(older.leaked({"result": told})) == []
    assert "supportedVersions" not in told
    assert json.dumps(result) == before  # what is kept elsewhere is not touched
    assert older_result(told, version) == told


@given(result=TOOL_RESULT, version=VERSION)
def test_results_of_tools_are_valid_and_keep_all_that_is_known(
    result: dict[str, Any], version: str
) -> None:
    told = older_result(result, version)
    message = {"jsonrpc": "2.0", "id": 1, "result": told}
    assert older.faults("tools/call", message, version) == []
    assert told["isError"] == result["isError"]
    content = told["content"]
    assert isinstance(content, list)
    assert len(content) == len(result["content"])
    own = {name: value for name, value in result["_meta"].items() if name not in SERVER}
    assert told.get("_meta", {}) == own
    if version == LATEST:
        assert told["content"] == result["content"]


@given(blocks=st.lists(BLOCK, min_size=1, max_size=4), version=VERSION)
def test_messages_of_prompts_are_valid(blocks: list[Any], version: str) -> None:
    messages: Any = [{"role": "user", "content": block} for block in blocks]
    told = older_result({"resultType": "complete", "messages": messages}, version)
    message = {"jsonrpc": "2.0", "id": 1, "result": told}
    assert older.faults("prompts/get", message, version) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_members_that_a_revision_does_not_know_are_not_listed(version: str) -> None:
    tool: JsonObject = {
        "name": "t",
        "title": "T",
        "icons": [{"src": "a:b"}],
        "annotations": {"title": "T"},
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
        "_meta": {"com.example/a": 1},
    }
    told = older_result({"resultType": "complete", "tools": [tool], "ttlMs": 1}, version)
    since = {
        "title": "2025-06-18",
        "icons": "2025-11-25",
        "annotations": "2025-03-26",
        "outputSchema": "2025-06-18",
        "_meta": "2025-06-18",
    }
    known = {name: value for name, value in tool.items() if since.get(name, "") <= version}
    assert told == {"tools": [known]}


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"anyOf": []}, {}], ids=str)
def test_schema_of_what_is_no_object_is_not_listed(schema: JsonObject) -> None:
    tool: JsonObject = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}
    told = older_result({"tools": [tool]}, LATEST)
    assert told == {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}


@pytest.mark.parametrize("version", VERSIONS)
def test_servers_own_name(version: str) -> None:
    info: JsonObject = {
        "name": "n", "version": "1", "title": "t", "description": "d", "websiteUrl": "u",
        "icons": [],
    }  # fmt: skip
    told = older_info(info, version)
    assert {"name", "version"} <= told.keys()
    assert ("title" in told) is (version >= "2025-06-18")
    assert ("description" in told, "websiteUrl" in told, "icons" in told) == (
        version >= "2025-11-25",
    ) * 3


def test_code_for_nothing_behind_a_uri() -> None:
    nothing = Failure(1, -32602, "no", {"uri": "a:b"})
    assert older_failure(nothing, "resources/read").code == RESOURCE_NOT_FOUND
    assert older_failure(nothing, "tools/call") == nothing
    for other in (
        Failure(1, -32602, "no"),
        Failure(1, -32602, "no", {"uri": "a:b", "more": 1}),
        Failure(1, -32603, "no", {"uri": "a:b"}),
    ):
        assert older_failure(other, "resources/read") == other


# -- questions --------------------------------------------------------------------------------

FIELDS: JsonObject = {
    "plain": {"type": "string", "enum": ["a", "b"]},
    "titled": {
        "type": "string",
        "title": "Which?",
        "oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}],
    },
    "number": {"type": "integer", "minimum": 1},
}
FORM: JsonObject = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "?",
        "requestedSchema": {"type": "object", "properties": FIELDS, "required": ["plain"]},
    },
}


def asked(question: JsonObject, version: str) -> dict[str, Any]:
    """The message of a question."""
    method, params = older_question(question, version)
    return {"jsonrpc": "2.0", "id": "s-1", "method": method, "params": params}


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_forms(version: str) -> None:
    message = asked(FORM, version)
    assert older.faults(None, message, version) == []
    fields = message["params"]["requestedSchema"]["properties"]
    if version == LATEST:
        assert message["params"] == FORM["params"]
        return
    assert "mode" not in message["params"]
    assert fields["titled"] == {
        "type": "string",
        "title": "Which?",
        "enum": ["eu", "us"],
        "enumNames": ["Europe", "America"],
    }
    assert fields["plain"] == FIELDS["plain"]
    assert "oneOf" in json.dumps(FORM)  # which was not touched


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_links_have_ids_of_their_own(version: str) -> None:
    link: JsonObject = {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "?", "url": "https://example.org/"},
    }
    first, second = asked(link, version), asked(link, version)
    assert older.faults(None, first, version) == []
    assert first["params"]["elicitationId"] != second["params"]["elicitationId"]


@pytest.mark.parametrize("version", VERSIONS)
def test_sampling_has_one_block_a_message_before_the_latest(version: str) -> None:
    said, shown = text("x"), OTHERS[0]
    params: JsonObject = {
        "messages": [
            {"role": "user", "content": [said, shown]},
            {"role": "assistant", "content": said},
        ],
        "maxTokens": 5,
    }
    message = asked({"method": "sampling/createMessage", "params": params}, version)
    assert older.faults(None, message, version) == []
    contents = [part["content"] for part in message["params"]["messages"]]
    assert contents == ([[said, shown], said] if version == LATEST else [said, shown, said])


@pytest.mark.parametrize("version", VERSIONS)
def test_roots(version: str) -> None:
    message = asked({"method": "roots/list"}, version)
    assert older.faults(None, message, version) == []


@given(params=st.dictionaries(NAMES, JSON, max_size=5), version=VERSION)
@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
def test_odd_questions_harm_nobody(method: str, params: JsonObject, version: str) -> None:
    before = json.dumps(params)
    told, _ = older_question({"method": method, "params": params}, version)
    assert told == method
    assert json.dumps(params) == before
