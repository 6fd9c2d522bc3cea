"""A server as a child process: how it starts, what it says, how it dies and ends."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.exchange import ClientTransport, TransportLost
from antiphon.engine.jsonrpc import Notification, Request, Success
from antiphon.engine.limits import Limits
from antiphon.transports.child import INHERITED, Restarts, label, open_child
from antiphon.transports.tail import KEPT, LONGEST
from tests.stdio.harness import (
    PYTHONPATH,
    SCRIPTED,
    TINY,
    cancelled_at,
    children,
    descriptors,
    ignored,
    request,
)

SECRET = "s3cret-value-of-a-token"

tiny = partial(open_child, TINY, close_timeout=5.0)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = descriptors(), children()
    yield
    assert (descriptors(), children()) == before


async def result(transport: ClientTransport, method: str, id: int = 1, **params: Any) -> Any:
    reply = await transport.exchange(request(id, method, **params), ignored)
    assert isinstance(reply, Success)
    assert reply.id == id
    return reply.result


async def lost(
    transport: ClientTransport, method: str, id: int = 1, **params: Any
) -> TransportLost:
    with pytest.raises(TransportLost) as caught:
        await transport.exchange(request(id, method, **params), ignored)
    return caught.value


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


# -- starting ---------------------------------------------------------------------------------


async def test_a_child_answers(caplog: pytest.LogCaptureFixture) -> None:
    async with tiny() as server:
        assert await result(server, "echo", text="ä\u2028") == {"params": {"text": "ä\u2028"}}
        assert await result(server, "echo", 2) == {"params": {}}
    assert warnings(caplog) == []


async def test_a_child_gets_a_bare_environment_and_what_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("LC_TIME", "C")
    async with tiny(env={"GIVEN": "1", "TERM": "dumb"}, cwd=tmp_path) as server:
        found = await result(server, "environment")
    names = set(found["names"]) - {"LC_CTYPE"}  # which Python sets for itself
    assert names <= INHERITED | {"LC_TIME", "GIVEN"}
    assert names >= {"PATH", "GIVEN", "LC_TIME", "TERM"}
    assert found["directory"] == str(tmp_path)


async def test_an_interrupt_from_the_keyboard_does_not_reach_the_child() -> None:
    async with tiny() as server:
        found = await result(server, "pid")
        assert found["session"] == found["pid"] != os.getsid(0)


async def test_the_child_never_reads_our_input(monkeypatch: pytest.MonkeyPatch) -> None:
    source, sink = os.pipe()
    kept = os.dup(0)
    os.dup2(source, 0)
    try:
        os.write(sink, b"ours\n")
        async with tiny() as server:
            await result(server, "echo")
        assert os.read(0, 100) == b"ours\n"
    finally:
        os.dup2(kept, 0)
        for fd in (source, sink, kept):
            os.close(fd)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["/no/such/program", "--flag"], "No such file or directory"),
        ([str(Path(__file__))], "Permission denied"),
        ([str(Path(__file__).parent)], "Permission denied"),
    ],
)
async def test_a_command_that_cannot_start_says_why_and_keeps_secrets(
    command: list[str], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(TransportLost) as caught:
        async with open_child(command, env={"TOKEN": SECRET}):
            pytest.fail("it did start")
    assert not caught.value.sent
    assert command[0] in str(caught.value)
    assert reason in str(caught.value)
    assert SECRET not in "".join(map(repr, _chain(caught.value))) + caplog.text


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


async def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TransportLost, match="gone"):
        async with tiny(cwd=tmp_path / "gone"):
            pytest.fail("it did start")


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ("python server.py", {}),
        ([], {}),
        (TINY, {"TOKEN": SECRET + "\0"}),
        (TINY, {"A=B": SECRET}),
        (TINY, {"NUMBER": 7}),
    ],
)
async def test_a_command_or_environment_that_is_none_is_our_callers_mistake(
    command: Any, env: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        async with open_child(command, env=env):
            pytest.fail("it did start")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["/usr/bin/python3", "server.py", "--token", SECRET], "/usr/bin/python3 server.py"),
        (["python", "-m", "package.server", SECRET], "python -m package.server"),
        (["npx", "-y", "@scope/server", SECRET], "npx -y @scope/server"),
        (["env", f"TOKEN={SECRET}", "server"], "env"),
        (["docker", "run", "-e", f"TOKEN={SECRET}"], "docker run"),
        (["server", f"--token={SECRET}"], "server"),
        (["server", "--token", SECRET], "server"),
        (["python", "-c", "print(1)" * 20], "python -c"),
    ],
)
def test_a_command_is_named_without_what_may_be_a_secret(command: list[str], name: str) -> None:
    assert label(command) == name


# -- R49: standard error ----------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "e"])
async def test_standard_error_never_holds_up_the_child(end: str) -> None:
    lines: list[str] = []
    async with tiny(stderr=lines.append) as server:
        await result(server, "shout", bytes=256 * 1024, end=end)
    assert sum(map(len, lines)) == 256 * (1023 if end == "\n" else 1024)
    assert len(lines) == (256 if end == "\n" else 256 * 1024 // LONGEST)
    assert max(map(len, lines)) <= LONGEST


async def test_standard_error_goes_to_ours_by_default(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with tiny() as server:
        error = await lost(server, "exit", words="first\n\nlast")
    assert capsys.readouterr().err == "first\n\nlast\n"
    assert error.detail == "first\n\nlast"


async def test_a_callback_that_fails_does_not_stop_the_reading(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: str) -> None:
        raise ZeroDivisionError

    async with tiny(stderr=fail) as server:
        await result(server, "shout", bytes=100 * 1024, end="e")
    assert "callback for the standard error" in caplog.text


async def test_the_end_of_standard_error_explains_the_failure_within_bounds() -> None:
    words = "beginning\n" + "line\n" * 20_000 + "the reason"
    async with tiny(stderr=lambda _: None) as server:
        error = await lost(server, "exit", words=words)
    assert error.detail.endswith("line\nthe reason")
    assert error.detail.startswith("line\n")
    assert KEPT - 10 < len(error.detail) <= KEPT


# -- dying ------------------------------------------------------------------------------------


async def test_a_child_that_exits_ends_its_exchanges_with_status_and_last_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcomes: list[TransportLost] = []

    async def ask(id: int) -> None:
        outcomes.append(await lost(server, "ignored", id))

    async with tiny(stderr=lambda _: None) as server, trio.open_nursery() as nursery:
        for id in range(2, 5):
            nursery.start_soon(ask, id)
        await trio.testing.wait_all_tasks_blocked()
        outcomes.append(await lost(server, "exit", words="Traceback: it broke\n", status=3))
    assert len(outcomes) == 4
    for error in outcomes:
        assert error.sent
        assert error.detail == "Traceback: it broke"
        assert "tiny.py exited with status 3; the server may have the request" in str(error)
    assert len(warnings(caplog)) == 1


async def test_a_killed_child_is_told_by_its_signal() -> None:
    async with tiny() as server:
        error = await lost(server, "kill")
    assert error.sent
    assert "was killed by SIGKILL" in str(error)


async def test_a_last_reply_is_taken_before_the_death_is_told() -> None:
    async with tiny() as server:
        assert await result(server, "answer_and_exit") == {"last": True}


async def test_a_child_that_only_closes_its_output_is_stopped_and_told() -> None:
    async with tiny(close_timeout=0.1) as server:
        error = await lost(server, "mute")
    assert "closed its output without exiting, and was stopped" in str(error)
    assert error.sent


async def test_a_request_that_a_child_cannot_read_any_more_was_not_sent() -> None:
    outcomes: dict[str | int, TransportLost] = {}
    announced = trio.Event()

    async with tiny(close_timeout=0.1) as server, trio.open_nursery() as nursery:

        async def ask(each: Request) -> None:
            with pytest.raises(TransportLost) as caught:
                await server.exchange(each, lambda _: announced.set())
            outcomes[each.id] = caught.value

        nursery.start_soon(ask, request(1, "stop_reading"))
        await announced.wait()
        nursery.start_soon(ask, request(2, "echo", text="x" * 1_000_000))
    assert outcomes[1].sent
    assert not outcomes[2].sent
    assert "the request was not sent" in str(outcomes[2])


async def test_a_request_that_was_cut_by_the_death_was_not_sent() -> None:
    outcomes: dict[int, TransportLost] = {}

    async def ask(id: int, method: str) -> None:
        outcomes[id] = await lost(server, method, id, text="x" * 500_000 if id > 2 else "")

    async with tiny() as server, trio.open_nursery() as nursery:
        pid = (await result(server, "pid"))["pid"]
        nursery.start_soon(ask, 2, "stall")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, 3, "echo")  # does not fit into the pipe
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, 4, "echo")  # waits for room
        await trio.testing.wait_all_tasks_blocked()
        os.kill(pid, signal.SIGKILL)
    assert {id: error.sent for id, error in outcomes.items()} == {2: True, 3: False, 4: False}


async def test_a_child_of_the_child_that_holds_the_pipes_delays_nothing_for_long() -> None:
    async with tiny() as server:
        group = (await result(server, "pid"))["pid"]
        with trio.fail_after(15):
            error = await lost(server, "leave_a_child", 2)
        assert "exited with status 0" in str(error)
    os.killpg(group, signal.SIGKILL)


# -- starting again ---------------------------------------------------------------------------


async def test_the_next_request_finds_a_fresh_child_and_nothing_is_sent_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with tiny(stderr=lambda _: None) as server:
        first = await result(server, "pid")
        await lost(server, "kill", 2)
        second = await result(server, "pid", 3)
        assert (await result(server, "seen", 4))["seen"] == [["pid", {}], ["seen", {}]]
    assert first["pid"] != second["pid"]
    assert "is started again" in caplog.text


async def test_many_requests_at_once_start_one_child() -> None:
    pids: set[int] = set()

    async def ask(id: int) -> None:
        pids.add((await result(server, "pid", id))["pid"])

    async with tiny() as server:
        await lost(server, "kill")
        async with trio.open_nursery() as nursery:
            for id in range(10):
                nursery.start_soon(ask, id)
    assert len(pids) == 1


async def test_a_child_that_keeps_dying_is_not_started_for_ever() -> None:
    async with tiny(stderr=lambda _: None) as server:
        for id in range(len(Restarts().delays) + 1):
            error = await lost(server, "exit", id, words="no key given\n")
            assert error.sent
        error = await lost(server, "echo", 99)
    assert not error.sent
    assert "has died 4 times within 30 seconds and is not started again for now" in str(error)
    assert error.detail == "no key given"


def test_restarts_come_later_and_later_and_then_not_until_the_window_has_passed() -> None:
    restarts = Restarts(delays=(0.0, 1.0, 5.0), window=60.0)
    assert [restarts.delay(now) for now in (0.0, 10.0, 20.0, 30.0, 59.9)] == [0, 1, 5, None, None]
    assert restarts.delay(60.0) == 5.0
    assert restarts.delay(60.0) is None
    assert [restarts.delay(now) for now in (200.0, 201.0)] == [0, 1]


async def test_after_the_block_nothing_is_started() -> None:
    async with tiny() as server:
        pass
    with pytest.raises(UsageError, match="is closed"):
        await server.exchange(request(1), ignored)


async def test_a_child_started_while_the_block_is_left_is_seen_out() -> None:
    async def ask() -> None:
        with pytest.raises((UsageError, TransportLost)):
            await server.exchange(request(2), ignored)

    for waits in range(1, 8):
        async with trio.open_nursery() as nursery, tiny() as server:
            await lost(server, "kill")
            nursery.start_soon(ask)
            for _ in range(waits):
                await trio.testing.wait_all_tasks_blocked()


# -- ending -----------------------------------------------------------------------------------


async def test_closing_its_input_is_enough_for_a_child_that_listens() -> None:
    start = time.monotonic()
    async with tiny(close_timeout=60) as server:
        await result(server, "echo")
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("ignored_signal", ["nothing", "SIGTERM"])
async def test_a_child_that_ignores_the_end_is_terminated_and_then_killed(
    ignored_signal: str,
) -> None:
    async with tiny(close_timeout=0.1, terminate_timeout=0.1) as server:
        pid = (await result(server, "pid"))["pid"]
        if ignored_signal == "SIGTERM":
            await result(server, "deafen", 2)
        else:
            with trio.move_on_after(0.1):
                await result(server, "stall", 2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_child_is_seen_out_under_cancellation_and_with_an_exception() -> None:
    pids: list[int] = []
    with trio.move_on_after(60) as scope:
        async with tiny(close_timeout=0.1, terminate_timeout=0.1) as server:
            pids.append((await result(server, "pid"))["pid"])
            await result(server, "deafen", 2)
            scope.cancel()
            await trio.sleep_forever()

    async def fail() -> None:
        async with tiny() as server:
            pids.append((await result(server, "pid"))["pid"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_the_childs_own_children_are_stopped_with_it() -> None:
    shell = ["/bin/sh", "-c", 'trap "" TERM; "$@"; true', "sh", *TINY]
    async with open_child(shell, close_timeout=0.1, terminate_timeout=0.1) as server:
        pid = (await result(server, "pid"))["pid"]
        await result(server, "deafen", 2)
    with trio.fail_after(10):
        await end_of(pid)


async def end_of(pid: int) -> None:
    """Wait for a process that is not our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await trio.lowlevel.wait_readable(fd)
    finally:
        os.close(fd)


