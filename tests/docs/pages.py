"""The pages of the documentation, and the Python in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def source_of(page: Path) -> str:
    """A page's blocks as one module, each on the lines where it stands in the page."""
    text = page.read_text()
    source = ""
    for found in _BLOCK.finditer(text):
        line = text[: found.start(1)].count("\n")
        source += "\n" * (line - source.count("\n")) + found[1]
    return source
