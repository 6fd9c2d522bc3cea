"""The table of what a server can do wrong names what the tables here expect, and no more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from antiphon.engine.call_errors import (
    DeadlineExceeded,
    LegTimeout,
    RoundsExceeded,
    VersionMismatch,
)
from antiphon.engine.errors import AntiphonError
from antiphon.engine.exchange import TransportLost
from tests.hostile.lies import RESULTS
from tests.hostile.messages import WRONG
from tests.hostile.test_hostile_http import FAMILIES

PAGE: Final = Path(__file__).parents[2] / "docs" / "client.md"
TITLE: Final = "## What a server can do wrong, and what you get\n"

PLAYED: Final[set[type[AntiphonError] | None]] = {
    *(lie.error for lie in RESULTS),
    *(got for family in WRONG.values() for wrong in family for got in wrong.outcomes),
    *(raw.error for raws in FAMILIES.values() for raw in raws),
    # Those that no single message brings about: pages, rounds, time, revisions, deaths.
    *(DeadlineExceeded, LegTimeout, RoundsExceeded, TransportLost, VersionMismatch),
}


def test_every_error_that_a_server_can_bring_about_is_documented_and_played() -> None:
    _, _, after = PAGE.read_text().partition(TITLE)
    section, _, _ = after.partition("\n## ")
    told = {name for row in section.splitlines() for name in _errors(row)}
    assert told == {error.__name__ for error in PLAYED if error is not None}


def _errors(row: str) -> list[str]:
    _, _, got = row.rpartition(" | ")
    return re.findall(r"`([A-Z]\w+)`", got) if row.startswith("| ") else []
