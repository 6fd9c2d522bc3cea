"""Type-check the README and the guide: both checkers, over the blocks of each page as one module.

Run it as a program; it exits with 1 where a checker finds a fault, which it tells by the page and
its line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.pages import PAGES, ROOT, source_of


def written_to(folder: Path) -> dict[Path, Path]:
    """Write the module of each page that has one; the pages by their modules."""
    pages: dict[Path, Path] = {}
    for page in PAGES:
        if source := source_of(page):
            module = folder / f"page_{page.stem.lower().replace('-', '_')}.py"
            module.write_text(source)
            pages[module] = page
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return pages


def passes(command: list[str], pages: Mapping[Path, Path]) -> bool:
    """Whether a checker finds nothing; it tells of what it finds."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    if done.returncode:
        for module, page in pages.items():
            told = told.replace(str(module), str(page.relative_to(ROOT)))
        print(told)
    verdict = "with faults" if done.returncode else "all well typed"
    print(f"{command[0]}: {len(pages)} pages, {verdict}")
    return done.returncode == 0


def main() -> int:
    """Check all pages."""
    with TemporaryDirectory() as folder:
        pages = written_to(Path(folder).resolve())
        typed = [
            passes(["mypy", "--config-file", "pyproject.toml", *map(str, pages)], pages),
            passes(["pyright", "--project", folder], pages),
        ]
    return 0 if all(typed) else 1


if __name__ == "__main__":
    sys.exit(main())
