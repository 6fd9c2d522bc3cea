"""The headers that repeat arguments: making them, holding them against the body."""

from __future__ import annotations

import base64
from typing import Final

import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import ProtocolError, UsageError
from antiphon.engine.jsonrpc import JsonObject, JsonValue, Request, write_message
from antiphon.engine.mirrored import SAFE, Mirrored, mirrored_parameters
from antiphon.transports.asgi import http_app
from antiphon.transports.headers import Fields
from antiphon.transports.mirrored_headers import check_mirrored, mirrored_headers
from tests.http_server.scripted import (
    Answer,
    RawHeaders,
    ScriptedServer,
    call,
    head_of,
    meta,
    post,
    post_body,
)

SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "place": {
            "type": "object",
            "properties": {"zone": {"type": "string", "x-mcp-header": "Place-Zone"}},
        },
        "query": {"type": "string"},
    },
}
MIRRORED: Final = mirrored_parameters(SCHEMA, "Tool query")


@define
class MirroringServer(ScriptedServer):
    """Has one tool, ``query``, with parameters that headers repeat."""

    def mirrored(self, name: str) -> tuple[Mirrored, ...]:
        return MIRRORED if name == "query" else ()


async def sent(
    arguments: JsonValue, headers: RawHeaders, *, name: str = "query"
) -> tuple[Answer, bool]:
    """Post a call with just these mirroring headers; tells whether the server was asked."""
    server = MirroringServer()
    request = call(name, arguments=arguments)
    head = head_of(request) + headers
    answer = await post_body(http_app(server), write_message(request), head)
    return answer, bool(server.requests)


def region(*values: bytes) -> RawHeaders:
    return [(b"mcp-param-region", value) for value in values]


def count(*values: bytes) -> RawHeaders:
    return [(b"mcp-param-count", value) for value in values]


def dry(*values: bytes) -> RawHeaders:
    return [(b"mcp-param-dry", value) for value in values]


def wrapped(text: str) -> bytes:
    return b"=?base64?" + base64.b64encode(text.encode()) + b"?="


def refused(answer: Answer, header: str) -> bool:
    return (
        answer.status == 400
        and answer.code == -32020
        and answer.message.startswith(f"Header mismatch: Mcp-Param-{header} ")
        and answer.json["id"] == 1
    )


# -- texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", b"us-west1"),
        ("us west 1", b"us west 1"),
        ("us-west1", b" \tus-west1 "),
        ("us-west1", wrapped("us-west1")),
        ("Hello, 世界", b"=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", b"=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", b"=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", b"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("SGVsbG8=", b"SGVsbG8="),
        ("=?base64?SGVsbG8=", b"=?base64?SGVsbG8="),
        ("=?BASE64?SGVsbG8=?=", b"=?BASE64?SGVsbG8=?="),
        ("a, b", b"a, b"),
        ("42", b"42"),
        ("", b""),
        ("", wrapped("")),
    ],
)
async def test_text_that_its_header_repeats_is_taken(text: str, value: bytes) -> None:
    answer, asked = await sent({"region": text}, region(value))
    assert answer.status == 200
    assert asked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", b"us-west2"),
        ("us-west1", b"US-WEST1"),
        ("us-west1", b""),
        ("", b"us-west1"),
        ("us-west1", wrapped("us-west2")),
        ("us-west1", wrapped("us-west1 ")),
        ("Hello", b"SGVsbG8="),
        ("42", b"42.0"),
        ("true", b"True"),
    ],
)
async def test_text_that_differs_is_a_mismatch(text: str, value: bytes) -> None:
    answer, asked = await sent({"region": text}, region(value))
    assert refused(answer, "Region")
    assert not asked


@pytest.mark.parametrize(
    "value",
    [
        b"=?base64?SGVsbG8?=",  # the padding is missing
        b"=?base64?SGVsbG8==?=",
        b"=?base64?SGVs!!!bG8=?=",
        b"=?base64?SGVsbG9=?=",  # stray bits behind the last byte
        b"=?base64?SGVs bG8=?=",
        b"=?base64?/w==?=",  # not UTF-8
        "Größe".encode(),
        "Größe".encode("latin-1"),
        b"Hel\x00lo",
        b"Hello\x7f",
    ],
)
@pytest.mark.parametrize("text", ["Hello", 7, None])
async def test_malformed_header_is_refused_whatever_the_body(value: bytes, text: JsonValue) -> None:
    answer, asked = await sent({"region": text}, region(value))
    assert refused(answer, "Region")
    assert not asked


async def test_header_names_have_no_case() -> None:
    answer, _ = await sent({"region": "eu"}, [(b"MCP-param-REGION", b"eu")])
    assert answer.status == 200


