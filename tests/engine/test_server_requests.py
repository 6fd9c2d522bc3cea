"""The requests that are no tool calls, and the metadata that every request brings."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from antiphon import Limits, Server, UsageError
from antiphon.engine.errors import ProtocolError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, JsonObject, JsonValue, Request, Success
from antiphon.engine.registry import Registry
from antiphon.engine.tools import ToolEntry
from tests.engine.peer import EVERYTHING, Peer, meta
from tests.engine.tools import Bake, Both, Order, serving

VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


async def fault(peer: Peer, method: str, params: JsonObject) -> Failure:
    reply = await peer.exchange(method, params)
    assert isinstance(reply, Failure)
    return reply


def without(name: str) -> JsonObject:
    return {key: value for key, value in meta().items() if key != name}


# -- discovery --------------------------------------------------------------------------------


async def test_discovery_tells_versions_and_capabilities() -> None:
    peer = serving(Order(), title="The shop", instructions="Ask before you order.")
    assert await peer.ask("server/discover") == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"logging": {}, "tools": {"listChanged": True}},
        "instructions": "Ask before you order.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: {"name": "Shop", "version": "1.0", "title": "The shop"}},
    }


async def test_what_was_not_given_is_not_sent() -> None:
    discovery = await serving(Order()).ask("server/discover")
    assert "instructions" not in discovery
    assert discovery["_meta"][SERVER_INFO] == {"name": "Shop", "version": "1.0"}


async def test_every_result_names_the_server() -> None:
    peer = serving(Order(), Bake())
    results = [
        await peer.ask("server/discover"),
        await peer.ask("tools/list"),
        await peer.call("order", {"item": "ink"}),
        await peer.call("order", {}),
        await peer.call("bake"),
    ]
    assert all(result["_meta"][SERVER_INFO]["name"] == "Shop" for result in results)
    assert results[-1]["_meta"]["antiphon/retryAfterMs"] == 250


# -- lists ------------------------------------------------------------------------------------


async def test_tools_are_listed_as_they_were_registered() -> None:
    peer = serving(Order(), Bake(), Both())
    for _ in range(2):
        listed = await peer.ask("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["order", "bake", "both"]
        assert "nextCursor" not in listed


async def test_a_listed_flow() -> None:
    peer = serving()
    peer.server.tool(Order(), title="Order")
    (tool,) = (await peer.ask("tools/list"))["tools"]
    assert tool == {
        "name": "order",
        "title": "Order",
        "description": "Order something. Asks for a colour, then for a confirmation.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "item": {"type": "string"},
                "count": {"type": "integer", "minimum": 1, "default": 1},
            },
            "required": ["item"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "item": {"type": "string"},
                "count": {"type": "integer"},
                "colour": {"type": "string"},
            },
            "required": ["item", "count", "colour"],
        },
    }


async def test_caching_is_told_as_it_was_set() -> None:
    peer = serving(Order(), list_ttl_ms=60_000, list_scope="public")
    for method in ("tools/list", "server/discover"):
        result = await peer.ask(method)
        assert (result["ttlMs"], result["cacheScope"]) == (60_000, "public")


def test_a_negative_caching_time_is_refused() -> None:
    with pytest.raises(UsageError, match="list_ttl_ms"):
        Server("Shop", list_ttl_ms=-1)


async def pages(peer: Peer) -> list[list[str]]:
    found: list[list[str]] = []
    cursor: JsonValue = None
    while True:
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        listed = await peer.ask("tools/list", params)
        found.append([tool["name"] for tool in listed["tools"]])
        cursor = listed.get("nextCursor")
        if cursor is None:
            return found


@pytest.mark.parametrize(
    ("count", "expected"), [(1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3]), (7, [3, 3, 1])]
)
async def test_pages_hold_every_tool_once(count: int, expected: list[int]) -> None:
    peer = serving(limits=Limits(page=3))
    for number in range(count):
        peer.server.tool(Bake(), name=f"größe {number}")
    listed = await pages(peer)
    assert [len(page) for page in listed] == expected
    assert [name for page in listed for name in page] == [f"größe {n}" for n in range(count)]


async def test_what_a_server_never_had_is_not_served() -> None:
    peer = serving()
    reply = await peer.exchange("tools/list", {"_meta": meta()})
    assert isinstance(reply, Failure)
    assert reply.code == -32601
    peer.server.tool(Order())
    peer.server.tools.remove("order")
    assert (await peer.ask("tools/list"))["tools"] == []


async def test_a_tool_that_is_registered_between_two_pages_is_still_listed() -> None:
    peer = serving(Order(), Bake(), limits=Limits(page=1))
    first = await peer.ask("tools/list")
    peer.server.tool(Both())
    second = await peer.ask("tools/list", {"cursor": first["nextCursor"]})
    third = await peer.ask("tools/list", {"cursor": second["nextCursor"]})
    assert [tool["name"] for tool in third["tools"]] == ["both"]


@pytest.mark.parametrize("cursor", ["", "x", "b3JkZXI", "!!!!", "é", "AAAA", "/////w==", "\u0000"])
async def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str) -> None:
    refusal = await fault(serving(Order()), "tools/list", {"_meta": meta(), "cursor": cursor})
    assert refusal.code == -32602
    assert refusal.message == "Invalid cursor: list again from the first page"


@pytest.mark.parametrize("cursor", [5, {}, [], True])
async def test_a_cursor_that_is_no_text_is_refused(cursor: JsonValue) -> None:
    refusal = await fault(serving(Order()), "tools/list", {"_meta": meta(), "cursor": cursor})
    assert refusal.code == -32602
    assert "cursor" in refusal.message


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a\nb", "\u200b", "x" * 129])
def test_a_name_that_no_client_could_send_is_refused(name: str) -> None:
    machine: Any = Bake()
    with pytest.raises(UsageError, match="1 to 128 printable characters"):
        Registry[ToolEntry]("tool").add(_named(name, machine))


def _named(name: str, machine: Any) -> ToolEntry:
    class Named:
        pass

    named: Any = Named()
    named.name = name
    entry: Any = ToolEntry(named, {}, lambda _: machine, machine)
    return entry  # type: ignore[no-any-return]


def test_a_name_is_given_once() -> None:
    server = Server("Shop")
    server.tool(Bake())
    with pytest.raises(UsageError, match="'bake' is registered already"):
        server.tool(Bake())
    server.tool(Bake(), name="bake again")


def test_what_is_no_tool_is_refused() -> None:
    server: Any = Server("Shop")
    with pytest.raises(UsageError, match="make an object of the class"):
        server.tool(Bake)
    with pytest.raises(UsageError, match="a flow object or an async function"):
        server.tool("bake")


# -- metadata ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call", "any/method"])
@pytest.mark.parametrize("value", [None, [], "x", 5])
async def test_a_request_without_metadata_is_refused(method: str, value: JsonValue) -> None:
    for params in ({"_meta": value}, {}):
        refusal = await fault(serving(Order()), method, {"name": "order", **params})
        assert refusal == Failure(refusal.id, -32602, 'Invalid params: "_meta" is missing')


@pytest.mark.parametrize("name", [VERSION, CAPABILITIES])
async def test_a_required_member_of_the_metadata_is_named(name: str) -> None:
    for broken in (without(name), {**meta(), name: None}, {**meta(), name: 5}):
        refusal = await fault(serving(Order()), "tools/list", {"_meta": broken})
        assert refusal.code == -32602
        assert name in refusal.message


async def test_a_client_need_not_name_itself() -> None:
    for broken in (without(CLIENT), {**meta(), CLIENT: None}):
        assert isinstance(await serving(Order()).exchange("tools/list", {"_meta": broken}), Success)


@pytest.mark.parametrize("client", [5, "peer", {"name": "peer"}, {"name": 1, "version": "1"}])
async def test_a_client_that_names_itself_malformed_is_refused(client: JsonValue) -> None:
    broken = {**meta(), CLIENT: client}
    assert (await fault(serving(Order()), "tools/list", {"_meta": broken})).code == -32602


@pytest.mark.parametrize("token", [True, 1.5, [], {}])
async def test_a_progress_token_is_text_or_an_integer(token: JsonValue) -> None:
    broken = meta(progressToken=token)
    refusal = await fault(serving(Order()), "tools/list", {"_meta": broken})
    assert refusal.code == -32602
    assert "progressToken" in refusal.message


@pytest.mark.parametrize("version", ["2025-11-25", "v999.0.0", "", "2026-07-28 "])
async def test_a_version_that_is_not_served_is_refused_with_those_that_are(version: str) -> None:
    refusal = await fault(serving(Order()), "tools/list", {"_meta": {**meta(), VERSION: version}})
    assert refusal.code == -32022
    assert refusal.data == {"requested": version, "supported": ["2026-07-28"]}
    assert "2026-07-28" in refusal.message


async def test_the_version_is_looked_at_before_the_method() -> None:
    old = {**meta(), VERSION: "2025-11-25"}
    assert (await fault(serving(Order()), "ping", {"_meta": old})).code == -32022


# -- methods ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "prompts/list",
        "tools/List",
        "",
        "_discover",
        "notifications/initialized",
    ],
)
async def test_an_unknown_method_is_not_found(method: str) -> None:
    refusal = await fault(serving(Order()), method, {"_meta": meta()})
    assert (refusal.code, refusal.message) == (-32601, f"Method not found: {method}")


async def test_a_long_method_is_not_echoed_whole() -> None:
    refusal = await fault(serving(Order()), "m" * 100_000, {"_meta": meta()})
    assert len(refusal.message) < 200


async def test_the_handshake_is_refused_with_the_versions_served() -> None:
    params: JsonObject = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    }
    refusal = await fault(serving(Order()), "initialize", params)
    assert refusal.code == -32022
    assert refusal.data == {"requested": "2025-11-25", "supported": ["2026-07-28"]}
    assert "2026-07-28" in refusal.message


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}, {"_meta": {"progressToken": 1}}])
async def test_a_malformed_handshake_is_refused_likewise(params: JsonObject) -> None:
    refusal = await fault(serving(Order()), "initialize", params)
    assert refusal.code == -32022
    assert refusal.data == {"requested": "", "supported": ["2026-07-28"]}


async def test_the_handshake_of_a_modern_client_is_an_unknown_method() -> None:
    refusal = await fault(serving(Order()), "initialize", {"_meta": meta()})
    assert refusal.code == -32601
    assert "2026-07-28" in refusal.message


@pytest.mark.parametrize("id", ["", "a", 0, 2**70])
async def test_every_reply_carries_the_id_of_its_request(id: str | int) -> None:
    server = serving(Order()).server
    for method in ("tools/list", "ping", "initialize"):
        reply = await server.handle(Request(id, method, {"_meta": meta()}), Exchange())
        assert reply.id == id


async def test_a_fault_of_the_server_is_masked_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: Exchange) -> str:
        raise RuntimeError("the secret of the database")

    peer = serving(Order(), bind_principal=broken)
    refusal = await peer.refused("order", {"item": "ink"})
    assert (refusal.code, refusal.message, refusal.data) == (-32603, "Internal error", None)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "'tools/call' could not be served"
    assert record.exc_info is not None
    assert (await peer.ask("tools/list"))["tools"], "the next request is not served"


async def test_capabilities_belong_to_the_request_that_declares_them() -> None:
    peer = serving(Order())
    peer.capabilities = {}
    assert (await peer.refused("order", {"item": "ink"})).code == -32021
    peer.capabilities = EVERYTHING
    assert (await peer.call("order", {"item": "ink"}))["resultType"] == "input_required"
    peer.capabilities = {}
    assert (await peer.refused("order", {"item": "ink"})).code == -32021


def test_an_error_that_was_raised_keeps_what_a_peer_may_act_on() -> None:
    error = ProtocolError(-32602, "no", {"a": 1}, id=3)
    assert (error.code, error.message, error.data, error.id, str(error)) == (
        -32602,
        "no",
        {"a": 1},
        3,
        "no",
    )
