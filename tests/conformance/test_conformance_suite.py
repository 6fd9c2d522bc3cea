"""What the suite lists and checks is read whole, and told for each revision apart."""

from pathlib import Path

import pytest

from tests.conformance.baseline import NOT_RUN, Judgement, Leg, Outcome, Scenario
from tests.conformance.reporting import report
from tests.conformance.suite import read_checks, read_list

EARLIER = "2025-11-25"
PASSED, FAILED = Outcome(True, "2 ok"), Outcome(False, "1 failed")
NOWHERE = Path("nowhere")

LISTED = f"""
Required for {EARLIER} (3 scenarios, frozen; run at the {EARLIER} wire):

Server scenarios (test against a server):
  - ping

Client scenarios (test against a client):
  - initialize
  - auth/basic-cimd

Run and reported, but never scored:
  extension (1):
    - auth/dpop [client]
  pending (1):
    - server-sse-polling [server]
"""


def scenario(leg: Leg, name: str, *, scored: bool = True, revision: str = EARLIER) -> Scenario:
    return Scenario(revision, leg, name, scored)


# -- reading ----------------------------------------------------------------------------------


def test_every_scenario_is_of_its_leg_and_of_the_revision_asked_for() -> None:
    assert list(read_list(LISTED, EARLIER)) == [
        scenario("server", "ping"),
        scenario("client", "initialize"),
        scenario("client", "auth/basic-cimd"),
        scenario("client", "auth/dpop", scored=False),
        scenario("server", "server-sse-polling", scored=False),
    ]


def test_the_baseline_names_a_scenario_by_its_revision() -> None:
    assert scenario("client", "auth/dpop").key == "2025-11-25/client/auth/dpop"


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        (["SUCCESS", "INFO"], Outcome(True, "1 ok")),
        (["SUCCESS", "FAILURE"], Outcome(False, "1 ok, 1 failed")),
        (["SUCCESS", "WARNING"], Outcome(False, "1 ok, 1 warned")),
        (["SKIPPED"], Outcome(False, "1 skipped")),
        (["INFO"], Outcome(False, "")),
        ([], Outcome(False, "")),
    ],
    ids=str,
)
def test_a_scenario_passes_where_something_was_checked_and_all_of_it_holds(
    statuses: list[str], outcome: Outcome
) -> None:
    assert read_checks([{"status": status} for status in statuses]) == outcome


# -- telling ----------------------------------------------------------------------------------


def told(*judgements: Judgement) -> list[str]:
    return report(judgements, NOWHERE).splitlines()


def test_each_revision_has_a_line_of_its_own() -> None:
    lines = told(
        Judgement(scenario("server", "ping", revision="2026-07-28"), PASSED, None),
        Judgement(scenario("server", "ping"), PASSED, None),
        Judgement(scenario("client", "auth/basic-cimd"), FAILED, "no token"),
        Judgement(scenario("client", "auth/dpop", scored=False), FAILED, "no token"),
    )
    assert lines[-3:] == [
        "2026-07-28: 1 of 1 pass; 1 of 1 of those scored (* is not scored).",
        "2025-11-25: 1 of 3 pass; 1 of 2 of those scored (* is not scored).",
        "As expected.",
    ]


@pytest.mark.parametrize(
    "surprise",
    [
        Judgement(scenario("server", "ping"), NOT_RUN, None),
        Judgement(scenario("server", "ping"), PASSED, "it hangs"),
    ],
    ids=["not run", "passes"],
)
def test_what_the_baseline_does_not_say_is_told_last(surprise: Judgement) -> None:
    other = Judgement(scenario("client", "initialize"), PASSED, None)
    assert told(surprise, other)[-1] == "Against the baseline: 2025-11-25/server/ping; see nowhere."
