"""Starting and ending: lifespan, other event loops, other kinds of connection."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from antiphon.engine.errors import UsageError
from antiphon.transports.asgi import HttpApp, http_app
from tests.http_server.scripted import ScriptedServer, call, head_of, post, visit

Scope = dict[str, Any]


class Life:
    """The server's side of a lifespan."""

    def __init__(self) -> None:
        self.events = ["lifespan.startup", "lifespan.shutdown"]
        self.sent: list[Scope] = []

    async def receive(self) -> Scope:
        return {"type": self.events.pop(0)}

    async def send(self, event: Scope) -> None:
        self.sent.append(event)


async def live(app: HttpApp) -> list[Scope]:
    life = Life()
    await app({"type": "lifespan"}, life.receive, life.send)
    return life.sent


async def test_lifespan_starts_and_ends() -> None:
    assert await live(http_app(ScriptedServer())) == [
        {"type": "lifespan.startup.complete"},
        {"type": "lifespan.shutdown.complete"},
    ]


def test_lifespan_on_another_loop_fails_in_words_that_name_the_worker() -> None:
    (failed,) = asyncio.run(live(http_app(ScriptedServer())))
    assert failed["type"] == "lifespan.startup.failed"
    assert "hypercorn -k trio" in failed["message"]


def test_request_on_another_loop_without_lifespan_says_so_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = ScriptedServer()
    sent: list[Scope] = []
    life = Life()

    async def send(event: Scope) -> None:
        sent.append(event)

    scope = {
        "type": "http", "method": "POST", "path": "/mcp", "headers": head_of(call()),
        "server": None,
    }  # fmt: skip
    app = http_app(server)
    for _ in range(2):
        asyncio.run(_on_asyncio(app, scope, life, send))
    assert [event["status"] for event in sent if "status" in event] == [500, 500]
    assert all(b"hypercorn -k trio" in event["body"] for event in sent if "body" in event)
    assert "hypercorn -k trio" in caplog.text
    assert server.requests == []


async def _on_asyncio(app: HttpApp, scope: Scope, life: Life, send: Callable[[Scope], Any]) -> None:
    await app(scope, life.receive, send)


async def test_request_is_served_where_lifespan_never_comes() -> None:
    assert (await post(http_app(ScriptedServer()), call())).status == 200


async def test_websocket_is_turned_away() -> None:
    life = Life()
    await http_app(ScriptedServer())({"type": "websocket"}, life.receive, life.send)
    assert life.sent == [{"type": "websocket.close"}]


async def test_unknown_kind_of_connection_is_named() -> None:
    life = Life()
    with pytest.raises(UsageError, match="'teleport'"):
        await http_app(ScriptedServer())({"type": "teleport"}, life.receive, life.send)


# -- an ephemeral key and several workers -----------------------------------------------------


def worker(monkeypatch: pytest.MonkeyPatch, number: int, workers: int) -> None:
    """Make this process look like one that hypercorn has started."""
    process = SimpleNamespace(
        name=f"SpawnProcess-{number}", _kwargs={"config": SimpleNamespace(workers=workers)}
    )
    monkeypatch.setattr("antiphon.transports.workers.current_process", lambda: process)


@pytest.mark.parametrize(
    ("ephemeral", "workers", "number", "warned"),
    [
        (True, 2, 1, True),
        (True, 2, 2, False),
        (True, 2, 3, True),  # the first of those that follow a reload
        (True, 1, 1, False),
        (True, 1, 4, False),
        (False, 2, 1, False),
    ],
)
async def test_ephemeral_key_of_several_workers_is_told_once(
    ephemeral: bool,
    workers: int,
    number: int,
    warned: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker(monkeypatch, number, workers)
    app = http_app(ScriptedServer(name="Provisioner", ephemeral_keys=ephemeral))
    await live(app)
    await live(app)
    await post(app, call())
    assert len(caplog.records) == warned
    if warned:
        assert caplog.records[0].name == "antiphon.http"
        assert caplog.records[0].levelno == logging.WARNING
        for word in ("'Provisioner'", "2 workers", "Server(..., keys=[...])", "antiphon keygen"):
            assert word in caplog.text


async def test_process_that_hypercorn_has_not_started_warns_of_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert not hasattr(multiprocessing.current_process(), "_kwargs")
    await live(http_app(ScriptedServer(ephemeral_keys=True)))
    assert caplog.records == []


async def test_start_is_told_of_without_lifespan_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker(monkeypatch, 1, 2)
    app = http_app(ScriptedServer(ephemeral_keys=True))
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(visit(call()).run, app)
    assert len(caplog.records) == 1
