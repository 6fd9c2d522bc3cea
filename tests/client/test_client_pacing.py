"""The back-off schedule: numbers, without any waiting."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import UsageError
from antiphon.engine.pacing import Backoff, retry_hint

STEADY = Backoff(jitter=0)


def test_delays_double_from_50_ms_to_250_ms() -> None:
    delays = [STEADY.after(polls, None) for polls in range(1, 6)]
    assert delays == [0.05, 0.1, 0.2, 0.25, 0.25]


def test_very_many_polls_overflow_nothing() -> None:
    assert STEADY.after(10**6, None) == 0.25


@given(st.integers(1, 2000), st.floats(0, 1, exclude_max=True))
def test_jitter_only_lengthens_and_is_bounded(polls: int, chance: float) -> None:
    spread = Backoff(jitter=0.2, chance=lambda: chance).after(polls, None)
    steady = STEADY.after(polls, None)
    assert steady <= spread <= steady * 1.2


def test_by_default_two_clients_do_not_wait_the_same() -> None:
    assert len({Backoff().after(1, None) for _ in range(50)}) > 1


@pytest.mark.parametrize(
    ("hint", "waits"), [(0.0, 0.05), (0.01, 0.05), (2.0, 2.0), (30.0, 30.0), (1e6, 30.0)]
)
def test_a_hint_is_honoured_within_bounds(hint: float, waits: float) -> None:
    assert STEADY.after(7, hint) == waits


def test_jitter_does_not_carry_a_hint_past_its_bound() -> None:
    assert Backoff(jitter=1, chance=lambda: 0.999).after(1, 29.0) == 30.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"initial": 0},
        {"initial": -1},
        {"initial": 1, "maximum": 0.5},
        {"factor": 0.5},
        {"jitter": 2},
        {"jitter": -0.1},
        {"max_hint": 0.01},
        {"maximum": float("inf")},
        {"initial": float("nan")},
    ],
)
def test_a_schedule_that_contradicts_itself_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        Backoff(**wrong)


@pytest.mark.parametrize(
    ("meta", "seconds"),
    [
        ({"antiphon/retryAfterMs": 1500}, 1.5),
        ({"antiphon/retryAfterMs": 0}, 0.0),
        ({"antiphon/retryAfterMs": 10**400}, 10.0**6),
        ({"antiphon/retryAfterMs": -5}, None),
        ({"antiphon/retryAfterMs": True}, None),
        ({"antiphon/retryAfterMs": "1500"}, None),
        ({"antiphon/retryAfterMs": None}, None),
        ({}, None),
    ],
)
def test_a_hint_is_read_or_ignored(meta: dict[str, object], seconds: float | None) -> None:
    assert retry_hint(meta) == seconds  # type: ignore[arg-type]
