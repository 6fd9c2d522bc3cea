"""``antiphon serve --http --workers N``: several processes behind one address."""

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
import trio

from antiphon import (
    Accept,
    AntiphonError,
    Asked,
    ServerError,
    TransportLost,
    generate_key,
    open_client,
)
from antiphon.engine.errors import CallError
from antiphon.engine.jsonrpc import Success, write_message
from tests.cli.running import ROOT, at_terminal, run, running
from tests.cli.supervised import Lingering, Supervisor, configure, lingering, supervising
from tests.engine.subscribing import acknowledged, ended_gracefully, listen
from tests.http_server.scripted import Answer, head_of
from tests.http_server.serving import connected

KEYS = [generate_key()]


async def said(supervisor: Supervisor) -> str:
    async with open_client(supervisor.url) as client:
        while True:
            try:
                return (await client.call_tool("said")).text
            except TransportLost as lost:
                # A worker that stops closes connections that it has only just accepted.
                if not lost.sent:
                    raise


async def see_refusal(supervisor: Supervisor) -> None:
    """Wait until nobody listens any more: that the signal has come."""
    while True:
        try:
            stream = await trio.open_tcp_stream("127.0.0.1", supervisor.port)
        except OSError:
            return
        await stream.aclose()
        await trio.sleep(0.02)


async def call_linger(supervisor: Supervisor, place: Lingering, results: list[object]) -> None:
    async with open_client(supervisor.url) as client:
        try:
            results.append((await client.call_tool("linger", {"port": place.port})).text)
        except AntiphonError as error:
            results.append(error)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# -- deaths -----------------------------------------------------------------------------------


async def test_a_worker_that_is_killed_is_replaced_and_the_address_stays(tmp_path: Path) -> None:
    async with supervising(tmp_path, KEYS) as supervisor:
        victim, survivor = supervisor.pids
        os.kill(victim, signal.SIGKILL)
        await supervisor.see(f"Worker {victim} was killed by SIGKILL; another one starts now\n")
        assert await said(supervisor) == "one"
        await supervisor.see(">\n")
        os.kill(survivor, signal.SIGKILL)
        await supervisor.see(f"Worker {survivor} was killed by SIGKILL")
        assert await said(supervisor) == "one"
        supervisor.process.send_signal(signal.SIGTERM)
        assert await supervisor.see_end() == 0


async def test_no_worker_outlives_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    async with supervising(tmp_path, KEYS) as supervisor:
        supervisor.process.kill()
        # Standard error ends when the last of them does.
        assert await supervisor.see_end() == -signal.SIGKILL
        assert "Traceback" not in supervisor.text


async def test_a_worker_that_is_still_importing_does_not_outlive_it_either(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "import sys, threading\n"
        "print('<imported>', file=sys.stderr, flush=True)\n"
        "threading.Event().wait()\n"
    )
    words = ("serve", "endless:server", "--http", "--bind", "127.0.0.1:0", "--workers", "2")
    async with running(*words, cwd=tmp_path) as process:
        supervisor = Supervisor(process, tmp_path)
        await supervisor.see("<imported>")
        process.kill()
        await supervisor.see_end()


# -- what cannot be served --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "status", "told"),
    [
        ("import not_there", 2, "faulty cannot be imported: ModuleNotFoundError"),
        ("", 2, "faulty has no 'server'"),
        ("import os; os._exit(7)", 70, "exited with status 7 before it served"),
        ("from antiphon import Server; server = Server('S')", 2, "antiphon keygen"),
    ],
)
async def test_what_no_worker_can_serve_ends_the_supervisor_in_one_line(
    tmp_path: Path, source: str, status: int, told: str
) -> None:
    (tmp_path / "faulty.py").write_text(source)
    words = ("--http", "--bind", "127.0.0.1:0", "--workers", "3")
    done = await run("serve", "faulty:server", *words, cwd=tmp_path)
    assert (done.status, done.out) == (status, "")
    assert told in done.err
    assert (done.err.startswith("antiphon: "), done.err.count("\n")) == (True, 1)


async def test_an_address_that_is_taken_is_told_before_a_worker_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        done = await run(
            "serve", "tests.cli.served:server", "--http", "--bind", bind, "--workers", "2"
        )
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith(f"antiphon: Cannot serve at {bind}: ")


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("bind", ["[::1]:0", "unix:here.sock"])
async def test_other_addresses_are_served_too(tmp_path: Path, bind: str, workers: str) -> None:
    if bind.startswith("[") and not _speaks_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    words = ("serve", f"{ROOT / 'tests/cli/served.py'}:make", "--http", "--bind", bind)
    # A relative path of a Unix socket, for an absolute one may be too long.
    async with running(*words, "--workers", workers, cwd=tmp_path) as process:
        supervisor = Supervisor(process, tmp_path)
        await supervisor.see("/mcp")
        if bind.startswith("["):
            async with open_client(supervisor.url) as client:
                assert await client.list_tools()
        else:
            assert "at http://unix:here.sock/mcp" in supervisor.text
            assert (tmp_path / "here.sock").is_socket()
        process.send_signal(signal.SIGTERM)
        assert await supervisor.see_end() == 0


def _speaks_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


# -- the end ----------------------------------------------------------------------------------

some_workers = pytest.mark.parametrize("workers", [1, 2])


