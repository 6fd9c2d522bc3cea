"""A server's lifespan: one for each run of a transport, around all of its calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import (
    Call,
    LowLevelServer,
    MemoryTransport,
    Principal,
    Server,
    TransportLost,
    UsageError,
    connect_client,
    open_client,
)
from antiphon.engine.client import Client
from antiphon.transports.memory import open_memory
from antiphon.transports.stdio import serve_lines
from tests.cases.lifespans import Database, Life
from tests.engine.peer import Peer, meta, told
from tests.stdio.harness import call, line, served, stream_pair

USE: dict[str, Any] = {"name": "use", "arguments": {}, "_meta": meta()}
LINGER: dict[str, Any] = {**USE, "name": "linger"}


# -- in memory --------------------------------------------------------------------------------


async def test_a_client_in_memory_holds_it_open() -> None:
    life = Life()
    async with open_client(life.server) as client:
        assert (await client.call_tool("use")).text == "database 1"
        assert (await client.call_tool("use")).text == "database 1"
    assert life.events == ["opened", "used", "used", "closed"]


async def test_each_client_in_memory_has_its_own() -> None:
    life = Life()
    async with open_client(life.server) as one, open_client(life.server) as other:
        assert (await one.call_tool("use")).text == "database 1"
        assert (await other.call_tool("use")).text == "database 2"
    assert [database.open for database in life.opened] == [False, False]


async def test_a_client_in_a_nursery_closes_it_when_it_is_closed() -> None:
    life = Life()
    async with trio.open_nursery() as nursery:
        client = await connect_client(nursery, life.server)
        await client.call_tool("use")
        await client.aclose()
        assert life.events == ["opened", "used", "closed"]


async def test_it_ends_after_the_calls_of_other_tasks() -> None:
    life = Life()
    async with trio.open_nursery() as nursery, open_client(life.server) as client:
        nursery.start_soon(_lost, client)
        await life.reached.wait()
    assert life.events == ["opened", "ended", "closed"]


async def _lost(client: Client) -> None:
    with pytest.raises(TransportLost, match="closed during the call") as lost:
        await client.call_tool("linger")
    assert lost.value.sent


async def test_it_ends_after_the_calls_when_all_is_cancelled() -> None:
    life = Life()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery, open_client(life.server) as client:
            nursery.start_soon(client.call_tool, "linger")
            await life.reached.wait()
            scope.cancel()
            await trio.sleep_forever()
    assert life.events == ["opened", "ended", "closed"]


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    life = Life()
    with pytest.raises(KeyError, match="mine"):
        async with open_client(life.server):
            raise KeyError("mine")
    assert life.events == ["opened", "closed"]


async def test_what_it_raises_itself_comes_out_as_it_is() -> None:
    with pytest.raises(OSError, match="no database"):
        async with open_client(Life(before=OSError("no database")).server):
            raise AssertionError
    with pytest.raises(OSError, match="stuck"):
        async with open_client(Life(after=OSError("stuck")).server):
            pass


async def test_a_transport_may_be_opened_for_somebody() -> None:
    life = Life()
    alice = Principal("app", None, "alice")
    async with open_memory(life.server, principal=alice) as transport:
        async with open_client(transport) as client:
            await client.call_tool("use")
        async with open_client(transport) as client:
            await client.call_tool("use")
        assert life.events == ["opened", "used", "used"]
    assert life.events[-1] == "closed"


async def test_a_transport_that_nobody_holds_open_says_what_to_do() -> None:
    life = Life()
    async with open_client(MemoryTransport(life.server)) as client:
        with pytest.raises(UsageError, match=r"open_memory\(server\)"):
            await client.call_tool("use")
    async with open_memory(life.server) as transport:
        pass
    with pytest.raises(UsageError, match="not open"):
        await Client(transport).call_tool("use")


# -- on streams -------------------------------------------------------------------------------


async def test_a_connection_holds_it_open() -> None:
    life = Life()
    async with served(life.server) as peer:
        await peer.say(call(1, "tools/call", **USE))
        assert (await peer.hear())["result"]["content"][0]["text"] == "database 1"
        await peer.hang_up()
        assert await peer.hear() is None
    assert life.events == ["opened", "used", "closed"]


async def test_a_call_has_its_grace_before_it_ends(autojump_clock: trio.testing.MockClock) -> None:
    life = Life()
    begun = trio.current_time()
    async with served(life.server, grace=2) as peer:
        await peer.say(call(1, "tools/call", **LINGER))
        await life.reached.wait()
        await peer.hang_up()
        assert await peer.hear() is None
    assert life.events == ["opened", "ended", "closed"]
    assert trio.current_time() - begun == 2


async def test_it_ends_after_the_calls_when_the_serving_is_cancelled() -> None:
    life = Life()
    ours, theirs = stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, life.server, theirs, theirs)
        await ours.send_all(_line(LINGER))
        await life.reached.wait()
        nursery.cancel_scope.cancel()
    assert life.events == ["opened", "ended", "closed"]


def _line(params: dict[str, Any]) -> bytes:
    return line(call(1, "tools/call", **params))


async def test_a_connection_is_not_served_where_it_cannot_begin() -> None:
    ours, theirs = stream_pair()
    await ours.send_all(_line(USE))
    with pytest.raises(OSError, match="no database"):
        await serve_lines(Life(before=OSError("no database")).server, theirs, theirs)


async def test_each_connection_has_its_own() -> None:
    life = Life()
    async with served(life.server) as one, served(life.server) as other:
        said: set[str] = set()
        for peer in (one, other):
            await peer.say(call(1, "tools/call", **USE))
            said.add((await peer.hear())["result"]["content"][0]["text"])
    assert said == {"database 1", "database 2"}


async def test_a_background_task_of_it_that_fails_ends_the_serving() -> None:
    fails = trio.Event()

    async def watch() -> None:
        await fails.wait()
        raise OSError("lost")

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None, None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            yield
            nursery.cancel_scope.cancel()

    _, theirs = stream_pair()
    fails.set()
    with pytest.RaisesGroup(OSError, flatten_subgroups=True):
        await serve_lines(Server("Watching", lifespan=lifespan), theirs, theirs)


# -- handlers ---------------------------------------------------------------------------------


async def test_a_handler_of_a_low_level_server_finds_it_in_the_exchange() -> None:
    life = Life()
    server = LowLevelServer("Low", lifespan=life.lifespan)

    @server.method("tools/call")
    async def tools_call(request: Any) -> Any:
        assert isinstance(request.exchange.lifespan, Database)
        return {"resultType": "complete", "content": []}

    async with open_client(server) as client:
        assert (await client.call_tool("any")).content == []


async def test_a_lifespan_may_give_nothing() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None, None]:
        events.append("in")
        yield
        events.append("out")

    server = Server("Quiet", lifespan=lifespan)

    @server.tool
    async def use() -> str:
        return "used"

    async with open_client(server) as client:
        assert (await client.call_tool("use")).text == "used"
    assert events == ["in", "out"]


async def test_a_wrong_kind_is_told_to_the_author(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("None at all")

    @server.tool
    async def use(call: Call[Any]) -> str:
        return str(call.lifespan(Database))

    assert "error in the server" in told(await Peer(server).call("use"))
    assert "The server's lifespan gave NoneType, not Database" in caplog.text
