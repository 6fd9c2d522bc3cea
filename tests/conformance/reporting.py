"""What a run came to, for a person."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.conformance.baseline import Judgement


def report(judgements: Sequence[Judgement], results: Path) -> str:
    """A line for each scenario, and what they come to; ``results`` are where one may look."""
    rows = [(_title(j), j.outcome.told, j.verdict) for j in judgements]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    surprises = ", ".join(j.scenario.key for j in judgements if j.surprise)
    lines += ["", *_counts(judgements)]
    lines += [f"Against the baseline: {surprises}; see {results}." if surprises else "As expected."]
    return "\n".join(lines)


def _counts(judgements: Sequence[Judgement]) -> Iterator[str]:
    """A line for each revision."""
    for revision in dict.fromkeys(j.scenario.revision for j in judgements):
        its = [j for j in judgements if j.scenario.revision == revision]
        scored = _passing([j for j in its if j.scenario.scored])
        yield f"{revision}: {_passing(its)} pass; {scored} of those scored (* is not scored)."


def _title(judgement: Judgement) -> str:
    return judgement.scenario.key + ("" if judgement.scenario.scored else " *")


def _passing(judgements: Sequence[Judgement]) -> str:
    return f"{sum(j.outcome.passed for j in judgements)} of {len(judgements)}"
