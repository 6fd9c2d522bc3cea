"""The commands as processes with pipes: what they print where, and how they end."""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from antiphon.engine.sealing.keys import KeyRing
from tests.cli.running import (
    WITHOUT_EXTRA,
    Ended,
    call,
    call_at,
    command,
    environment,
    read_until,
    run,
    running,
    served,
)


@asynccontextmanager
async def port_that_says(words: bytes) -> AsyncGenerator[int, None]:
    """A port at which every connection gets these bytes."""

    async def say(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(words)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, say, 0, host="127.0.0.1"))
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


# -- results ----------------------------------------------------------------------------------


async def test_a_result_is_all_that_standard_output_gets(url: str) -> None:
    done = await call_at(url, "types", "whole=3", "ratio=1e3", "on=true", "text=5", "many=[1, 2]")
    assert done == Ended(0, "(3, 1000.0, True, '5', [1, 2])\n", "")


async def test_a_flow_is_answered_from_the_command_line() -> None:
    done = await call("travel", "--answer", "city=Rome")
    assert done == Ended(0, "travelled to it-rom\n", "")


async def test_fields_of_one_name_are_told_apart_by_their_questions(url: str) -> None:
    done = await call_at(url, "marry", "--answer", "bride.name=Ada", "--answer", "groom.name=Bob")
    assert done == Ended(0, "Ada and Bob\n", "")


async def test_json_is_all_that_standard_output_gets(url: str) -> None:
    done = await call_at(url, "register", "--json", "--answer", "name=Ada", "--answer", "age=36",
                      "--answer", "colours=red", "--answer", "colours=blue")  # fmt: skip
    result = json.loads(done.out)
    assert result["structuredContent"]["colours"] == ["red", "blue"]
    assert result["structuredContent"]["weight"] == 61.5
    assert (done.status, done.err) == (0, "")


async def test_arguments_are_one_object_where_that_is_easier(url: str) -> None:
    assert (await call_at(url, "types", "--arg-json", '{"whole": 1}', "text=x")).out.startswith(
        "(1, "
    )


async def test_progress_is_told_in_lines_on_standard_error() -> None:
    done = await call("count")
    assert done == Ended(0, "3\n", "1/3 step 1\n2/3 step 2\n3/3 step 3\n")


async def test_an_answer_that_was_never_asked_for_is_told(url: str) -> None:
    done = await call_at(url, "travel", "--answer", "city=Rome", "--answer", "size=5")
    assert done == Ended(0, "travelled to it-rom\n", "--answer size=… was never asked for\n")


async def test_a_hostile_server_moves_no_terminal(url: str) -> None:
    shown = "redesrever[bold]bold[/bold]"
    done = await call_at(url, "attack", "--answer", "trap=x")
    assert done == Ended(0, f"{shown}\n", "")
    asked = await call_at(url, "attack")
    assert asked.err.startswith(f"Tester asks: {shown}\n")
    listed = await run(*served("list"))
    assert f"    {shown}\n" in listed.out
    for text in (asked.err, listed.out):
        assert text.replace("\n", "").isprintable()


async def test_letters_that_the_encoding_lacks_are_written_as_escapes() -> None:
    words = served("call", "types", "whole=1", "text=ü")
    done = await run(*words, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.out == "(1, 0.5, False, '\\xfc', None)\n"


# -- exit statuses ----------------------------------------------------------------------------


async def test_a_tool_that_fails_is_told_on_standard_error() -> None:
    done = await call("fail")
    assert done == Ended(1, "", "The tool failed: it was not to be\n")


async def test_a_tool_that_fails_is_a_result_in_json(url: str) -> None:
    done = await call_at(url, "fail", "--json")
    assert json.loads(done.out)["isError"] is True
    assert (done.status, done.err) == (1, "")


async def test_a_wrong_command_line_is_told_in_one_line() -> None:
    done = await run("call")
    assert done == Ended(2, "", "antiphon: Which server? TARGET is a URL or a command in quotes\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["types", "whole=1.5"], "Argument 'whole' must be a whole number"),
        (["trevel"], "Tester has no tool 'trevel'; do you mean travel?"),
    ],
)
async def test_what_does_not_fit_the_tool_is_told_before_it_is_called(
    words: list[str], told: str, url: str
) -> None:
    assert await call_at(url, *words) == Ended(2, "", f"antiphon: {told}\n")


