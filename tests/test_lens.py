"""``src/antiphon`` shows the repository's root under the package's own name."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["__init__.py", "py.typed", "engine", "flows", "transports"])
def test_the_lens_shows_the_roots_own(name: str) -> None:
    link = ROOT / "src" / "antiphon" / name
    assert link.is_symlink()
    assert link.resolve() == ROOT / name
