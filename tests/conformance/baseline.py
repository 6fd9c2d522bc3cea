"""The scenarios that are expected to fail, and what becomes of the others."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from attrs import frozen

Leg: TypeAlias = Literal["server", "client"]
Baseline: TypeAlias = Mapping[str, str]
"""The reasons, by :attr:`Scenario.key`."""


@frozen(order=True)
class Scenario:
    """A scenario of the suite; ``scored`` where the revision requires it."""

    revision: str
    leg: Leg
    name: str
    scored: bool = True

    @property
    def key(self) -> str:
        """How the baseline names it."""
        return f"{self.revision}/{self.leg}/{self.name}"


@frozen
class Outcome:
    """What a run of a scenario came to; ``told`` is for a person."""

    passed: bool
    told: str


NOT_RUN = Outcome(False, "the suite left no result")


@frozen
class Judgement:
    """A scenario, its outcome, and the reason for which it may fail."""

    scenario: Scenario
    outcome: Outcome
    reason: str | None

    @property
    def surprise(self) -> bool:
        """Whether the baseline says otherwise: a failure that is not in it, or a pass that is."""
        return self.outcome.passed == (self.reason is not None)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.outcome.passed:
            return "pass" if self.reason is None else "PASSES: take it out of the baseline"
        return "FAILS" if self.reason is None else f"fails: {self.reason}"


def read_baseline(text: str) -> Baseline:
    """Read lines of ``revision/leg/name  reason``; ``#`` begins a comment line.

    Raises:
        ValueError: a scenario has no reason, or stands twice.
    """
    baseline: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"{key} stands in the baseline without a reason")
        if key in baseline:
            raise ValueError(f"{key} stands twice in the baseline")
        baseline[key] = reason.strip()
    return baseline


def judge(
    scenarios: Iterable[Scenario], outcomes: Mapping[str, Outcome], baseline: Baseline
) -> list[Judgement]:
    """Hold every scenario of the suite against the baseline.

    Raises:
        ValueError: the baseline names a scenario that the suite does not have.
    """
    known = {scenario.key: scenario for scenario in scenarios}
    if strange := sorted(baseline.keys() - known.keys()):
        raise ValueError(f"The suite has no scenario {', '.join(strange)}; mend the baseline")
    return [
        Judgement(scenario, outcomes.get(key, NOT_RUN), baseline.get(key))
        for key, scenario in known.items()
    ]
