"""Classes that no texts can fill."""

import enum
from typing import Any, Literal

import pytest
from attrs import Factory, field, frozen

from antiphon import DefinitionError
from antiphon.engine.text_arguments import TextArguments


class Number(enum.IntEnum):
    ONE = 1


@frozen
class Wrong:
    names: list[str]
    number: Number
    mixed: Literal["a", 1]
    either: int | str
    anything: Any
    inner: "Inner"
    data: bytes
    fine: str
    mapping: dict[str, str] = Factory(dict[str, str])


@frozen
class Inner:
    a: str


def faults(kind: type) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        TextArguments(kind, subject="Prompt p")
    assert caught.value.subject == "Prompt p"
    return caught.value.faults


def test_all_fields_that_no_text_says_are_told_at_once() -> None:
    told = faults(Wrong)
    assert [fault.split("'")[1] for fault in told] == [
        "names",
        "number",
        "mixed",
        "either",
        "anything",
        "inner",
        "data",
        "mapping",
    ]
    assert "is nothing that a text says" in told[0]
    assert "offers a choice that is not text" in told[1]
    assert "offers a choice that is not text" in told[2]
    assert "may be one of several types" in told[3]


def test_a_class_that_is_not_of_attrs_is_refused() -> None:
    assert "fields of an attrs class" in faults(str)[0]


def test_a_field_that_init_does_not_take_is_refused() -> None:
    @frozen
    class Partly:
        a: str = field(init=False, default="")

    assert "is not taken by __init__" in faults(Partly)[0]


def test_a_default_that_does_not_fit_is_refused() -> None:
    @frozen
    class Off:
        a: Literal["x"] = "y"  # type: ignore[assignment]  # the mistake that is looked for

    assert "default does not fit" in faults(Off)[0]


def test_a_hint_that_cannot_be_read_is_refused() -> None:
    @frozen
    class Lost:
        a: "NowhereToBeFound"  # type: ignore[name-defined]  # noqa: F821  # the mistake

    assert "cannot be read" in faults(Lost)[0]
