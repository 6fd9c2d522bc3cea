"""A form, put to a person field by field."""

from typing import Any

import pytest

from antiphon.engine.asked import Accept, Cancel, Decline, ElicitationAnswer, FormRequest
from antiphon.transports.cli_fields import Given
from antiphon.transports.cli_forms import KEYS, Declined, Dismissed, Interview
from tests.cli.person import Person, form

CHOICE: dict[str, Any] = {
    "type": "string",
    "oneOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "b"}],
}
CHOICES: dict[str, Any] = {"type": "array", "items": {"anyOf": CHOICE["oneOf"]}}
TWO = {"first": {"type": "string"}, "second": {"type": "string"}}


async def held(request: FormRequest, person: Person, **given: Given) -> ElicitationAnswer:
    answer = await Interview(request, person, person, given).hold()
    assert not person.answers, "not everything was asked"
    return answer


# -- what is shown ----------------------------------------------------------------------------


async def test_a_form_says_who_asks_what_for_and_how_to_leave() -> None:
    person = Person(["x", "Send"])
    await held(form({"f": {"type": "string"}}, required=["f"], message="Name it."), person)
    assert person.read[:3] == [
        "Shop asks, for order",
        "Name it.",
        KEYS,
    ]
    assert person.prompts[-1][0] == "Send this to Shop?"


async def test_a_field_shows_its_title_description_and_bounds() -> None:
    person = Person(["3", "Send"])
    age = {"type": "integer", "title": "Age", "description": "In years.", "minimum": 1}
    await held(form({"f": age}, required=["f"]), person)
    assert person.read[3:] == ["In years.", "Wanted: a whole number, at least 1"]
    assert person.prompts[0] == ("Age:", "")


async def test_an_optional_field_says_so() -> None:
    person = Person(["", "Send"])
    assert await held(form({"f": {"type": "string"}}), person) == Accept({})
    assert person.prompts[0][0] == "f (optional):"


async def test_a_default_that_no_line_can_hold_is_told_instead() -> None:
    person = Person(["", "Send"])
    await held(form({"f": {"type": "string", "default": "two\nlines"}}), person)
    assert "Leave it empty for the default: two lines" in person.read


# -- what is asked ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "default", "answer", "value"),
    [
        ({"type": "string"}, "", "x", "x"),
        ({"type": "string", "default": "d"}, "d", "d", "d"),
        ({"type": "integer", "default": 3}, "3", "4", 4),
        ({"type": "number", "default": 0.5}, "0.5", "1e3", 1000.0),
        ({"type": "boolean"}, "No", "Yes", True),
        ({"type": "boolean", "default": True}, "Yes", "No", False),
        ({"type": ["boolean", "null"]}, "No", "(none)", None),
        (CHOICE, "Apple (a)", "b", "b"),
        ({**CHOICE, "default": "b"}, "b", "Apple (a)", "a"),
        ({"type": "integer", "enum": [1, 2], "default": 2}, "2", "1", 1),
        (CHOICES, [], ["Apple (a)", "b"], ["a", "b"]),
        ({**CHOICES, "default": ["b"]}, ["b"], [], []),
        ({"type": "array", "items": {"type": "string"}}, "", "a, b", ["a", "b"]),
    ],
)
async def test_each_kind_of_field_is_asked_in_its_own_way(
    schema: dict[str, Any], default: object, answer: object, value: object
) -> None:
    person = Person([answer, "Send"])
    assert await held(form({"f": schema}, required=["f"]), person) == Accept({"f": value})
    assert person.prompts[0] == ("f:", default)


@pytest.mark.parametrize("schema", [{"type": "boolean"}, CHOICE])
async def test_an_optional_choice_can_be_left_out(schema: dict[str, Any]) -> None:
    assert await held(form({"f": schema}), Person(["(leave out)", "Send"])) == Accept({})


async def test_no_choice_of_optional_ones_leaves_the_field_out() -> None:
    request = form({"f": {**CHOICES, "minItems": 1}})
    assert await held(request, Person([[], "Send"])) == Accept({})


async def test_a_form_without_fields_is_only_consented_to() -> None:
    person = Person(["Send"])
    assert await held(form({}), person) == Accept({})
    assert person.prompts == [("Send this to Shop?", "Send")]


async def test_fields_that_are_answered_already_are_not_asked() -> None:
    person = Person(["y", "Send"])
    answer = await held(form(TWO, required=list(TWO)), person, first=Given("x"))
    assert answer == Accept({"first": "x", "second": "y"})


# -- what is wrong ----------------------------------------------------------------------------


async def test_a_wrong_text_is_told_and_asked_again() -> None:
    person = Person(["many", "12", "7", "Send"])
    request = form({"f": {"type": "integer", "maximum": 9}}, required=["f"])
    assert await held(request, person) == Accept({"f": 7})
    assert person.read[3:] == ["Wanted: a whole number, at most 9"] * 3


async def test_too_many_choices_are_told_and_asked_again() -> None:
    person = Person([["Apple (a)", "b"], ["b"], "Send"])
    request = form({"f": {**CHOICES, "maxItems": 1}}, required=["f"])
    assert await held(request, person) == Accept({"f": ["b"]})
    # What is chosen among several is shown before it is sent: the prompt only counts it.
    assert person.read[-2:] == ["Wanted: any of the choices, at most 1", "f: b"]


async def test_a_choice_that_the_schema_refuses_after_all_is_asked_again() -> None:
    person = Person(["long", "ok", "Send"])
    request = form({"f": {"type": "string", "enum": ["ok", "long"], "maxLength": 3}})
    assert await held(request, person) == Accept({"f": "ok"})


# -- before it is sent ------------------------------------------------------------------------


async def test_answers_are_reviewed_and_can_be_changed() -> None:
    person = Person(["x", "y", "Change an answer", "second", "z", "Send"])
    answer = await held(form(TWO, required=list(TWO)), person)
    assert answer == Accept({"first": "x", "second": "z"})
    assert person.read[3:] == ["first: x", "second: y", "first: x", "second: z"]
    # The answer stands in the line, to be mended.
    assert ("second:", "y") in person.prompts


async def test_an_optional_answer_can_be_taken_back() -> None:
    person = Person(["x", "y", "Change an answer", "second", "", "Send"])
    assert await held(form(TWO), person) == Accept({"first": "x"})
    assert person.read[-1] == "second: (left out)"


async def test_a_review_names_choices_by_their_titles() -> None:
    person = Person(["Apple (a)", ["b"], "Send"])
    await held(form({"f": CHOICE, "g": CHOICES}, required=["f", "g"]), person)
    assert person.read[-2:] == ["f: Apple (a)", "g: b"]


async def test_a_form_is_declined_or_cancelled_at_the_review() -> None:
    request = form({"f": {"type": "string"}})
    assert await held(request, Person(["x", "Decline to answer"])) == Decline()
    assert await held(request, Person(["x", "Cancel"])) == Cancel()


@pytest.mark.parametrize("answered", [[], ["x"], ["x", "y"], ["x", "y", "Change an answer"]])
async def test_a_form_is_left_at_any_prompt(answered: list[str]) -> None:
    assert await held(form(TWO), Person([*answered, Declined()])) == Decline()
    assert await held(form(TWO), Person([*answered, Dismissed()])) == Cancel()
