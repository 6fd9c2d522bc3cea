"""The ``requestedSchema`` of every kind of field."""

from __future__ import annotations

import datetime
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, Optional

import attrs
import pytest
from attrs import Factory, frozen

from antiphon import DefinitionError, Email, Form, Meta, Uri, choice_of, header
from antiphon.engine.forms import form_schema
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.schema import Validator


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(StrEnum):
    SMALL = "S"
    LARGE = "L"


class Level(IntEnum):
    LOW = 1


TITLES = {"eu-west-1": "Ireland", "us-east-1": "Virginia"}
REGIONS: list[JsonValue] = [{"const": value, "title": title} for value, title in TITLES.items()]
Region = Annotated[str, choice_of(TITLES)]
Weekday = Literal["mon", "tue", "sun"]


def schema_of(kind: Any, **default: Any) -> JsonObject:
    """The schema of a form with the one field ``it``."""
    made = attrs.make_class("Made", {"it": attrs.field(type=kind, **default)}, frozen=True)
    return form_schema(made)


def field_of(kind: Any, **default: Any) -> Any:
    properties: Any = schema_of(kind, **default)["properties"]
    return properties["it"]


KINDS: list[tuple[Any, Any]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (Email, {"type": "string", "format": "email"}),
    (Uri, {"type": "string", "format": "uri"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (
        Annotated[str, Meta(min_length=2, max_length=9)],
        {"type": "string", "minLength": 2, "maxLength": 9},
    ),
    (Annotated[int, Meta(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
    (Annotated[int, Meta(gt=0, lt=10)], {"type": "integer", "minimum": 1, "maximum": 9}),
    (Annotated[float, Meta(ge=0.5, le=1.5)], {"type": "number", "minimum": 0.5, "maximum": 1.5}),
    (Literal["b", "a", "c"], {"type": "string", "enum": ["b", "a", "c"]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Size, {"type": "string", "enum": ["S", "L"]}),
    (Region, {"type": "string", "oneOf": REGIONS}),
    (
        list[Literal["b", "a"]],
        {"type": "array", "items": {"type": "string", "enum": ["b", "a"]}},
    ),
    (list[Color], {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}}),
    (set[Weekday], {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "sun"]}}),
    (tuple[Region, ...], {"type": "array", "items": {"anyOf": REGIONS}}),
    (
        Annotated[list[Region], Meta(min_length=1, max_length=2)],
        {"type": "array", "items": {"anyOf": REGIONS}, "minItems": 1, "maxItems": 2},
    ),
    (
        Annotated[frozenset[Weekday], Meta(min_length=2)],
        {
            "type": "array",
            "items": {"type": "string", "enum": ["mon", "tue", "sun"]},
            "minItems": 2,
        },
    ),
]


@pytest.mark.parametrize(("kind", "expected"), KINDS, ids=str)
def test_a_field_becomes_its_property(kind: Any, expected: JsonObject) -> None:
    assert field_of(kind) == expected
    assert schema_of(kind)["required"] == ["it"]


@pytest.mark.parametrize(("kind", "expected"), KINDS, ids=str)
def test_a_field_that_may_be_none_is_the_same_property_and_not_required(
    kind: Any, expected: JsonObject
) -> None:
    for optional in (Optional[kind], kind | None):  # noqa: UP045  # both ways of writing it
        schema = schema_of(optional, default=None)
        assert schema == {"type": "object", "properties": {"it": expected}}


PRIMITIVE: JsonObject = {"title": {"type": "string"}, "description": {"type": "string"}}
TITLED: JsonObject = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"const": {"type": "string"}, "title": {"type": "string"}},
        "required": ["const", "title"],
        "additionalProperties": False,
    },
}
OPTIONS: JsonObject = {"type": "array", "minItems": 1, "items": {"type": "string"}}


def _shape(required: list[JsonValue], **properties: JsonValue) -> JsonObject:
    return {
        "type": "object",
        "properties": {**PRIMITIVE, **properties},
        "required": ["type", *required],
        "additionalProperties": False,
    }


TEXT: JsonObject = {"const": "string"}
WHOLE: JsonObject = {"type": "integer"}
SEVERAL: JsonObject = {
    "type": {"const": "array"},
    "minItems": WHOLE,
    "maxItems": WHOLE,
    "default": {"type": "array", "items": {"type": "string"}},
}
SPECIFICATION: JsonObject = {
    "type": "object",
    "properties": {
        "type": {"const": "object"},
        "required": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "properties": {
            "additionalProperties": {
                "oneOf": [
                    _shape(
                        [],
                        type=TEXT,
                        minLength=WHOLE,
                        maxLength=WHOLE,
                        format={"enum": ["date", "date-time", "email", "uri"]},
                        default={"type": "string"},
                    ),
                    _shape(
                        [],
                        type={"enum": ["integer", "number"]},
                        minimum={"type": "number"},
                        maximum={"type": "number"},
                        default={"type": "number"},
                    ),
                    _shape([], type={"const": "boolean"}, default={"type": "boolean"}),
                    _shape(["enum"], type=TEXT, enum=OPTIONS, default={"type": "string"}),
                    _shape(["oneOf"], type=TEXT, oneOf=TITLED, default={"type": "string"}),
                    _shape(
                        ["items"],
                        items={
                            "properties": {"type": TEXT, "enum": OPTIONS},
                            "required": ["type", "enum"],
                            "additionalProperties": False,
                        },
                        **SEVERAL,
                    ),
                    _shape(
                        ["items"],
                        items={
                            "properties": {"anyOf": TITLED},
                            "required": ["anyOf"],
                            "additionalProperties": False,
                        },
                        **SEVERAL,
                    ),
                ]
            }
        },
    },
    "required": ["type", "properties"],
    # No title, no $schema, no $defs: hosts reject a form that has them.
    "additionalProperties": False,
}
"""The specification's own rules for a form (schema, ``ElicitRequestFormParams``)."""


