"""The fields of a form: what each wants, and what a text means for it."""

from typing import Any

import pytest

from antiphon.engine.asked_form import AskedForm, Field, read_form
from antiphon.engine.jsonrpc import JsonValue
from antiphon.transports.cli_fields import (
    Given,
    checked,
    fault,
    from_pairs,
    from_text,
    prefill,
    shown,
    wanted,
)
from antiphon.transports.cli_values import Pair, Unfit


def one(required: bool = True, **schema: Any) -> tuple[AskedForm, Field]:
    """A form of one field, and the field."""
    needs: list[JsonValue] = ["f"] if required else []
    form = read_form({"type": "object", "properties": {"f": schema}, "required": needs})
    return form, form.fields[0]


CHOICE = {"oneOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Pear"}]}
CHOICES = {"type": "array", "items": {"anyOf": CHOICE["oneOf"]}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "minLength": 2, "maxLength": 9}, "text of 2 to 9 characters"),
        ({"type": "string", "maxLength": 9}, "text of at most 9 characters"),
        ({"type": "string", "pattern": "^a"}, "text that matches ^a"),
        ({"type": "string", "format": "date"}, "a date, such as 2026-07-28"),
        ({"type": "integer", "minimum": 1, "maximum": 10}, "a whole number, 1 to 10"),
        ({"type": "number", "minimum": 0.5}, "a number, at least 0.5"),
        ({"type": "boolean"}, "yes or no"),
        ({"type": "string", **CHOICE}, "one of the choices"),
        ({**CHOICES, "minItems": 1, "maxItems": 2}, "any of the choices, 1 to 2"),
        ({**CHOICES, "minItems": 2, "maxItems": 2}, "any of the choices, 2"),
        ({"type": "array", "items": {"type": "string"}}, "several texts"),
    ],
)
def test_a_field_says_what_it_wants(schema: dict[str, Any], words: str) -> None:
    assert wanted(one(**schema)[1]) == words


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " as typed ", " as typed "),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, "7.5", 7.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "array", "items": {"type": "string"}}, "a, b,", ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}}, '["a, b"]', ["a, b"]),
        ({"type": "string", "default": "x"}, "", ""),
        ({"type": ["integer", "null"]}, "", None),
    ],
)
def test_a_text_becomes_a_value(schema: dict[str, Any], text: str, value: JsonValue) -> None:
    assert from_text(*one(**schema), text) == Given(value)


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "integer", "minimum": 3}])
def test_nothing_typed_leaves_an_optional_field_out(schema: dict[str, Any]) -> None:
    assert from_text(*one(required=False, **schema), "") is None


@pytest.mark.parametrize("default", ["two\nlines", ""])
def test_nothing_typed_leaves_a_default_that_no_line_shows_to_the_form(default: str) -> None:
    assert from_text(*one(type="string", default=default), "") is None


