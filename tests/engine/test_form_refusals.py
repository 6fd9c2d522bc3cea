"""What does not fit into a form is refused by name when the form is read."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import attrs
import pytest
from attrs import Factory, frozen

from antiphon import DefinitionError, Form, Meta, UsageError, choice_of
from antiphon.engine.forms import form_schema
from tests.naming import shown


class Level(IntEnum):
    LOW = 1


@frozen
class Inner:
    a: int


class Typed(TypedDict):
    a: int


def faults_of(kind: Any, **default: Any) -> tuple[str, ...]:
    made = attrs.make_class("Made", {"it": attrs.field(type=kind, **default)}, frozen=True)
    with pytest.raises(DefinitionError) as caught:
        form_schema(made)
    assert caught.value.subject == "Form Made"
    return caught.value.faults


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Inner, "is Inner; a form has text"),
        (Typed, "is Typed; a form has text"),
        (dict[str, str], "is Dict; a form has"),
        (bytes, "is Bytes; a form has"),
        (Decimal, "is Decimal; a form has"),
        (UUID, "is UUID; a form has"),
        (datetime.time, "is Time; a form has"),
        (datetime.timedelta, "is TimeDelta; a form has"),
        (Any, "is Any; a form has"),
        (type(None), "is None; a form has"),
        (tuple[int, str], "is Tuple; a form has"),
        (list[str], "is a list of something other than choices"),
        (list[int], "is a list of something other than choices"),
        (list[Inner], "is a list of something other than choices"),
        (list[list[Literal["a"]]], "is a list of something other than choices"),
        (Literal[1, 2], "offers a choice that is not text"),
        (Literal["a", 1], "offers a choice that is not text"),
        (Level, "offers a choice that is not text"),
        (int | str, "may be one of several types"),
        (int | str | None, "may be one of several types"),
        (str | None, "may be None, so it needs a default"),
        (Annotated[str, Meta(pattern="^a$")], "has a pattern"),
        (Annotated[int, Meta(multiple_of=5)], "has multiple_of"),
        (Annotated[float, Meta(gt=0)], "has gt or lt"),
        (Annotated[str, Meta(extra_json_schema={"format": "ipv4"})], "has a format other than"),
        (Annotated[str, Meta(extra_json_schema={"x-mine": 1})], "has x-mine"),
        (Annotated[int, Meta(extra_json_schema={"$ref": "#"})], r"has \$ref"),
    ],
    ids=str,
)
def test_a_field_that_does_not_fit_is_named(kind: Any, told: str) -> None:
    (fault,) = faults_of(kind)
    assert fault.startswith("field 'it' ")
    assert re.search(told, fault), fault


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (Literal["a", "b"], "c"),
        (Annotated[str, choice_of({"a": "Aa"})], "b"),
        (Annotated[int, Meta(ge=1)], 0),
        (Annotated[str, Meta(min_length=1)], ""),
        (list[Literal["a"]], Factory(lambda: ["b"])),
        (Annotated[list[Literal["a"]], Meta(min_length=1)], Factory(list[str])),
        (int, "1"),
        (bool, 1),
        (float, math.nan),
    ],
    ids=shown,
)
def test_a_default_that_the_form_would_refuse_is_told(kind: Any, default: Any) -> None:
    (fault,) = faults_of(kind, default=default)
    assert fault.startswith("field 'it' ")


def test_all_faulty_fields_are_told_at_once() -> None:
    @frozen
    class Faulty:
        fine: str
        nested: Inner
        many: list[str]
        maybe: int | None
        ok: bool = False

    with pytest.raises(DefinitionError) as caught:
        form_schema(Faulty)
    assert [fault.split(" ", 2)[1] for fault in caught.value.faults] == [
        "'nested'",
        "'many'",
        "'maybe'",
    ]
    assert str(caught.value).startswith("Form Faulty has 3 faults:\n  - field 'nested' is Inner;")


@pytest.mark.parametrize("answer", [int, str, dict, Typed, object])
def test_a_form_is_answered_by_an_attrs_class(answer: type) -> None:
    with pytest.raises(DefinitionError, match="answered by an attrs class"):
        form_schema(answer)


def test_a_form_whose_names_cannot_be_resolved_says_so() -> None:
    nowhere: Any = "Nowhere"
    made: Any = attrs.make_class("Made", {"it": attrs.field(type=nowhere)}, frozen=True)
    with pytest.raises(DefinitionError, match=r"its fields cannot be read.*Nowhere"):
        form_schema(made)


def test_a_choice_needs_an_option() -> None:
    with pytest.raises(UsageError, match="at least one option"):
        choice_of({})


@frozen
class Answer:
    text: str
    number: int = 0


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"nowhere": ["a"]}, "names 'nowhere', which is no text or choice"),
        ({"number": ["1"]}, "names 'number', which is no text or choice"),
        ({"text": []}, "at least one option"),
        ({"text": {}}, "at least one option"),
    ],
)
def test_choices_for_what_cannot_be_chosen_are_refused(choices: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Form("Which?", Answer, choices=choices).wire()
