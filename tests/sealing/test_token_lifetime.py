"""How long a token opens, by the wall clock."""

from __future__ import annotations

import math

import pytest

from antiphon.engine.errors import UsageError
from antiphon.engine.sealing import Reason, StateSealer
from tests.sealing.making import CLAIMS, NOW, ORIGIN, Clock, reasons, sealer


def test_a_token_opens_until_its_time_and_not_at_it() -> None:
    clock = Clock()
    at = sealer(ttl=600.0, clock=clock)
    token = at.seal(ORIGIN, CLAIMS)
    clock.now = math.nextafter(NOW + 600.0, 0.0)
    assert at.open(token, ORIGIN) == CLAIMS
    clock.now = NOW + 600.0
    assert reasons(at, token) == (Reason.EXPIRED,)
    clock.now = NOW + 1e9
    assert reasons(at, token) == (Reason.EXPIRED,)


def test_each_seal_renews_the_time() -> None:
    clock = Clock()
    at = sealer(ttl=600.0, clock=clock)
    first = token = at.seal(ORIGIN, CLAIMS)
    for _ in range(5):
        clock.now += 599.0
        token = at.seal(ORIGIN, at.open(token, ORIGIN))
    assert at.open(token, ORIGIN).started == CLAIMS.started
    assert reasons(at, first) == (Reason.EXPIRED,)


def test_the_time_is_the_sealers_not_the_openers() -> None:
    clock = Clock()
    token = sealer(ttl=60.0).seal(ORIGIN, CLAIMS)
    clock.now += 61.0
    assert reasons(sealer(ttl=3600.0, clock=clock), token) == (Reason.EXPIRED,)


def test_a_clock_slightly_behind_is_borne_and_one_far_behind_is_not() -> None:
    clock = Clock()
    at = sealer(clock=clock)
    token = at.seal(ORIGIN, CLAIMS)
    clock.now = NOW - 10.0
    assert at.open(token, ORIGIN) == CLAIMS
    clock.now = math.nextafter(NOW - 10.0, 0.0)
    assert reasons(at, token) == (Reason.FUTURE,)


def test_a_clock_that_tells_no_time_opens_nothing() -> None:
    clock = Clock()
    at = sealer(clock=clock)
    token = at.seal(ORIGIN, CLAIMS)
    clock.now = math.nan
    assert reasons(at, token) == (Reason.EXPIRED, Reason.FUTURE)


def test_a_token_sealed_without_a_time_never_opens() -> None:
    token = sealer(clock=Clock(math.nan)).seal(ORIGIN, CLAIMS)
    assert reasons(sealer(), token) == (Reason.EXPIRED, Reason.FUTURE)


def test_a_clock_in_whole_seconds_serves() -> None:
    at = StateSealer(audience="Provisioner", clock=lambda: 1_800_000_000)
    assert at.open(at.seal(ORIGIN, CLAIMS), ORIGIN) == CLAIMS


@pytest.mark.parametrize(
    "ttl", [0, 0.0, -1, -0.5, math.inf, -math.inf, math.nan, True, "600", None]
)
def test_a_ttl_that_is_no_positive_number_is_refused(ttl: float) -> None:
    with pytest.raises(UsageError, match="ttl must be a"):
        StateSealer(audience="Provisioner", ttl=ttl)


def test_the_time_to_answer_is_ten_minutes_by_default() -> None:
    clock = Clock()
    at = StateSealer(audience="Provisioner", clock=clock)
    token = at.seal(ORIGIN, CLAIMS)
    clock.now += 599.9
    assert at.open(token, ORIGIN) == CLAIMS
    clock.now += 0.1
    assert reasons(at, token) == (Reason.EXPIRED,)
