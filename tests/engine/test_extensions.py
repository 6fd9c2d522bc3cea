"""Extensions: declared, required of clients, served by methods of their own."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Call, Incoming, LowLevelServer, Server, UsageError, open_client
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.transports.asgi import http_app
from tests.engine.peer import Peer, members, meta, text_of
from tests.http_server.scripted import post
from tests.naming import shown

UI = "io.modelcontextprotocol/ui"
MINE = "com.example/mine"


# -- declared ---------------------------------------------------------------------------------


async def test_they_are_declared_with_their_settings() -> None:
    settings: JsonObject = {"mimeTypes": ["text/html;profile=mcp-app"]}
    given: dict[str, JsonObject] = {UI: settings, MINE: {}}
    for server in (Server("Ext", extensions=given), LowLevelServer("Ext", extensions=given)):
        async with open_client(server) as client:
            discovery = await client.discover()
        assert discovery.capabilities["extensions"] == {UI: settings, MINE: {}}


async def test_a_server_without_any_declares_none() -> None:
    result = await Peer(Server("Ext")).ask("server/discover")
    assert "extensions" not in result["capabilities"]


@pytest.mark.parametrize(
    "name",
    [
        "com.example/name",
        "io.modelcontextprotocol/ui",
        "a/b",
        "com.ex-ample/n",
        "com.example/",  # a name may be empty, a prefix may not
        "com.example/a.b_c-d",
        "com.e2/0",
    ],
)
def test_identifiers_follow_the_rules_of_meta_keys(name: str) -> None:
    assert Server("Ext", extensions={name: {}}).extensions == {name: {}}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "name",
        "/name",
        "com.example",
        "com..example/n",
        ".com/n",
        "com./n",
        "1com/n",
        "com.1example/n",
        "com.example-/n",
        "-com/n",
        "com.example/-n",
        "com.example/n-",
        "com.example/n.",
        "com.example/a/b",
        "com.example/a b",
        "com.exämple/n",
        "com.example/ñ",
        "com.example/n\n",
        "com_example/n",
    ],
)
def test_other_identifiers_are_refused(name: str) -> None:
    for kind in (Server, LowLevelServer):
        with pytest.raises(UsageError, match="needs an identifier with a prefix"):
            kind("Ext", extensions={name: {}})


@pytest.mark.parametrize("settings", [None, True, [], "on"], ids=shown)
def test_settings_are_an_object(settings: Any) -> None:
    with pytest.raises(UsageError, match="must be an object"):
        Server("Ext", extensions={MINE: settings})


@pytest.mark.parametrize("settings", [{"a": object()}, {"a": float("nan")}], ids=shown)
def test_settings_have_a_json_form(settings: Any) -> None:
    with pytest.raises(UsageError):
        Server("Ext", extensions={MINE: settings})


# -- required ---------------------------------------------------------------------------------


def requiring() -> Server:
    server = Server("Ext", extensions={MINE: {}})

    @server.tool
    async def draw(call: Call[Any]) -> str:
        call.require({"extensions": {MINE: {}}})
        return "drawn"

    return server


@pytest.mark.parametrize(
    "capabilities",
    [{}, {"extensions": {}}, {"extensions": {UI: {}}}, {"extensions": None}, {"elicitation": {}}],
    ids=shown,
)
async def test_a_client_without_it_is_told_so(capabilities: JsonObject) -> None:
    refusal = await Peer(requiring(), capabilities).refused("draw")
    assert refusal.code == -32021
    required = members(refusal.data)["requiredCapabilities"]
    assert required == {"extensions": {MINE: {}}}


@pytest.mark.parametrize("settings", [{}, {"version": 3}], ids=shown)
async def test_a_client_with_it_is_served(settings: JsonObject) -> None:
    peer = Peer(requiring(), {"extensions": {UI: {}, MINE: settings}})
    assert text_of(await peer.call("draw")) == "drawn"


async def test_a_tool_may_need_it_from_the_start() -> None:
    server = Server("Ext")

    @server.tool(needs={"extensions": {MINE: {}}})
    async def draw() -> str:
        return "drawn"

    assert (await Peer(server).refused("draw")).code == -32021
    assert text_of(await Peer(server, {"extensions": {MINE: {}}}).call("draw")) == "drawn"


async def test_a_missing_extension_is_400_over_http() -> None:
    request = Request(1, "tools/call", {"name": "draw", "arguments": {}, "_meta": meta({})})
    answer = await post(http_app(requiring()), request)
    assert (answer.status, answer.code) == (400, -32021)


# -- served -----------------------------------------------------------------------------------


async def test_an_extension_has_methods_of_its_own() -> None:
    server = Server("Ext", extensions={MINE: {}})

    @server.method("com.example/do")
    async def do(request: Incoming) -> JsonObject:
        return {"resultType": "complete", "did": request.params["what"]}

    reply = await Peer(server).ask("com.example/do", {"what": "this"})
    assert reply["did"] == "this"
    assert reply["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "Ext"
    request = Request(1, "com.example/do", {"what": "that", "_meta": meta()})
    answer = await post(http_app(server), request)
    assert (answer.status, members(answer.json["result"])["did"]) == (200, "that")


@pytest.mark.parametrize("method", ["com.example/undo", "tasks/get", "com.example/do "])
async def test_an_unknown_method_is_not_found(method: str) -> None:
    server = Server("Ext", extensions={MINE: {}})
    reply = await Peer(server).exchange(method, {"_meta": meta()})
    assert isinstance(reply, Failure)
    assert reply.code == -32601


async def test_it_may_stand_in_for_a_method_of_the_protocol() -> None:
    server = Server("Ext")

    @server.method("tools/list")
    async def tools_list(request: Incoming) -> JsonObject:
        none: JsonObject = {"tools": [], "ttlMs": 0, "cacheScope": "private"}
        return {"resultType": "complete", **none}

    assert (await Peer(server).ask("tools/list"))["tools"] == []
