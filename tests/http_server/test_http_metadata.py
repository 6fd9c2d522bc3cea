"""The headers that mirror a request: making them, holding them against the body."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject, JsonValue, Request, write_message
from antiphon.engine.protocol import META_CAPABILITIES
from antiphon.transports.asgi import http_app
from antiphon.transports.headers import decode_value, encode_value, metadata_headers
from tests.http_server.scripted import (
    Answer,
    ScriptedServer,
    call,
    head_of,
    listing,
    meta,
    post,
    post_body,
)


async def sent(request: Request, name: bytes, value: bytes | None) -> tuple[Answer, bool]:
    """Post with one header put in place of the right one; tells whether the server was asked."""
    server = ScriptedServer()
    headers = [header for header in head_of(request) if header[0] != name]
    if value is not None:
        headers.append((name, value))
    answer = await post_body(http_app(server), write_message(request), headers)
    return answer, bool(server.requests)


def wrapped(text: str) -> bytes:
    return b"=?base64?" + base64.b64encode(text.encode()) + b"?="


def refused(answer: Answer, header: str) -> bool:
    return (
        answer.status == 400
        and answer.code == -32020
        and header in answer.message
        and answer.json["id"] == 1
    )


# -- the version ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, b"", b"2025-11-25", b"1999-01-01", b"2026-07-28x"])
async def test_version_that_is_missing_or_differs_is_a_mismatch(value: bytes | None) -> None:
    answer, asked = await sent(listing(), b"mcp-protocol-version", value)
    assert refused(answer, "MCP-Protocol-Version")
    assert not asked


async def test_served_version_in_the_header_does_not_cover_another_in_the_body() -> None:
    request = listing(_meta=meta("2025-11-25"))
    answer, asked = await sent(request, b"mcp-protocol-version", b"2026-07-28")
    assert refused(answer, "MCP-Protocol-Version")
    assert not asked


@pytest.mark.parametrize("version", ["v999.0.0", "1999-01-01", "2025-11-25", ""])
async def test_unknown_version_that_both_name_is_unsupported(version: str) -> None:
    answer = await post(http_app(ScriptedServer()), listing(_meta=meta(version)))
    assert (answer.status, answer.code) == (400, -32022)
    assert answer.error["data"] == {"requested": version, "supported": ["2026-07-28"]}


@pytest.mark.parametrize("header", [None, b"2026-07-28", b"1999-01-01"])
@pytest.mark.parametrize(
    "params", [{}, {"_meta": {}}, {"_meta": {META_CAPABILITIES: {}}}, {"_meta": 7}]
)
async def test_missing_meta_is_the_servers_to_tell_whatever_the_headers(
    params: JsonObject, header: bytes | None
) -> None:
    request = Request(1, "tools/list", params)
    answer, asked = await sent(request, b"mcp-protocol-version", header)
    assert (answer.status, answer.code) == (400, -32602)
    assert asked


async def test_old_clients_initialize_reaches_the_server_that_names_its_versions() -> None:
    server = ScriptedServer()
    request = Request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    answer = await post_body(http_app(server), write_message(request), head_of())
    assert (answer.status, answer.code) == (400, -32022)
    assert "2026-07-28" in answer.message
    assert answer.json["id"] == 0


async def test_unknown_method_is_404_with_a_json_rpc_error() -> None:
    answer = await post(http_app(ScriptedServer()), Request(1, "unknown/method", {"_meta": meta()}))
    assert (answer.status, answer.code) == (404, -32601)


# -- the method -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, b"", b"tools/call", b"Tools/List", wrapped("tools/list")])
async def test_method_that_is_missing_or_differs_is_a_mismatch(value: bytes | None) -> None:
    answer, asked = await sent(listing(), b"mcp-method", value)
    assert refused(answer, "Mcp-Method")
    assert not asked


# -- the name ---------------------------------------------------------------------------------


def reading(uri: str) -> Request:
    return Request(1, "resources/read", {"uri": uri, "_meta": meta()})


def prompting(name: str) -> Request:
    return Request(1, "prompts/get", {"name": name, "_meta": meta()})


@pytest.mark.parametrize("value", [None, b"", b"Add", b"sub", b"add, add", wrapped("sub")])
@pytest.mark.parametrize("request_for", [call, prompting, reading])
async def test_name_that_is_missing_or_differs_is_a_mismatch(
    request_for: Callable[[str], Request], value: bytes | None
) -> None:
    answer, asked = await sent(request_for("add"), b"mcp-name", value)
    assert refused(answer, "Mcp-Name")
    assert not asked


NAMES = [
    "add",
    "größe",
    "名前",
    "with inner space",
    " edges ",
    "tab\tinside",
    "line\nbreak",
    "=?base64?literal?=",
    "=?base64?=",
    "=?BASE64?YWRk?=",
    "a, b",
    "e\u0301",
    "😀",
    "",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("request_for", [call, prompting, reading])
async def test_any_name_that_a_client_makes_is_taken(
    request_for: Callable[[str], Request], name: str
) -> None:
    answer = await post(http_app(ScriptedServer()), request_for(name))
    assert answer.status == 200


@pytest.mark.parametrize("value", [b"add", b"  add", b"add \t", b"\tadd", wrapped("add")])
async def test_space_around_a_value_is_trimmed_and_encoding_is_optional(value: bytes) -> None:
    answer, _ = await sent(call("add"), b"mcp-name", value)
    assert answer.status == 200


@pytest.mark.parametrize(
    "value",
    [
        "größe".encode(),
        "größe".encode("latin-1"),
        b"gr\x00",
        b"gr\x1b",
        b"gr\x7f",
        b"gr\x80",
    ],
)
async def test_raw_bytes_outside_of_visible_ascii_are_refused(value: bytes) -> None:
    answer, asked = await sent(call(value.decode("latin-1")), b"mcp-name", value)
    assert refused(answer, "Mcp-Name")
    assert not asked


@pytest.mark.parametrize(
    "value",
    [
        b"=?base64?Z3LDtsOfZQ?=",  # the padding is missing
        b"=?base64?Z3LDtsOfZQ===?=",
        b"=?base64?Z3LDtsOfZR==?=",  # stray bits behind the last byte
        b"=?base64?Z3LD tsOfZQ==?=",
        b"=?base64?Z3LD*sOfZQ==?=",
        b"=?base64?Z3LDtsOf-_==?=",
        b"=?base64?/w==?=",  # not UTF-8
        b"=?base64?7aCA?=",  # a surrogate
        b"=?BASE64?Z3LDtsOfZQ==?=",
        b"=?Base64?Z3LDtsOfZQ==?=",
        b"=?base64?Z3LDtsOfZQ==",
        b"Z3LDtsOfZQ==?=",
        b"Z3LDtsOfZQ==",
    ],
)
async def test_name_encoded_in_another_way_does_not_count(value: bytes) -> None:
    assert decode_value("=?base64?Z3LDtsOfZQ==?=") == "größe"
    answer, asked = await sent(call("größe"), b"mcp-name", value)
    assert refused(answer, "Mcp-Name")
    assert not asked


@pytest.mark.parametrize("literal", ["=?base64?YWRk", "YWRk?=", "=?base64?=", "=?BASE64?YWRk?="])
async def test_value_without_prefix_or_suffix_is_literal(literal: str) -> None:
    answer, _ = await sent(call(literal), b"mcp-name", literal.encode())
    assert answer.status == 200


@pytest.mark.parametrize("header", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
async def test_repeated_header_is_refused_even_with_one_value(header: str) -> None:
    request = call()
    headers = head_of(request)
    headers += [item for item in headers if item[0] == header.lower().encode()]
    answer = await post_body(http_app(ScriptedServer()), write_message(request), headers)
    assert refused(answer, header)


async def test_joined_repetition_cannot_be_passed_off_as_one_name() -> None:
    request = call("a, b")
    headers = [*head_of(request, mcp_name="a"), (b"mcp-name", b"b")]
    answer = await post_body(http_app(ScriptedServer()), write_message(request), headers)
    assert refused(answer, "Mcp-Name")


async def test_name_header_counts_only_for_methods_that_carry_one() -> None:
    answer, _ = await sent(listing(), b"mcp-name", b"\xff whatever")
    assert answer.status == 200


@pytest.mark.parametrize("name", [None, 7, ["add"]])
async def test_name_that_the_body_lacks_is_the_servers_to_tell(name: JsonValue) -> None:
    _, asked = await sent(call(name=name), b"mcp-name", b"add")
    assert asked


async def test_mismatch_shows_a_bounded_part_of_long_values() -> None:
    answer, _ = await sent(call("a" * 10_000), b"mcp-name", b"b" * 10_000)
    assert refused(answer, "Mcp-Name")
    assert len(answer.message) < 400


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_values_of_the_specification(text: str, value: str) -> None:
    assert encode_value(text) == value
    assert decode_value(value) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_value_is_visible_ascii_and_comes_back_exactly(text: str) -> None:
    value = encode_value(text)
    assert all(" " <= character <= "~" for character in value)
    assert value == value.strip()
    assert decode_value(value) == text


def test_value_of_a_lone_surrogate_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="surrogate"):
        encode_value("\ud800")


def test_client_headers_name_what_the_body_names() -> None:
    assert metadata_headers(call("größe")) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=",
    }
    assert metadata_headers(listing()) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
    }
