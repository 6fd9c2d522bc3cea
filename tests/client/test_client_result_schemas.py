"""Results of tools, held against the outputSchema that they were listed with."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from antiphon.engine.changes import ListChanged, Reconnected, ResourceUpdated
from antiphon.engine.client import Client
from antiphon.engine.client_schemas import OutputSchemas, ResultInvalid, SchemaUnusable
from antiphon.engine.errors import InvalidReply, PeerError
from antiphon.engine.jsonrpc import JsonObject, Request
from antiphon.engine.limits import Limits
from antiphon.engine.result_schemas import ResultSchema
from antiphon.engine.schema_parts import Unusable
from tests.client.scripted import (
    Answer,
    ScriptedTransport,
    accept_prod,
    asks,
    client_of,
    done,
    tell,
)

WEATHER: JsonObject = {
    "type": "object",
    "properties": {"degrees": {"type": "number"}, "sky": {"enum": ["clear", "grey"]}},
    "required": ["degrees"],
}
RIGHT: JsonObject = {"degrees": 21, "sky": "clear"}


def tools(schema: Any = WEATHER, name: str = "t") -> JsonObject:
    tool: Any = {"name": name, "inputSchema": {"type": "object"}}
    if schema is not None:
        tool["outputSchema"] = schema
    return {"tools": [tool]}


def gives(value: Any, **members: Any) -> JsonObject:
    return done(structuredContent=value, **members)


async def listed(schema: Any, *answers: Answer, **options: Any) -> tuple[Client, ScriptedTransport]:
    """A client that has listed a tool with this output schema."""
    client, wire = client_of(tools(schema), *answers, **options)
    await client.list_tools()
    return client, wire


# -- what is checked --------------------------------------------------------------------------


async def test_a_result_that_keeps_the_promise_comes_back() -> None:
    client, _ = await listed(WEATHER, gives(RIGHT))
    assert (await client.call_tool("t")).structured == RIGHT


@pytest.mark.parametrize(
    ("schema", "value"),
    [({"type": "null"}, None), ({"type": "array"}, []), ({"type": "boolean"}, False), ({}, 0)],
)
async def test_a_promise_may_be_of_any_json_value(schema: Any, value: Any) -> None:
    client, _ = await listed(schema, gives(value), gives("other"))
    assert (await client.call_tool("t")).structured == value
    if schema:
        with pytest.raises(ResultInvalid):
            await client.call_tool("t")


async def test_a_result_that_breaks_it_is_an_error_that_carries_the_result() -> None:
    client, _ = await listed(WEATHER, gives({"degrees": "swordfish"}))
    with pytest.raises(ResultInvalid, match=r"tool 't'.*at 'degrees'") as caught:
        await client.call_tool("t")
    assert isinstance(caught.value, InvalidReply)
    assert caught.value.result.structured == {"degrees": "swordfish"}
    assert (caught.value.tool, "number" in caught.value.fault) == ("t", True)
    assert "swordfish" not in str(caught.value)


async def test_a_result_without_what_was_promised_is_an_error() -> None:
    client, _ = await listed(WEATHER, done())
    with pytest.raises(ResultInvalid, match="structuredContent is missing"):
        await client.call_tool("t")


async def test_a_tool_that_failed_promises_nothing() -> None:
    client, _ = await listed(WEATHER, done("no", isError=True), gives(3, isError=True))
    assert (await client.call_tool("t")).is_error
    assert (await client.call_tool("t")).is_error


async def test_the_end_of_a_conversation_is_checked() -> None:
    client, _ = await listed(WEATHER, asks(), gives({}), elicitation=accept_prod)
    with pytest.raises(ResultInvalid, match="degrees"):
        await client.call_tool("t")


async def test_the_end_of_a_stored_conversation_is_checked() -> None:
    client, _ = await listed(WEATHER, asks(state="s"), gives({}))
    conversation = client.conversation("t")
    await conversation.advance()
    again = client.load(conversation.dump())
    with pytest.raises(ResultInvalid):
        await again.advance()


@pytest.mark.parametrize("checks", [True, False])
async def test_whoever_goes_on_says_whether_the_end_is_checked(checks: bool) -> None:
    client, _ = await listed(
        WEATHER, asks(state="s"), gives({}), gives({}), check_results=not checks
    )
    conversation = client.conversation("t")
    await conversation.advance()
    stored = conversation.dump()
    left_alone, checked = (client.load(stored, check_results=on) for on in (False, True))
    await left_alone.advance()
    with pytest.raises(ResultInvalid):
        await checked.advance()


@pytest.mark.parametrize("schema", [None, WEATHER])
async def test_what_was_not_promised_is_not_checked(schema: Any) -> None:
    client, _ = await listed(None, done())
    await client.call_tool("t")
    client, _ = await listed(schema, done())
    await client.call_tool("another")


async def test_checking_can_be_left_out() -> None:
    client, _ = await listed(WEATHER, done(), check_results=False)
    await client.call_tool("t")
    client, _ = await listed({"$schema": "x:y"}, done())
    await client.call_tool("t", check_results=False)
    with pytest.raises(SchemaUnusable):
        await client.call_tool("t")


async def test_a_caller_who_changes_a_listed_schema_changes_no_check() -> None:
    client, _ = client_of(tools(copy.deepcopy(WEATHER)), gives(RIGHT))
    (tool,) = await client.list_tools()
    assert tool.output_schema is not None
    tool.output_schema["type"] = "null"
    await client.call_tool("t")


# -- what is remembered -----------------------------------------------------------------------


async def test_the_last_listing_counts() -> None:
    client, _ = client_of(tools(), tools({"type": "null"}), gives(None), tools(None), done())
    await client.list_tools()
    await client.list_tools()
    await client.call_tool("t")
    await client.list_tools()
    await client.call_tool("t")


@pytest.mark.parametrize(
    ("change", "checked"),
    [
        (ListChanged("tools"), False),
        (Reconnected(1.0, "lost"), False),
        (ListChanged("prompts"), True),
        (ResourceUpdated("x:a"), True),
    ],
)
async def test_a_promise_is_forgotten_when_the_tools_change(change: Any, checked: bool) -> None:
    client, _ = await listed(WEATHER, done())
    tell(client, change)
    if checked:
        with pytest.raises(ResultInvalid):
            await client.call_tool("t")
    else:
        await client.call_tool("t")


async def test_a_list_that_was_on_its_way_when_the_tools_changed_promises_nothing() -> None:
    changed = trio.Event()

    async def slow(_: Request) -> JsonObject:
        await changed.wait()
        return tools(WEATHER)

    client, _ = client_of(slow, gives({"new": 1}))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(aiter(client.list_tools()).__anext__)
        await trio.testing.wait_all_tasks_blocked()
        tell(client, ListChanged("tools"))
        changed.set()
    assert (await client.call_tool("t")).structured == {"new": 1}


async def test_what_is_remembered_is_bounded() -> None:
    from antiphon.engine.client_carriers import TOOL_CALL
    from antiphon.engine.client_messages import Tool

    schemas = OutputSchemas(Limits(), bound=5000)
    schemas.learn(Tool(f"t{n}", {}, output_schema={"const": "x" * 700}) for n in range(100))
    known = [n for n in range(100) if schemas.checking(TOOL_CALL, f"t{n}") is not TOOL_CALL]
    assert known == [95, 96, 97, 98, 99]


# -- schemas that cannot be used --------------------------------------------------------------


async def test_an_unusable_schema_is_told_before_anything_is_sent() -> None:
    client, wire = await listed({"$schema": "https://example.com/mine"})
    with pytest.raises(SchemaUnusable, match="its dialect 'https://example") as caught:
        await client.call_tool("t")
    with pytest.raises(SchemaUnusable):
        client.conversation("t")
    assert isinstance(caught.value, PeerError)
    assert len(wire.requests) == 1


async def test_a_schema_beyond_the_limit_is_unusable() -> None:
    client, _ = await listed({"const": "x" * 2000}, limits=Limits(schema_bytes=1000))
    with pytest.raises(SchemaUnusable, match="limit schema_bytes is 1000"):
        await client.call_tool("t")


def doubling(levels: int) -> Any:
    """References that double at each level."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, levels)}
    return {"$ref": f"#/$defs/d{levels - 1}", "$defs": {"d0": {"type": "string"}, **twice}}


