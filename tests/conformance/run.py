"""Run the official conformance suite against the server and the client beside this file.

``python -m tests.conformance.run`` from the repository's root. The official TypeScript client
then calls the same server on both transports, and our client the official TypeScript server. The
status is 0 where every scenario does what ``baseline.txt`` says, those in it fail and all others
pass, and every check of those two passes.
"""

import compileall
import logging
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import trio
from hypercorn.config import Config
from hypercorn.trio import serve  # pyright: ignore[reportUnknownVariableType]  # a bare dict

from tests.conformance.baseline import Judgement, Outcome, judge, read_baseline
from tests.conformance.server import app
from tests.conformance.suite import HERE, Suite
from tests.conformance.typescript import drive, runner

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
    suite = Suite(RESULTS)
    suite.prepare()
    logging.basicConfig(filename=RESULTS / "antiphon.log", level=logging.INFO)
    scenarios = await suite.scenarios()
    async with _served() as url:
        outcomes = await suite.test_server(url)
        typescript = {"http": await runner.run_client(RESULTS, "http", url)}
    _compile()
    typescript["stdio"] = await runner.run_client(RESULTS, "stdio", sys.executable, "-c", ON_STDIO)
    for over in drive.TRANSPORTS:
        typescript[f"server-{over}"] = await drive.drive(RESULTS, over)
    outcomes |= await suite.test_client()
    judgements = judge(scenarios, outcomes, baseline)
    if again := await _tried_alone(suite, judgements):
        judgements = judge(scenarios, outcomes | again, baseline)
    print(report(judgements))
    for kind, checks in typescript.items():
        print(runner.report(kind, checks))
    failed = any(not check.passed for checks in typescript.values() for check in checks)
    return int(failed or any(judgement.surprise for judgement in judgements))


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


async def _tried_alone(suite: Suite, judgements: Sequence[Judgement]) -> dict[str, Outcome]:
    """Give every client that failed in the crowd, and should not, another try."""
    outcomes: dict[str, Outcome] = {}
    for judgement in judgements:
        if (
            judgement.scenario.leg == "client"
            and judgement.surprise
            and not judgement.outcome.passed
        ):
            outcomes |= await suite.test_client_alone(judgement.scenario.name)
    return outcomes


def _compile() -> None:
    """Spare the many clients from compiling the same files side by side."""
    for room in ("engine", "flows", "transports"):
        compileall.compile_dir(ROOT / room, quiet=1)


def report(judgements: Sequence[Judgement]) -> str:
    """A line for each scenario, and what they come to."""
    rows = [(_title(j), j.outcome.told, j.verdict) for j in judgements]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    surprises = ", ".join(j.scenario.key for j in judgements if j.surprise)
    scored = _passing([j for j in judgements if j.scenario.scored])
    lines += ["", f"{_passing(judgements)} pass; {scored} of those scored (* is not scored)."]
    lines += [f"Against the baseline: {surprises}; see {RESULTS}." if surprises else "As expected."]
    return "\n".join(lines)


def _title(judgement: Judgement) -> str:
    return judgement.scenario.key + ("" if judgement.scenario.scored else " *")


def _passing(judgements: Sequence[Judgement]) -> str:
    return f"{sum(j.outcome.passed for j in judgements)} of {len(judgements)}"


if __name__ == "__main__":
    sys.exit(trio.run(main))
