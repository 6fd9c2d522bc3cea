"""Stopping a server on standard input and output: real processes and real signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import AbstractContextManager
from typing import Any

import pytest

from antiphon.engine.jsonrpc import write_message
from tests.engine.subscribing import ended, listen
from tests.stdio.harness import HERE, call, line
from tests.stdio.processes import SOON, hear, say, spawned, stop

LONG = 1000
"""A grace that no test would wait for."""


def started(
    grace: float, *, stdin: Any = subprocess.PIPE, program: str | None = None
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """The program of :mod:`tests.stdio.stoppable`, or another in its place."""
    what = [str(HERE / "stoppable.py")] if program is None else ["-c", program]
    return spawned([sys.executable, *what, str(grace)], stdin=stdin)


def rest(process: subprocess.Popen[bytes]) -> tuple[int, list[Any], str]:
    """Exit status, messages and standard error of a process whose input stays open."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    return process.wait(SOON), [json.loads(text) for text in out.splitlines()], err.decode()


def subscribe(process: subprocess.Popen[bytes], *ids: int) -> None:
    for id in ids:
        say(process, json.loads(write_message(listen(id))))
        assert hear(process)["method"] == "notifications/subscriptions/acknowledged"


def result(id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": ended(id)}


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_subscriptions_end_with_their_results_and_the_process_with_status_0(how: str) -> None:
    with started(LONG) as process:
        subscribe(process, 1, 2)
        stop(process, how)
        status, heard, errors = rest(process)
    assert sorted(heard, key=lambda message: message["id"]) == [result(1), result(2)]
    assert (status, errors) == (0, "")


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_call_under_way_is_answered_within_the_grace(how: str) -> None:
    with started(LONG) as process:
        say(process, call(7, "last"))
        subscribe(process, 1)
        stop(process, how)
        status, heard, errors = rest(process)
    assert heard == [result(1), {"jsonrpc": "2.0", "id": 7, "result": {}}]
    assert (status, errors) == (0, "")


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_call_that_does_not_end_is_cancelled_after_the_grace(how: str) -> None:
    with started(0.1) as process:
        say(process, call(7, "tools/call", name="park"))
        subscribe(process, 1)
        stop(process, how)
        status, heard, errors = rest(process)
    assert status == 0
    assert heard in ([result(1)], [])  # on a machine that is that slow
    assert "0.1 seconds at the end were not enough" in errors
    assert "Traceback" not in errors


def test_second_sigterm_cancels_at_once() -> None:
    with started(LONG) as process:
        say(process, call(7, "tools/call", name="park"))
        subscribe(process, 1)
        process.terminate()
        assert hear(process) == result(1)  # the first one was taken
        process.terminate()
        assert rest(process) == (0, [], "")


def test_nothing_is_read_after_sigterm() -> None:
    with started(LONG) as process:
        say(process, call(7, "tools/call", name="park"))
        subscribe(process, 1)
        process.terminate()
        assert hear(process) == result(1)
        say(process, call(8, "tools/call", name="change"))
        process.terminate()
        assert rest(process) == (0, [], "")


def test_sigterm_while_idle_ends_the_process_on_every_kind_of_input() -> None:
    ours, theirs = socket.socketpair()
    terminal, named = os.openpty()
    try:
        for stdin in (subprocess.PIPE, theirs.fileno(), named):
            with started(LONG, stdin=stdin) as process:
                if stdin == subprocess.PIPE:
                    say(process, call(1))
                else:
                    end = ours.fileno() if stdin == theirs.fileno() else terminal
                    os.write(end, line(call(1)))
                assert hear(process)["id"] == 1
                process.terminate()
                assert rest(process) == (0, [], "")
    finally:
        ours.close()
        theirs.close()
        os.close(terminal)
        os.close(named)


def test_interrupt_ends_the_process_as_ever() -> None:
    with started(LONG) as process:
        subscribe(process, 1)
        process.send_signal(signal.SIGINT)
        status, _, errors = rest(process)
    assert (status, errors) == (130, "")


# -- whose SIGTERM is it ----------------------------------------------------------------------

OWN = """
import os, signal
signal.signal(signal.SIGTERM, {handler})
from tests.stdio.stoppable import main
main()
"""


def test_program_that_handles_sigterm_itself_keeps_its_handler() -> None:
    with started(LONG, program=OWN.format(handler="lambda *_: os._exit(7)")) as process:
        subscribe(process, 1)
        process.terminate()
        assert rest(process) == (7, [], "")


def test_program_that_ignores_sigterm_goes_on() -> None:
    with started(LONG, program=OWN.format(handler="signal.SIG_IGN")) as process:
        subscribe(process, 1)
        process.terminate()
        say(process, call(2, "tools/call", name="change"))
        heard = [hear(process), hear(process)]
        assert [message["id"] for message in heard if "id" in message] == [2]
        stop(process, "end of input")
        assert rest(process) == (0, [result(1)], "")


THREAD = """
import threading
from tests.stdio.stoppable import main
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""


def test_thread_that_cannot_handle_signals_serves_all_the_same() -> None:
    with started(LONG, program=THREAD) as process:
        subscribe(process, 1)
        stop(process, "end of input")
        assert rest(process) == (0, [result(1)], "")
