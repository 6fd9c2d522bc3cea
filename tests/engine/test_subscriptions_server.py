"""Subscriptions to a whole server, by every transport."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing

from antiphon import Limits, Server, http_app
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    Message,
    Notification,
    Request,
    Success,
    write_message,
)
from antiphon.engine.subscriptions import META_SUBSCRIPTION
from antiphon.transports.memory import MemoryTransport
from tests.engine.peer import meta
from tests.engine.subscribing import acknowledged, ended_gracefully, listen
from tests.http_server.scripted import Visit, visit
from tests.stdio.harness import served

settled = trio.testing.wait_all_tasks_blocked
EVERYTHING: JsonObject = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["config://a"],
}


def server_of(**limits: int) -> Server:
    server = Server("Grows", limits=Limits(**limits))

    @server.tool
    async def grow(name: str) -> str:
        """Register a tool while the server runs."""

        async def more() -> str:
            return name

        more.__name__ = name
        server.tool(more)
        return "grown"

    @server.resource("config://a")
    async def a() -> str:
        return "a"

    return server


def grow(name: str) -> Request:
    params: JsonObject = {"_meta": meta(), "name": "grow", "arguments": {"name": name}}
    return Request("grow", "tools/call", params)


class Client:
    """One who is connected to a server, by whatever transport."""

    def __init__(self, send: Callable[[Request], Awaitable[None]]) -> None:
        self.send = send
        self.heard: list[Any] = []

    def hear(self, message: Any) -> None:
        self.heard.append(message)

    @property
    def methods(self) -> list[str]:
        """What came for subscriptions, and for whom, the acknowledgement left out."""
        return [
            f"{message['params']['_meta'][META_SUBSCRIPTION]} {message['method']}"
            for message in self.heard[1:]
            if "method" in message
        ]

    def result_of(self, id: object) -> Any:
        (found,) = [message for message in self.heard if message.get("id") == id]
        return found["result"]


def plain(message: Message) -> Any:
    return json.loads(write_message(message))


@asynccontextmanager
async def in_memory(server: Server) -> AsyncGenerator[Client]:
    transport = MemoryTransport(server)
    async with trio.open_nursery() as nursery:

        async def exchange(request: Request) -> None:
            client.hear(plain(await transport.exchange(request, lambda n: client.hear(plain(n)))))

        async def send(request: Request) -> None:
            nursery.start_soon(exchange, request)

        client = Client(send)
        yield client
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def on_lines(server: Server) -> AsyncGenerator[Client]:
    async with trio.open_nursery() as nursery, served(server) as peer:

        async def send(request: Request) -> None:
            await peer.say(plain(request))

        async def read() -> None:
            while message := await peer.hear():
                client.hear(message)

        client = Client(send)
        nursery.start_soon(read)
        yield client
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def over_http(server: Server) -> AsyncGenerator[Client]:
    app = http_app(server)
    async with trio.open_nursery() as nursery:

        async def exchange(visiting: Visit) -> None:
            answer = await visiting.run(app)
            if answer.headers[b"content-type"] == b"application/json":
                client.hear(answer.json)

        async def send(request: Request) -> None:
            visiting = visit(request)
            visiting.on_send = lambda event: take(event)
            nursery.start_soon(exchange, visiting)

        async def take(event: Any) -> None:
            body: bytes = event.get("body", b"")
            if body.startswith(b"data: "):
                client.hear(json.loads(body.removeprefix(b"data: ")))

        client = Client(send)
        yield client
        nursery.cancel_scope.cancel()


Connect: TypeAlias = Callable[[Server], AbstractAsyncContextManager[Client]]
everywhere = pytest.mark.parametrize("connect", [in_memory, on_lines, over_http])


@everywhere
async def test_tool_that_is_registered_or_removed_at_run_time_is_told_of(connect: Connect) -> None:
    server = server_of()
    async with connect(server) as client:
        await client.send(listen("s", toolsListChanged=True))
        await settled()
        assert client.heard == [plain(acknowledged("s", toolsListChanged=True))]
        await client.send(grow("more"))
        await settled()
        assert client.methods == ["s notifications/tools/list_changed"]
        assert client.result_of("grow")["content"][0]["text"] == "grown"
        server.tools.remove("more")
        await settled()
        assert client.methods == ["s notifications/tools/list_changed"] * 2


@everywhere
async def test_resource_that_changes_is_told_of_to_those_who_watch_it(connect: Connect) -> None:
    server = server_of()
    async with connect(server) as client:
        await client.send(listen(1, resourceSubscriptions=["config://a"]))
        await settled()
        server.resource_updated("config://b")
        server.resource_updated("config://a")
        await trio.to_thread.run_sync(server.resource_updated, "config://a")
        await settled()
        assert client.methods == ["1 notifications/resources/updated"] * 2


@everywhere
async def test_all_that_changes_goes_to_each_that_asked_for_it(connect: Connect) -> None:
    server = server_of()

    @server.prompt
    async def greet() -> str:
        return "Hello"

    async with connect(server) as client:
        await client.send(listen(1, **EVERYTHING))
        await settled()
        assert client.heard == [plain(acknowledged(1, **EVERYTHING))]
        for change in (server.tools_changed, server.prompts_changed, server.resources_changed):
            change()
        await settled()
        assert client.methods == [
            f"1 notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")
        ]


@everywhere
async def test_end_is_a_result_by_which_the_server_names_itself(connect: Connect) -> None:
    server = server_of()
    async with connect(server) as client:
        await client.send(listen("s", toolsListChanged=True))
        await settled()
        server.subscriptions.close()
        await settled()
        result = client.result_of("s")
        assert ended_gracefully(result, "s")
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "Grows"


@everywhere
async def test_limit_holds_for_the_whole_server(connect: Connect) -> None:
    server = server_of(subscriptions=2)
    async with in_memory(server) as first, on_lines(server) as second, connect(server) as third:
        for client in (first, second, third):
            await client.send(listen("s", toolsListChanged=True))
            await settled()
        assert [len(client.heard) for client in (first, second, third)] == [1, 1, 1]
        assert third.heard[0]["error"]["data"] == {"limit": "subscriptions", "value": 2}


async def test_client_in_memory_that_gives_up_leaves_no_subscription_behind() -> None:
    server = server_of(subscriptions=1)
    transport = MemoryTransport(server)
    for _ in range(3):
        heard: list[Notification] = []
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(transport.exchange, listen(), heard.append)
                await settled()
                assert heard == [acknowledged(toolsListChanged=True)]
                scope.cancel()


async def test_capabilities_say_what_is_honoured() -> None:
    async def discovered(server: Server) -> Any:
        request = Request(1, "server/discover", {"_meta": meta()})
        reply = await MemoryTransport(server).exchange(request, lambda _: None)
        assert isinstance(reply, Success)
        return reply.result["capabilities"]

    capabilities = await discovered(server_of())
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert "prompts" not in capabilities


async def test_a_kind_is_honoured_before_anything_of_it_is_registered() -> None:
    heard: list[Notification] = []
    server = server_of()
    server.subscriptions.close()
    await MemoryTransport(server).exchange(listen(1, **EVERYTHING), heard.append)
    assert heard == [acknowledged(1, **EVERYTHING)]


async def test_subscription_needs_its_envelope_as_any_request_does() -> None:
    request = Request(1, "subscriptions/listen", {"notifications": {}})
    reply = await MemoryTransport(server_of()).exchange(request, lambda _: None)
    assert isinstance(reply, Failure)
    assert reply.code == -32602
