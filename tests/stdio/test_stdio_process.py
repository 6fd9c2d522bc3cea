"""Serving standard input and output: real processes."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import tty
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.stdio.harness import SCRIPTED, call, cancel, line
from tests.stdio.processes import SOON, environment, hear, say, scripted, stop


def ended(process: subprocess.Popen[bytes]) -> tuple[int, list[Any], str]:
    """Exit status, messages and standard error of a process that ends by itself."""
    out, err = process.communicate(timeout=SOON)
    return process.returncode, [json.loads(text) for text in out.splitlines()], err.decode()


# -- handlers and children that print and read ------------------------------------------------


def test_what_a_handler_and_its_children_print_and_read_stays_off_the_stream() -> None:
    with scripted() as process:
        say(process, call(1, "print"), call(2))
        replies = [hear(process), hear(process)]
        # Everything printed could be seen while the server was still running.
        status, rest, errors = ended(process)
    assert {reply["id"] for reply in replies} == {1, 2}
    assert next(r for r in replies if r["id"] == 1)["result"] == {
        "status": 0,
        "cat": 0,
        "read": "",
    }
    assert (status, rest) == (0, [])
    assert "printed by the handler" in errors
    assert "child: " in errors
    assert "written to descriptor 1" in errors


def test_what_is_printed_shows_at_once() -> None:
    with scripted() as process:
        assert process.stderr is not None
        say(process, call(1, "print"))
        assert process.stderr.readline() == b"printed by the handler\n"
        assert hear(process)["id"] == 1


def test_what_was_printed_before_and_not_yet_written_stays_off_the_stream() -> None:
    program = "print('a banner'); from tests.stdio.scripted import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", program],
        input=line(call(1)),
        capture_output=True,
        env=environment(),
        timeout=SOON,
        check=True,
    )
    assert json.loads(process.stdout)["id"] == 1
    assert process.stderr == b"a banner\n"


# -- the end of the input ---------------------------------------------------------------------


def test_requests_of_a_script_are_answered_before_the_process_ends() -> None:
    requests = [call(1), call(2, "sleep", seconds=0.2), call(3)]
    with scripted() as process:
        say(process, *requests)
        stop(process, "end of input")
        status, replies, errors = ended(process)
    assert {reply["id"] for reply in replies} == {1, 2, 3}
    assert (status, errors) == (0, "")


def test_a_parked_call_does_not_outlive_the_grace() -> None:
    with scripted("0.1") as process:
        say(process, call(1, "park"))
        status, replies, errors = ended(process)
    assert (status, replies) == (0, [])
    assert "Traceback" not in errors


# -- a client that is gone --------------------------------------------------------------------


def test_a_client_that_no_longer_reads_ends_the_process_quietly() -> None:
    with scripted() as process:
        say(process, call(1))
        hear(process)
        assert process.stdout is not None
        process.stdout.close()
        say(process, call(2, "park"), call(3))
        status = process.wait(SOON)
        assert process.stderr is not None
        errors = process.stderr.read()
    assert (status, errors) == (0, b"")


# -- every kind of input, its flags, and a prompt end -----------------------------------------

Ends = tuple[int, int]
"""The server's descriptor, and ours."""


@contextmanager
def ends(kind: str, tmp_path: Path) -> Generator[Ends, None, None]:
    with ExitStack() as stack:
        if kind == "pipe":
            theirs, ours = os.pipe()
        elif kind == "socket":
            theirs, ours = (end.detach() for end in socket.socketpair())
        elif kind == "pty":
            ours, theirs = os.openpty()
            tty.setraw(theirs)
        elif kind == "file":
            path = tmp_path / "requests"
            path.write_bytes(line(call(1)) + line(call(2)))
            theirs = os.open(path, os.O_RDONLY)
            ours = os.open(path, os.O_RDONLY)
        else:
            theirs, ours = os.open(os.devnull, os.O_RDWR), os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, theirs)
        stack.callback(os.close, ours)
        yield theirs, ours


def flags(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_GETFL)


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("kind", ["pipe", "socket", "pty"])
def test_an_interrupt_while_idle_ends_the_process_and_leaves_the_flags(
    kind: str, blocking: bool, tmp_path: Path
) -> None:
    with ends(kind, tmp_path) as (theirs, ours):
        os.set_blocking(theirs, blocking)
        before = flags(theirs)
        with scripted(stdin=theirs) as process:
            os.write(ours, line(call(1)))
            assert hear(process)["id"] == 1
            assert flags(theirs) == before  # the very description the server reads from
            process.send_signal(signal.SIGINT)
            status, replies, errors = ended(process)
        assert flags(theirs) == before
    assert (status, replies, errors) == (130, [], "")


