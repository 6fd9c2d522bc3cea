"""The official suite as a child process: its list of scenarios, its runs, its results.

It holds a frozen set of requirements for each revision of the protocol, which it speaks then.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import trio
from attrs import frozen

from tests.conformance.baseline import Leg, Outcome, Scenario
from tests.conformance.client import FINISHED
from tests.conformance.node import node

HERE: Final = Path(__file__).resolve().parent
ENTRY: Final = HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
RUN_SECONDS: Final = 300

# The suite starts all clients at once, which keeps a small machine busy for a while.
_CLIENT: Final = (
    "--timeout",
    "60000",
    "--command",
    shlex.join([sys.executable, f"{HERE}/client.py"]),
)
_STAMP: Final = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
_WORDS: Final = {"SUCCESS": "ok", "FAILURE": "failed", "WARNING": "warned", "SKIPPED": "skipped"}


def prepare(results: Path) -> None:
    """Empty the folder for what runs write.

    Raises:
        FileNotFoundError: the suite is not installed.
    """
    if not ENTRY.exists():
        raise FileNotFoundError("The suite is not installed; run it by `make conformance`")
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)


@frozen
class Suite:
    """What the suite requires for one revision, with a folder for what it writes."""

    results: Path
    revision: str

    @property
    def _required(self) -> tuple[str, str]:
        return ("--requirements", self.revision)

    async def scenarios(self) -> list[Scenario]:
        """All that the revision requires, and what is run beside it unscored.

        Raises:
            RuntimeError: the suite lists nothing.
        """
        listed = list(read_list(await self._run("list", "list", *self._required), self.revision))
        if not listed:
            raise RuntimeError(f"The suite lists no scenarios; see {self.results}/list.log")
        return listed

    async def test_server(self, url: str) -> dict[str, Outcome]:
        """Run all server scenarios; outcomes by :attr:`Scenario.key`."""
        await self._run("server", "server", "--url", url, *self._required, "-o", "server")
        return self._outcomes("server", "server", prefix="server-")

    async def test_client(self) -> dict[str, Outcome]:
        """Run all client scenarios, all at once."""
        await self._run("client", "client", *_CLIENT, *self._required, "-o", "client")
        return self._outcomes("client", "client")

    async def test_client_alone(self, name: str) -> dict[str, Outcome]:
        """Run one client scenario."""
        folder = f"alone-{name.replace('/', '-')}"
        only = ("--scenario", name, "--spec-version", self.revision, "--force")
        await self._run(folder, "client", *_CLIENT, *only, "-o", folder)
        return self._outcomes("client", folder)

    async def _run(self, log: str, *arguments: str) -> str:
        """Run the suite and keep what it prints; its own exit status knows no baseline."""
        self.results.mkdir(exist_ok=True)
        with trio.fail_after(RUN_SECONDS):
            done = await trio.run_process(
                [node(), "--no-deprecation", str(ENTRY), *arguments],
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=self.results,
            )
        (self.results / f"{log}.log").write_bytes(done.stdout)
        return done.stdout.decode(errors="replace")

    def _outcomes(self, leg: Leg, folder: str, prefix: str = "") -> dict[str, Outcome]:
        root = self.results / folder
        outcomes: dict[str, Outcome] = {}
        for checks in root.rglob("checks.json"):
            name = _STAMP.sub("", str(checks.parent.relative_to(root))).removeprefix(prefix)
            outcome = read_checks(json.loads(checks.read_text()))
            if leg == "client" and outcome.passed and not _finished(checks.parent):
                outcome = Outcome(False, f"{outcome.told}, but the client gave up")
            outcomes[Scenario(self.revision, leg, name).key] = outcome
        return outcomes


def _finished(folder: Path) -> bool:
    """Whether our client came to the end of its part, which the checks do not say."""
    return (folder / "stdout.txt").read_text().rstrip().endswith(FINISHED)


def read_list(text: str, revision: str) -> Iterator[Scenario]:
    """Read what ``conformance list --requirements`` prints.

    First the required scenarios under a heading for each leg, then the unscored ones, each
    with its leg in brackets.
    """
    leg: Leg = "server"
    for line in text.splitlines():
        if line.startswith(("Server scenarios", "Client scenarios")):
            leg = "client" if line.startswith("Client") else "server"
        elif entry := re.fullmatch(r"\s+- (\S+)(?: \[(server|client)\])?", line):
            name, its_leg = entry.groups()
            yield Scenario(revision, cast(Leg, its_leg or leg), name, scored=its_leg is None)


def read_checks(checks: list[dict[str, Any]]) -> Outcome:
    """What the checks of a scenario come to: each holds, and at least one was made.

    A warning is a recommendation of the specification that was not kept: it counts as a failure.
    """
    counts = Counter(cast(str, check["status"]) for check in checks)
    broken = counts["FAILURE"] + counts["WARNING"]
    told = ", ".join(
        f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status]
    )
    return Outcome(broken == 0 and counts["SUCCESS"] > 0, told)
