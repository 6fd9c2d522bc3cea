"""What a client's response to a form means."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Annotated, Any, Literal, cast

import attrs
import pytest
from attrs import Factory, field, frozen, validators
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Email, Form, Meta, Uri, choice_of
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.questions import Given, Invalid, Refusal
from antiphon.engine.schema import Validator, plain
from tests.engine.test_json_door import JSON


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@frozen
class Answer:
    name: Annotated[str, Meta(min_length=1, max_length=5)]
    count: Annotated[int, Meta(ge=1, le=9)] = 1
    note: str | None = None


def accept(**content: JsonValue) -> JsonObject:
    return {"action": "accept", "content": content}


def read(kind: type, response: JsonObject) -> Any:
    form = Form[Any]("?", kind)
    return form.read(response)


def field_read(kind: Any, value: JsonValue) -> Any:
    made = attrs.make_class("Made", {"it": attrs.field(type=kind)}, frozen=True)
    reading = read(made, accept(it=value))
    return reading if isinstance(reading, Invalid) else reading.value.it


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (str, "", ""),
        (str, "größe \u2028", "größe \u2028"),
        (int, 2**70, 2**70),
        (float, 3, 3.0),
        (float, 0.5, 0.5),
        (bool, False, False),
        (Email, "a@example.org", "a@example.org"),
        (Uri, "https://example.org/a?b#c", "https://example.org/a?b#c"),
        (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
        (
            datetime.datetime,
            "2026-07-28T10:00:00Z",
            datetime.datetime(2026, 7, 28, 10, tzinfo=datetime.UTC),
        ),
        (Literal["a", "b"], "b", "b"),
        (Color, "red", Color.RED),
        (Annotated[str, choice_of({"a": "Aa"})], "a", "a"),
        (list[Literal["a", "b"]], ["b", "a"], ["b", "a"]),
        (list[Color], ["red"], [Color.RED]),
        (list[Color], [], []),
        (set[Literal["a", "b"]], ["b", "b"], {"b"}),
        (frozenset[Color], ["blue"], frozenset({Color.BLUE})),
        (tuple[Annotated[str, choice_of({"a": "Aa"})], ...], ["a"], ("a",)),
    ],
    ids=str,
)
def test_an_answer_has_the_type_that_was_asked_for(kind: Any, value: Any, expected: Any) -> None:
    got = field_read(kind, value)
    assert got == expected
    assert type(got) is type(expected)


def test_a_whole_number_may_be_written_with_a_fraction_of_zero() -> None:
    assert field_read(int, 3.0) == 3
    assert isinstance(field_read(int, 3.0), int)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, 5),
        (str, None),
        (str, ["a"]),
        (int, "5"),
        (int, 1.5),
        (int, True),
        (float, "0.5"),
        (bool, "yes"),
        (bool, 0),
        (Email, "nobody"),
        (Uri, "no uri"),
        (datetime.date, "28.7.2026"),
        (datetime.date, "2026-02-30"),
        (datetime.datetime, "2026-07-28T10:00"),
        (datetime.datetime, "2026-07-28"),
        (Literal["a", "b"], "c"),
        (Literal["a", "b"], ["a"]),
        (Color, "RED"),
        (Annotated[str, choice_of({"a": "Aa"})], "Aa"),
        (list[Literal["a", "b"]], "a"),
        (list[Literal["a", "b"]], ["a", "c"]),
        (list[Literal["a", "b"]], None),
        (Annotated[list[Color], Meta(min_length=1)], []),
        (Annotated[list[Color], Meta(max_length=1)], ["red", "blue"]),
        (Annotated[str, Meta(min_length=2)], "x"),
        (Annotated[str, Meta(max_length=2)], "xyz"),
        (Annotated[int, Meta(gt=0)], 0),
        (Annotated[float, Meta(le=1)], 1.01),
    ],
    ids=str,
)
def test_an_answer_that_fails_the_schema_is_of_no_use(kind: Any, value: JsonValue) -> None:
    reading = field_read(kind, value)
    assert isinstance(reading, Invalid)
    assert reading.reason.startswith("it")


def test_the_reason_names_each_field_and_no_value() -> None:
    reading = read(Answer, accept(name="a-secret-that-is-too-long", count=77))
    assert isinstance(reading, Invalid)
    assert sorted(reading.reason.split("; ")) == [
        "count: the answer is greater than the maximum of 9",
        "name: the answer is longer than 5 characters",
    ]


@pytest.mark.parametrize("content", [{}, None, {"count": 3}])
def test_accepting_without_the_required_fields_is_of_no_use(content: JsonValue) -> None:
    reading = read(Answer, {"action": "accept", "content": content})
    assert reading == Invalid('"name" is a required property')


def test_accepting_without_content_is_of_no_use_where_a_field_is_required() -> None:
    assert isinstance(read(Answer, {"action": "accept"}), Invalid)


@pytest.mark.parametrize("content", ["x", [], 5, True])
def test_content_that_is_no_object_is_of_no_use(content: JsonValue) -> None:
    assert isinstance(read(Answer, {"action": "accept", "content": content}), Invalid)


def test_accepting_without_content_takes_the_defaults_where_nothing_is_required() -> None:
    @frozen
    class Optional:
        sure: bool = True
        tags: list[Literal["a"]] = Factory(list[Literal["a"]])

    responses: list[JsonObject] = [
        {"action": "accept"},
        {"action": "accept", "content": None},
        accept(),
    ]
    for response in responses:
        assert read(Optional, response) == Given(Optional(True, []))


def test_fields_that_were_left_out_have_their_defaults() -> None:
    assert read(Answer, accept(name="it")) == Given(Answer("it", 1, None))


@pytest.mark.parametrize("extra", [{"_meta": {}}, {"resultType": "complete"}, {"x": [1]}])
def test_extra_members_of_a_response_are_ignored(extra: JsonObject) -> None:
    assert read(Answer, {**accept(name="it"), **extra}) == Given(Answer("it"))
    assert read(Answer, {"action": "decline", **extra}) == Refusal("declined")


def test_extra_members_of_the_content_are_ignored() -> None:
    assert read(Answer, accept(name="it", unasked=5, __class__="x")) == Given(Answer("it"))


@pytest.mark.parametrize(("action", "how"), [("decline", "declined"), ("cancel", "cancelled")])
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": {}}, {"content": 5}])
def test_a_refusal_is_never_validated(action: str, how: Any, content: JsonObject) -> None:
    assert read(Answer, {"action": action, **content}) == Refusal(how)


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"content": {"name": "it"}},
        {"action": None, "content": {"name": "it"}},
        {"action": "Accept", "content": {"name": "it"}},
        {"action": ["accept"], "content": {"name": "it"}},
        {"action": "yes"},
        {"roots": []},
    ],
)
def test_a_response_without_an_action_is_no_answer(response: JsonObject) -> None:
    assert read(Answer, response) is None


def test_the_class_has_the_last_word() -> None:
    def even(_: object, __: object, value: int) -> None:
        if value % 2:
            raise ValueError("must be even")

    @frozen
    class Even:
        number: int = field(validator=even)

    assert read(Even, accept(number=4)) == Given(Even(4))
    refused = Invalid("a check of the server refuses it", note="must be even")
    assert read(Even, accept(number=3)) == refused


@pytest.mark.parametrize(
    "error", [ValueError, TypeError, RuntimeError, KeyError, ZeroDivisionError]
)
def test_whatever_the_class_raises_makes_the_answer_of_no_use(error: type[Exception]) -> None:
    def never(_: object, __: object, ___: object) -> None:
        raise error("not this one")

    @frozen
    class Never:
        text: str = field(validator=[validators.instance_of(str), never])

    reading = read(Never, accept(text="x"))
    assert isinstance(reading, Invalid)
    assert "not this one" in reading.note
    assert "not this one" not in repr(reading)


def test_an_answer_is_held_to_the_options_of_run_time() -> None:
    @frozen
    class Picked:
        place: str

    form = Form("?", Picked, choices={"place": {"a": "Aa", "b": "Bb"}})
    assert form.read(accept(place="b")) == Given(Picked("b"))
    for wrong in ("c", "Aa", ""):
        assert isinstance(form.read(accept(place=wrong)), Invalid)
    other = Form("?", Picked, choices={"place": ["c"]})
    assert other.read(accept(place="c")) == Given(Picked("c"))


@frozen
class Wide:
    region: Annotated[str, choice_of({"eu": "Europe", "us": "America"})]
    name: Annotated[str, Meta(min_length=1)]
    days: Annotated[list[Literal["mon", "tue"]], Meta(max_length=1)] = Factory(
        list[Literal["mon", "tue"]]
    )
    count: Annotated[int, Meta(ge=-3, le=3)] = 0
    color: Color = Color.RED
    sure: bool = False


@given(
    st.builds(
        Wide,
        st.sampled_from(["eu", "us"]),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        st.lists(st.sampled_from(["mon", "tue"]), max_size=1),
        st.integers(-3, 3),
        st.sampled_from(Color),
        st.booleans(),
    )
)
def test_whatever_fits_is_given_back_as_it_is(answer: Wide) -> None:
    content = cast(JsonObject, plain(answer))
    assert read(Wide, {"action": "accept", "content": content}) == Given(answer)


@given(st.dictionaries(st.sampled_from(["region", "name", "days", "count", "sure", "x"]), JSON))
def test_content_is_taken_exactly_when_it_fits_the_schema_that_was_sent(
    content: JsonObject,
) -> None:
    form = Form("?", Wide)
    params: Any = form.wire()["params"]
    fits = not Validator(params["requestedSchema"]).faults(content)
    reading = form.read({"action": "accept", "content": content})
    assert isinstance(reading, Given if fits else Invalid)


@given(st.dictionaries(st.sampled_from(["action", "content", "x"]), JSON))
def test_no_response_breaks_the_reader(response: JsonObject) -> None:
    assert isinstance(read(Answer, response), Given | Refusal | Invalid | None)
