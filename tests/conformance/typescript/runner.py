"""The official TypeScript clients as child processes, and what their checks come to."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import trio
from attrs import frozen

from tests.conformance.node import node

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[2]
RUN_SECONDS: Final = 600

CLIENTS: Final = {"client": HERE / "client.mjs", "older-client": HERE / "older" / "client.mjs"}
"""By name: of this revision, and of 2025-11-25."""


@frozen
class Check:
    """One check; ``told`` says what was not as it should be."""

    name: str
    passed: bool
    told: str


async def run_client(results: Path, client: str, kind: str, *target: str) -> list[Check]:
    """Run all checks against a server, and keep what the client and the server print.

    Args:
        results: the folder for the log.
        client: one of ``CLIENTS``.
        kind: ``"stdio"`` or ``"http"``.
        target: the server's command, or its address.

    Raises:
        RuntimeError: the client did not come to its end.
    """
    log = results / f"typescript-{client}-{kind}.log"
    with trio.fail_after(RUN_SECONDS), log.open("wb") as stderr:
        done = await trio.run_process(
            [node(), str(CLIENTS[client]), kind, *target],
            capture_stdout=True,
            stderr=stderr,
            check=False,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        )
    try:
        return read_checks(done.stdout.decode())
    except ValueError as error:
        raise RuntimeError(f"The TypeScript client gave up, see {log}: {error}") from None


def read_checks(text: str) -> list[Check]:
    """Read what the client prints: a line for each check, and one with their number.

    Raises:
        ValueError: the last line is missing, or counts other checks.
    """
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    checks = [Check(each["check"], each["ok"], each["told"]) for each in lines if "check" in each]
    if not checks or lines[-1] != {"checks": len(checks)}:
        raise ValueError(f"{len(checks)} checks, and no end")
    return checks


def report(kind: str, checks: Sequence[Check]) -> str:
    """A line for what they come to, and what each that failed has told."""
    failed = [check for check in checks if not check.passed]
    told = [f"typescript/{kind}: {len(checks) - len(failed)} of {len(checks)} pass"]
    told += [f"typescript/{kind}/{check.name} FAILS: {check.told}" for check in failed]
    return "\n".join(told)
