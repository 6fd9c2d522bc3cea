"""A scripted server, and a client that drives an ASGI application without a network."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import trio
from attrs import define, field

from antiphon.engine.errors import METHOD_NOT_FOUND, ProtocolError, unsupported_version
from antiphon.engine.exchange import Exchange, Principal
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Message,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    failure,
    read_message,
    write_message,
)
from antiphon.engine.limits import Limits
from antiphon.engine.protocol import (
    META_CAPABILITIES,
    META_VERSION,
    SUPPORTED_VERSIONS,
    VERSION,
    read_meta,
)
from antiphon.transports.asgi import HttpApp
from antiphon.transports.asgi_messages import Receive
from antiphon.transports.headers import metadata_headers
from antiphon.transports.stopping import App

Script = Callable[[Request, Exchange], Awaitable[Reply]]
RawHeaders = list[tuple[bytes, bytes]]


async def done(request: Request, exchange: Exchange) -> Reply:
    """Serve as a server of this revision would, with an empty result."""
    if request.method == "initialize":
        return failure(unsupported_version("of old", SUPPORTED_VERSIONS), request.id)
    try:
        read_meta(request.params)
    except ProtocolError as error:
        return failure(error, request.id)
    if request.method not in ("tools/call", "tools/list", "prompts/get", "resources/read"):
        return Failure(request.id, METHOD_NOT_FOUND, "Method not found")
    return success(request)


def success(request: Request, **members: JsonValue) -> Success:
    return Success(request.id, {"resultType": "complete", **members})


def progress(step: int) -> Notification:
    return Notification("notifications/progress", {"progressToken": 1, "progress": step})


@define
class ScriptedServer:
    """What the application asks; it remembers what it was asked."""

    script: Script = done
    name: str = "scripted"
    limits: Limits = field(factory=Limits)
    ephemeral_keys: bool = False
    requests: list[Request] = field(factory=list[Request])
    principals: list[Principal | None] = field(factory=list[Principal | None])

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        self.requests.append(request)
        self.principals.append(exchange.principal)
        return await self.script(request, exchange)


def meta(version: str = VERSION) -> JsonObject:
    return {META_VERSION: version, META_CAPABILITIES: {}}


def call(name: JsonValue = "add", *, id: RequestId = 1, **params: JsonValue) -> Request:
    return Request(id, "tools/call", {"name": name, "arguments": {}, "_meta": meta(), **params})


def listing(id: RequestId = 1, **params: JsonValue) -> Request:
    return Request(id, "tools/list", {"_meta": meta(), **params})


def head_of(request: Request | None = None, **more: str | None) -> RawHeaders:
    """The headers that a good client sends; ``more`` replaces some, None takes one away."""
    headers: dict[str, str | None] = {
        "host": "localhost:8000",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    if request is not None:
        headers |= {name.lower(): value for name, value in metadata_headers(request).items()}
    headers |= {name.replace("_", "-").lower(): value for name, value in more.items()}
    return [
        (name.encode(), value.encode("latin-1"))
        for name, value in headers.items()
        if value is not None
    ]


@define
class Answer:
    """What an application sent in reply to one request."""

    status: int = 0
    headers: dict[bytes, bytes] = field(factory=dict[bytes, bytes])
    chunks: list[bytes] = field(factory=list[bytes])
    ended: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def json(self) -> JsonObject:
        assert self.headers[b"content-type"] == b"application/json"
        return read_object(self.body)

    @property
    def error(self) -> JsonObject:
        return cast(JsonObject, self.json["error"])

    @property
    def code(self) -> JsonValue:
        return self.error["code"]

    @property
    def message(self) -> str:
        return cast(str, self.error["message"])

    @property
    def data(self) -> list[bytes]:
        """The data of an event stream; comments left out."""
        assert self.headers[b"content-type"] == b"text/event-stream"
        blocks = self.body.split(b"\n\n")
        assert blocks.pop() == b""
        return [block.removeprefix(b"data: ") for block in blocks if not block.startswith(b":")]

    @property
    def events(self) -> list[JsonObject]:
        """The events of a stream, as plain objects."""
        return list(map(read_object, self.data))

    @property
    def messages(self) -> list[Message]:
        """The events of a stream, as the JSON door reads them."""
        return list(map(read_message, self.data))


def read_object(data: bytes) -> JsonObject:
    return cast(JsonObject, json.loads(data))


@define
class Visit:
    """One HTTP request, as an ASGI server hands it to an application.

    Attributes:
        chunks: the body's parts.
        left: set it, and the client has left.
        complete: whether the body ends; if not, the client leaves in its midst.
        on_send: awaited before each thing that the application sends.
    """

    headers: RawHeaders
    chunks: list[bytes] = field(factory=lambda: [b""])
    method: str = "POST"
    path: str = "/mcp"
    root_path: str = ""
    http_version: str = "1.1"
    server: Sequence[Any] | None = ("127.0.0.1", 8000)
    complete: bool = True
    answer: Answer = field(factory=Answer)
    left: trio.Event = field(factory=trio.Event)
    opened: trio.Event = field(factory=trio.Event)
    taken: int = 0
    on_send: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None

    async def run(self, app: App, receive: Receive | None = None) -> Answer:
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": self.http_version,
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "root_path": self.root_path,
            "headers": self.headers,
            "server": self.server,
        }
        await app(scope, receive or self._receive, self._send)
        return self.answer

    async def _receive(self) -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        if self.taken < len(self.chunks):
            self.taken += 1
            more = self.taken < len(self.chunks) or not self.complete
            return {"type": "http.request", "body": self.chunks[self.taken - 1], "more_body": more}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, event: Mapping[str, Any]) -> None:
        if self.on_send is not None:
            await self.on_send(event)
        await trio.lowlevel.checkpoint()
        assert not self.answer.ended, "sent after the end"
        if event["type"] == "http.response.start":
            assert not self.opened.is_set(), "sent two heads"
            self.answer.status = event["status"]
            self.answer.headers = dict(event["headers"])
            assert len(self.answer.headers) == len(event["headers"])
            self.opened.set()
            return
        assert event["type"] == "http.response.body"
        assert self.opened.is_set(), "sent a body without a head"
        self.answer.chunks.append(event.get("body", b""))
        self.answer.ended = not event.get("more_body", False)
        if self.answer.ended and b"content-length" in self.answer.headers:
            assert len(self.answer.body) == int(self.answer.headers[b"content-length"])


def visit(request: Request, **more: str | None) -> Visit:
    """A good client's request."""
    return Visit(head_of(request, **more), [write_message(request)])


async def post(app: HttpApp, request: Request, **more: str | None) -> Answer:
    """Post a request as a good client would, some headers apart."""
    return await visit(request, **more).run(app)


async def post_body(app: HttpApp, body: bytes, headers: RawHeaders | None = None) -> Answer:
    """Post whatever bytes."""
    return await Visit(head_of() if headers is None else headers, [body]).run(app)
