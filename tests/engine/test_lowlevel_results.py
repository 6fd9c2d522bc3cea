"""What a handler of a whole method returns: what the protocol forbids never leaves."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from antiphon import Incoming, LowLevelServer, Server
from antiphon.engine.jsonrpc import Failure, JsonObject, Success
from tests.engine.low import METHODS, SURE, asking, error_of, peer_of, result_of, text
from tests.engine.peer import Peer, members, meta
from tests.naming import shown

LINK: JsonObject = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Sign in", "url": "https://example.com"},
}
FORM_BY_DEFAULT: JsonObject = {
    "method": "elicitation/create",
    "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}
SAMPLE: JsonObject = {
    "method": "sampling/createMessage",
    "params": {"messages": [], "maxTokens": 9},
}
SAMPLE_WITH_TOOLS: JsonObject = {
    "method": "sampling/createMessage",
    "params": {"messages": [], "maxTokens": 9, "toolChoice": {"mode": "auto"}},
}
ROOTS: JsonObject = {"method": "roots/list"}


def giving(given: Any, *, sealed: bool = False, method: str = "tools/call") -> LowLevelServer:
    """A server with one method that gives always the same."""
    server = LowLevelServer("Low")

    async def give(request: Incoming) -> Any:
        return given

    server.method(method)(give)
    if sealed:
        server.seal_states()
    return server


def interim(**members: Any) -> JsonObject:
    return {"resultType": "input_required", **members}


# -- what is asked ----------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("question", "declared", "missing"),
    [
        (SURE, {}, {"elicitation": {"form": {}}}),
        (SURE, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (FORM_BY_DEFAULT, {"sampling": {}}, {"elicitation": {"form": {}}}),
        (LINK, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (SAMPLE, {"elicitation": {}}, {"sampling": {}}),
        (SAMPLE_WITH_TOOLS, {"sampling": {}}, {"sampling": {"tools": {}}}),
        (ROOTS, {}, {"roots": {}}),
    ],
)
async def test_what_the_client_has_not_declared_is_never_asked(
    method: str, sealed: bool, question: JsonObject, declared: JsonObject, missing: JsonObject
) -> None:
    server = giving(interim(inputRequests={"q": question}), sealed=sealed, method=method)
    reply = await peer_of(server).exchange(
        method, {METHODS[method]: "thing", "_meta": meta(declared)}
    )
    assert isinstance(reply, Failure)
    assert reply.code == -32021
    assert reply.data == {"requiredCapabilities": missing}


@pytest.mark.parametrize(
    ("question", "declared"),
    [
        (SURE, {"elicitation": {}}),
        (FORM_BY_DEFAULT, {"elicitation": {"form": {}}}),
        (LINK, {"elicitation": {"url": {}}}),
        (SAMPLE, {"sampling": {}}),
        (SAMPLE_WITH_TOOLS, {"sampling": {"tools": {}}}),
        (ROOTS, {"roots": {"listChanged": True}}),
    ],
)
async def test_what_it_has_declared_is_asked(question: JsonObject, declared: JsonObject) -> None:
    server = giving(interim(inputRequests={"q": question}))
    reply = await peer_of(server).exchange("tools/call", {"name": "x", "_meta": meta(declared)})
    assert isinstance(reply, Success)
    assert reply.result["inputRequests"] == {"q": question}


async def test_all_that_is_missing_is_told_at_once() -> None:
    questions = {"a": SURE, "b": LINK, "c": SAMPLE_WITH_TOOLS, "d": ROOTS}
    server = giving(interim(inputRequests=questions))
    declared: JsonObject = {"elicitation": {"form": {}}, "sampling": {}}
    reply = await peer_of(server).exchange("tools/call", {"name": "x", "_meta": meta(declared)})
    assert isinstance(reply, Failure)
    assert reply.data == {
        "requiredCapabilities": {
            "elicitation": {"url": {}},
            "sampling": {"tools": {}},
            "roots": {},
        }
    }
    assert "elicitation.url, sampling.tools, roots" in reply.message


async def test_a_method_of_a_server_with_registries_is_held_to_it_too() -> None:
    server = Server("High")

    @server.method("tools/call")
    async def call(request: Incoming) -> JsonObject:
        return asking()

    reply = await Peer(server, {}).exchange("tools/call", {"name": "x", "_meta": meta({})})
    assert isinstance(reply, Failure)
    assert reply.code == -32021


# -- what a result is -------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "gave NoneType; it gives the members of a result"),
        ([], "gave list"),
        ("complete", "gave str"),
        ({"resultType": 5}, "a resultType that is no text"),
        ({"resultType": None}, "a resultType that is no text"),
        ({"requestState": "secret"}, 'without "resultType": "input_required"'),
        ({"inputRequests": {"q": SURE}}, 'without "resultType": "input_required"'),
        (interim(), "without questions and state"),
        (interim(inputRequests={}), "without questions and state"),
        (interim(inputRequests=[]), "inputRequests that are no object"),
        (interim(inputRequests=[], requestState="x"), "inputRequests that are no object"),
        (interim(inputRequests=None, requestState="x"), "inputRequests that are no object"),
        (interim(requestState=5), "a requestState that is no text"),
        (interim(requestState=None), "a requestState that is no text"),
        (interim(inputRequests={"q": SURE}, requestState=5), "a requestState that is no text"),
        (interim(inputRequests={"q": None}), "inputRequests['q'], which is no request of"),
        (interim(inputRequests={"q": "roots/list"}), "inputRequests['q']"),
        (interim(inputRequests={"q": {}}), "inputRequests['q']"),
        (interim(inputRequests={"q": {"method": []}}), "inputRequests['q']"),
        (interim(inputRequests={"q": {"method": "tools/call"}}), "inputRequests['q']"),
        (interim(inputRequests={"q": SURE, "r": {**SURE, "params": 5}}), "inputRequests['r']"),
        (interim(inputRequests={"q": {**SURE, "params": {"mode": "voice"}}}), "inputRequests['q']"),
        (interim(inputRequests={"q": {**SURE, "params": {"mode": []}}}), "inputRequests['q']"),
    ],
    ids=shown,
)
async def test_what_may_not_leave_is_the_servers_fault(
    given: Any, words: str, sealed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = giving(given, sealed=sealed)
    error = await error_of(server, "tools/call", {"name": "x"})
    assert (error.code, error.message, error.data) == (-32603, "Internal error", None)
    assert words in caplog.text


@pytest.mark.parametrize("kind", ["complete", "com.example/later"])
async def test_a_state_never_leaves_in_plain_through_the_boundary(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    given: JsonObject = {**text("done"), "resultType": kind, "requestState": "plain"}
    error = await error_of(giving(given, sealed=True), "tools/call", {"name": "x"})
    assert (error.code, error.message, error.data) == (-32603, "Internal error", None)
    assert "requestState with a result that is not input_required" in caplog.text


@pytest.mark.parametrize("method", ["tools/call", "com.example/do"])
@pytest.mark.parametrize("given", [{"content": []}, MappingProxyType({"content": []})], ids=shown)
async def test_a_result_without_a_type_is_complete(method: str, given: Any) -> None:
    result = await result_of(giving(given, method=method), method, {"name": "x"})
    assert result.pop("_meta")
    assert result == {"resultType": "complete", "content": []}
    assert given == {"content": []}  # it may be one that is given again and again


async def test_an_extension_may_have_result_types_and_states_of_its_own() -> None:
    given: JsonObject = {"resultType": "com.example/later", "requestState": 5, "inputRequests": []}
    result = await result_of(giving(given, method="com.example/do"), "com.example/do")
    assert members(result)["requestState"] == 5


async def test_a_state_alone_may_stand_beside_no_questions() -> None:
    given = interim(inputRequests={}, requestState="mine")
    result = await result_of(giving(given), "tools/call", {"name": "x"})
    assert result["requestState"] == "mine"