@pytest.mark.parametrize("kind", ["file", "null"])
def test_an_input_that_ends_by_itself_ends_the_process(kind: str, tmp_path: Path) -> None:
    with ends(kind, tmp_path) as (theirs, _):
        before = flags(theirs)
        with scripted(stdin=theirs) as process:
            status, replies, errors = ended(process)
        assert flags(theirs) == before
    assert (status, errors) == (0, "")
    assert {reply["id"] for reply in replies} == ({1, 2} if kind == "file" else set())


@pytest.mark.parametrize("kind", ["socket", "pty"])
def test_one_descriptor_can_be_both_input_and_output(kind: str, tmp_path: Path) -> None:
    with ends(kind, tmp_path) as (theirs, ours):
        before = flags(theirs)
        with scripted(stdin=theirs, stdout=theirs) as process:
            os.write(ours, line(call(1, "big", size=50_000)))
            heard = b""
            while not heard.endswith(b"\n"):
                heard += os.read(ours, 65536)
            assert json.loads(heard)["id"] == 1
            assert flags(theirs) == before
            process.send_signal(signal.SIGINT)
            assert process.wait(SOON) == 130
        assert flags(theirs) == before


def test_a_terminal_keeps_its_settings_and_its_reader(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    settings = termios.tcgetattr(theirs)
    with scripted(stdin=theirs) as process:
        os.write(ours, line(call(1)))
        assert hear(process)["id"] == 1
        os.write(ours, b"\x04")  # as a person ends the input
        status, _, errors = ended(process)
    assert (status, errors) == (0, "")
    assert termios.tcgetattr(theirs) == settings
    os.write(ours, b"typed\n")
    assert os.read(theirs, 100) == b"typed\n"
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("method", ["park", "spin", "flood"])
def test_an_interrupt_while_busy_ends_the_process(method: str) -> None:
    with scripted() as process:
        say(process, call(1, method, count=10**9))
        if method == "spin":
            assert process.stderr is not None
            assert process.stderr.readline() == b"computing\n"
        else:
            say(process, call(2))
            while hear(process).get("id") != 2:
                pass
        process.send_signal(signal.SIGINT)
        status, _, errors = ended_anyhow(process)
    assert status == 130
    assert "Traceback" not in errors


def ended_anyhow(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    """As :func:`ended`, where the last line may be cut."""
    out, err = process.communicate(timeout=SOON)
    return process.returncode, out, err.decode()


@pytest.mark.parametrize("how", ["interrupt", "end of input"])
def test_a_client_that_does_not_read_cannot_keep_the_process(how: str) -> None:
    with scripted("0.1") as process:
        say(process, *(call(i, "big", size=100_000) for i in range(20)))
        if how == "interrupt":
            process.send_signal(signal.SIGINT)
        else:
            assert process.stdin is not None
            process.stdin.close()
        process.wait(SOON)


def test_a_regular_file_takes_the_replies(tmp_path: Path) -> None:
    path = tmp_path / "replies"
    with path.open("wb") as file, scripted(stdout=file) as process:
        say(process, call(1), call(2))
        process.communicate(timeout=SOON)
    assert {json.loads(text)["id"] for text in path.read_bytes().splitlines()} == {1, 2}


def test_handlers_that_hold_every_thread_do_not_hold_up_the_input(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    # More than one read, so that the input is still being read when the threads are gone.
    requests = [call(1, "thread"), *(call(i, text="x" * 1000) for i in range(2, 200))]
    path.write_bytes(b"".join(map(line, requests)))
    with path.open("rb") as file, scripted(stdin=file) as process:
        status, replies, _ = ended(process)
    assert status == 0
    assert {reply["id"] for reply in replies} == set(range(1, 200))


# -- concurrency ------------------------------------------------------------------------------


def test_a_client_that_writes_everything_before_it_reads_is_answered() -> None:
    with scripted() as process:
        # Far beyond what both pipes hold.
        say(process, *(call(i, text="x" * 300) for i in range(2000)), cancel("unknown"))
        status, replies, errors = ended(process)
    assert {reply["id"] for reply in replies} == set(range(2000))
    assert (status, errors) == (0, "")


# -- without standard streams -----------------------------------------------------------------


@pytest.mark.parametrize(("closed", "fd"), [("<&-", 0), (">&-", 1)])
def test_a_process_without_input_or_output_says_what_to_do(closed: str, fd: int) -> None:
    process = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *SCRIPTED],
        input=b"" if fd else None,
        capture_output=True,
        env=environment(),
        timeout=SOON,
        check=False,
    )
    assert process.returncode == 1
    assert f"Cannot serve on file descriptor {fd}".encode() in process.stderr


def test_a_process_without_stderr_serves() -> None:
    process = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *SCRIPTED],
        input=line(call(1, "print")),
        capture_output=True,
        env=environment(),
        timeout=SOON,
        check=False,
    )
    assert process.returncode == 0
    assert json.loads(process.stdout)["id"] == 1
