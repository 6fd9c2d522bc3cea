"""A session by itself: what it takes, what it answers, and what it never hands on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Call, LowLevelServer, Server
from antiphon.engine.closing import ClosableExchange, Closing
from antiphon.engine.errors import INVALID_PARAMS, METHOD_NOT_FOUND, ProtocolError
from antiphon.engine.exchange import Exchange, Handshaking
from antiphon.engine.handshake_session import HandshakeSession
from antiphon.engine.jsonrpc import Failure, JsonObject, Notification, Request, Success
from antiphon.engine.limits import Limits
from antiphon.engine.protocol import LOG_LEVELS
from tests.interop import whole
from tests.older_server.asking import make
from tests.older_server.desk import Desk, desk, initialize
from tests.older_server.peer import LATEST, VERSIONS, text_of

# -- the handshake ----------------------------------------------------------------------------


def test_servers_can_be_begun_with() -> None:
    assert isinstance(Server("A"), Handshaking)
    assert isinstance(LowLevelServer("B"), Handshaking)


@pytest.mark.parametrize("version", VERSIONS)
def test_revision_that_is_asked_for_is_the_sessions(version: str) -> None:
    session = make().open_session(initialize(version))
    assert session.version == version
    assert session.welcome()["protocolVersion"] == version


@pytest.mark.parametrize("asked", ["2026-07-28", "", "1999-01-01", "2025-11-25 "])
def test_revision_that_is_unknown_becomes_the_latest(asked: str) -> None:
    assert make().open_session(initialize(asked)).version == LATEST


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocolVersion": None},
        {"protocolVersion": 20251125},
        {"capabilities": None},
        {"capabilities": "all"},
        {"clientInfo": None},
        {"clientInfo": {"name": "n"}},
        {"clientInfo": {"name": "n", "version": 1}},
        {"clientInfo": "n"},
    ],
    ids=str,
)
def test_malformed_handshake_is_refused(wrong: JsonObject) -> None:
    with pytest.raises(ProtocolError) as caught:
        make().open_session({**initialize(), **wrong})
    assert caught.value.code == INVALID_PARAMS


@pytest.mark.parametrize("kind", [Server, LowLevelServer])
def test_server_can_be_closed_to_earlier_revisions(kind: type[LowLevelServer]) -> None:
    server = kind("Closed", handshake=False)
    beginnings: list[Callable[[], object]] = [
        partial(server.open_session, initialize()),
        partial(server.sessionless, LATEST),
    ]
    for begin in beginnings:
        with pytest.raises(ProtocolError) as caught:
            begin()
        assert caught.value.code == -32022
        assert caught.value.data == {"requested": LATEST, "supported": ["2026-07-28"]}


def test_capabilities_are_those_of_discovery_without_extensions() -> None:
    server = whole.make()
    declared = dict(server.capabilities())
    welcome = desk(server).session.welcome()
    assert declared.pop("extensions")
    assert welcome["capabilities"] == declared
    assert "extensions" in server.capabilities()  # which were not touched


def test_low_level_server_keeps_its_capabilities() -> None:
    server = LowLevelServer("Low", capabilities={"tools": {}}, extensions={"com.example/a": {}})
    assert desk(server).session.welcome()["capabilities"] == {"tools": {}}
    assert server.capabilities() == {"tools": {}, "extensions": {"com.example/a": {}}}


# -- requests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "none"])
async def test_methods_that_earlier_revisions_have_not(method: str) -> None:
    reply = await desk(whole.make()).send(method, {})
    assert isinstance(reply, Failure)
    assert reply.code == METHOD_NOT_FOUND


async def test_ping_and_level_are_answered_here() -> None:
    client = desk(make())
    for method, level in (("ping", "-"), *(("logging/setLevel", level) for level in LOG_LEVELS)):
        reply = await client.send(method, {"level": level})
        assert isinstance(reply, Success)
        assert reply.result == {}


async def test_handlers_see_the_peer_as_one_of_this_revision() -> None:
    server = Server("Seen")
    seen: list[Call[Any]] = []

    @server.tool
    async def look(call: Call[Any]) -> str:
        seen.append(call)
        return "x"

    await desk(server, capabilities={"sampling": {}}).tool("look")
    (call,) = seen
    assert call.client is not None
    assert (call.client.name, call.client.version) == ("older", "1")
    assert call.capabilities == {"sampling": {}}
    assert call.round == 1


async def test_session_that_was_forgotten_has_no_client_and_no_capabilities() -> None:
    server = Server("Seen")
    seen: list[Call[Any]] = []

    @server.tool
    async def look(call: Call[Any]) -> str:
        seen.append(call)
        return "x"

    session = server.sessionless("2025-06-18")
    request = Request(1, "tools/call", {"name": "look", "arguments": {}})
    reply = await session.handle(request, Exchange(), None)
    assert isinstance(reply, Success)
    assert (seen[0].client, seen[0].capabilities) == (None, {})


async def test_protocols_own_members_of_meta_are_not_the_peers_to_set() -> None:
    server = Server("Seen")
    seen: list[Call[Any]] = []

    @server.tool
    async def look(call: Call[Any]) -> str:
        seen.append(call)
        return "x"

    meta: JsonObject = {
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "eve", "version": "0"},
        "io.modelcontextprotocol/logLevel": "debug",
        "com.example/a": 1,
    }
    client = desk(server, capabilities={})
    await client.tool_with({"name": "look", "arguments": {}, "_meta": meta})
    (call,) = seen
    assert call.capabilities == {}
    assert call.client is not None
    assert call.client.name == "older"
    assert call.log_level == "info"
    assert call.meta["com.example/a"] == 1


async def test_middleware_stands_around_each_round() -> None:
    seen: list[str] = []

    async def watch(request: Request, exchange: Exchange, proceed: Any) -> Any:
        seen.append(request.method)
        return await proceed(request, exchange)

    server = Server("Watched", middleware=[watch])

    @server.tool
    async def plain() -> str:
        return "x"

    client = desk(server)
    await client.tool("plain")
    await client.send("ping", {})
    assert seen == ["tools/call"]


async def test_nothing_of_a_session_is_shown() -> None:
    session = make().open_session(initialize(capabilities={"sampling": {"key": "SECRET"}}))
    assert "SECRET" not in repr(session)
    assert "SECRET" not in repr(session.own)


# -- resources --------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"uri": 5}, {"uri": ""}, {"uri": None}], ids=str)
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_subscription_without_a_uri_is_refused(method: str, params: JsonObject) -> None:
    reply = await desk(whole.make()).send(method, params)
    assert isinstance(reply, Failure)
    assert reply.code == INVALID_PARAMS


async def test_subscribed_uris_are_bounded_by_their_size() -> None:
    server = LowLevelServer(
        "Bounded",
        capabilities={"resources": {"subscribe": True}},
        limits=Limits(subscription_bytes=100),
    )
    client = desk(server)

    async def subscribe(uri: str, method: str = "subscribe") -> str | None:
        reply = await client.send(f"resources/{method}", {"uri": uri})
        return reply.message if isinstance(reply, Failure) else None

    assert await subscribe("a:" + "x" * 58) is None
    assert await subscribe("a:" + "x" * 58) is None  # the same again costs nothing
    assert await subscribe("b:" + "x" * 38) is None
    refused = await subscribe("c:")
    assert refused is not None
    assert "subscription_bytes" in refused
    assert await subscribe("b:" + "x" * 38, "unsubscribe") is None
    assert await subscribe("never", "unsubscribe") is None
    assert await subscribe("c:" + "ü" * 19) is None
    assert await subscribe("d:") is not None


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/subscribe", {"uri": "a:b"}),
        ("resources/unsubscribe", {"uri": "a:b"}),
        ("logging/setLevel", {"level": "info"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("declared", [{}, {"resources": {"listChanged": True}}], ids=str)
async def test_what_the_server_has_not_declared_is_unknown(
    method: str, params: JsonObject, declared: JsonObject
) -> None:
    reply = await desk(LowLevelServer("Low", capabilities=declared)).send(method, params)
    assert isinstance(reply, Failure)
    assert reply.code == METHOD_NOT_FOUND


async def test_nothing_can_be_subscribed_to_without_a_session() -> None:
    alone = Desk(whole.make().sessionless(LATEST))
    reply = await alone.send("resources/subscribe", {"uri": whole.DIARY})
    assert isinstance(reply, Failure)
    assert reply.code == METHOD_NOT_FOUND


async def test_changes_are_told_until_all_is_closed() -> None:
    server = whole.make()
    session = desk(server).session
    told: list[Notification] = []
    closing = Closing()

    async def notify(notification: Notification) -> None:
        told.append(notification)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.changes, ClosableExchange(notify=notify, closing=closing))
        await trio.testing.wait_all_tasks_blocked()
        server.resource_updated(whole.DIARY)  # nobody asked for it
        server.subscriptions.tools_changed()
        server.subscriptions.tools_changed()
        await trio.testing.wait_all_tasks_blocked()
        closing.close()
    assert [note.method for note in told] == ["notifications/tools/list_changed"]
    assert told[0].params == {}


async def test_low_level_server_has_no_changes_to_tell_of() -> None:
    session: HandshakeSession = desk(LowLevelServer("Low")).session
    with trio.fail_after(5):
        await session.changes(Exchange())


async def test_text_of_a_tool_survives() -> None:
    result = await desk(whole.make()).tool("say", text="\u2028名前 🚢")
    assert text_of(result) == "\u2028名前 🚢"
