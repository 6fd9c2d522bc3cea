"""The stores that the tests of conversations run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.client.storing import KEYS, Opened, Shelves, Wall, in_file, in_memory


@pytest.fixture(params=["memory", "sqlite", "memory, sealed", "sqlite, sealed"])
def shelves(request: pytest.FixtureRequest, tmp_path: Path) -> Shelves:
    kind: str = request.param
    make = in_memory() if kind.startswith("memory") else in_file(tmp_path / "calls.db")
    if not kind.endswith("sealed"):
        return Shelves(make, Wall())

    def sealed(**options: Any) -> Opened:
        return make(**{"keys": KEYS, **options})

    return Shelves(sealed, Wall())