async def test_a_question_that_nobody_can_answer_has_a_status_of_its_own(url: str) -> None:
    done = await call_at(url, "travel")
    assert (done.status, done.out) == (3, "was told no\n")
    assert "answer it by --answer city=de-ber|fr-par|it-rom\n" in done.err


async def test_what_is_declined_on_purpose_is_the_result_s_own_affair(url: str) -> None:
    assert await call_at(url, "travel", "--decline") == Ended(0, "was told no\n", "")


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/mcp", "/no/such/program"])
async def test_a_server_that_is_not_there_is_told_in_one_line(target: str) -> None:
    done = await run("list", target)
    assert (done.status, done.out) == (4, "")
    assert done.err.count("\n") == 1


async def test_a_server_that_dies_is_told_with_its_last_words() -> None:
    done = await call("die")
    assert (done.status, done.out) == (4, "")
    assert done.err.splitlines()[0] == "the last words"
    assert done.err.splitlines()[-1].endswith("the last words")


async def test_a_question_for_a_model_cannot_be_answered_at_a_terminal(url: str) -> None:
    done = await call_at(url, "think")
    assert (done.status, done.out) == (3, "")
    assert "sampling" in done.err
    assert done.err.endswith("A terminal answers forms and pages, and nothing else\n")


async def test_a_command_that_dies_at_once_is_not_started_over_and_over(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("print(nothing)")
    words = ["list", "--mode", "2026-07-28", "--", sys.executable, str(tmp_path / "broken.py")]
    done = await run(*words)
    assert (done.status, done.out) == (4, "")
    assert done.err.count("Traceback") == 1
    assert "NameError" in done.err.splitlines()[-1]


async def test_arguments_that_are_missing_are_the_server_s_to_refuse(url: str) -> None:
    done = await call_at(url, "types")
    assert done.status in (1, 5)
    assert "whole" in done.err


async def test_a_server_that_is_none_is_an_error_of_the_protocol() -> None:
    async with port_that_says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno") as port:
        done = await run("list", f"http://127.0.0.1:{port}/")
    assert (done.status, done.out) == (5, "")
    assert done.err.count("\n") == 1


async def test_a_deadline_ends_everything() -> None:
    done = await call("wait", "--deadline", "2")
    assert (done.status, done.out) == (6, "")
    assert "antiphon: No result within the deadline, 2 s" in done.err


async def test_a_request_without_a_reply_ends_too() -> None:
    done = await call("wait", "--timeout", "1")
    assert done.status == 6
    assert "leg_timeout" in done.err


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
async def test_a_signal_ends_a_call_in_good_order(number: signal.Signals, status: int) -> None:
    async with running(*served("call", "wait")) as process:
        await read_until(process.stderr, "waiting\n")
        process.send_signal(number)
        assert await process.wait() == status
        assert process.stderr is not None
        assert await process.stderr.receive_some() == b""


async def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with trio.fail_after(60):
        done = await trio.run_process(
            command(*served("list")),
            stdout=writing,
            capture_stderr=True,
            check=False,
            env=environment(),
        )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


# -- other commands ---------------------------------------------------------------------------


async def test_tools_are_listed() -> None:
    done = await run(*served("list"))
    assert (done.status, done.err) == (0, "")
    assert "types\n    Say what came.\n    whole=<integer>\n" in done.out
    tools = json.loads((await run(*served("list", "--json"))).out)
    assert [tool["name"] for tool in tools][:2] == ["travel", "register"]
    assert tools[0]["inputSchema"]["type"] == "object"


async def test_a_key_is_all_that_keygen_prints() -> None:
    first, second = await run("keygen"), await run("keygen")
    assert first != second
    for done in (first, second):
        assert (done.status, done.err) == (0, "")
        (key,) = done.out.splitlines()
        assert KeyRing([key])


async def test_debug_adds_a_traceback(url: str) -> None:
    plain, debug = await call_at(url, "trevel"), await call_at(url, "trevel", "--debug")
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert debug.err.splitlines()[-1] == plain.err.splitlines()[-1]


async def test_what_needs_no_terminal_needs_no_extra() -> None:
    for words in (["keygen"], served("list"), served("call", "count")):
        assert (await run(*words, code=WITHOUT_EXTRA)).status == 0