@frozen
class Everything:
    """A docstring that must not become a description."""

    region: Annotated[Region, Meta(title="Region", description="Where it lives")]
    days: Annotated[list[Weekday], Meta(min_length=1)]
    places: list[Region] = Factory(lambda: ["eu-west-1"])
    color: Color = Color.BLUE
    name: Annotated[str, Meta(max_length=20, description="What it is called")] = "it"
    mail: Email | None = None
    link: Annotated[Uri | None, Meta(title="Link")] = None
    count: Annotated[int, Meta(ge=0, le=10)] = 3
    share: float = 0.5
    sure: bool = False
    day: datetime.date = datetime.date(2026, 7, 28)
    moment: datetime.datetime | None = None
    several: frozenset[Color] = frozenset()


def test_a_form_of_everything_keeps_to_the_specification() -> None:
    schema = form_schema(Everything)
    assert Validator(SPECIFICATION).faults(schema) == []
    assert schema["required"] == ["region", "days"]
    assert list(schema) == ["type", "properties", "required"]


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=str)
def test_each_kind_keeps_to_the_specification(kind: Any) -> None:
    assert Validator(SPECIFICATION).faults(schema_of(kind)) == []


def test_titles_descriptions_and_defaults_are_shown() -> None:
    properties: Any = form_schema(Everything)["properties"]
    assert properties["region"] == {
        "type": "string",
        "oneOf": REGIONS,
        "title": "Region",
        "description": "Where it lives",
    }
    assert properties["link"] == {"type": "string", "format": "uri", "title": "Link"}
    defaults = {name: field["default"] for name, field in properties.items() if "default" in field}
    assert defaults == {
        "places": ["eu-west-1"],
        "color": "blue",
        "name": "it",
        "count": 3,
        "share": 0.5,
        "sure": False,
        "day": "2026-07-28",
        "several": [],
    }


def test_a_form_without_required_fields_has_no_list_of_them() -> None:
    assert schema_of(str, default="x") == {
        "type": "object",
        "properties": {"it": {"type": "string", "default": "x"}},
    }


def test_the_wire_form_of_a_question() -> None:
    @frozen
    class Confirmed:
        sure: Literal["yes", "no"]

    assert Form("Go ahead?", Confirmed).wire() == {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Go ahead?",
            "requestedSchema": {
                "type": "object",
                "properties": {"sure": {"type": "string", "enum": ["yes", "no"]}},
                "required": ["sure"],
            },
        },
    }


def test_a_question_is_the_same_each_time_it_is_rendered() -> None:
    form = Form("Which?", Everything, choices={"days": {"mon": "Monday"}})
    assert form.wire() == form.wire()
    assert form.wire("It was wrong.") != form.wire()
    params: Any = form.wire("It was wrong.")["params"]
    assert params["message"] == "Which?\n\nIt was wrong."


# -- choices known only at run time -----------------------------------------------------------


@frozen
class Picked:
    days: Annotated[list[Weekday], Meta(min_length=1)]
    place: Annotated[str, Meta(title="Place", min_length=1)] = "a"
    places: list[Literal["a", "b"]] = Factory(list[Literal["a", "b"]])
    count: int = 1


def picked(**choices: Any) -> Any:
    schema = Form("Which?", Picked, choices=choices).schema
    assert Validator(SPECIFICATION).faults(schema) == []
    return schema["properties"]


def test_texts_offered_at_run_time() -> None:
    assert picked(place=["a", "b"])["place"] == {
        "type": "string",
        "enum": ["a", "b"],
        "title": "Place",
        "default": "a",
    }


def test_titled_options_offered_at_run_time() -> None:
    assert picked(place={"a": "Aa"})["place"]["oneOf"] == [{"const": "a", "title": "Aa"}]
    assert picked(places={"a": "Aa"})["places"]["items"] == {
        "anyOf": [{"const": "a", "title": "Aa"}]
    }


def test_several_of_the_options_offered_at_run_time() -> None:
    assert picked(days=("mon",))["days"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["mon"]},
        "minItems": 1,
    }


def test_a_default_that_is_not_offered_is_left_out() -> None:
    assert "default" not in picked(place=["b"])["place"]
    assert picked(places=["b"])["places"]["default"] == []


def test_the_other_fields_and_the_form_itself_stay_as_they_are() -> None:
    before = form_schema(Picked)
    kept = picked(place=["b"])
    assert kept["count"] == {"type": "integer", "default": 1}
    assert form_schema(Picked) == before
    properties: Any = before["properties"]
    assert "enum" not in properties["place"]


def test_what_a_form_cannot_carry_is_refused_inside_a_list_too() -> None:
    @frozen
    class Marked:
        regions: list[Annotated[Literal["eu", "us"], header("Region")]]

    with pytest.raises(DefinitionError, match="x-mcp-header, which a form cannot carry"):
        Form("Where?", Marked)