@pytest.mark.parametrize(
    ("workers", "number", "status"),
    [(1, signal.SIGTERM, 0), (2, signal.SIGTERM, 0), (2, signal.SIGINT, 130)],
)
async def test_a_call_that_is_under_way_may_end_when_a_signal_comes(
    tmp_path: Path, workers: int, number: signal.Signals, status: int
) -> None:
    results: list[object] = []
    async with (
        supervising(tmp_path, KEYS, "--grace", "600", workers=workers) as supervisor,
        lingering() as place,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call_linger, supervisor, place, results)
        async with place.until_released():
            before = supervisor.text
            supervisor.process.send_signal(number)
            await see_refusal(supervisor)
        assert await supervisor.see_end() == status
        assert supervisor.text == before
        assert not any(map(is_there, supervisor.pids))
    assert results == ["released"]


@some_workers
async def test_a_call_that_outlasts_the_grace_is_cancelled(tmp_path: Path, workers: int) -> None:
    results: list[Any] = []
    async with (
        supervising(tmp_path, KEYS, "--grace", "0", workers=workers) as supervisor,
        lingering() as place,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call_linger, supervisor, place, results)
        async with place.until_released() as stream:
            before = supervisor.text
            supervisor.process.send_signal(signal.SIGTERM)
            assert await stream.receive_some() == b"", "the handler has closed it"
        assert await supervisor.see_end() == 0
        assert supervisor.text == before
    assert isinstance(results[0], CallError)


@some_workers
async def test_a_second_signal_insists(tmp_path: Path, workers: int) -> None:
    results: list[Any] = []
    async with (
        supervising(tmp_path, KEYS, "--grace", "600", workers=workers) as supervisor,
        lingering() as place,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call_linger, supervisor, place, results)
        async with place.until_released():
            supervisor.process.send_signal(signal.SIGINT)
            await see_refusal(supervisor)
            supervisor.process.send_signal(signal.SIGINT)
            assert await supervisor.see_end() == 130
            assert not any(map(is_there, supervisor.pids))
    assert isinstance(results[0], CallError)


@some_workers
async def test_a_subscription_ends_with_its_result_and_holds_nobody_up(
    tmp_path: Path, workers: int
) -> None:
    request, answer = listen(1), Answer()
    async with (
        supervising(tmp_path, KEYS, "--grace", "600", workers=workers) as supervisor,
        connected(supervisor.port) as client,
    ):
        body = write_message(request)
        await client.send_head([*head_of(request), (b"content-length", b"%d" % len(body))])
        await client.send_body(body)
        await client.receive_chunk(answer)
        assert answer.messages == [acknowledged(1, toolsListChanged=True)]
        supervisor.process.send_signal(signal.SIGTERM)
        while not answer.ended:
            await client.receive_event(answer)
        assert await supervisor.see_end() == 0
    last = answer.messages[-1]
    assert isinstance(last, Success)
    assert ended_gracefully(last.result, 1)


async def test_a_closed_terminal_ends_it() -> None:
    code = (
        "import os, sys\n"
        "os.login_tty(os.dup(0))\n"
        "from antiphon.transports.cli import main\n"
        "sys.exit(main())"
    )
    words = ("serve", "tests.cli.served:server", "--http", "--bind", "127.0.0.1:0")
    async with at_terminal(*words, "--workers", "2", code=code) as terminal:
        await terminal.see("by 2 workers")
        await terminal.keyboard.aclose()
        assert await terminal.process.wait() == 0


# -- renewal ----------------------------------------------------------------------------------


async def test_hangup_renews_all_workers_while_calls_go_on(tmp_path: Path) -> None:
    results: list[object] = []
    async with (
        supervising(tmp_path, KEYS) as supervisor,
        lingering() as place,
        trio.open_nursery() as nursery,
    ):
        former = supervisor.pids
        nursery.start_soon(call_linger, supervisor, place, results)
        async with place.until_released():
            configure(supervisor.config, "two", KEYS)
            supervisor.process.send_signal(signal.SIGHUP)
            while await said(supervisor) == "one":
                pass
        await supervisor.see("All 2 workers are new\n")
        assert not any(map(is_there, former))
        assert await said(supervisor) == "two"
        supervisor.process.send_signal(signal.SIGTERM)
        assert await supervisor.see_end() == 0
    assert results == ["released"]


async def test_hangup_with_a_fault_in_the_module_leaves_what_serves(tmp_path: Path) -> None:
    async with supervising(tmp_path, KEYS) as supervisor:
        configure(supervisor.config, "two", ["too-short"])
        supervisor.process.send_signal(signal.SIGHUP)
        await supervisor.see("The renewal has ended, as a new worker cannot start: ")
        assert await said(supervisor) == "one"
        assert all(map(is_there, supervisor.pids[:2]))


async def test_hangup_reads_new_keys_and_open_calls_go_on(tmp_path: Path) -> None:
    old, new = generate_key(), generate_key()
    async with (
        supervising(tmp_path, [old]) as supervisor,
        open_client(supervisor.url) as client,
    ):
        conversation, forgotten = (client.conversation("paint") for _ in range(2))
        for one in (conversation, forgotten):
            assert isinstance(await one.advance(), Asked)
        for keys in ([old, new], [new, old]):
            configure(supervisor.config, "next", keys)
            supervisor.process.send_signal(signal.SIGHUP)
            await supervisor.see("All 2 workers are new\n")
        answer = {"colour": Accept({"name": "red"})}
        result = await conversation.advance(answer)
        assert not isinstance(result, Asked)
        configure(supervisor.config, "last", [new])
        supervisor.process.send_signal(signal.SIGHUP)
        await supervisor.see("All 2 workers are new\n")
        with pytest.raises(ServerError, match="Invalid or expired requestState"):
            await forgotten.advance(answer)
