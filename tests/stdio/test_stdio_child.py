"""A server as a child process: how it starts, what it says, what stays secret."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Notification
from antiphon.engine.limits import Limits
from antiphon.transports.child import INHERITED, label, open_child
from antiphon.transports.tail import KEPT, LONGEST
from tests.stdio.child_side import SECRET, lost, result, tiny, warnings
from tests.stdio.harness import (
    PYTHONPATH,
    SCRIPTED,
    TINY,
    ignored,
    request,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left_behind")


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


# -- standard error ---------------------------------------------------------------------------


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


# -- secrets ----------------------------------------------------------------------------------


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


async def test_of_two_secrets_that_begin_alike_nothing_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = {"KEY": SECRET, "LONGER": SECRET + "-and-more"}
    async with tiny(env=env, stderr=lambda _: None) as server:
        error = await lost(server, "exit", words=f"{SECRET}-and-more, {SECRET}\n")
    assert error.detail == "[LONGER], [KEY]"


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