# -- cancellation at every await --------------------------------------------------------------


async def test_cancelling_at_any_await_leaves_no_task_descriptor_or_child_behind() -> None:
    async def work() -> None:
        async with open_child(TINY, close_timeout=0.2, terminate_timeout=0.2) as server:
            await result(server, "echo", 1, text="x" * 300_000)
            await lost(server, "kill", 2)
            await result(server, "echo", 3)

    tasks = trio.lowlevel.current_statistics().tasks_living
    before = descriptors(), children()
    for step in range(1, 100):
        over = await cancelled_at(step, work)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        assert (descriptors(), children()) == before
        if over:
            break
    else:
        pytest.fail("the work never came to its end")
    assert step > 8


async def test_an_exchange_cancelled_at_any_await_leaves_the_connection_usable() -> None:
    async with tiny() as server:
        for step in range(1, 50):
            work = partial(result, server, "echo", step, text="x" * 300_000)
            if await cancelled_at(step, work):
                break
        else:
            pytest.fail("the work never came to its end")
        assert await result(server, "echo", 1000) == {"params": {}}
    assert step > 1


# -- what it says -----------------------------------------------------------------------------


async def test_progress_and_garbage_of_a_real_process(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Notification] = []
    async with tiny() as server:
        steps = request(1, "steps", count=500, _meta={"progressToken": "t"})
        await server.exchange(steps, heard.append)
        with trio.move_on_after(1):
            await server.exchange(request(2, "raw", text="DEBUG: \u2028 noise\n"), ignored)
        await result(server, "echo", 3)
    assert [n.params["progress"] for n in heard] == list(range(500))
    assert "DEBUG: " in caplog.text


