"""A report that takes a while: a polling state with progress.

Nothing waits in the server between two polls. The client comes back with the sealed state, and
whichever worker it reaches looks at the job. Serve it on stdio with
``python examples/slow_report.py``, or with ``hypercorn -k trio examples.slow_report:app``.
"""

import os
import time
from collections.abc import Callable

from attrs import frozen

from antiphon import Done, Flow, Polling, Progress, Server, http_app, run_stdio


@frozen
class ReportArgs:
    title: str
    pages: int = 12


@frozen
class Report:
    title: str
    pages: int


@frozen
class Press:
    """Prints ten pages a second; a real one would ask a job queue how far it is."""

    clock: Callable[[], float] = time.time

    def printed(self, since: float) -> int:
        return int((self.clock() - since) * 10)


@frozen
class Printing(Polling):
    title: str
    pages: int
    started: float
    printed: int = 0

    def progress(self) -> Progress:
        return Progress(
            self.printed,
            self.pages,
            f"{self.printed} of {self.pages} pages",
            again_in=min(0.25, (self.pages - self.printed) / 10),
        )


@frozen
class SlowReport(Flow[ReportArgs]):
    """Print a report. Takes about a second for ten pages."""

    name = "slow_report"

    press: Press

    async def begin(self, args: ReportArgs) -> Printing:
        return Printing(args.title, args.pages, self.press.clock())

    @Printing.polled
    async def looked_at(self, at: Printing) -> Printing | Done[Report]:
        printed = self.press.printed(at.started)
        if printed < at.pages:
            return Printing(at.title, at.pages, at.started, printed)
        return Done(Report(at.title, at.pages))


server = Server("Press", version="1.0", keys=os.environ.get("ANTIPHON_KEYS", "").split() or None)
server.tool(SlowReport(Press()))
app = http_app(server)

if __name__ == "__main__":
    run_stdio(server)