def unevaluated(levels: int) -> Any:
    schema: Any = {"properties": {"a": True}}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def behind(levels: int) -> Any:
    refs = {f"d{n}": {"$ref": f"#/$defs/d{n - 1}"} for n in range(1, levels)}
    return {"$ref": f"#/$defs/d{levels - 1}", "$defs": {"d0": {}, **refs}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "https://evil.example/s"}, "outside of it"),
        ({"$ref": "http://127.0.0.1:9/s#/x"}, "outside of it"),
        ({"$ref": "file:///etc/passwd"}, "outside of it"),
        ({"$ref": "other.json"}, "outside of it"),
        ({"properties": {"a": {"$ref": "https://evil.example/s"}}}, "outside of it"),
        ({"$defs": {"a": {"$ref": "https://evil.example/s"}}}, "no valid schema"),
        ({"$ref": "#/$defs/none"}, "where no schema is"),
        ({"$ref": "#none"}, "where no schema is"),
        ({"$ref": 3}, "no text"),
        ({"$ref": "#"}, "refers to itself"),
        ({"anyOf": [{"not": {"$ref": "#"}}]}, "refers to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "x:a"}}}, "an \\$id of its own"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "not supported"),
        ({"$schema": 3}, "not supported"),
        ({"type": "nonsense"}, "no valid schema"),
        ({"properties": 3}, "no valid schema"),
        ({"pattern": "("}, "patterns is wrong"),
        ({"pattern": "(?=a)"}, "looks around or back"),
        ({"pattern": r"(a)\1"}, "looks around or back"),
        ({"pattern": "(?:a{900}){900}"}, "too large"),
        ({"pattern": r"(?i:\pL)" * 3000}, "patterns have more than 16384 characters"),
        ({"$defs": {"unused": {"pattern": r"(?i:\pL)" * 3000}}}, "more than 16384 characters"),
        (
            {"anyOf": [{"patternProperties": {r"(?i:\pL)" * 3000: True}}]},
            "more than 16384 characters",
        ),
        (behind(100), "more than 64 of its parts"),
        (behind(5000), "more than 64 of its parts"),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}, "$ref": "#x"}, "two of its"),
    ],
)
def test_what_no_result_can_be_held_against_is_refused_by_name(schema: Any, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        ResultSchema(schema)


@pytest.mark.parametrize("schema", [doubling(30), unevaluated(60)])
async def test_a_check_that_would_last_for_years_is_not_begun(schema: Any) -> None:
    started = time.process_time()
    client, _ = await listed(schema, gives({"a": 1}))
    with pytest.raises(ResultInvalid, match="too often") as caught:
        await client.call_tool("t")
    assert caught.value.result.structured == {"a": 1}
    assert time.process_time() - started < 5


def test_recursion_that_doubles_is_bounded_by_how_deep_the_result_is() -> None:
    inner: Any = {"additionalProperties": {"$ref": "#"}}
    schema = ResultSchema({"allOf": [inner, inner]})
    value: Any = {}
    for _ in range(5):
        value = {"a": value}
    assert schema.fault(value) is None
    for _ in range(50):
        value = {"a": value}
    with pytest.raises(Unusable, match="too often"):
        schema.fault(value)


def test_a_pattern_made_to_be_slow_is_not() -> None:
    started = time.process_time()
    schema = ResultSchema({"pattern": "^(?:a|a)*(?:a+)+$"})
    assert schema.fault("a" * 100_000 + "b") is not None
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "dialect",
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2020-12/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema#",
    ],
)
def test_the_dialects_that_are_documented_are_supported(dialect: str) -> None:
    whole: JsonObject = WEATHER | {"$schema": dialect}
    schema = ResultSchema(whole)
    assert schema.fault(RIGHT) is None
    assert schema.fault({}) is not None


