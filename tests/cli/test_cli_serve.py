"""``antiphon serve``: what can be served, and how serving begins and ends."""

import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from antiphon.engine.errors import UsageError
from antiphon.flows.server import Server
from antiphon.transports.serve import load
from tests.cli.running import ROOT, Ended, call_at, read_until, run, running

LIST: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
HTTP = ("--http", "--bind", "127.0.0.1:0")
TAKES_NONE = """
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b""})
print("printed while it is imported")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, on the path while modules are loaded from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


# -- what can be served -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "tests.cli.served:server",
        "tests.cli.served",
        "tests.cli.served:make",
        "tests/cli/served.py:make",
    ],
)
def test_a_server_is_named_made_or_found_by_its_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert isinstance(load(name), Server)


def test_the_current_directory_comes_first(folder: Path) -> None:
    (folder / "mine_alone.py").write_text("class a:\n    b = 5\n")
    assert load("mine_alone:a.b") == 5


def test_what_a_module_prints_goes_to_standard_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "chatty.py").write_text("print('hello')\nserver = None\n")
    load("chatty")
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize(
    ("source", "name", "told"),
    [
        ("", "not_there:x", "There is no module 'not_there'"),
        ("", "not_there.inner:x", "There is no module 'not_there.inner'"),
        ("", "no module:x", "is no name of a module"),
        ("", ":x", "is no name of a module"),
        ("import not_there_either", "faulty_a:x", "cannot be imported: ModuleNotFoundError"),
        ("import faulty", "faulty_b:x", "cannot be imported: ModuleNotFoundError"),
        ("raise ValueError('bad')", "faulty_c:x", "cannot be imported: ValueError: bad"),
        ("x = (", "faulty_d:x", "cannot be imported: SyntaxError"),
        ("", "faulty_e:x", "faulty_e has no 'x'"),
        ("x = lambda: 1 / 0", "faulty_f:x", r"faulty_f:x\(\) failed: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_loaded_is_told(folder: Path, source: str, name: str, told: str) -> None:
    if name.startswith("faulty"):
        (folder / f"{name.partition(':')[0]}.py").write_text(source)
    with pytest.raises(UsageError, match=told):
        load(name)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tests.cli.served:app"], "is an ASGI application: serve it with --http"),
        (["tests.cli.served:number"], "is int: neither a Server"),
        (["tests.cli.served:number", "--http"], "is int: neither a Server"),
        (["tests.cli.served:app", "--http", "--path", "/x"], "no --path"),
        (["tests.cli.served:server", "--http", "--path", "x"], "a path begins with /"),
        (["tests.cli.served:server", "--http", "--bind", "8000"], "HOST:PORT"),
        (["tests.cli.served:server", "--http", "--bind", "localhost:65536"], "HOST:PORT"),
    ],
)
async def test_what_cannot_be_served_is_told(words: list[str], told: str) -> None:
    done = await run("serve", *words)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert done.err.count("\n") == 1


# -- on stdio ---------------------------------------------------------------------------------


async def test_a_server_is_served_on_stdio_until_its_input_ends() -> None:
    done = await run("serve", "tests.cli.served:server", stdin=json.dumps(LIST).encode() + b"\n")
    assert (done.status, done.err) == (0, "")
    (reply,) = map(json.loads, done.out.splitlines())
    assert reply["result"]["tools"]


async def test_serving_on_stdio_is_interrupted() -> None:
    async with running("serve", "tests.cli.served:server") as process:
        assert process.stdin is not None
        await process.stdin.send_all(json.dumps(LIST).encode() + b"\n")
        await read_until(process.stdout, "\n")
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130


# -- over HTTP --------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_a_server_is_served_over_http_until_a_signal(
    number: signal.Signals, status: int
) -> None:
    async with running("serve", "tests.cli.served:make", *HTTP, "--path", "/here") as process:
        line = await read_until(process.stderr, "\n")
        assert line.startswith("Serving Tester at http://127.0.0.1:")
        assert line.endswith("/here\n")
        done = await call_at(line.split()[-1], "types", "whole=1")
        assert done == Ended(0, "(1, 0.5, False, '', None)\n", "")
        process.send_signal(number)
        assert await process.wait() == status
        assert process.stderr is not None
        assert await process.stderr.receive_some() == b""


async def test_any_asgi_application_is_served_over_http(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(TAKES_NONE)
    async with running("serve", "other:app", *HTTP, cwd=tmp_path) as process:
        said = await read_until(process.stderr, "\nServing http://127.0.0.1:")
        said += "" if said.endswith("\n") else await read_until(process.stderr, "\n")
        port = int(said.strip().rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 418 " in await stream.receive_some()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert process.stdout is not None
        assert await process.stdout.receive_some() == b""


async def test_an_address_that_is_taken_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        done = await run("serve", "tests.cli.served:server", "--http", "--bind", bind)
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith(f"antiphon: Cannot serve at {bind}: ")
    assert done.err.count("\n") == 1


async def test_serving_needs_no_extra() -> None:
    code = (
        "import sys\n"
        "for name in ('questionary', 'rich', 'prompt_toolkit'):\n"
        "    sys.modules[name] = None\n"
        "from antiphon.transports.cli import main\n"
        "sys.exit(main())"
    )
    done = await run("serve", "tests.cli.served:server", code=code)
    assert done == Ended(0, "", "")