@pytest.mark.parametrize("size", [129 * 1024, 3 * 1024 * 1024])
async def test_a_long_reply_is_taken_whole(size: int) -> None:
    around = ['{"jsonrpc":"2.0","id":1,"result":{"text":"', '"}}']
    async with tiny() as server:
        found = await result(server, "huge", bytes=size, around=around)
    assert len(found["text"]) == size


async def test_a_reply_beyond_the_limit_ends_its_request_and_the_next_is_served() -> None:
    around = ['{"jsonrpc":"2.0","id":1,"result":{"text":"', '"}}']
    async with tiny(limits=Limits(message_bytes=100_000)) as server:
        with pytest.raises(InvalidReply, match="limit message_bytes is 100000"):
            await result(server, "huge", bytes=1024 * 1024, around=around)
        await result(server, "echo", 2)


async def test_a_request_larger_than_every_buffer_gets_through() -> None:
    async with tiny() as server:
        text = "x" * 2_000_000
        assert await result(server, "echo", text=text) == {"params": {"text": text}}


# -- R57: secrets -----------------------------------------------------------------------------


async def test_a_given_secret_appears_in_no_error_and_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    errors: list[BaseException] = []
    async with tiny(env={"TOKEN": SECRET}, stderr=lambda _: None) as server:
        with trio.move_on_after(0.5):
            await server.exchange(request(1, "raw", text="x" * 190 + SECRET + "\n"), ignored)
        errors.append(await lost(server, "exit", 2, words=f"cannot log in with {SECRET}\n"))
        for id in range(3, 7):
            errors.append(await lost(server, "exit", id, words=SECRET))
        assert SECRET not in repr(vars(server))
    told = "".join(f"{error} {error!r}" for error in errors)
    assert "cannot log in with [TOKEN]" in told
    assert SECRET not in told
    assert SECRET not in caplog.text
    assert SECRET[:10] not in caplog.text


# -- both ends --------------------------------------------------------------------------------


async def test_a_thousand_calls_at_once_between_both_real_ends() -> None:
    found: dict[int, Any] = {}

    async def ask(id: int) -> None:
        found[id] = await result(server, "echo", id, n=id)

    async with open_child(SCRIPTED, env=PYTHONPATH, close_timeout=20) as server:
        async with trio.open_nursery() as nursery:
            for id in range(1000):
                nursery.start_soon(ask, id)
        with trio.move_on_after(0.1):
            await result(server, "park", 5000)
        heard: list[Notification] = []
        flood = request("f", "flood", count=5000, _meta={"progressToken": "f"})
        await server.exchange(flood, heard.append)
    assert found == {id: {"params": {"n": id}} for id in range(1000)}
    assert [n.params["progress"] for n in heard] == list(range(5000))


async def test_a_program_that_is_no_server_at_all() -> None:
    with pytest.raises(TransportLost) as caught:
        async with open_child([sys.executable, "-S", "-c", "print('hello')"]) as server:
            await result(server, "echo")
    assert "exited with status 0" in str(caught.value) or not caught.value.sent