def test_a_schema_without_dialect_is_of_2020_12() -> None:
    schema = ResultSchema({"prefixItems": [{"type": "string"}], "items": False})
    assert schema.fault(["a"]) is None
    assert schema.fault([3]) is not None
    assert schema.fault(["a", "b"]) is not None


OFFERED: list[tuple[Any, Any, Any]] = [
    ({"$defs": {"a/b~c": {"type": "integer"}}, "$ref": "#/$defs/a~1b~0c"}, 1, "x"),
    ({"$defs": {"a": {"$anchor": "n", "type": "integer"}}, "$ref": "#n"}, 1, "x"),
    ({"$id": "x:root", "$defs": {"a": {"type": "integer"}}, "$ref": "x:root#/$defs/a"}, 1, "x"),
    ({"allOf": [{"type": "array"}, {"items": {"$ref": "#/allOf/0"}}]}, [[]], [1]),
    (
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {"next": {"next": {}}},
        {"next": {"next": 3}},
    ),
    (
        {
            "$dynamicAnchor": "n",
            "type": "object",
            "additionalProperties": {"$dynamicRef": "#n"},
        },
        {"a": {"a": {}}},
        {"a": {"a": 3}},
    ),
    ({"type": "array", "uniqueItems": True}, [[1], [2]], [[1], [1]]),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, "xx", 1),
]


@pytest.mark.parametrize(("schema", "right", "wrong"), OFFERED)
def test_what_the_dialect_offers_is_checked(schema: Any, right: Any, wrong: Any) -> None:
    compiled = ResultSchema(schema)
    assert compiled.fault(right) is None
    assert compiled.fault(wrong) is not None


KEYWORDS: Any = {
    "type": st.sampled_from(["object", "array", "string", "integer", "null"]),
    "minLength": st.integers(0, 3),
    "enum": st.lists(st.integers() | st.text(max_size=2), min_size=1, max_size=3),
    "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
    "$ref": st.sampled_from(["#/$defs/x", "#/$defs/y", "#/properties/a"]),
}


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "items": inner,
            "prefixItems": some,
            "properties": named,
            "patternProperties": named,
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "contains": inner,
        },
    )


SCHEMAS = st.recursive(
    st.booleans() | st.fixed_dictionaries({}, optional=KEYWORDS), grown, max_leaves=8
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-3, 3) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)


@given(grown(SCHEMAS), SCHEMAS, SCHEMAS, VALUES)
def test_whatever_can_be_checked_is_judged_as_by_another_validator(
    schema: Any, x: Any, y: Any, value: Any
) -> None:
    whole = {**schema, "$defs": {"x": x, "y": y}}
    try:
        fault = ResultSchema(whole).fault(value)
    except Unusable:
        return
    judge: Any = Draft202012Validator(whole)
    assert (fault is None) == judge.is_valid(value)
