"""The memory transport: a server object in the same process, with the wire's own rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define, field

from antiphon.engine.client import Client
from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import Exchange, Principal
from antiphon.engine.jsonrpc import JsonObject, Notification, Reply, Request, Success
from antiphon.engine.limits import Limits
from antiphon.transports.memory import MemoryTransport
from tests.client.scripted import accept_prod, asks, done

Handler = Callable[[Request, Exchange], Awaitable[JsonObject]]


@define
class Scene:
    """A server object around one function."""

    serve: Handler
    name: str = "scene"
    limits: Limits = field(factory=Limits)

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        return Success(request.id, await self.serve(request, exchange))


async def test_a_call_goes_to_the_server_and_back() -> None:
    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        if "inputResponses" not in request.params:
            return asks(state="s=🦆")
        assert request.params["requestState"] == "s=🦆"
        return done("served")

    client = Client(MemoryTransport(Scene(serve)), elicitation=accept_prod)
    with pytest.raises(TypeError):
        MemoryTransport(Scene(serve), name="mine")  # type: ignore[call-arg]
    assert client.name == "scene"


async def test_all_rounds_pass_through_memory() -> None:
    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        answers = request.params.get("inputResponses")
        return asks() if answers is None else done(str(answers))

    client = Client(MemoryTransport(Scene(serve)), elicitation=accept_prod)
    assert "prod" in (await client.call_tool("t")).text


async def test_neither_side_can_touch_what_the_other_holds() -> None:
    kept: list[JsonObject] = []

    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        request.params["arguments"]["list"].append("server")  # type: ignore[index, call-overload, union-attr]
        result = done()
        kept.append(result)
        return result

    arguments = {"list": ["client"]}
    result = await Client(MemoryTransport(Scene(serve))).call_tool("t", arguments)
    result.content.clear()
    assert arguments == {"list": ["client"]}
    assert kept[0]["content"]


async def test_the_server_sees_the_principal_that_was_given() -> None:
    seen: list[Exchange] = []

    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        seen.append(exchange)
        return done()

    alice = Principal("app", "https://issuer.example", "alice")
    await Client(MemoryTransport(Scene(serve), principal=alice)).call_tool("t")
    await Client(MemoryTransport(Scene(serve))).call_tool("t")
    assert [exchange.principal for exchange in seen] == [alice, None]
    assert seen[0].transport == "memory"


async def test_a_request_that_passes_the_servers_limit_is_answered_as_on_a_wire() -> None:
    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        raise AssertionError

    from antiphon.engine.call_errors import ServerError

    client = Client(MemoryTransport(Scene(serve, limits=Limits(message_bytes=2000))))
    with pytest.raises(ServerError, match="limit message_bytes") as caught:
        await client.call_tool("t", {"a": "x" * 3000})
    assert caught.value.code == -32700


async def test_a_reply_that_passes_the_clients_limit_is_an_invalid_reply() -> None:
    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        return done("x" * 3000)

    transport = MemoryTransport(Scene(serve), limits=Limits(message_bytes=2000))
    with pytest.raises(InvalidReply, match="limit message_bytes"):
        await Client(transport).call_tool("t")


@pytest.mark.parametrize("unsayable", ["\ud800", object(), {3: object()}])
async def test_a_reply_that_is_no_json_is_an_invalid_reply(unsayable: Any) -> None:
    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        return done(structuredContent=unsayable)

    with pytest.raises(InvalidReply):
        await Client(MemoryTransport(Scene(serve))).call_tool("t")


async def test_a_notification_after_its_request_is_dropped() -> None:
    exchanges: list[Exchange] = []
    said = Notification("notifications/message", {"level": "info"})

    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        exchanges.append(exchange)
        await exchange.notify(said)
        return done()

    heard: list[Notification] = []
    await MemoryTransport(Scene(serve)).exchange(Request(1, "tools/call", {}), heard.append)
    await exchanges[0].notify(said)
    assert heard == [said]


async def test_progress_passes_through_memory_and_ends_with_its_request() -> None:
    exchanges: list[Exchange] = []

    async def tell(exchange: Exchange, token: Any, progress: int) -> None:
        members: JsonObject = {"progressToken": token, "progress": progress}
        await exchange.notify(Notification("notifications/progress", members))

    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        exchanges.append(exchange)
        token = request.params["_meta"]["progressToken"]  # type: ignore[index, call-overload]
        await tell(exchange, token, 1)
        await tell(exchange, token, 2)
        return done()

    heard: list[float] = []
    client = Client(MemoryTransport(Scene(serve)))
    await client.call_tool("t", progress=lambda reached, total, message: heard.append(reached))
    await tell(exchanges[0], "any", 3)
    assert heard == [1, 2]


async def test_cancelling_the_call_cancels_the_server() -> None:
    ended: list[str] = []

    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("server")
        return done()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Client(MemoryTransport(Scene(serve))).call_tool, "t")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ended == ["server"]


async def test_an_exchange_always_lets_others_run() -> None:
    async def serve(request: Request, exchange: Exchange) -> JsonObject:
        return done()

    with trio.testing.assert_checkpoints():
        await Client(MemoryTransport(Scene(serve))).call_tool("t")
