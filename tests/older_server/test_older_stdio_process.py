"""A parked call of an earlier revision when its server, a real process, is to end."""

from __future__ import annotations

import sys

import pytest

from tests.older_server.desk import initialize
from tests.stdio.harness import call
from tests.stdio.processes import SOON, hear, say, spawned, stop

PROGRAM = (
    "from antiphon import run_stdio; from tests.older_server.asking import make; "
    "run_stdio(make(), grace=1000)"  # which no test would wait for
)


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_call_that_waits_for_an_answer_does_not_hold_the_process_up(how: str) -> None:
    with spawned([sys.executable, "-W", "error", "-c", PROGRAM]) as process:
        greet = call(2, "tools/call", name="greet", arguments={})
        say(process, call(1, "initialize", **initialize()), greet)
        assert hear(process)["result"]["protocolVersion"] == "2025-11-25"
        question = hear(process)
        assert question["method"] == "elicitation/create"
        stop(process, how)
        assert process.wait(SOON) == 0
        assert hear(process)["params"] == {"requestId": question["id"]}
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
