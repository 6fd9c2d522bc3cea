"""What a client of an earlier revision is served over lines, from the handshake on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from antiphon import LowLevelServer, Server
from antiphon.engine.errors import INVALID_PARAMS, UNSUPPORTED_VERSION
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.peer import meta
from tests.interop import ours, whole
from tests.older_server.peer import (
    AGREE,
    LATEST,
    VERSIONS,
    accept,
    connected,
    in_session,
    text_of,
)

SHIP: JsonObject = {"name": "older", "version": "1"}


# -- the handshake ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_earlier_revision_is_granted(version: str) -> None:
    async with connected(whole.make(), version) as peer:
        welcome = await peer.begin()
    assert welcome["protocolVersion"] == version
    assert welcome["instructions"] == "Be quiet."
    assert welcome["serverInfo"]["name"] == "Library"
    assert ("title" in welcome["serverInfo"]) is (version >= "2025-06-18")
    assert ("icons" in welcome["serverInfo"]) is (version >= "2025-11-25")
    assert welcome["capabilities"] == {
        "logging": {},
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
    }


@pytest.mark.parametrize("asked", ["2026-07-28", "2024-10-07", "1.0", ""])
async def test_any_other_revision_is_granted_as_the_latest_of_them(asked: str) -> None:
    async with connected(whole.make()) as peer:
        peer.version = LATEST
        welcome = await peer.begin(protocolVersion=asked)
    assert welcome["protocolVersion"] == LATEST


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": 1, "capabilities": {}, "clientInfo": SHIP},
        {"protocolVersion": LATEST, "clientInfo": SHIP},
        {"protocolVersion": LATEST, "capabilities": [], "clientInfo": SHIP},
        {"protocolVersion": LATEST, "capabilities": {}},
        {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": 1}},
    ],
)
async def test_malformed_handshake_begins_nothing(params: JsonObject) -> None:
    async with connected(whole.make()) as peer:
        assert (await peer.error("initialize", params))["code"] == INVALID_PARAMS
        assert (await peer.error("ping"))["code"] == INVALID_PARAMS  # still without a session
        await peer.begin()
        assert await peer.result("ping") == {}


async def test_server_without_handshake_refuses_it_by_the_revisions_that_it_serves() -> None:
    async with connected(Server("New", handshake=False)) as peer:
        params: JsonObject = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": SHIP}
        error = await peer.error("initialize", params)
        assert error["code"] == UNSUPPORTED_VERSION
        assert error["data"] == {"requested": LATEST, "supported": ["2026-07-28"]}
        assert (await peer.error("tools/list"))["code"] == INVALID_PARAMS


async def test_requests_without_revision_are_refused_before_the_handshake() -> None:
    async with connected(whole.make()) as peer:
        for method in ("tools/list", "server/discover", "ping", "subscriptions/listen"):
            assert (await peer.error(method))["code"] == INVALID_PARAMS
        reply: JsonObject = {"jsonrpc": "2.0", "id": "server-1", "result": {}}
        await peer.line.say(reply)
        await peer.begin()
        assert len((await peer.result("tools/list"))["tools"]) == 5


# -- eras side by side ------------------------------------------------------------------------


async def test_late_handshake_wins_after_a_discovery_on_the_same_connection() -> None:
    async with connected(ours.make()) as peer:
        await peer.line.say(
            {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta()}}
        )
        discovered = await peer.line.hear()
        assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
        await peer.begin()
        assert text_of(await peer.tool("echo", text="older")) == "older"


@pytest.mark.parametrize("given_up", [False, True])
async def test_late_handshake_wins_over_a_discovery_that_waited_for_a_slow_start(
    given_up: bool,
) -> None:
    started = trio.Event()

    @asynccontextmanager
    async def starting() -> AsyncGenerator[None]:
        await started.wait()
        yield

    server = Server("Slow", lifespan=starting)

    @server.tool
    async def echo(text: str) -> str:
        return text

    async with connected(server) as peer:
        probe = {"jsonrpc": "2.0", "id": "probe", "method": "server/discover"}
        await peer.line.say({**probe, "params": {"_meta": meta()}})
        await peer.line.hear_nothing()
        if given_up:
            await peer.line.say(
                {"jsonrpc": "2.0", "method": "notifications/cancelled",
                 "params": {"requestId": "probe"}}
            )  # fmt: skip
        params: JsonObject = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": SHIP}
        await peer.say(1, "initialize", params)
        await peer.line.hear_nothing()
        started.set()
        while (reply := await peer.line.hear())["id"] == "probe":
            pass  # the client has stopped waiting for it
        assert reply["result"]["protocolVersion"] == LATEST
        await peer.note("notifications/initialized")
        await peer.say(2, "tools/call", {"name": "echo", "arguments": {"text": "older"}})
        while (reply := await peer.line.hear())["id"] == "probe":
            pass
        assert text_of(reply["result"]) == "older"


async def test_request_that_names_its_revision_is_served_by_it_within_a_session() -> None:
    server = ours.make()
    async with in_session(server) as peer:
        params: Any = {"_meta": meta(), "name": "gather", "arguments": {}}
        await peer.line.say(
            {"jsonrpc": "2.0", "id": "new", "method": "tools/call", "params": params}
        )
        reply = await peer.line.hear()
        assert reply["result"]["resultType"] == "input_required"
        assert "requestState" in reply["result"]
        assert text_of(await peer.tool("echo", text="older")) == "older"


async def test_second_handshake_replaces_the_session_and_ends_its_calls() -> None:
    async with in_session(whole.make()) as peer:
        id = await peer.call("lend", title="Dune")
        question = await peer.question()
        peer.version = "2025-06-18"
        await peer.say(id, "initialize", {  # even by the id of the call that it ends
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": SHIP,
        })  # fmt: skip
        heard = [await peer.hear(), await peer.hear()]
        (welcome,) = [m for m in heard if "result" in m]
        (taken_back,) = [m for m in heard if "method" in m]
        assert welcome["result"]["protocolVersion"] == "2025-06-18"
        assert taken_back["params"] == {"requestId": question["id"]}
        # What it said it could be asked counts no more, and a late answer reaches nobody.
        await peer.reply(question["id"], accept(name="Ada"))
        refused = await peer.tool("lend", title="Dune")
        assert refused["isError"] is True
        assert "elicitation" in text_of(refused)


async def test_late_answer_to_a_former_session_is_no_answer_in_the_next() -> None:
    async with in_session(whole.make()) as peer:
        await peer.call("lend", title="Dune")
        former = await peer.question()
        await peer.begin()
        id = await peer.call("lend", title="Emma")
        present = await peer.question()
        assert present["id"] != former["id"]
        await peer.reply(former["id"], accept(name="Eve"))
        await peer.hear_nothing()
        await peer.reply(present["id"], accept(name="Ada"))
        done = await peer.finish(id, lambda _: AGREE)
        assert text_of(done["result"]) == "Emma is lent to Ada."


async def test_handshake_by_the_id_of_an_open_request_of_this_revision_is_refused() -> None:
    server = LowLevelServer("Low")
    go_on = trio.Event()

    @server.method("com.example/wait")
    async def wait(_: object) -> JsonObject:
        await go_on.wait()
        return {}

    async with connected(server) as peer:
        raw = peer.line
        await raw.say(
            {"jsonrpc": "2.0", "id": 7, "method": "com.example/wait", "params": {"_meta": meta()}}
        )
        await peer.say(7, "initialize", {
            "protocolVersion": LATEST, "capabilities": {}, "clientInfo": SHIP,
        })  # fmt: skip
        assert (await raw.hear())["error"]["code"] == -32600
        go_on.set()
        assert (await raw.hear())["result"]["resultType"] == "complete"