# -- integers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (42, b"42"),
        (42, b"42.0"),
        (42, b"42.000"),
        (42, wrapped("42")),
        (42.0, b"42"),
        (42.0, b"42.0"),
        (-7, b"-7"),
        (0, b"0"),
        (0, b"-0"),
        (-0.0, b"0"),
        (SAFE, str(SAFE).encode()),
        (-SAFE, str(-SAFE).encode()),
    ],
)
async def test_integers_are_compared_as_numbers(number: float, value: bytes) -> None:
    answer, asked = await sent({"count": number}, count(value))
    assert answer.status == 200
    assert asked


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"43",
        b"-42",
        b"42.5",
        b"42.0000000000000000000000000001",
        b"+42",
        b"042",
        b"42.",
        b"4.2e1",
        b"42e0",
        b"0x2a",
        b"4_2",
        b"42 0",
        b"true",
        b"NaN",
        b"9" * 5000,
        wrapped("٤٢"),  # digits, but not ours
        wrapped("42\n"),
    ],
)
async def test_header_that_is_not_the_integer_is_a_mismatch(value: bytes) -> None:
    answer, asked = await sent({"count": 42}, count(value))
    assert refused(answer, "Count")
    assert not asked


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**53 + 1, 1e16, -1e300, 10**300])
@pytest.mark.parametrize("mirrored", [True, False])
async def test_integer_beyond_the_safe_range_is_refused(number: float, mirrored: bool) -> None:
    headers = count(str(int(number)).encode()) if mirrored else []
    answer, asked = await sent({"count": number}, headers)
    assert refused(answer, "Count")
    assert "9007199254740991" in answer.message
    assert not asked


# -- booleans ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("flag", "value"), [(True, b"true"), (False, b"false")])
async def test_booleans_are_in_lower_case(flag: bool, value: bytes) -> None:
    answer, _ = await sent({"dry": flag}, dry(value))
    assert answer.status == 200


@pytest.mark.parametrize("value", [b"True", b"TRUE", b"false", b"1", b"yes", b""])
async def test_other_words_for_a_boolean_are_a_mismatch(value: bytes) -> None:
    answer, asked = await sent({"dry": True}, dry(value))
    assert refused(answer, "Dry")
    assert not asked


# -- presence ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"region": "eu"}, "Region"),
        ({"region": ""}, "Region"),
        ({"count": 0}, "Count"),
        ({"count": 1.0}, "Count"),
        ({"dry": False}, "Dry"),
        ({"place": {"zone": "a"}}, "Place-Zone"),
    ],
)
async def test_argument_without_its_header_is_refused(arguments: JsonObject, header: str) -> None:
    answer, asked = await sent(arguments, [])
    assert refused(answer, header)
    assert answer.message.endswith("header is missing")
    assert not asked


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {"region": None, "count": None, "dry": None},
        {"place": None},
        {"place": {"zone": None}},
        {"place": {}, "query": "select"},
        {"zone": "a"},
    ],
)
async def test_absent_and_null_arguments_need_no_header(arguments: JsonValue) -> None:
    answer, asked = await sent(arguments, [])
    assert answer.status == 200
    assert asked


@pytest.mark.parametrize("arguments", [None, {}, {"region": None}, {"place": {"region": "eu"}}])
@pytest.mark.parametrize("value", [b"eu", b"", b"null"])
async def test_header_without_its_argument_is_refused(arguments: JsonValue, value: bytes) -> None:
    answer, asked = await sent(arguments, region(value))
    assert refused(answer, "Region")
    assert not asked


async def test_nested_argument_is_read_at_its_path() -> None:
    zone = [(b"mcp-param-place-zone", b"a")]
    answer, _ = await sent({"place": {"zone": "a"}}, zone)
    assert answer.status == 200
    answer, _ = await sent({"place": {"zone": "b"}, "zone": "a"}, zone)
    assert refused(answer, "Place-Zone")


@pytest.mark.parametrize("values", [(b"eu", b"eu"), (b"eu", b"us"), (b"us", b"eu")])
@pytest.mark.parametrize("text", ["eu", "eu, eu", "us, eu", None])
async def test_repeated_header_is_refused(values: tuple[bytes, ...], text: JsonValue) -> None:
    answer, asked = await sent({"region": text}, region(*values))
    assert refused(answer, "Region")
    assert not asked


async def test_headers_that_mirror_nothing_are_ignored() -> None:
    stray = [(b"mcp-param-query", b"\xff"), (b"mcp-param-", b""), (b"mcp-param-zone", b"a")]
    answer, _ = await sent({"query": "select"}, stray)
    assert answer.status == 200


async def test_each_tool_has_headers_of_its_own() -> None:
    answer, asked = await sent({"region": "eu"}, region(b"us"), name="other")
    assert answer.status == 200
    assert asked


async def test_server_that_mirrors_nothing_is_not_asked() -> None:
    request = call("query", arguments={"region": "eu"})
    answer = await post(http_app(ScriptedServer()), request)
    assert answer.status == 200


async def test_mismatch_shows_a_bounded_part_of_long_values() -> None:
    answer, _ = await sent({"region": "a" * 10_000}, region(b"b" * 10_000))
    assert refused(answer, "Region")
    assert len(answer.message) < 400


# -- what is the server's to tell -------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"region": 7},
        {"region": ["eu"]},
        {"count": 1.5},
        {"count": "42"},
        {"count": True},
        {"dry": "true"},
        {"dry": 1},
        {"region": {"a": 2**60}},
    ],
)
async def test_argument_of_another_type_is_left_to_the_server(arguments: JsonObject) -> None:
    answer, asked = await sent(arguments, [])
    assert answer.status == 200
    assert asked


