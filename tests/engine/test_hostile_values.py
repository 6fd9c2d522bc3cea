"""Small messages that would cost much, and values that must not be told on."""

from __future__ import annotations

import time
from typing import Any, Literal

import attrs
import pytest
from attrs import frozen

from antiphon import Asking, DefinitionError, Done, Flow, Form, Link, Server, UsageError, walk
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.questions import Given, Invalid
from antiphon.engine.schema import Validator
from antiphon.engine.sealing import arguments_digest

ONES: list[JsonValue] = [1]
TEXTS: list[JsonValue] = ["a"]
SHORT: list[JsonValue] = [1.5]
HUGE: list[JsonValue] = [1e308]
NUMBERS: JsonObject = {"type": "array", "items": {"type": "integer"}}


def _seconds(work: Any) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def test_a_large_wrong_value_costs_little_more_than_a_large_right_one() -> None:
    validator = Validator(NUMBERS)
    right = _seconds(lambda: validator.faults(ONES * 300_000))
    wrong = _seconds(lambda: validator.faults(TEXTS * 300_000))
    assert wrong < 50 * right + 1


def test_of_a_large_value_the_first_fault_is_told() -> None:
    assert Validator(NUMBERS).faults(TEXTS * 100_000) == ['0: "a" is not of type "integer"']


def test_of_a_small_value_several_faults_are_told() -> None:
    assert len(Validator(NUMBERS).faults(["a", "b", 3])) == 2
    assert Validator(NUMBERS).faults(TEXTS * 9)[-1] == "and more"


def test_huge_floats_are_digested_as_short_as_they_came() -> None:
    short = _seconds(lambda: arguments_digest({"a": SHORT * 100_000}))
    huge = _seconds(lambda: arguments_digest({"a": HUGE * 100_000}))
    assert huge < 20 * short + 1


@pytest.mark.parametrize("number", [2**53, 2**63, 2**64, 2**70, -(2**63), -(2**64), 10**22])
def test_equal_numbers_have_one_digest_beyond_64_bits_too(number: int) -> None:
    assert int(float(number)) == number
    assert arguments_digest({"a": number}) == arguments_digest({"a": float(number)})
    assert arguments_digest({"a": number}) != arguments_digest({"a": number + 1})


# -- answers ----------------------------------------------------------------------------------


@frozen
class Pin:
    pin: str = attrs.field(validator=attrs.validators.matches_re(r"\d{4}"))


@frozen
class AskingPin(Asking[Pin]):
    def ask(self) -> Form[Pin]:
        return Form("Which pin?", Pin)


class Unlock(Flow[Pin]):
    async def begin(self, args: Pin) -> AskingPin:
        return AskingPin()

    @AskingPin.answered
    async def given(self, at: AskingPin, pin: Pin) -> Done[str]:
        return Done("open")


async def test_a_check_of_the_class_tells_the_person_and_not_the_model() -> None:
    wrong: JsonObject = {"asking_pin": {"action": "accept", "content": {"pin": "hunter2"}}}
    step = await walk(Unlock(), Pin("0000"))
    step = await step.respond(wrong)
    assert "hunter2" in str(step.requests["asking_pin"]), "the person is told in full"
    step = await step.respond(wrong)
    step = await step.respond(wrong)
    assert step.end is not None
    assert "a check of the server refuses it" in str(step.end)
    assert "hunter2" not in str(step.end)


def test_an_invalid_answer_does_not_show_what_was_typed() -> None:
    reading = Form("Which pin?", Pin).read({"action": "accept", "content": {"pin": "hunter2"}})
    assert isinstance(reading, Invalid)
    assert "hunter2" not in repr(reading)


@frozen
class Region:
    name: str = "prod"


def test_a_default_that_is_not_offered_is_no_answer() -> None:
    form = Form("Where?", Region, choices={"name": ["eu", "us"]})
    assert form.schema["required"] == ["name"]
    assert isinstance(form.read({"action": "accept", "content": {}}), Invalid)
    assert form.read({"action": "accept", "content": {"name": "eu"}}) == Given(Region("eu"))


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "file:///etc/passwd", "https://a b", "https://evil\\@good", "x", "//a"],
)
def test_a_link_leads_where_it_seems_to_lead(url: str) -> None:
    with pytest.raises(UsageError, match="absolute http or https URL"):
        Link("Open it", url)


# -- definitions ------------------------------------------------------------------------------


@frozen
class Unfilled:
    a: int
    b: int = attrs.field(init=False, default=3)


def test_fields_that_nobody_can_fill_are_refused() -> None:
    with pytest.raises(DefinitionError, match="'b' is not taken by __init__"):
        Form("?", Unfilled)


def test_a_default_that_breaks_its_own_schema_is_refused() -> None:
    server = Server("Defaults")
    with pytest.raises(DefinitionError, match="a default does not fit: a: "):

        @server.tool
        async def takes(a: Literal["x", "y"] = "z") -> None:  # type: ignore[assignment]  # pyright: ignore
            """Take what is offered."""
