"""The low-level server: one handler for each method, nothing validated, nothing sealed."""

from __future__ import annotations

import pytest
import trio

from antiphon import (
    Incoming,
    LowLevelServer,
    MissingCapability,
    ProtocolError,
    Server,
    UsageError,
    open_client,
)
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.transports.asgi import http_app
from tests.engine.low import METHODS, asking, error_of, peer_of, result_of, send, text
from tests.engine.peer import Peer, meta
from tests.http_server.scripted import post
from tests.stdio.harness import call, served

SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def echo() -> LowLevelServer:
    """A server whose one tool gives back its parameters, apart from ``_meta``."""
    server = LowLevelServer("Low", version="1.0", capabilities={"tools": {}})

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        given = {name: value for name, value in request.params.items() if name != "_meta"}
        return {**text("given"), "structuredContent": given}

    return server


# -- methods ----------------------------------------------------------------------------------


async def test_a_handler_is_given_the_parameters_as_they_were_sent() -> None:
    odd: JsonObject = {"name": 5, "arguments": "none", "requestState": [], "x": {"y": None}}
    result = await result_of(echo(), "tools/call", odd)
    assert result["structuredContent"] == odd


async def test_it_is_given_what_meta_says_and_a_way_to_notify() -> None:
    server = LowLevelServer("Low")
    given: list[Incoming] = []

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        given.append(request)
        return text("")

    await peer_of(server).exchange("tools/call", {"_meta": meta({"roots": {}}), "name": "geheim"})
    (incoming,) = given
    assert incoming.method == "tools/call"
    assert incoming.meta.capabilities == {"roots": {}}
    assert incoming.meta.client is not None
    assert incoming.meta.client.name == "peer"
    assert incoming.exchange.transport == "memory"
    assert "geheim" not in repr(incoming)


async def test_a_handler_has_a_call_as_others_have() -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        call = request.call()
        call.require({"elicitation": {"form": {}}})
        await call.progress(1)
        await call.message("info", "half way")
        return text("")

    peer = peer_of(server)
    wanted = meta(progressToken=1, **{"io.modelcontextprotocol/logLevel": "info"})
    await peer.ask("tools/call", {"_meta": wanted})
    assert [n["method"] for n in peer.notifications] == [
        "notifications/progress",
        "notifications/message",
    ]
    peer.capabilities = {}
    assert (await peer.refused("any")).code == -32021


async def test_the_last_handler_of_a_method_counts() -> None:
    server = echo()

    @server.method("tools/call")
    async def other(request: Incoming) -> JsonObject:
        return text("other")

    assert (await result_of(server, "tools/call"))["content"][0]["text"] == "other"


async def test_a_method_without_a_handler_is_not_found() -> None:
    for method in ("tools/list", "com.example/do", "initialize!"):
        assert (await error_of(echo(), method)).code == -32601


async def test_discovery_declares_what_was_given_and_nothing_else() -> None:
    result = await result_of(echo(), "server/discover")
    assert result["capabilities"] == {"tools": {}}
    assert result["_meta"][SERVER_INFO] == {"name": "Low", "version": "1.0"}


async def test_the_envelope_is_checked_all_the_same() -> None:
    reply = await peer_of(echo()).exchange("tools/call", {"name": "x"})
    assert isinstance(reply, Failure)
    assert reply.code == -32602
    old = {**meta(), "io.modelcontextprotocol/protocolVersion": "2025-06-18"}
    reply = await peer_of(echo()).exchange("tools/call", {"_meta": old})
    assert isinstance(reply, Failure)
    assert reply.code == -32022


async def test_a_result_keeps_its_meta_beside_the_servers_name() -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        forged: JsonObject = {"name": "another", "version": "0"}
        return {**text(""), "_meta": {"com.example/a": 1, SERVER_INFO: forged}}

    result = await result_of(server, "tools/call")
    assert result["_meta"]["com.example/a"] == 1
    assert result["_meta"][SERVER_INFO]["name"] == "Low"


# -- faults -----------------------------------------------------------------------------------


async def test_a_protocol_error_is_answered_as_it_is_out_of_a_nursery_too() -> None:
    server = LowLevelServer("Low")

    async def refuse() -> None:
        raise MissingCapability({"sampling": {}}, "It samples")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(refuse)
        raise AssertionError

    error = await error_of(server, "tools/call")
    assert (error.code, error.message) == (-32021, "It samples")
    assert error.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize("fault", [ValueError("geheim"), KeyError("geheim"), UsageError("geheim")])
