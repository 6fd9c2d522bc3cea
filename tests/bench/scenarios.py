"""All that is measured, and what is aimed for: ratios of ours to the other side's."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from attrs import field, frozen

from tests.bench import measures
from tests.bench.measures import Probe

OURS: Final = "ours"
BY_HAND: Final = "theirs_by_hand"
DEPENDENCY: Final = "theirs_dependency"
CANNED: Final = "canned"
THEIRS: Final = "theirs"

MCP: Final = (BY_HAND, DEPENDENCY)
NAMES: Final = {
    BY_HAND: "mcp, by hand",
    DEPENDENCY: "mcp, dependency",
    CANNED: "canned ASGI app",
    THEIRS: "mcp",
}
"""The sides that ours is held against, by the modules that they run in."""


@frozen
class Aim:
    """A ratio to reach: at least, or at most."""

    sign: str
    bound: float

    def reached(self, ratio: float) -> bool:
        return ratio >= self.bound if self.sign == ">=" else ratio <= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


@frozen
class Row:
    """A line of the table for each other side.

    Attributes:
        sample: which of the probe's samples it shows.
        by_cpu: the sample that says the same in processor time, which other programs on the
            machine disturb less.
        unit: how a sample is written.
        scale: what it is multiplied with for that.
    """

    title: str
    sample: str
    by_cpu: str | None = None
    unit: str = "/s"
    scale: float = 1.0
    aims: Mapping[str, Aim] = field(factory=dict[str, Aim])


@frozen
class Scenario:
    """Sides that take turns, each with a probe of its own, and the rows that come of it."""

    probe: Callable[[str], AbstractContextManager[Probe]]
    rows: tuple[Row, ...]
    others: tuple[str, ...] = MCP


def _flows(title: str, aims: Mapping[str, Aim] | None = None) -> tuple[Row, ...]:
    return (Row(title, measures.RATE, measures.CPU_RATE, aims=aims or {}),)


SCENARIOS: Final = (
    Scenario(partial(measures.stdio, window=1), _flows("stdio, window 1")),
    Scenario(
        partial(measures.stdio, window=8),
        _flows("stdio, window 8", {BY_HAND: Aim(">=", 6)}),
    ),
    Scenario(partial(measures.stdio, window=64), _flows("stdio, window 64")),
    Scenario(
        partial(measures.in_process, part="client"),
        _flows("memory, client and server", {BY_HAND: Aim(">=", 3)}),
    ),
    Scenario(partial(measures.in_process, part="server"), _flows("memory, server alone")),
    Scenario(
        partial(measures.client_alone, over="memory"), _flows("memory, client alone"), (THEIRS,)
    ),
    Scenario(partial(measures.client_alone, over="http"), _flows("HTTP, client alone"), (THEIRS,)),
    Scenario(
        partial(measures.http, connections=8),
        _flows("HTTP, 8 connections", {BY_HAND: Aim(">=", 1.6), CANNED: Aim(">=", 0.85)}),
        (*MCP, CANNED),
    ),
    Scenario(
        measures.fresh,
        (
            Row(
                "cold start to first reply",
                measures.FIRST_REPLY,
                measures.FIRST_REPLY_CPU,
                unit=" ms",
                scale=1e3,
                aims={BY_HAND: Aim("<=", 0.35)},
            ),
            Row(
                "resident memory",
                measures.RESIDENT,
                unit=" MB",
                scale=1e-6,
                aims={BY_HAND: Aim("<=", 0.6)},
            ),
            Row("token", measures.TOKEN, unit=" B"),
        ),
    ),
)
