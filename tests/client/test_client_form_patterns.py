"""Patterns of a form, which come from the other side: what is run of them, and how long."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.client.test_client_forms import form_of

LOOKS_ROUND = r"^(?:(?=.*b)a)*c"


@pytest.mark.parametrize(
    "pattern",
    [LOOKS_ROUND, r"(a)\1", "(", r"\pL{1000}", "a" * 100_000],
    ids=["looks around", "refers back", "wrong", "large", "long"],
)
def test_a_pattern_that_cannot_be_run_is_shown_and_not_checked(pattern: str) -> None:
    form = form_of(a={"type": "string", "pattern": pattern, "minLength": 2})
    assert form.fields[0].pattern == pattern
    assert form.faults({"a": "zz"}) == []
    assert form.faults({"a": "z"})


@pytest.mark.parametrize(
    "pattern",
    [r"(?=a)\w{200}", r"[\pL\pN]{1,200}", r"\pL{1000}", r"(?i:\pL)" * 50, r"\w{120}"],
    ids=["around", "classes", "repeated", "folded", "usual"],
)
def test_patterns_that_are_slow_to_compile_hold_nobody_up(pattern: str) -> None:
    started = time.process_time()
    fields = {f"f{n}": {"type": "string", "pattern": f"{pattern}x{n}"} for n in range(1000)}
    form_of(None, **fields)
    assert time.process_time() - started < 5


def test_patterns_are_run_up_to_a_sum_and_the_first_ones_first() -> None:
    fields: Any = {f"f{n}": {"type": "string", "pattern": f"^a{n:04}"} for n in range(999)}
    form = form_of(None, long={"type": "string", "pattern": "x" * 11_000}, **fields)
    faults = form.faults({f"f{n}": "b" for n in range(999)})
    assert 500 < len(faults) < 1000
    assert faults[0] == "field 'f0' does not satisfy 'pattern'"


def test_defaults_are_held_against_patterns_up_to_a_sum() -> None:
    text = {"type": "string", "pattern": "^a*$", "default": "a" * 100_000}
    form = form_of(None, a=text, b=text, c=text, d={"type": "string", "default": "a" * 100_000})
    assert [field.default is not None for field in form.fields] == [True, True, False, True]


def test_a_default_made_for_a_slow_pattern_costs_nothing() -> None:
    started = time.process_time()
    form_of(a={"type": "string", "pattern": LOOKS_ROUND, "default": "a" * 400_000 + "b"})
    assert time.process_time() - started < 5


def test_a_pattern_made_to_backtrack_ends() -> None:
    started = time.process_time()
    form = form_of(a={"type": "string", "pattern": r"^(a|a)*\1(?=b)$"})
    form.faults({"a": "a" * 200})
    assert time.process_time() - started < 5
