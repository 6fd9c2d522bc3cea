"""Measure the same two-round flow in Antiphon and in the official Python SDK, side by side.

``python tests/bench/run.py``, in under three minutes on two quiet cores. Each side runs in a
process of its own; the sides take turns in short rounds. Compare the ratios: the figures are
those of one machine at one time.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from attrs import frozen

# Started as a program: the neighbours are found from the repository's root.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.bench import report  # noqa: E402
from tests.bench.measures import Samples  # noqa: E402
from tests.bench.scenarios import OURS, SCENARIOS, Scenario  # noqa: E402


@frozen
class Pace:
    """How many rounds, and how many seconds each side has in one."""

    rounds: int
    seconds: float


FULL: Final = Pace(7, 0.6)
QUICK: Final = Pace(3, 0.12)


def main() -> None:
    """Run every scenario and print its rows as soon as they are there."""
    options = ArgumentParser(description="Antiphon and the official Python SDK, side by side.")
    options.add_argument("--quick", action="store_true", help="a smoke run of half a minute")
    options.add_argument("--only", default="", metavar="TEXT", help="rows that contain TEXT")
    given = options.parse_args()
    pace = QUICK if given.quick else FULL
    print(report.machine(), f"Medians of {pace.rounds} rounds.", "", report.HEADINGS, sep="\n")
    for scenario in SCENARIOS:
        if any(given.only in row.title for row in scenario.rows):
            print(*report.table(scenario, _taken(scenario, pace)), sep="\n", flush=True)


def _taken(scenario: Scenario, pace: Pace) -> Mapping[str, Sequence[Samples]]:
    """The samples of each side, round by round."""
    with ExitStack() as stack:
        sides = (OURS, *scenario.others)
        probes = {side: stack.enter_context(scenario.probe(side)) for side in sides}
        for probe in probes.values():
            probe(pace.seconds)  # what is loaded and compiled at the first use is no round
        taken: dict[str, list[Samples]] = {side: [] for side in probes}
        for _ in range(pace.rounds):
            for side, probe in probes.items():
                taken[side].append(probe(pace.seconds))
    return taken


if __name__ == "__main__":
    main()
