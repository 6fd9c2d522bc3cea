"""From samples to a table of ratios: medians, and between which bounds the rounds lay."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from statistics import median
from typing import Final

from tests.bench.measures import Samples
from tests.bench.scenarios import NAMES, OURS, Row, Scenario

_SHOWN: Final = ("antiphon", "mcp", "trio", "anyio", "hypercorn", "h11", "pydantic", "msgspec")
_LINE: Final = "{:<26} {:<16} {:>9} {:>9} {:>7} {:>13} {:>8}  {}"

HEADINGS: Final = _LINE.format(
    "", "against", "ours", "theirs", "ratio", "of rounds", "by CPU", "aim"
)


def machine() -> str:
    """What the figures depend on."""
    packages = ", ".join(f"{name} {version(name)}" for name in _SHOWN)
    load, *_ = os.getloadavg()
    return (
        f"{packages}\n{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f}"
    )


def table(scenario: Scenario, taken: Mapping[str, Sequence[Samples]]) -> Iterator[str]:
    """The lines of one scenario, from the samples that each side gave round by round."""
    for row in scenario.rows:
        title = row.title
        for other in scenario.others:
            yield _line(title, row, other, taken)
            title = ""


def _line(title: str, row: Row, other: str, taken: Mapping[str, Sequence[Samples]]) -> str:
    ratios = _ratios(row.sample, other, taken)
    ratio = median(ratios)
    by_cpu = "" if row.by_cpu is None else f"{median(_ratios(row.by_cpu, other, taken)):.2f}x"
    aim = row.aims.get(other)
    told = "" if aim is None else f"{aim}x" if aim.reached(ratio) else f"{aim}x  MISSED"
    shown = (_shown(row, taken[side]) for side in (OURS, other))
    spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
    line = _LINE.format(title, NAMES[other], *shown, f"{ratio:.2f}x", spread, by_cpu, told)
    return line.rstrip()


def _ratios(sample: str, other: str, taken: Mapping[str, Sequence[Samples]]) -> Sequence[float]:
    """Ours to theirs of the same round, so that what slows the machine slows both."""
    rounds = zip(taken[OURS], taken[other], strict=True)
    return [ours[sample] / theirs[sample] for ours, theirs in rounds]


def _shown(row: Row, samples: Sequence[Samples]) -> str:
    return f"{median(each[row.sample] for each in samples) * row.scale:.0f}{row.unit}"
