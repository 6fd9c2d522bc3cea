"""Prove the typing: run both checkers over programs that must not type-check.

A line marked ``# error`` must be refused by each checker; no other line may be. Run it as a
program; it exits with 1 where a checker says too little or too much.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(HERE.glob("*_mistakes.py"))


class Place(NamedTuple):
    """A line of a program."""

    program: str
    line: int

    def __str__(self) -> str:
        return f"{self.program}:{self.line}"


def expected() -> set[Place]:
    """The marked lines."""
    return {
        Place(program.name, number)
        for program in PROGRAMS
        for number, line in enumerate(program.read_text().splitlines(), start=1)
        if line.endswith("# error")
    }


def told_by_mypy() -> Iterator[Place]:
    """Where mypy complains."""
    command = ["mypy", "--config-file", "pyproject.toml", *map(str, PROGRAMS)]
    output = _output(command)
    for found in re.finditer(r"(\w+_mistakes\.py):(\d+): error", output):
        yield Place(found[1], int(found[2]))
    if "Success" not in output and "errors in" not in output and "error in" not in output:
        raise SystemExit(f"mypy did not run:\n{output}")


def told_by_pyright() -> Iterator[Place]:
    """Where pyright complains."""
    output = _output(["pyright", "--project", str(HERE), "--outputjson"])
    try:
        report = json.loads(output)
    except ValueError:
        raise SystemExit(f"pyright did not run:\n{output}") from None
    for fault in report["generalDiagnostics"]:
        if fault["severity"] == "error":
            yield Place(Path(fault["file"]).name, fault["range"]["start"]["line"] + 1)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if command[0] == "mypy" else done.stdout


def main() -> int:
    """Compare and tell."""
    marked = expected()
    status = 0
    for checker, told in (("mypy", set(told_by_mypy())), ("pyright", set(told_by_pyright()))):
        for place in sorted(marked - told):
            print(f"{checker} takes what it must refuse: {place}")
        for place in sorted(told - marked):
            print(f"{checker} refuses what it must take: {place}")
        status |= told != marked
        print(f"{checker}: {len(marked & told)} of {len(marked)} marked lines are refused")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
