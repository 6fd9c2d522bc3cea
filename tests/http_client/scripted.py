"""Servers that play written bytes, and the messages that the tests send them."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx2
import trio
from attrs import define, field, frozen

from antiphon.engine.jsonrpc import JsonObject, JsonValue, Notification, Request
from antiphon.engine.limits import Limits
from antiphon.engine.protocol import META_VERSION
from antiphon.transports.http_client import HttpTransport, Token, open_http

SAFETY_NET = 30
"""Seconds of real time after which a test that hangs is ended; no test waits for it."""


# -- messages ---------------------------------------------------------------------------------


def request(id: int | str = 1, method: str = "tools/call", **params: JsonValue) -> Request:
    given: JsonObject = params or {"name": "add", "arguments": {"a": 1, "b": 2}}
    return Request(id, method, {**given, "_meta": {META_VERSION: "2026-07-28"}})


def success(id: JsonValue = 1, value: JsonValue = "ok") -> bytes:
    message = {"jsonrpc": "2.0", "id": id, "result": {"value": value}}
    return json.dumps(message, ensure_ascii=False).encode()


def failure(id: JsonValue = 1, code: int = -32603) -> bytes:
    error = {"code": code, "message": "it went wrong"}
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()


def progress(step: int) -> bytes:
    params = {"progressToken": 1, "progress": step}
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    return json.dumps(message).encode()


def event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def answer(
    body: bytes = b"",
    *more: str,
    status: int = 200,
    kind: str | None = "application/json",
) -> bytes:
    """A whole HTTP answer with a sized body; ``more`` are further header lines."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *more]
    if kind is not None:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
STREAM_END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def stream(*events: bytes) -> bytes:
    """A whole HTTP answer that streams the given bytes."""
    return STREAM_HEAD + b"".join(chunk(data) for data in events) + STREAM_END


# -- a server on a socket ---------------------------------------------------------------------


@frozen
class Received:
    """A request as it came over the socket."""

    line: str
    headers: dict[str, str]
    names: list[str]
    body: bytes

    def __getitem__(self, name: str) -> str:
        return self.headers[name]

    @property
    def id(self) -> JsonValue:
        return cast(JsonObject, json.loads(self.body))["id"]


@define(eq=False)
class Peer:
    """One connection, seen from the server."""

    stream: trio.SocketStream
    _buffer: bytearray = field(factory=bytearray)

    async def request(self) -> Received:
        """The next request; EOFError where the client leaves before it."""
        while b"\r\n\r\n" not in self._buffer:
            await self._more()
        head, _, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        pairs = [(name, value) for name, _, value in (text.partition(": ") for text in fields)]
        headers = {name.lower(): value for name, value in pairs}
        self._buffer = bytearray(rest)
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            await self._more()
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return Received(line, headers, [name for name, _ in pairs], body)

    async def _more(self) -> None:
        data = await self.stream.receive_some()
        if not data:
            raise EOFError
        self._buffer += data

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def left(self) -> None:
        """Wait until the client has closed the connection."""
        try:
            while await self.stream.receive_some():
                pass
        except trio.BrokenResourceError:
            pass


Handler = Callable[[Peer], Awaitable[None]]


@define(eq=False)
class RawServer:
    """Counts the connections, and how many of them are open."""

    handler: Handler
    tls: ssl.SSLContext | None = None
    port: int = 0
    accepted: int = 0
    open: int = 0
    _someone_left: trio.Event = field(factory=trio.Event)

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/mcp"

    async def serve(self, stream: trio.SocketStream) -> None:
        self.accepted += 1
        self.open += 1
        try:
            async with self._secured(stream) as secured:
                await self.handler(Peer(secured))
        except (EOFError, trio.BrokenResourceError):
            pass
        finally:
            self.open -= 1
            self._someone_left.set()

    def _secured(self, stream: trio.SocketStream) -> trio.SocketStream:
        if self.tls is None:
            return stream
        # It has not all that a socket has, but what is needed of it here.
        secured = trio.SSLStream(stream, self.tls, server_side=True, https_compatible=True)
        return cast(trio.SocketStream, secured)

    async def all_left(self) -> None:
        """Wait until every connection is closed."""
        while self.open:
            await self.someone_leaves()

    async def someone_leaves(self) -> None:
        """Wait until a connection is closed."""
        self._someone_left = trio.Event()
        await self._someone_left.wait()


CERTIFICATE = Path(__file__).with_name("only_for_tests.pem")
"""Signed by itself, for 127.0.0.1, with its key."""


def tls_context() -> ssl.SSLContext:
    """A server's end of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


@asynccontextmanager
async def serving(
    handler: Handler, patience: float = SAFETY_NET, *, tls: bool = False
) -> AsyncGenerator[RawServer]:
    server = RawServer(handler, tls_context() if tls else None)
    with trio.fail_after(patience):
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            server.port = listeners[0].socket.getsockname()[1]
            nursery.start_soon(trio.serve_listeners, server.serve, listeners)
            yield server
            nursery.cancel_scope.cancel()


def answering(*answers: bytes | Callable[[Received], bytes]) -> Handler:
    """Answer one request after the other, on whatever connection; the last answer stays."""
    script = list(answers)

    async def handler(peer: Peer) -> None:
        while True:
            received = await peer.request()
            reply = script.pop(0) if len(script) > 1 else script[0]
            await peer.send(reply if isinstance(reply, bytes) else reply(received))

    return handler


def echoing_id(received: Received) -> bytes:
    """The right answer to any request."""
    return answer(success(received.id))


@define(eq=False)
class Ears:
    """Hears notifications."""

    heard: list[Notification] = field(factory=list[Notification])

    def __call__(self, notification: Notification) -> None:
        self.heard.append(notification)

    @property
    def steps(self) -> list[JsonValue]:
        return [notification.params["progress"] for notification in self.heard]


@asynccontextmanager
async def connected(
    handler: Handler,
    *,
    token: Token | None = None,
    limits: Limits | None = None,
    client: httpx2.AsyncClient | None = None,
    patience: float = SAFETY_NET,
) -> AsyncGenerator[tuple[HttpTransport, RawServer]]:
    async with (
        serving(handler, patience) as server,
        open_http(server.url, token=token, limits=limits or Limits(), client=client) as transport,
    ):
        yield transport, server


# -- a server without a socket, for exact chunks ----------------------------------------------


@define(eq=False)
class Chunks(httpx2.AsyncByteStream):
    """A body that arrives in exactly these pieces."""

    chunks: Iterable[bytes]
    closed: bool = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.chunks:
            await trio.lowlevel.checkpoint()
            yield piece

    async def aclose(self) -> None:
        self.closed = True


@define(eq=False)
class Played(httpx2.AsyncBaseTransport):
    """An httpx2 transport that gives one answer, chunk by chunk."""

    chunks: Iterable[bytes]
    status: int = 200
    kind: str = "text/event-stream"
    sent: list[httpx2.Request] = field(factory=list[httpx2.Request])
    bodies: list[Chunks] = field(factory=list[Chunks])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        self.bodies.append(Chunks(self.chunks))
        headers = {"Content-Type": self.kind}
        return httpx2.Response(self.status, headers=headers, stream=self.bodies[-1])


@asynccontextmanager
async def played(transport: Played, limits: Limits | None = None) -> AsyncGenerator[HttpTransport]:
    async with (
        httpx2.AsyncClient(transport=transport) as client,
        open_http("http://test/mcp", client=client, limits=limits or Limits()) as opened,
    ):
        yield opened
