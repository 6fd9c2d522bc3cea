"""Run the official conformance suite against the server and the client beside this file.

``python -m tests.conformance.run`` from the repository's root. The suite requires something of
each revision. Official TypeScript clients, of this revision and of an earlier one, then call the
same server on both transports, and our client official TypeScript servers of both. The status is
0 where every scenario does what ``baseline.txt`` says, those in it fail and all others pass, and
every check of those others passes.
"""

import compileall
import logging
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import trio
from hypercorn.config import Config
from hypercorn.trio import serve  # pyright: ignore[reportUnknownVariableType]  # a bare dict

from tests.conformance.baseline import Judgement, Outcome, judge, read_baseline
from tests.conformance.reporting import report
from tests.conformance.server import app
from tests.conformance.suite import HERE, Suite, prepare
from tests.conformance.typescript import drive, runner
from tests.conformance.typescript.runner import Check

REVISIONS: Final = ("2026-07-28", "2025-11-25")
ROOT: Final = HERE.parent.parent
RESULTS: Final = ROOT / "out" / "conformance"
ON_STDIO: Final = """
from antiphon import run_stdio
from tests.conformance.server import server
run_stdio(server)
"""


async def main() -> int:
    """Run everything, print a table, and return the exit status."""
    baseline = read_baseline((HERE / "baseline.txt").read_text())
    prepare(RESULTS)
    logging.basicConfig(filename=RESULTS / "antiphon.log", level=logging.INFO)
    suites = {revision: Suite(RESULTS / revision, revision) for revision in REVISIONS}
    scenarios = [scenario for suite in suites.values() for scenario in await suite.scenarios()]
    outcomes: dict[str, Outcome] = {}
    checks: dict[str, list[Check]] = {}
    async with _served() as url:
        for suite in suites.values():
            outcomes |= await suite.test_server(url)
        # One after the other, since each hears of what the other changes.
        for client in runner.CLIENTS:
            checks[f"{client}-http"] = await runner.run_client(RESULTS, client, "http", url)
    _compile()
    checks |= await _typescript()
    for suite in suites.values():
        outcomes |= await suite.test_client()
    judgements = judge(scenarios, outcomes, baseline)
    if again := await _tried_alone(suites, judgements):
        judgements = judge(scenarios, outcomes | again, baseline)
    print(report(judgements, RESULTS))
    for kind in sorted(checks):
        print(runner.report(kind, checks[kind]))
    failed = any(not check.passed for each in checks.values() for check in each)
    return int(failed or any(judgement.surprise for judgement in judgements))


async def _typescript() -> dict[str, list[Check]]:
    """Run side by side what has processes of its own; most of the time passes in starting them."""
    checks: dict[str, list[Check]] = {}

    async def call(client: str) -> None:
        command = (sys.executable, "-c", ON_STDIO)
        checks[f"{client}-stdio"] = await runner.run_client(RESULTS, client, "stdio", *command)

    async def drive_over(driven: drive.Driven, over: drive.Over) -> None:
        checks[f"{driven.name}-{over}"] = await drive.drive(RESULTS, driven, over)

    async with trio.open_nursery() as nursery:
        for client in runner.CLIENTS:
            nursery.start_soon(call, client)
        for driven in drive.SERVERS:
            for over in drive.TRANSPORTS:
                nursery.start_soon(drive_over, driven, over)
    return checks


@asynccontextmanager
async def _served() -> AsyncGenerator[str, None]:
    """Serve the fixture on a port that is free; the suite wants it called localhost."""
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    async with trio.open_nursery() as nursery:
        binds: list[str] = await nursery.start(partial(serve, app, config))
        yield f"http://localhost:{urlsplit(binds[0]).port}/mcp"
        nursery.cancel_scope.cancel()


async def _tried_alone(
    suites: Mapping[str, Suite], judgements: Sequence[Judgement]
) -> dict[str, Outcome]:
    """Give every client that failed in the crowd, and should not, another try."""
    outcomes: dict[str, Outcome] = {}
    for judgement in judgements:
        if (
            judgement.scenario.leg == "client"
            and judgement.surprise
            and not judgement.outcome.passed
        ):
            suite = suites[judgement.scenario.revision]
            outcomes |= await suite.test_client_alone(judgement.scenario.name)
    return outcomes


def _compile() -> None:
    """Spare the many clients from compiling the same files side by side."""
    for room in ("engine", "flows", "transports"):
        compileall.compile_dir(ROOT / room, quiet=1)


if __name__ == "__main__":
    sys.exit(trio.run(main))
