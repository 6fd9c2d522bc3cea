"""The conformance run is only as honest as its baseline."""

import pytest
from attrs import evolve

from tests.conformance.baseline import NOT_RUN, Judgement, Outcome, Scenario, judge, read_baseline

LISTED = Scenario("2026-07-28", "server", "listed")
OTHER = Scenario("2026-07-28", "client", "auth/other", scored=False)
PASSED, FAILED = Outcome(True, "2 ok"), Outcome(False, "1 ok, 1 failed")


def judged(outcome: Outcome, baseline: str) -> Judgement:
    (judgement,) = judge([LISTED], {LISTED.key: outcome}, read_baseline(baseline))
    return judgement


def test_a_pass_outside_the_baseline_is_no_surprise() -> None:
    assert not judged(PASSED, "").surprise


def test_a_failure_outside_the_baseline_is_a_surprise() -> None:
    assert judged(FAILED, "").surprise


def test_a_failure_in_the_baseline_is_no_surprise_and_tells_its_reason() -> None:
    judgement = judged(FAILED, f"{LISTED.key}   prompts are not served")
    assert not judgement.surprise
    assert "prompts are not served" in judgement.verdict


def test_a_pass_in_the_baseline_is_a_surprise() -> None:
    assert judged(PASSED, f"{LISTED.key}  it was not served once").surprise


def test_a_scenario_that_left_no_result_has_failed() -> None:
    first, second = judge([LISTED, OTHER], {LISTED.key: PASSED}, {})
    assert not first.surprise
    assert second.outcome == NOT_RUN
    assert second.surprise


def test_a_baseline_is_about_one_revision_of_a_scenario() -> None:
    earlier = evolve(LISTED, revision="2025-11-25")
    outcomes = {LISTED.key: FAILED, earlier.key: PASSED}
    its, others = judge([LISTED, earlier], outcomes, {LISTED.key: "prompts are not served"})
    assert not its.surprise
    assert not others.surprise
    assert others.reason is None


def test_a_baseline_that_names_an_unknown_scenario_is_refused() -> None:
    with pytest.raises(ValueError, match="client/gone"):
        judge([LISTED], {}, {"client/gone": "it was renamed"})


def test_comments_and_empty_lines_of_a_baseline_are_skipped() -> None:
    assert read_baseline(f"# why\n\n{OTHER.key}  no tokens\n") == {OTHER.key: "no tokens"}


@pytest.mark.parametrize("text", ["server/listed", "server/listed  ", "a/b x\na/b y"])
def test_a_baseline_line_without_a_reason_or_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="baseline"):
        read_baseline(text)
