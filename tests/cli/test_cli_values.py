"""``key=value`` on the command line, typed by a tool's schema."""

from typing import Any

import pytest

from antiphon.engine.errors import UsageError
from antiphon.transports.cli_values import Pair, split_pair, type_names, typed_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "whole": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "text": {"type": "string"},
        "nothing": {"type": "null"},
        "many": {"type": "array"},
        "thing": {"type": "object"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "list_of_types": {"type": ["integer", "null"]},
        "named": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "level": {"enum": [1, 2, 3]},
        "fixed": {"const": 7},
        "colour": {"enum": ["red", "1"]},
        "referred": {"$ref": "#/$defs/Count"},
        "round": {"$ref": "#/properties/round"},
        "untyped": {},
    },
    "$defs": {"Count": {"allOf": [{"type": "integer"}, {"minimum": 1}]}},
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("whole=5", 5),
        ("whole=-5", -5),
        ("whole= 5 ", 5),
        ("whole=123456789012345678901234567890", 123456789012345678901234567890),
        ("ratio=5", 5),
        ("ratio=.5", 0.5),
        ("ratio=1e3", 1000.0),
        ("on=true", True),
        ("on=FALSE", False),
        ("text=5", "5"),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text=null", "null"),
        ("nothing=null", None),
        ("many=[1, 2]", [1, 2]),
        ('thing={"a": null}', {"a": None}),
        ("maybe=4", 4),
        ("maybe=null", None),
        ("list_of_types=null", None),
        ("named=null", "null"),
        ("level=2", 2),
        ("fixed=7", 7),
        ("colour=1", "1"),
        ("referred=3", 3),
        ("round=x", "x"),
        ("untyped=5", "5"),
        ("unknown=[1]", "[1]"),
        ("text:=5", 5),
        ("named:=null", None),
        ('unknown:="x"', "x"),
    ],
)
def test_a_value_has_the_type_of_the_schema(word: str, value: object) -> None:
    pair = split_pair(word)
    typed = typed_arguments([pair], {}, SCHEMA)[pair.key]
    assert typed == value
    assert type(typed) is type(value)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("whole=1.5", "a whole number"),
        ("whole=", "a whole number"),
        ("whole=٣", "a whole number"),
        ("whole=" + "9" * 401, "a whole number"),
        ("ratio=nan", "a number"),
        ("ratio=inf", "a number"),
        ("ratio=1e999", "a number"),
        ("on=yes", "true or false"),
        ("nothing=none", "null"),
        ("many={}", "a JSON array"),
        ("thing=[]", "a JSON object"),
        ("thing={1}", "a JSON object"),
        ("maybe=x", "a whole number or null"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(word: str, wanted: str) -> None:
    pair = split_pair(word)
    with pytest.raises(UsageError) as refusal:
        typed_arguments([pair], {}, SCHEMA)
    assert str(refusal.value) == f"Argument {pair.key!r} must be {wanted}"


@pytest.mark.parametrize("word", ["a:={", "a:=NaN", "a:=1 2", "a:=", "a:=\ud800"])
def test_forced_json_is_strict(word: str) -> None:
    with pytest.raises(UsageError, match="Argument 'a' is not valid JSON"):
        typed_arguments([split_pair(word)], {}, {})


@pytest.mark.parametrize("word", ["", "key", "=value", ":=1", "5"])
def test_a_word_without_key_and_value_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="key=value"):
        split_pair(word)


def test_arguments_add_to_a_whole_object_and_are_given_once() -> None:
    assert typed_arguments([Pair("b", "2")], {"a": 1}, {}) == {"a": 1, "b": "2"}
    for whole, pairs in (({"a": 1}, 1), ({}, 2)):
        with pytest.raises(UsageError, match="'a' is given twice"):
            typed_arguments([Pair("a", "2")] * pairs, dict(whole), {})


def test_a_value_is_not_repeated_in_a_repr() -> None:
    assert "secret" not in repr(split_pair("key=secret"))


def test_a_schema_without_an_end_is_looked_at_for_a_while_only() -> None:
    loop: Any = {"anyOf": [{"$ref": "#/properties/a"}] * 50}
    assert type_names(loop, {"properties": {"a": loop}}) == []