@pytest.mark.parametrize(
    ("arguments", "headers", "header"),
    [
        ({"region": 7}, region(b"eu"), "Region"),
        ({"region": ["eu"]}, region(b"eu"), "Region"),
        ({"count": 1.5}, count(b"2"), "Count"),
        ({"dry": "true"}, dry(b"false"), "Dry"),
        ({"dry": 1}, dry(b"true"), "Dry"),
    ],
)
async def test_its_header_must_say_it_all_the_same(
    arguments: JsonObject, headers: RawHeaders, header: str
) -> None:
    answer, asked = await sent(arguments, headers)
    assert refused(answer, header)
    assert not asked


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": 7}, region(b"7")),
        ({"count": 1.5}, count(b"1.5")),
        ({"count": "4x"}, count(b"4x")),
        ({"dry": "true"}, dry(b"true")),
    ],
)
async def test_argument_of_another_type_may_have_its_header(
    arguments: JsonObject, headers: RawHeaders
) -> None:
    _, asked = await sent(arguments, headers)
    assert asked


@pytest.mark.parametrize("arguments", ["region", 7, ["region"]])
async def test_arguments_that_are_no_object_are_left_to_the_server(arguments: JsonValue) -> None:
    _, asked = await sent(arguments, region(b"eu"))
    assert asked


@pytest.mark.parametrize("params", [{}, {"_meta": meta("2025-11-25")}])
async def test_revision_that_is_not_served_is_told_first(params: JsonObject) -> None:
    request = Request(1, "tools/call", {"name": "query", "arguments": {"region": "eu"}, **params})
    answer = await post(http_app(MirroringServer()), request)
    assert answer.code in (-32602, -32022)


async def test_headers_of_other_methods_mirror_nothing() -> None:
    request = Request(1, "prompts/get", {"name": "query", "arguments": {}, "_meta": meta()})
    head = head_of(request) + region(b"eu")
    answer = await post_body(http_app(MirroringServer()), write_message(request), head)
    assert answer.status == 200


# -- the client's end -------------------------------------------------------------------------


def test_client_sends_what_is_marked_and_there() -> None:
    arguments: JsonObject = {
        "region": "Größe",
        "count": 42.0,
        "dry": False,
        "place": {"zone": "a b"},
        "query": "select",
    }
    assert mirrored_headers(arguments, MIRRORED) == {
        "Mcp-Param-Region": "=?base64?R3LDtsOfZQ==?=",
        "Mcp-Param-Count": "42",
        "Mcp-Param-Dry": "false",
        "Mcp-Param-Place-Zone": "a b",
    }


@pytest.mark.parametrize(
    "arguments",
    [{}, {"region": None, "count": None}, {"place": []}, {"count": 1.5, "dry": 1, "region": ["a"]}],
)
def test_client_omits_what_has_no_header(arguments: JsonObject) -> None:
    assert mirrored_headers(arguments, MIRRORED) == {}


@pytest.mark.parametrize("number", [SAFE + 1, -SAFE - 1, 1e16])
def test_client_sends_no_integer_beyond_the_safe_range(number: float) -> None:
    with pytest.raises(UsageError, match="Argument 'count' is sent in a header"):
        mirrored_headers({"count": number}, MIRRORED)


def test_client_sends_no_lone_surrogate() -> None:
    with pytest.raises(UsageError, match="surrogate"):
        mirrored_headers({"region": "\ud800"}, MIRRORED)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
INTEGERS = st.integers(-SAFE, SAFE)
OTHER = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.lists(TEXTS, max_size=2)
VALUES = st.one_of(TEXTS, st.booleans(), INTEGERS, INTEGERS.map(float), OTHER)


def check(arguments: JsonObject, headers: dict[str, str]) -> None:
    request = call("query", arguments=arguments)
    raw = [(name.encode(), value.encode("ascii")) for name, value in headers.items()]
    check_mirrored(Fields.read(raw), request, MIRRORED)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "region": VALUES,
            "count": VALUES.filter(lambda value: not _is_unsafe(value)),
            "dry": VALUES,
            "place": VALUES | st.fixed_dictionaries({"zone": VALUES}),
        },
    )
)
def test_whatever_a_client_sends_is_taken(arguments: JsonObject) -> None:
    check(arguments, mirrored_headers(arguments, MIRRORED))


def _is_unsafe(value: object) -> bool:
    return isinstance(value, float) and abs(value) > SAFE


@given(TEXTS, TEXTS)
def test_only_the_same_text_passes(one: str, other: str) -> None:
    headers = mirrored_headers({"region": one}, MIRRORED)
    assert passes({"region": other}, headers) == (one == other)


@given(INTEGERS, INTEGERS)
def test_only_the_same_integer_passes(one: int, other: int) -> None:
    headers = mirrored_headers({"count": one}, MIRRORED)
    assert passes({"count": other}, headers) == (one == other)


def passes(arguments: JsonObject, headers: dict[str, str]) -> bool:
    try:
        check(arguments, headers)
    except ProtocolError:
        return False
    return True
