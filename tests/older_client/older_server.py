"""A server of an earlier revision, over lines in memory, which does as its script says."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

import trio
from attrs import define, field

from antiphon.engine.client import Client
from antiphon.transports.connect import open_client
from antiphon.transports.line_client import open_lines
from tests.stdio.harness import Duplex, Peer, stream_pair

Handler: TypeAlias = Callable[["Asked"], Awaitable[Any]]

REGION: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "enum": ["dev", "prod"]}},
    "required": ["name"],
}
FORM: dict[str, Any] = {"mode": "form", "message": "Which region?", "requestedSchema": REGION}
LINK: dict[str, Any] = {
    "mode": "url",
    "message": "Pay there",
    "url": "https://example.com/pay",
    "elicitationId": "e-1",
}
SAMPLE: dict[str, Any] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Capital of France?"}}],
    "maxTokens": 10,
}
EVERYTHING: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "logging": {},
}


class Refused(Exception):
    """The handler answers with an error."""

    def __init__(self, code: int, message: str = "no", data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


@define(eq=False)
class Asked:
    """A request that the server serves."""

    server: OlderServer
    message: Any

    @property
    def params(self) -> Any:
        return self.message.get("params", {})

    async def ask(self, method: str, params: Any = None, *, id: Any = None) -> Any:
        """Send a request of the server's own, and wait for the answer."""
        return await self.server.ask(method, params, id=id)

    async def progress(self, done: float) -> None:
        token = self.params["_meta"]["progressToken"]
        await self.server.tell("progress", progressToken=token, progress=done)


@define(eq=False)
class OlderServer:
    """What it does at which method, and everything that it has heard.

    Attributes:
        methods: by method, ``tools/call:NAME`` before ``tools/call``; also of notifications.
        version: what it answers to ``initialize``.
        at_discover: "error", "silence", or a result.
    """

    methods: Mapping[str, Handler] = field(factory=dict[str, Handler])
    version: str = "2025-11-25"
    capabilities: Any = field(factory=lambda: EVERYTHING)
    at_discover: Any = "error"
    heard: list[Any] = field(factory=list[Any])
    answers: list[Any] = field(factory=list[Any])
    cancelled: list[Any] = field(factory=list[Any])
    ended: list[str] = field(factory=list[str])
    _peer: Peer = field(init=False)
    _saying: trio.Lock = field(factory=trio.Lock)
    _scopes: dict[Any, trio.CancelScope] = field(factory=dict[Any, trio.CancelScope])
    _waiting: dict[Any, tuple[trio.Event, list[Any]]] = field(
        factory=dict[Any, tuple[trio.Event, list[Any]]]
    )
    _numbers: Any = field(factory=lambda: itertools.count(1))

    @property
    def asked(self) -> list[str]:
        """The methods of the requests and notifications that it has heard."""
        return [message["method"] for message in self.heard if "method" in message]

    def params(self, method: str) -> list[Any]:
        return [m.get("params", {}) for m in self.heard if m.get("method") == method]

    async def serve(self, stream: Duplex) -> None:
        self._peer = Peer(stream)
        async with trio.open_nursery() as nursery:
            with suppress(trio.ClosedResourceError):  # it has hung up itself
                while (message := await self._peer.hear()) is not None:
                    self.heard.append(message)
                    self._take(message, nursery)
            nursery.cancel_scope.cancel()

    def _take(self, message: Any, nursery: trio.Nursery) -> None:
        if "method" not in message:
            self.answers.append(message)
            event, slot = self._waiting.pop(message["id"], (trio.Event(), []))
            slot.append(message)
            event.set()
        elif "id" in message:
            nursery.start_soon(self._handle, message)
        elif message["method"] == "notifications/cancelled":
            id = message["params"]["requestId"]
            self.cancelled.append(id)
            if id in self._scopes:
                self._scopes[id].cancel()
        elif (handler := self.methods.get(message["method"])) is not None:
            nursery.start_soon(handler, Asked(self, message))

    async def _handle(self, message: Any) -> None:
        scope = self._scopes[message["id"]] = trio.CancelScope()
        with scope:
            await trio.lowlevel.checkpoint()
            try:
                result = await self._served(Asked(self, message))
            except Refused as refused:
                await self._say(message["id"], error=refused.error)
            else:
                await self._say(message["id"], result=result)
        self.ended.append(message["method"])

    async def _say(self, id: Any, **what: Any) -> None:
        await self.say({"jsonrpc": "2.0", "id": id, **what})

    async def say(self, *messages: Any) -> None:
        """Say whole messages, in one breath, as long as somebody listens."""
        with suppress(trio.BrokenResourceError):
            async with self._saying:
                await self._peer.say(*messages)

    async def _served(self, asked: Asked) -> Any:
        method, params = asked.message["method"], asked.params
        handler = self.methods.get(f"{method}:{params.get('name')}") or self.methods.get(method)
        if handler is not None:
            return await handler(asked)
        if method == "initialize":
            info = {"name": "elder", "version": "3"}
            return {
                "protocolVersion": self.version,
                "capabilities": self.capabilities,
                "serverInfo": info,
                "instructions": "Ask me anything.",
            }
        if method == "server/discover":
            if self.at_discover == "silence":
                await trio.sleep_forever()
            if self.at_discover != "error":
                return self.at_discover
        if method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
            return {}
        raise Refused(-32601, f"Method not found: {method}")

    async def ask(self, method: str, params: Any = None, *, id: Any = None) -> Any:
        """Ask the client something; its whole reply."""
        id = f"s{next(self._numbers)}" if id is None else id
        event, slot = self._waiting[id] = (trio.Event(), [])
        given = {} if params is None else {"params": params}
        await self.say({"jsonrpc": "2.0", "id": id, "method": method, **given})
        await event.wait()
        return slot[0]

    async def tell(self, what: str, **params: Any) -> None:
        """A notification."""
        await self.say({"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params})

    async def hang_up(self) -> None:
        await self._peer.leave()


def text(words: str, **more: Any) -> Any:
    """A result of a tool."""
    return {"content": [{"type": "text", "text": words}], **more}


@asynccontextmanager
async def client_of(server: OlderServer, **options: Any) -> AsyncGenerator[Client]:
    """A client of it over lines; whatever both have going is over when the block is."""
    ours, theirs = stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, theirs)
        async with (
            open_lines(ours, ours, name="the elder") as lines,
            open_client(lines, **options) as client,
        ):
            yield client
    # The server's nursery ends with the stream: nothing of it is left.


async def ask_region(asked: Asked) -> Any:
    """A tool that asks for a region by a form, and says what it was answered."""
    reply = await asked.ask("elicitation/create", FORM)
    return text(str(reply.get("result", reply.get("error"))))


async def hello(asked: Asked) -> Any:
    """A tool that asks nothing."""
    return text(f"hello {asked.params.get('arguments')}")


def unheard(*_: object) -> None:
    """A callback for what a test does not look at."""


async def region(_: object) -> Any:
    """Somebody who answers each form with prod."""
    return {"name": "prod"}
