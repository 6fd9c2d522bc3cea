"""Two JSON values have one digest exactly when they are equal as JSON."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import cast

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.sealing import arguments_digest, question_digest

NUMBERS = (
    st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-3, 3).map(float)
    | st.integers(-3, 3)
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(codec="utf-8"), max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abé"), inner),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "ключ"]), JSON, max_size=3)


def meaning(value: JsonValue) -> object:
    """What a value says, in types that compare by it alone."""
    if value is None or isinstance(value, bool | str):
        return (type(value).__name__, value)
    if isinstance(value, int | float):
        return ("number", Fraction(value))
    if isinstance(value, list):
        return ("array", tuple(meaning(item) for item in value))
    return ("object", frozenset((key, meaning(item)) for key, item in value.items()))


@given(OBJECTS, OBJECTS)
@example({"a": 1}, {"a": 1.0})
@example({"a": 1}, {"a": True})
@example({"a": 0.0}, {"a": -0.0})
@example({"a": 2**64}, {"a": float(2**64)})
@example({"a": 2**53 + 1}, {"a": float(2**53 + 1)})
@example({"a": 1.5, "b": 2}, {"b": 2.0, "a": 1.5})
def test_digests_agree_exactly_where_values_do(one: JsonObject, other: JsonObject) -> None:
    equal = meaning(one) == meaning(other)
    assert (arguments_digest(one) == arguments_digest(other)) is equal
    assert (question_digest(one) == question_digest(other)) is equal


def _respelt(value: JsonValue) -> JsonValue:
    """The same value, members in reverse and every number as the other type where it can be."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**1000 and int(float(value)) == value:
        return float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_respelt(item) for item in value]
    if isinstance(value, dict):
        return {key: _respelt(value[key]) for key in reversed(value)}
    return value


@given(OBJECTS)
def test_another_spelling_of_a_value_has_its_digest(value: JsonObject) -> None:
    respelt = cast("JsonObject", _respelt(value))
    assert meaning(respelt) == meaning(value)
    assert arguments_digest(respelt) == arguments_digest(value)


@given(OBJECTS)
def test_the_way_over_json_keeps_the_digest(value: JsonObject) -> None:
    wire = msgspec.json.encode(value)
    assert arguments_digest(msgspec.json.decode(wire)) == arguments_digest(value)


def test_a_thousand_members_in_any_order_have_one_digest() -> None:
    members: list[tuple[str, JsonValue]] = [(f"key {n}", n / 2) for n in range(1000)]
    ordered = arguments_digest(dict(members))
    random.Random(1).shuffle(members)
    assert arguments_digest(dict(members)) == ordered


def test_arguments_and_questions_do_not_share_digests() -> None:
    value: JsonObject = {"a": 1}
    assert len(arguments_digest(value)) == 32
    assert len(question_digest(value)) == 16
    assert arguments_digest(value)[:16] != question_digest(value)


@pytest.mark.parametrize(
    "value",
    [{"\ud800": 1}, {"a": "\udc80"}, {"a": ["\ud800"], "b": 2**70}, {"a": 1.0, "\udfff": {}}],
)
def test_a_lone_surrogate_does_not_break_a_digest(value: JsonObject) -> None:
    assert arguments_digest(value) == arguments_digest(dict(reversed(value.items())))
    assert arguments_digest(value) != arguments_digest({})
    assert arguments_digest(value) != arguments_digest({**value, "more": 1})


@pytest.mark.parametrize("value", [{"a": object()}, {1: "a"}, {"a": {2: 3}}])
def test_what_is_no_json_has_no_digest(value: object) -> None:
    with pytest.raises(UsageError, match="no JSON"):
        arguments_digest(cast("JsonObject", value))


def test_endless_nesting_has_no_digest() -> None:
    loop: list[JsonValue] = [1.5]
    loop.append(loop)
    with pytest.raises(UsageError, match="no JSON"):
        question_digest({"loop": loop})


def test_digests_stay_what_they_are() -> None:
    """They stand in tokens: a worker of the next release must find the same ones."""
    everything: JsonObject = {"b": [1.0, 2.5, 2**70, None, True], "a": {"é": "x"}}
    assert arguments_digest({"a": 1, "b": ["x", None]}).hex() == (
        "535d01e5d054cc6bfd74d84c5c499896c20c1a9da28f6156734d2518697c5bf8"
    )
    assert arguments_digest(everything).hex() == (
        "86435a00a2e5f185e32e7a5cc9e1efbbb634fce80e162f477f22f294d11cc5d2"
    )
    assert question_digest({"method": "roots/list"}).hex() == "eef716213db23ca136178e3cc23f4934"
