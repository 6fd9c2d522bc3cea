"""A server that says something wrong is caught, wherever it runs and whoever hears it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

import pytest
import trio

from antiphon import (
    MemoryTransport,
    Server,
    http_app,
    open_child,
    open_http,
    open_lines,
    transports,
)
from antiphon.engine.exchange import ClientTransport, Exchange
from antiphon.engine.jsonrpc import Notification, Request, Success
from antiphon.transports import asgi_sessions, line_server
from tests.cli.running import command, environment, read_until
from tests.cli.running import run as run_command
from tests.engine.peer import meta
from tests.http_server.scripted import listing, post, post_body
from tests.stdio.harness import Peer, served, stream_pair
from tests.wire import tap, watching, wrong
from tests.wire.watching import Wire

ROOT: Final = Path(__file__).resolve().parents[2]
CHILD: Final = [sys.executable, str(ROOT / "tests" / "wire" / "wrong.py")]
LISTING: Final = Request(1, "tools/list", {"_meta": meta()})


def ignored(_: Notification) -> None:
    """Nobody waits for it."""


def tells(wiretap: Wire, *words: str) -> bool:
    """Whether the faults that were heard name all this; nothing of them is left to be told."""
    faults = "\n".join(wiretap.faults())
    return all(word in faults for word in words)


async def list_tools(transport: ClientTransport) -> None:
    reply = await transport.exchange(LISTING, ignored)
    assert isinstance(reply, Success)
    assert reply.result["cacheScope"] == "everybody"


async def test_a_wrong_answer_without_any_transport_is_told(wiretap: Wire) -> None:
    await wrong.server.handle(LISTING, Exchange())
    assert tells(wiretap, "tools/list", wrong.FAULT, "mcp-types")


async def test_a_wrong_answer_in_memory_is_told(wiretap: Wire) -> None:
    await list_tools(MemoryTransport(wrong.server))
    assert tells(wiretap, "tools/list", wrong.FAULT)


async def test_a_wrong_answer_on_lines_is_told(wiretap: Wire) -> None:
    ours, theirs = stream_pair()
    async with open_lines(ours, ours, name="wrong") as transport, trio.open_nursery() as nursery:
        nursery.start_soon(line_server.serve_lines, wrong.server, theirs, theirs)
        await list_tools(transport)
        nursery.cancel_scope.cancel()
    assert tells(wiretap, "tools/list", wrong.FAULT)


async def test_a_wrong_answer_of_an_application_is_told(wiretap: Wire) -> None:
    answer = await post(http_app(wrong.server), listing())
    assert answer.status == 200
    assert tells(wiretap, "tools/list", wrong.FAULT)


async def test_a_wrong_answer_of_a_child_is_told(wiretap: Wire) -> None:
    async with open_child(CHILD) as transport:
        await list_tools(transport)
    assert tells(wiretap, "tools/list", wrong.FAULT)


async def test_a_wrong_answer_of_a_site_in_a_process_is_told(wiretap: Wire) -> None:
    async with site() as url, open_http(url) as transport:
        await list_tools(transport)
    assert tells(wiretap, "tools/list", wrong.FAULT)


async def test_a_wrong_answer_of_a_childs_child_is_told(wiretap: Wire) -> None:
    await run_command("list", "--env", "PYTHONPATH", "--", *CHILD)
    assert tells(wiretap, "tools/list", wrong.FAULT)


async def test_a_wrong_notification_is_told(wiretap: Wire) -> None:
    heard: list[Notification] = []
    params: Any = {"name": "mumble", "_meta": meta(progressToken=1)}
    transport = MemoryTransport(wrong.server)
    await transport.exchange(Request(1, "tools/call", params), heard.append)
    assert heard
    assert tells(wiretap, "notifications/progress", "params.message")


async def test_a_wrong_refusal_of_the_line_server_is_told(
    wiretap: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_server, "INVALID_REQUEST", "x")
    async with served(wrong.server) as peer:
        await refused_for_its_id(peer)
    assert tells(wiretap, "error.code")


async def refused_for_its_id(peer: Peer) -> None:
    """Two requests with one id: the transport refuses the second by itself."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta()}}
    await peer.say(request, request)
    assert (await peer.hear())["error"]["code"] == "x"


async def test_a_wrong_refusal_of_an_application_is_told(
    wiretap: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_sessions, "INVALID_REQUEST", "x")
    await post_body(http_app(wrong.server), b'{"jsonrpc": "2.0", "id": 1, "result": {}}')
    assert tells(wiretap, "error.code")


def judged_again(record: bytes) -> list[str]:
    return [f"{record!r} was judged again"]


def test_what_was_found_good_is_not_judged_again(
    wiretap: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = b'null\t{"jsonrpc":"2.0","id":"judged once","error":{"code":7,"message":"no"}}'
    wiretap.hear(record)
    assert wiretap.faults() == []
    monkeypatch.setattr(watching, "judge", judged_again)
    wiretap.hear(record)
    assert wiretap.faults() == []


def test_every_module_that_writes_messages_is_tapped_or_needs_no_tap() -> None:
    # The last measures what a client sends.
    clients = ("http_client", "http_older", "line_client", "cli_trace")
    of_clients = {f"antiphon.transports.{name}" for name in clients}
    of_notifications = {"antiphon.transports.sse"}  # a server made them, and was heard
    of_sessions = {"antiphon.transports.line_sessions"}  # questions, judged by who is asked
    names = (f"antiphon.transports.{each.name}" for each in iter_modules(transports.__path__))
    writing = {name for name in names if hasattr(import_module(name), "write_message")}
    assert writing == {*tap.WRITERS} | of_clients | of_notifications | of_sessions


def test_no_class_of_servers_answers_past_the_tap() -> None:
    answering = {cls for cls in (Server, *Server.__mro__) if "handle" in vars(cls)}
    assert len(answering) == 1


def test_a_python_that_wants_no_surroundings_gets_none() -> None:
    program = "import os, sys; sys.exit('PYTHONPATH' in os.environ)"
    done = subprocess.run([sys.executable, "-E", "-c", program], env={}, check=False)
    assert done.returncode == 0


@asynccontextmanager
async def site() -> AsyncGenerator[str, None]:
    """The wrong server under hypercorn in a process of its own; its address."""
    process = await trio.lowlevel.open_process(
        command("serve", "tests.wire.wrong:server", "--http", "--bind", "127.0.0.1:0"),
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    )
    try:
        yield (await read_until(process.stderr, "/mcp")).split()[-1]
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
            assert process.stderr is not None
            await process.stderr.aclose()
