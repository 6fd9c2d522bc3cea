"""What a requestedSchema becomes: fields for a screen, and a check for answers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.asked_form import AskedForm, Choice, read_form
from antiphon.engine.asked_parts import Malformed


def form_of(required: list[str] | None = None, /, **properties: Any) -> AskedForm:
    return read_form({"type": "object", "properties": properties, "required": [*(required or [])]})


COLOURS = [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]
FIVE_ENUMS: dict[str, dict[str, Any]] = {
    "plain": {"type": "string", "enum": ["#f00", "#0f0"]},
    "titled": {"type": "string", "oneOf": COLOURS},
    "legacy": {"type": "string", "enum": ["#f00", "#0f0"], "enumNames": ["Red", "Green"]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["#f00", "#0f0"]}},
    "several titled": {"type": "array", "items": {"anyOf": COLOURS}},
}


@pytest.mark.parametrize("kind", FIVE_ENUMS)
def test_every_form_of_enumeration_offers_its_choices(kind: str) -> None:
    (field,) = form_of(c=FIVE_ENUMS[kind]).fields
    titles = ["#f00", "#0f0"] if kind in ("plain", "several") else ["Red", "Green"]
    assert field.choices == (Choice("#f00", titles[0]), Choice("#0f0", titles[1]))
    assert field.type == ("array" if "several" in kind else "string")


@pytest.mark.parametrize("kind", FIVE_ENUMS)
def test_every_form_of_enumeration_checks_its_answers(kind: str) -> None:
    form = form_of(c=FIVE_ENUMS[kind])
    right: Any
    wrong: Any
    right, wrong = ("#f00", "Red") if "several" not in kind else (["#f00"], ["Red"])
    assert form.faults({"c": right}) == []
    assert len(form.faults({"c": wrong})) == 1


def test_a_multiple_choice_holds_its_bounds() -> None:
    form = form_of(c={**FIVE_ENUMS["several titled"], "minItems": 1, "maxItems": 1})
    assert (form.fields[0].min_items, form.fields[0].max_items) == (1, 1)
    assert form.faults({"c": ["#f00"]}) == []
    assert form.faults({"c": []})
    assert form.faults({"c": ["#f00", "#0f0"]})


def test_a_field_tells_a_screen_all_it_needs() -> None:
    form = form_of(
        ["n"],
        n={"type": "integer", "title": "Count", "description": "How many", "minimum": 1},
        e={"type": "string", "format": "email", "minLength": 3, "maxLength": 9, "pattern": "@"},
    )
    n, e = form.fields
    assert (n.name, n.label, n.description, n.required, n.minimum) == (
        "n",
        "Count",
        "How many",
        True,
        1,
    )
    assert (e.label, e.required, e.format, e.pattern) == ("e", False, "email", "@")
    assert (e.min_length, e.max_length) == (3, 9)


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"type": "string", "minLength": 2}, "x"),
        ({"type": "string", "maxLength": 2}, "xxx"),
        ({"type": "string", "pattern": "^a"}, "b"),
        ({"type": "string", "format": "email"}, "nobody"),
        ({"type": "string", "format": "date"}, "yesterday"),
        ({"type": "string", "format": "date-time"}, "2026-01-01"),
        ({"type": "string", "format": "uri"}, "no address"),
        ({"type": "number", "minimum": 3}, 2.5),
        ({"type": "number", "maximum": 3}, 3.5),
        ({"type": "number", "exclusiveMinimum": 3}, 3),
        ({"type": "integer"}, 3.5),
        ({"type": "integer"}, True),
        ({"type": "integer"}, "3"),
        ({"type": "boolean"}, 1),
        ({"type": "boolean"}, "yes"),
        ({"type": "string"}, None),
    ],
)
def test_bounds_and_types_are_checked(schema: dict[str, Any], wrong: object) -> None:
    assert len(form_of(f=schema).faults({"f": wrong})) == 1  # type: ignore[dict-item]


def test_a_fault_names_the_field_and_the_rule_but_no_value() -> None:
    form = form_of(["age", "name"], age={"type": "integer", "minimum": 18}, name={"type": "string"})
    told = "; ".join(form.faults({"age": -7777}))
    assert "'name' is missing" in told
    assert "'age' does not satisfy 'minimum'" in told
    assert "7777" not in told


def test_a_field_that_the_form_does_not_have_is_a_fault() -> None:
    assert form_of(a={"type": "string"}).faults({"b": "x"}) == ["the form has no field 'b'"]


def test_a_schema_that_is_open_on_purpose_takes_further_fields() -> None:
    form = read_form(
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    )
    assert form.faults({"b": "x"}) == []


def test_defaults_fill_what_was_left_out_and_nothing_else() -> None:
    form = form_of(
        name={"type": "string", "default": "orders"},
        many={**FIVE_ENUMS["several"], "default": ["#f00"]},
        bare={"type": "string"},
    )
    assert form.fill({}) == {"name": "orders", "many": ["#f00"]}
    assert form.fill({"name": "mine", "bare": ""})["name"] == "mine"


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer", "default": "three"},
        {"type": "integer", "minimum": 5, "default": 3},
        {"type": "string", "enum": ["a"], "default": "b"},
        {"type": "string", "default": None},
        {"type": "string", "default": {"a": 1}},
    ],
)
def test_a_default_that_its_own_field_refuses_is_no_default(field: dict[str, Any]) -> None:
    form = form_of(f=field)
    assert form.fields[0].default is None
    assert form.fill({}) == {}


def test_what_generators_add_does_no_harm() -> None:
    form = read_form(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Answers",
            "description": "Generated",
            "type": "object",
            "additionalProperties": False,
            "$defs": {"Colour": {"title": "Colour", "type": "string", "enum": ["r", "g"]}},
            "properties": {
                "colour": {"$ref": "#/$defs/Colour", "description": "Pick"},
                "size": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                "note": {"type": ["string", "null"], "title": "Note", "x-order": 3},
                "maybe": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
                "bare": {"enum": ["a", "b"]},
            },
            "required": ["colour"],
        }
    )
    colour, size, note, maybe, bare = form.fields
    assert [choice.value for choice in colour.choices] == ["r", "g"]
    assert (colour.description, colour.required) == ("Pick", True)
    assert (size.type, size.nullable, note.type, note.nullable) == ("integer", True, "string", True)
    assert (maybe.nullable, len(maybe.choices), bare.type) == (True, 2, "string")
    assert form.faults({"colour": "r", "size": None, "note": None, "maybe": None}) == []
    assert form.faults({"colour": "r", "maybe": "x"})


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "array", "properties": {}},
        {"properties": {}},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 3}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {"a": {"type": "null"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}},
        {"type": "object", "properties": {"a": {"type": {"x": 1}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": []}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": [["x"]]}}},
        {"type": "object", "properties": {"a": {"type": "string", "oneOf": []}}},
        {"type": "object", "properties": {"a": {"type": "string", "oneOf": [{"title": "x"}]}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": "x"}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": -1}}},
        {"type": "object", "properties": {"a": {"$ref": "https://evil.example/schema"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
        {"type": "object", "properties": {"a": {"$ref": 3}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": 3},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": "#/$defs/a"}},
        },
        {"type": "object", "properties": {}, "required": "a"},
        {"type": "object", "properties": {}, "required": [["a"]]},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(1001)}},
    ],
)
def test_a_schema_that_is_no_flat_form_is_malformed(schema: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        read_form(schema)


def test_a_schema_made_to_be_slow_is_not() -> None:
    bombs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, 60)}
    schema: Any = {
        "type": "object",
        "properties": {"a": {"type": "string", "allOf": [{"$ref": "#/$defs/d59"}]}},
        "$defs": {"d0": {"type": "string"}, **bombs},
        "allOf": [{"$ref": "#/$defs/d59"}],
    }
    started = time.process_time()
    assert read_form(schema).faults({"a": "x"}) == []
    assert time.process_time() - started < 1


def choosing(fields: int, choices: int, **definition: Any) -> Any:
    """A form whose fields all refer to one definition."""
    values = [f"value-{n:06}" for n in range(choices)]
    properties = {f"f{n}": {"$ref": "#/$defs/one"} for n in range(fields)}
    one = {"type": "string", "enum": values, **definition}
    return {"type": "object", "properties": properties, "$defs": {"one": one}}


@pytest.mark.parametrize(
    "schema",
    [
        choosing(1000, 2000),
        choosing(1000, 20_000),
        choosing(1000, 1, pattern="x" * 10_000),
        choosing(1000, 1, default="x" * 10_000),
        choosing(1000, 1, **{f"x-{n}": n for n in range(1000)}),
        {
            "type": "object",
            "properties": {
                f"f{n}": {"type": "array", "items": {"$ref": "#/$defs/one"}} for n in range(1000)
            },
            "$defs": choosing(0, 2000)["$defs"],
        },
    ],
)
def test_a_form_does_not_grow_as_its_fields_times_what_they_refer_to(schema: Any) -> None:
    with pytest.raises(Malformed, match="the references repeat more than 262144 bytes"):
        read_form(schema)


def test_a_long_list_of_choices_may_be_referred_to_by_several_fields() -> None:
    form = read_form(choosing(30, 250))
    assert {len(field.choices) for field in form.fields} == {250}
    assert form.faults({"f29": "value-000249"}) == []
    assert form.faults({"f29": "value-000250"})


def test_what_is_referred_to_once_is_bounded_by_the_message_alone() -> None:
    (field,) = read_form(choosing(1, 30_000)).fields
    assert len(field.choices) == 30_000


def test_a_small_schema_that_becomes_a_large_form_is_not_remembered() -> None:
    assert read_form(choosing(2, 50)) is read_form(choosing(2, 50))
    assert read_form(choosing(60, 200)) is not read_form(choosing(60, 200))


def test_a_default_is_checked_against_its_own_field_and_no_other() -> None:
    form = form_of(
        ["c"],
        a={"type": "integer", "default": 3},
        b={"type": "integer", "default": "three"},
        c={"type": "string", "minLength": 1},
    )
    assert [field.default for field in form.fields] == [3, None, None]


@pytest.mark.parametrize("format", [["email"], {"email": 1}, 3, None, "none that is known"])
def test_a_format_that_is_none_is_ignored(format: Any) -> None:
    form = form_of(f={"type": "string", "format": format})
    assert form.faults({"f": "any text"}) == []


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(max_size=5)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner)
)
USUAL = {
    "type": st.sampled_from(
        ["string", "number", "integer", "boolean", "array", ["string", "null"]]
    ),
    "format": st.sampled_from(["email", "uri", "date"]),
    "pattern": st.sampled_from(["^a", "(", "a{9999999}"]),
    "enum": st.lists(SCALARS, max_size=3),
    "enumNames": st.lists(SCALARS, max_size=3),
    "oneOf": st.lists(st.fixed_dictionaries({"const": SCALARS, "title": SCALARS}), max_size=3),
    "items": st.fixed_dictionaries({"type": st.just("string")}),
    "anyOf": st.just([{"$ref": "#/$defs/d"}, {"type": "null"}]),
    "$ref": st.sampled_from(["#/$defs/d", "#/definitions/d", "#/$defs/d/d", "#"]),
    "default": SCALARS,
}
BOUNDS = ("minLength", "maxLength", "minimum", "multipleOf", "minItems", "uniqueItems", "title")
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        **{name: usual | JSON for name, usual in USUAL.items()},
        **dict.fromkeys(BOUNDS, SCALARS | JSON),
    },
)


@given(FIELDS, FIELDS, JSON)
def test_any_json_as_a_field_gives_a_form_or_is_malformed(
    field: dict[str, Any], definition: dict[str, Any], answer: Any
) -> None:
    schema: Any = {"type": "object", "properties": {"f": field}, "$defs": {"d": definition}}
    try:
        form = read_form(schema)
    except Malformed:
        return
    # The default that it has passes its own check, and any answer is checked to the end.
    assert form.faults(form.fill({})) == []
    assert isinstance(form.faults({"f": answer}), list)


def test_equal_schemas_are_worked_through_once() -> None:
    assert form_of(a={"type": "string"}) is form_of(a={"type": "string"})


def offering(kind: str, count: int) -> Any:
    """A field with so many choices."""
    if kind == "titled":
        return {"type": "string", "oneOf": [{"const": "a"}] * count}
    plain = {"enum": ["a"] * count}
    return plain if kind == "plain" else {"type": "array", "items": plain}


@pytest.mark.parametrize("kind", ["plain", "titled", "several"])
def test_a_form_with_hundreds_of_thousands_of_choices_is_malformed(kind: str) -> None:
    started = time.process_time()
    with pytest.raises(Malformed, match="more than 50000 choices"):
        form_of(a=offering(kind, 400_000))
    with pytest.raises(Malformed, match="more than 50000 choices"):
        form_of(None, **{f"f{n}": offering(kind, 600) for n in range(100)})
    assert time.process_time() - started < 5
