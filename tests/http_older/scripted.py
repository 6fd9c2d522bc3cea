"""A server of an earlier revision that plays written answers, and links to it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias, cast

import trio
from attrs import define, field
from trio.testing import MockClock

from antiphon.engine.jsonrpc import JsonObject, JsonValue, Notification, Reply, Request
from antiphon.engine.limits import Limits
from antiphon.transports.http_client import Token, open_http
from antiphon.transports.http_older import OlderHttp
from tests.http_client.scripted import (
    SAFETY_NET,
    STREAM_HEAD,
    Peer,
    RawServer,
    Received,
    answer,
    chunk,
    serving,
    success,
)

SESSION: Final = "s3ssion-a1b2c3d4"
VERSION: Final = "2025-11-25"
ACCEPTED: Final = answer(status=202, kind=None)

Play: TypeAlias = bytes | Callable[[Peer, Received], Awaitable[None]]
"""What answers a request: bytes, or who sends them."""


def named(received: Received) -> str:
    """The method of a message, ``answer`` for ours; that of HTTP where there is no message."""
    method, _, _ = received.line.partition(" ")
    if method != "POST":
        return method
    return str(cast(JsonObject, json.loads(received.body)).get("method", "answer"))


def call(id: int | str = 1, **params: JsonValue) -> Request:
    return Request(id, "tools/call", {"name": "add", **params})


def begin(id: int = 0) -> Request:
    return Request(id, "initialize", {"protocolVersion": VERSION})


def asked(id: JsonValue, method: str = "elicitation/create") -> bytes:
    """A request of the server's."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}).encode()


def told(method: str = "notifications/message", **params: JsonValue) -> bytes:
    """A notification of the server's."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def numbered(id: str, data: bytes = b"", retry: int | None = None) -> bytes:
    """An event with an id."""
    wait = b"" if retry is None else b"retry: %d\n" % retry
    return b"id: %b\n%bdata: %b\n\n" % (id.encode(), wait, data)


def initialized(session: str | None = SESSION, id: int = 0) -> bytes:
    """The answer to ``initialize``."""
    more = [] if session is None else [f"Mcp-Session-Id: {session}"]
    return answer(success(id), *more)


@define(eq=False)
class OlderServer:
    """Answers by the names of :func:`named`: the next play of each, of which the last stays.

    Attributes:
        received: what came, in order.
        times: when it came.
    """

    plays: dict[str, list[Play]]
    received: list[Received] = field(factory=list[Received])
    times: list[float] = field(factory=list[float])
    _more: trio.Event = field(factory=trio.Event)

    async def __call__(self, peer: Peer) -> None:
        while True:
            received = await peer.request()
            self.received.append(received)
            self.times.append(trio.current_time())
            self._more.set()
            plays = self.plays[named(received)]
            play = plays.pop(0) if len(plays) > 1 else plays[0]
            if isinstance(play, bytes):
                await peer.send(play)
            else:
                await play(peer, received)

    async def until(self, name: str, number: int = 1) -> None:
        """Wait until so many of a name have come."""
        while len(self.of(name)) < number:
            self._more = trio.Event()
            await self._more.wait()

    def of(self, name: str) -> list[Received]:
        return [received for received in self.received if named(received) == name]

    def times_of(self, name: str) -> list[float]:
        pairs = zip(self.received, self.times, strict=True)
        return [time for received, time in pairs if named(received) == name]

    @property
    def names(self) -> list[str]:
        return [named(received) for received in self.received]


def serves(**plays: Play | list[Play]) -> OlderServer:
    """A server with a session; names of methods have ``_`` for ``/``."""
    usual: dict[str, Play | list[Play]] = {
        "initialize": initialized(),
        "notifications/initialized": ACCEPTED,
        "notifications/cancelled": ACCEPTED,
        "answer": ACCEPTED,
        "GET": answer(status=405),
        "DELETE": answer(),
    }
    usual |= {name.replace("_", "/"): play for name, play in plays.items()}
    return OlderServer({n: p if isinstance(p, list) else [p] for n, p in usual.items()})


def streaming(*events: bytes) -> Callable[[Peer, Received], Awaitable[None]]:
    """Send events on a stream that stays open until the client leaves."""

    async def play(peer: Peer, received: Received) -> None:
        del received
        await peer.send(STREAM_HEAD + b"".join(map(chunk, events)))
        await peer.left()
        raise EOFError

    return play


def breaking(*events: bytes) -> Callable[[Peer, Received], Awaitable[None]]:
    """Send events, and close the connection in the middle of the stream."""

    async def play(peer: Peer, received: Received) -> None:
        del received
        await peer.send(STREAM_HEAD + b"".join(map(chunk, events)))
        raise EOFError

    return play


def watched(play: Play, name: str) -> tuple[OlderServer, trio.Event]:
    """A server with one play, and when the connection of that was closed."""
    closed = trio.Event()

    async def watching(peer: Peer, received: Received) -> None:
        assert not isinstance(play, bytes)
        try:
            await play(peer, received)
        finally:
            closed.set()

    return serves(**{name: watching}), closed


async def silence(peer: Peer, received: Received) -> None:
    """Answer nothing until the client leaves."""
    del received
    await peer.left()
    raise EOFError


@define(eq=False)
class Heard:
    """Hears all that is not a reply."""

    notifications: list[Notification] = field(factory=list[Notification])
    requests: list[Request] = field(factory=list[Request])
    names: list[str] = field(factory=list[str])
    _more: trio.Event = field(factory=trio.Event)

    def notification(self, notification: Notification) -> None:
        self.notifications.append(notification)
        self._note(notification.method)

    def request(self, request: Request) -> None:
        self.requests.append(request)
        self._note(request.method)

    def _note(self, name: str) -> None:
        self.names.append(name)
        self._more.set()

    async def until(self, number: int) -> None:
        """Wait until so many messages have come."""
        while len(self.names) < number:
            self._more = trio.Event()
            await self._more.wait()


@asynccontextmanager
async def linked(
    handler: OlderServer, *, token: Token | None = None, limits: Limits | None = None
) -> AsyncGenerator[tuple[OlderHttp, RawServer]]:
    """A link before its handshake."""
    virtual = isinstance(trio.lowlevel.current_clock(), MockClock)
    async with (
        serving(handler, patience=1e7 if virtual else SAFETY_NET) as server,
        open_http(server.url, token=token, limits=limits or Limits()) as transport,
    ):
        yield transport.older(), server


@asynccontextmanager
async def in_session(
    handler: OlderServer, *, token: Token | None = None, limits: Limits | None = None
) -> AsyncGenerator[tuple[OlderHttp, Heard]]:
    """A link after its handshake."""
    heard = Heard()
    async with linked(handler, token=token, limits=limits) as (link, _):
        await shake(link, heard)
        yield link, heard


async def shake(link: OlderHttp, heard: Heard, id: int = 0) -> Reply:
    """The handshake."""
    reply = await link.exchange(begin(id), heard.notification, heard.request)
    link.begun(VERSION)
    await link.say(Notification("notifications/initialized", {}))
    return reply


@asynccontextmanager
async def attended(link: OlderHttp, heard: Heard) -> AsyncGenerator[trio.Nursery]:
    """Attend to what belongs to no exchange, for the length of a block."""
    async with trio.open_nursery() as nursery:
        await nursery.start(link.attend, heard.notification, heard.request)
        yield nursery
        nursery.cancel_scope.cancel()
