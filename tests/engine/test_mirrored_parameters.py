"""Parameters that headers repeat: what a schema may say of them, and what is refused."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import attrs
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import DefinitionError, Form, Meta
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.mirrored import KEYWORD, SAFE, Mirrored, header, mirrored_parameters
from antiphon.engine.schema import derive


def read(**properties: JsonValue) -> tuple[Mirrored, ...]:
    return mirrored_parameters({"type": "object", "properties": properties}, "Tool query")


def faults_in(schema: JsonObject) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        mirrored_parameters(schema, "Tool query")
    assert caught.value.subject == "Tool query"
    return caught.value.faults


def faults_of(**properties: JsonValue) -> tuple[str, ...]:
    return faults_in({"type": "object", "properties": properties})


def marked(kind: JsonValue = "string", name: JsonValue = "Region", **more: JsonValue) -> JsonObject:
    return {"type": kind, KEYWORD: name, **more}


# -- what is taken ----------------------------------------------------------------------------


def test_each_marked_property_becomes_a_parameter_in_the_order_of_the_schema() -> None:
    assert read(
        region=marked(),
        query={"type": "string"},
        count=marked("integer", "Count"),
        dry=marked("boolean", "Dry-Run"),
    ) == (
        Mirrored("Region", ("region",), "string"),
        Mirrored("Count", ("count",), "integer"),
        Mirrored("Dry-Run", ("dry",), "boolean"),
    )


def test_nested_properties_have_their_path() -> None:
    (parameter,) = read(place={"properties": {"inner": {"properties": {"region": marked()}}}})
    assert parameter.path == ("place", "inner", "region")
    assert parameter.header == "Mcp-Param-Region"


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": True}, {"items": 7}])
def test_schema_without_the_keyword_has_none(schema: JsonObject) -> None:
    assert mirrored_parameters(schema, "Tool query") == ()


def test_property_that_is_called_like_the_keyword_is_a_property() -> None:
    schema: JsonObject = {"type": "object", "properties": {KEYWORD: {"type": "array"}}}
    assert mirrored_parameters(schema, "Tool query") == ()
    assert read(**{KEYWORD: marked()}) == (Mirrored("Region", (KEYWORD,), "string"),)


@pytest.mark.parametrize("word", ["default", "const", "enum", "examples", "x-example"])
def test_keyword_within_data_is_data(word: str) -> None:
    assert read(filter={"type": "object", word: [{"properties": {"a": marked(7)}}]}) == ()


@pytest.mark.parametrize("name", ["a", "7", "X-Y", "!#$%&'*+-.^_`|~", "Method", "a" * 300])
def test_any_token_is_a_name(name: str) -> None:
    assert read(region=marked(name=name))[0].suffix == name


@pytest.mark.parametrize(
    "bounds",
    [
        {"minimum": -SAFE, "maximum": SAFE},
        {"exclusiveMinimum": -(2**53), "exclusiveMaximum": 2**53},
        {"exclusiveMaximum": 2.0**53},
        {"minimum": 0.5},
        {"enum": [1, None, "2"]},
        {"const": True},
        {},
    ],
)
def test_integer_may_be_bounded_within_the_safe_range_or_not_at_all(bounds: JsonObject) -> None:
    assert read(count=marked("integer", **bounds))


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, 7, True, ["Region"], {"name": "Region"}])
def test_name_that_is_no_text_is_refused(name: JsonValue) -> None:
    (fault,) = faults_of(region=marked(name=name))
    assert fault == "parameter 'region': x-mcp-header is a header's name, and this is no text"


def test_empty_name_is_refused() -> None:
    (fault,) = faults_of(region=marked(name=""))
    assert fault == "parameter 'region': x-mcp-header is empty; name the header"


@pytest.mark.parametrize(
    "name",
    [
        "My Region",
        " Region",
        "Region:",
        "Region\n",
        "Reg\r\nion",
        "Reg\tion",
        "Région",
        "a,b",
        "\0",
    ],
)
def test_name_that_is_no_token_is_refused(name: str) -> None:
    (fault,) = faults_of(region=marked(name=name))
    assert fault.startswith(f"parameter 'region': x-mcp-header {name!r} is no header's name")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("number", "is of type 'number'"),
        ("array", "is of type 'array'"),
        ("object", "is of type 'object'"),
        ("null", "is of type 'null'"),
        (["string", "null"], "names no single type"),
        (["string"], "names no single type"),
        (None, "names no single type"),
    ],
)
def test_other_types_than_text_integer_and_boolean_are_refused(kind: JsonValue, told: str) -> None:
    (fault,) = faults_of(score=marked(kind))
    assert fault.startswith("parameter 'score': x-mcp-header is for type string, integer or bool")
    assert told in fault


@pytest.mark.parametrize(
    "bounds",
    [
        {"minimum": -(2**53)},
        {"maximum": 2**53},
        {"maximum": 1e300},
        {"exclusiveMinimum": -(2**53) - 1},
        {"exclusiveMaximum": 2**53 + 1},
        {"enum": [1, 2**53]},
        {"const": -(2**60)},
        {"default": 2**64},
    ],
)
def test_integer_that_may_leave_the_safe_range_is_refused(bounds: JsonObject) -> None:
    (fault,) = faults_of(count=marked("integer", **bounds))
    (word,) = bounds
    assert fault.endswith(
        f"no header carries integers beyond 9007199254740991, which {word} let in"
    )


def test_bounds_of_other_types_do_not_count() -> None:
    assert read(region=marked(default="9" * 30, maxLength=2**60))


def behind(word: str, *, listed: bool = False, named: bool = False) -> JsonObject:
    inner: JsonValue = {"type": "object", "properties": {"region": marked()}}
    held: JsonValue = [inner] if listed else {"some": inner} if named else inner
    return {"type": "object", "properties": {"place": {word: held}}}


@pytest.mark.parametrize(
    "schema",
    [
        *(
            behind(word, listed=True)
            for word in ("prefixItems", "allOf", "anyOf", "oneOf", "items")
        ),
        *(behind(word, named=True) for word in ("$defs", "definitions", "patternProperties")),
        behind("dependentSchemas", named=True),
        *(behind(word) for word in ("items", "contains", "additionalProperties", "not")),
        *(behind(word) for word in ("if", "then", "else", "propertyNames", "contentSchema")),
        *(behind(word) for word in ("unevaluatedItems", "unevaluatedProperties")),
        {"properties": {"tags": {"type": "array", "items": marked()}}},
        {"$ref": "#/$defs/args", "$defs": {"args": {"properties": {"region": marked()}}}},
        {"allOf": [{"properties": {"region": marked()}}]},
        marked(),
    ],
    ids=str,
)
def test_place_that_no_chain_of_properties_leads_to_is_refused(schema: JsonObject) -> None:
    (fault,) = faults_in(schema)
    assert fault.startswith("schema '#")
    assert "x-mcp-header stands where no argument can be read" in fault


@pytest.mark.parametrize("other", ["Region", "region", "REGION"])
def test_two_parameters_cannot_share_a_header_in_whatever_case(other: str) -> None:
    (fault,) = faults_of(a=marked(), b={"properties": {"c": marked("integer", other)}})
    assert fault.startswith("parameter 'a', parameter 'b.c' share one header ('Region', ")


def test_all_faults_are_told_at_once() -> None:
    faults = faults_of(
        a=marked("number", "No Token"),
        b={"type": "array", "items": marked(name="")},
        c=marked("integer", "Big", maximum=2**60),
        d=marked("array", "big"),
    )
    assert [fault.split(":")[0].split(" share")[0] for fault in faults] == [
        "parameter 'a'",
        "parameter 'a'",
        "schema '#/properties/b/items'",
        "schema '#/properties/b/items'",
        "parameter 'c'",
        "parameter 'd'",
        "parameter 'c', parameter 'd'",
    ]


def test_fault_shows_a_bounded_part_of_what_a_peer_wrote() -> None:
    for fault in faults_of(**{"p" * 10_000: marked("k" * 10_000, " " * 10_000)}):
        assert len(fault) < 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [KEYWORD, "type", "properties", "items", "anyOf", "$defs", "enum", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from([KEYWORD, "properties", "items", "$defs"]), JSON))
def test_whatever_a_peer_lists_is_read_or_refused(schema: JsonObject) -> None:
    try:
        found = mirrored_parameters(schema, "Tool theirs")
    except DefinitionError:
        found = ()
    assert all(parameter.path and parameter.suffix for parameter in found)


# -- values in the arguments ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"place": {"region": "eu"}}, "eu"),
        ({"place": {"region": None}}, None),
        ({"place": {}}, None),
        ({"place": ["region"]}, None),
        ({"place": "region"}, None),
        ({"place": None}, None),
        ({"region": "eu"}, None),
        ({}, None),
    ],
)
def test_value_is_read_at_the_exact_path(arguments: JsonObject, value: JsonValue) -> None:
    assert Mirrored("Region", ("place", "region"), "string").value(arguments) == value


@pytest.mark.parametrize(
    ("kind", "fitting"),
    [
        ("string", ["", "42", "true"]),
        ("integer", [0, -7, 42.0, 2**70]),
        ("boolean", [True, False]),
    ],
)
def test_value_fits_the_type_of_its_schema_alone(kind: Any, fitting: list[JsonValue]) -> None:
    parameter = Mirrored("X", ("x",), kind)
    values: list[JsonValue] = ["", "42", "true", 0, -7, 42.0, 2**70, True, False]
    never: list[JsonValue] = [None, 1.5, [], ["42"], {}, {"x": 42}]
    # By their text: 0 and False are equal.
    assert [repr(value) for value in [*values, *never] if parameter.fits(value)] == [
        repr(value) for value in fitting
    ]


# -- how an author says it --------------------------------------------------------------------


MARKED: Any = Annotated[str, header("Region")]


class Size(Enum):
    SMALL = "small"


@frozen
class Place:
    region: Annotated[str, header("Region")]


def of_fields(**kinds: Any) -> tuple[Mirrored, ...]:
    fields = {name: attrs.field(type=kind) for name, kind in kinds.items()}
    made = attrs.make_class("Made", fields, frozen=True)
    return mirrored_parameters(derive(made, subject="Tool made"), "Tool made")


def test_marked_fields_are_mirrored() -> None:
    assert of_fields(
        region=Annotated[str, header("Region")],
        count=Annotated[int, header("Count")],
        dry=Annotated[bool, header("Dry")],
        size=Annotated[Literal["s", "m"], header("Size")],
    ) == (
        Mirrored("Region", ("region",), "string"),
        Mirrored("Count", ("count",), "integer"),
        Mirrored("Dry", ("dry",), "boolean"),
        Mirrored("Size", ("size",), "string"),
    )


@pytest.mark.parametrize(
    "kind",
    [
        Annotated[str, header("Region"), Meta(description="Where", min_length=2)],
        Annotated[str, Meta(description="Where", min_length=2), header("Region")],
        Annotated[
            str,
            Meta(description="Where", extra_json_schema={"minLength": 2}),
            header("Region"),
        ],
    ],
)
def test_mark_stands_beside_what_else_is_said_of_the_field(kind: Any) -> None:
    made = attrs.make_class("Made", {"region": attrs.field(type=kind)})
    assert derive(made, subject="Tool made")["properties"] == {
        "region": {
            "type": "string",
            "description": "Where",
            "minLength": 2,
            "x-mcp-header": "Region",
        }
    }


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (Annotated[str | None, header("Region")], "a default of its type in place of None"),
        (MARKED | None, "a default of its type in place of None"),
        (Annotated[float, header("Region")], "is of type 'number'"),
        (Annotated[Size, header("Region")], "mark a str, int, bool or Literal of texts"),
        (list[MARKED], "mark a str, int, bool or Literal of texts"),
        (Place, "mark a str, int, bool or Literal of texts"),
    ],
)
def test_field_that_cannot_be_mirrored_is_refused_with_advice(kind: Any, advice: str) -> None:
    with pytest.raises(DefinitionError, match=advice):
        of_fields(region=kind)


def test_form_refuses_the_mark() -> None:
    with pytest.raises(DefinitionError, match="x-mcp-header, which a form cannot carry"):
        Form("Where?", Place)