async def test_any_other_error_is_masked_and_logged(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        raise fault

    error = await error_of(server, "tools/call")
    assert (error.code, error.message, error.data) == (-32603, "Internal error", None)
    assert "geheim" in caplog.text
    assert (await error_of(server, "nothing")).code == -32601  # the next one is served


async def test_a_result_that_is_no_object_is_the_servers_fault() -> None:
    server = LowLevelServer("Low")

    async def nothing(request: Incoming) -> JsonObject:
        return None  # type: ignore[return-value]

    server.method("tools/call")(nothing)
    assert (await error_of(server, "tools/call")).code == -32603


@pytest.mark.parametrize(
    "method",
    [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "completion/complete",
        "server/discover",
        "subscriptions/listen",
        "com.example/do",
    ],
)
@pytest.mark.parametrize("sealed", [False, True])
async def test_no_other_method_ever_asks(
    method: str, sealed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = LowLevelServer("Low")

    async def ask(request: Incoming) -> JsonObject:
        return asking()

    server.method(method)(ask)
    if sealed:
        server.seal_states()
    assert (await error_of(server, method, {"name": "x"})).code == -32603
    assert f"{method} must not answer input_required" in caplog.text


async def test_no_method_of_a_server_with_registries_asks_either() -> None:
    server = Server("High")

    async def ask(request: Incoming) -> JsonObject:
        return asking()

    server.method("com.example/do")(ask)
    reply = await Peer(server).exchange("com.example/do", {"_meta": meta()})
    assert isinstance(reply, Failure)
    assert reply.code == -32603


@pytest.mark.parametrize("method", METHODS)
async def test_an_interim_result_has_questions_or_a_state(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = LowLevelServer("Low")

    async def empty(request: Incoming) -> JsonObject:
        return {"resultType": "input_required"}

    server.method(method)(empty)
    assert (await error_of(server, method)).code == -32603
    assert "without questions and state" in caplog.text


# -- rounds, unsealed -------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
async def test_a_state_travels_as_it_is_until_the_boundary_is_switched_on(method: str) -> None:
    server = LowLevelServer("Low")
    seen: list[object] = []

    async def handle(request: Incoming) -> JsonObject:
        seen.append(request.params.get("requestState"))
        return asking("plain")

    server.method(method)(handle)
    first = await result_of(server, method)
    assert first["requestState"] == "plain"
    await result_of(server, method, {"requestState": "forged"})
    assert seen == [None, "forged"]


async def test_a_round_may_have_a_state_alone_or_questions_alone() -> None:
    server = LowLevelServer("Low")

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        result = asking("x")
        del result[str(request.params["without"])]
        return result

    for without in ("inputRequests", "requestState"):
        result = await result_of(server, "tools/call", {"without": without})
        assert without not in result


# -- transports -------------------------------------------------------------------------------


async def test_it_is_served_in_memory() -> None:
    async with open_client(echo()) as client:
        result = await client.call_tool("any", {"a": 1})
    assert result.structured == {"name": "any", "arguments": {"a": 1}}


async def test_it_is_served_on_streams() -> None:
    async with served(echo()) as peer:
        await peer.say(call(1, "tools/call", name="any", _meta=meta()))
        assert (await peer.hear())["result"]["structuredContent"] == {"name": "any"}


async def test_it_is_served_over_http() -> None:
    # The tool's parameters that headers repeat are unknown to it: none are checked.
    request = Request(1, "tools/call", {"name": "any", "_meta": meta()})
    answer = await post(http_app(echo()), request)
    assert answer.status == 200
    assert answer.json["result"]["structuredContent"] == {"name": "any"}  # type: ignore[index, call-overload]


async def test_protocol_errors_have_their_status_over_http() -> None:
    server = echo()

    @server.method("com.example/do")
    async def do(request: Incoming) -> JsonObject:
        raise ProtocolError(-32602, "Not so")

    refused = await post(http_app(server), Request(1, "com.example/do", {"_meta": meta()}))
    assert (refused.status, refused.message) == (400, "Not so")
    unknown = await post(http_app(server), Request(1, "com.example/undo", {"_meta": meta()}))
    assert (unknown.status, unknown.code) == (404, -32601)


async def test_cancellation_passes_through() -> None:
    server = LowLevelServer("Low")
    started = trio.Event()

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        started.set()
        await trio.sleep_forever()
        raise AssertionError

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send, server, "tools/call")
        await started.wait()
        nursery.cancel_scope.cancel()
    assert nursery.cancel_scope.cancelled_caught
