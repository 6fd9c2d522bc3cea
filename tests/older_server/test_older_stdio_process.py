"""A parked call of an earlier revision when its server, a real process, is to end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.older_server.desk import initialize
from tests.stdio.harness import call, environment, line

SOON = 20
"""Seconds within which a process must have ended; far more than it takes."""

PROGRAM = (
    "from antiphon import run_stdio; from tests.older_server.asking import make; "
    "run_stdio(make(), grace=1000)"  # which no test would wait for
)


@contextmanager
def started() -> Generator[subprocess.Popen[bytes], None, None]:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def hear(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_call_that_waits_for_an_answer_does_not_hold_the_process_up(how: str) -> None:
    with started() as process:
        assert process.stdin is not None
        process.stdin.write(line(call(1, "initialize", **initialize())))
        process.stdin.write(line(call(2, "tools/call", name="greet", arguments={})))
        process.stdin.flush()
        assert hear(process)["result"]["protocolVersion"] == "2025-11-25"
        question = hear(process)
        assert question["method"] == "elicitation/create"
        if how == "SIGTERM":
            process.terminate()
        else:
            process.stdin.close()
            process.stdin = None
        assert process.wait(SOON) == 0
        assert hear(process)["params"] == {"requestId": question["id"]}
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
