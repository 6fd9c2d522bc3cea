"""One script for every transport: who asks next gets what stands there next, true or not.

A request of another method than the script expects gets an honest reply, and the script waits:
a client may ask for what it needs to know.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import trio
from attrs import define, field, frozen

from antiphon.engine.client import Client
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import (
    DEFAULT_LIMITS,
    Failure,
    JsonValue,
    Reply,
    Request,
    Success,
    read_message,
)
from antiphon.engine.limits import Limits
from antiphon.transports.connect import open_client
from tests.hostile.methods import METHODS, ready
from tests.http_client.scripted import Handler, Peer, answer, event, serving, stream

Act: TypeAlias = bytes | dict[str, Any]
"""A message to send, or something that only a process does; see :mod:`.puppet`."""

ID: Final = b'"$ID"'
"""Stands in a message for the id of the request that it answers."""

PUPPET: Final = Path(__file__).with_name("puppet.py")


def message(result: JsonValue, **members: Any) -> bytes:
    """A reply with this result."""
    whole = {"jsonrpc": "2.0", "id": "$ID", "result": result, **members}
    return json.dumps(whole, ensure_ascii=False).encode()


def note(method: str = "notifications/message", **params: Any) -> bytes:
    """A notification."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


@frozen
class Entry:
    """What is done when a method is asked for."""

    method: str
    acts: Sequence[Act]


def says(method: str, *results: JsonValue) -> list[Entry]:
    """One leg for each result."""
    return [Entry(method, [message(result)]) for result in results]


@define(eq=False)
class Play:
    """A script, and how far it has come."""

    script: list[Entry]
    position: int = 0
    requests: list[dict[str, Any]] = field(factory=list[dict[str, Any]])
    connections: int = 0

    def acts(self, request: dict[str, Any]) -> list[Act]:
        method, id = request["method"], json.dumps(request["id"]).encode()
        self.requests.append(request)
        if self.position < len(self.script) and self.script[self.position].method == method:
            acts = self.script[self.position].acts
            self.position += 1
        else:
            acts = [message(METHODS[method].good)]
        return [act.replace(ID, id) if isinstance(act, bytes) else act for act in acts]

    @property
    def asked(self) -> list[str]:
        """The methods, one for each request."""
        return [request["method"] for request in self.requests]

    def messages(self, request: dict[str, Any]) -> list[bytes]:
        acts = self.acts(request)
        assert all(isinstance(act, bytes) for act in acts), "only a process can do that"
        return cast("list[bytes]", acts)


# -- memory -----------------------------------------------------------------------------------


@frozen
class Actor:
    """A request handler in this process that plays."""

    play: Play
    name: str = "hostile"
    limits: Limits = DEFAULT_LIMITS

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        await trio.lowlevel.checkpoint()
        asked = {"id": request.id, "method": request.method, "params": request.params}
        *_, last = self.play.messages(asked)
        reply = read_message(last)
        assert isinstance(reply, Success | Failure)
        return reply


@asynccontextmanager
async def in_memory(play: Play, _: Path, **options: Any) -> AsyncGenerator[Client]:
    async with open_client(Actor(play), **options) as client:
        yield client


# -- HTTP -------------------------------------------------------------------------------------


Written: TypeAlias = Callable[[list[bytes]], bytes]


def _one_body(messages: list[bytes]) -> bytes:
    return answer(messages[0])


def _one_stream(messages: list[bytes]) -> bytes:
    return stream(*map(event, messages))


def _playing(play: Play, written: Written) -> Handler:
    async def handler(peer: Peer) -> None:
        while True:
            received = await peer.request()
            await peer.send(written(play.messages(json.loads(received.body))))

    return handler


@asynccontextmanager
async def over_http(
    play: Play, written: Callable[[list[bytes]], bytes], **options: Any
) -> AsyncGenerator[Client]:
    """A client of a server that plays."""
    async with serving(_playing(play, written)) as server:
        async with open_client(server.url, mode="2026-07-28", **options) as client:
            yield client
        await server.all_left()
        play.connections = server.accepted


@asynccontextmanager
async def in_bodies(play: Play, _: Path, **options: Any) -> AsyncGenerator[Client]:
    async with over_http(play, _one_body, **options) as client:
        yield client


@asynccontextmanager
async def in_streams(play: Play, _: Path, **options: Any) -> AsyncGenerator[Client]:
    async with over_http(play, _one_stream, **options) as client:
        yield client


# -- a process --------------------------------------------------------------------------------


def command(play: Play, folder: Path) -> list[str]:
    """A process that plays, and goes on where it was when it is started again."""
    script = [[entry.method, [*map(_written, entry.acts)]] for entry in play.script]
    good = {name: _written(message(method.good)) for name, method in METHODS.items()}
    (folder / "script.json").write_text(json.dumps({"script": script, "good": good}))
    return [sys.executable, "-S", "-E", str(PUPPET), str(folder)]


def _written(act: Act) -> JsonValue:
    return act.decode("latin-1") if isinstance(act, bytes) else act


def told(folder: Path) -> list[dict[str, Any]]:
    """What a process was asked, in all its lives."""
    return [json.loads(line) for line in (folder / "asked").read_bytes().splitlines()]


@asynccontextmanager
async def in_a_child(play: Play, folder: Path, **options: Any) -> AsyncGenerator[Client]:
    lines: list[str] = []
    given: dict[str, Any] = {"stderr": lines.append, "mode": "2026-07-28", **options}
    async with open_client(command(play, folder), **given) as client:
        yield client
    play.requests = told(folder)
    play.position = int((folder / "position").read_text())


CARRIERS: Final[dict[str, Callable[..., AbstractAsyncContextManager[Client]]]] = {
    "memory": in_memory,
    "child": in_a_child,
    "body": in_bodies,
    "stream": in_streams,
}


@asynccontextmanager
async def playing(
    carrier: str, script: list[Entry], folder: Path, **options: Any
) -> AsyncGenerator[tuple[Client, Play]]:
    """A client of a server that plays; in the end the script was played, and no task is left."""
    play = Play(script)
    before = trio.lowlevel.current_statistics().tasks_living
    with trio.fail_after(60):
        async with CARRIERS[carrier](play, folder, **ready(**options)) as client:
            yield client, play
    assert play.position == len(script), "not all of it was asked for"
    assert trio.lowlevel.current_statistics().tasks_living == before