@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        ({"type": "string"}, "", "An answer is needed: text"),
        ({"type": "integer", "default": 3}, "", "An answer is needed: a whole number"),
        ({"type": "integer"}, "many", "Wanted: a whole number"),
        ({"type": "integer", "maximum": 9}, "12", "Wanted: a whole number, at most 9"),
        ({"type": "number", "exclusiveMaximum": 9}, "9", "a number (field 'f' does not satisfy"),
        ({"type": "string", "minLength": 3}, "ab", "Wanted: text of at least 3 characters"),
        ({"type": "string", "pattern": "^a"}, "ba", "Wanted: text that matches ^a"),
        ({"type": "string", "format": "email"}, "nobody", "Wanted: an e-mail address"),
        ({"type": "string", "format": "date"}, "2026-13-01", "Wanted: a date"),
        ({"type": "boolean"}, "perhaps", "Wanted: yes or no"),
        ({"type": "array", "items": {"type": "string"}}, "[1,", "not valid JSON"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, "a,b", "at most 1"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_with_the_reason(
    schema: dict[str, Any], text: str, told: str
) -> None:
    with pytest.raises(Unfit) as refusal:
        from_text(*one(**schema), text)
    assert told in str(refusal.value)


def test_a_fault_is_told_of_this_field_alone() -> None:
    form = read_form(
        {
            "type": "object",
            "properties": {"f": {"type": "integer"}, "other": {"type": "string"}},
            "required": ["f", "other"],
        }
    )
    assert fault(form, form.fields[0], 1) is None
    told = fault(form, form.fields[0], "x")
    assert told is not None
    assert "other" not in told


# -- defaults ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "string", "default": "as it is"}, "as it is"),
        ({"type": "integer", "default": 5}, "5"),
        ({"type": "number", "default": 2.5}, "2.5"),
        ({"type": "array", "items": {"type": "string"}, "default": ["a", "b"]}, "a, b"),
        ({"type": "array", "items": {"type": "string"}, "default": ["a, b"]}, ""),
        ({"type": "string", "default": "two\nlines"}, ""),
        ({"type": "string", "default": "\x1b[31mred"}, ""),
        ({"type": "string", "default": " spaces "}, ""),
        ({"type": "integer", "default": 3.0}, ""),
    ],
)
def test_a_default_is_typed_in_exactly_or_not_at_all(schema: dict[str, Any], line: str) -> None:
    _, field = one(**schema)
    assert field.default is not None
    assert prefill(field, field.default) == line


# -- --answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [
        ({"type": "integer"}, [Pair("f", "5")], 5),
        ({"type": "string"}, [Pair("f", "5")], "5"),
        ({"type": "string"}, [Pair("f", '"5"', json=True)], "5"),
        ({"type": "boolean"}, [Pair("f", "no")], False),
        ({"type": "string", **CHOICE}, [Pair("f", "b")], "b"),
        ({"type": "string", **CHOICE}, [Pair("f", "Pear")], "b"),
        ({"type": "integer", "enum": [1, 2]}, [Pair("f", "2")], 2),
        ({"type": ["integer", "null"]}, [Pair("f", "null")], None),
        (CHOICES, [Pair("f", "a")], ["a"]),
        (CHOICES, [Pair("f", "a,b")], ["a", "b"]),
        (CHOICES, [Pair("f", "Apple"), Pair("f", "b")], ["a", "b"]),
        (CHOICES, [Pair("f", '["b"]', json=True)], ["b"]),
        (CHOICES, [Pair("f", "[]")], []),
    ],
)
def test_a_pair_becomes_a_value(
    schema: dict[str, Any], given: list[Pair], value: JsonValue
) -> None:
    assert from_pairs(*one(**schema), given) == Given(value)


@pytest.mark.parametrize(
    ("schema", "given", "told"),
    [
        ({"type": "integer"}, [Pair("f", "x")], "a whole number"),
        ({"type": "integer"}, [Pair("f", "1"), Pair("f", "2")], "more than once"),
        ({"type": "string", **CHOICE}, [Pair("f", "c")], "one of the choices"),
        (CHOICES, [Pair("f", "a"), Pair("f", "c")], "any of the choices"),
        ({"type": "string"}, [Pair("f", "{", json=True)], "not valid JSON"),
    ],
)
def test_a_pair_that_does_not_fit_is_refused(
    schema: dict[str, Any], given: list[Pair], told: str
) -> None:
    with pytest.raises(Unfit, match=told):
        from_pairs(*one(**schema), given)


def test_a_value_is_read_as_a_person_would() -> None:
    values: list[JsonValue] = [None, True, False, ["a", "b"], [], "\x1b[1mx", 5]
    assert [shown(value) for value in values] == [
        "none",
        "yes",
        "no",
        "a, b",
        "none of them",
        "x",
        "5",
    ]


def test_a_given_value_is_not_in_a_repr() -> None:
    assert "secret" not in repr(checked(*one(type="string"), "secret"))
