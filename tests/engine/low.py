"""Low-level servers for the tests, and a client's bare side of them."""

from __future__ import annotations

from typing import Any, cast

from antiphon import Incoming, LowLevelServer, Principal, Server
from antiphon.engine.jsonrpc import Failure, JsonObject, Reply, Success
from tests.engine.peer import Peer, members, meta

SURE: JsonObject = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Sure?",
        "requestedSchema": {
            "type": "object",
            "properties": {"sure": {"type": "boolean"}},
            "required": ["sure"],
        },
    },
}
METHODS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods that may ask, and what names their target."""


def text(said: str) -> JsonObject:
    """A complete result of a tool."""
    return {"resultType": "complete", "content": [{"type": "text", "text": said}]}


def asking(state: Any = "plain", **more: Any) -> JsonObject:
    """An interim result."""
    return {
        "resultType": "input_required",
        "inputRequests": {"sure": SURE},
        "requestState": state,
        **more,
    }


def peer_of(server: LowLevelServer, principal: Principal | None = None) -> Peer:
    """A client's side; it only ever asks the server to handle something."""
    return Peer(cast(Server, server), principal=principal)


async def send(
    server: LowLevelServer, method: str, params: JsonObject | None = None, **more: Any
) -> Reply:
    """The reply to a request with a proper ``_meta``."""
    return await peer_of(server, **more).exchange(method, {"_meta": meta(), **(params or {})})


async def result_of(
    server: LowLevelServer, method: str, params: JsonObject | None = None, **more: Any
) -> dict[str, Any]:
    """The result of a request."""
    reply = await send(server, method, params, **more)
    assert isinstance(reply, Success), reply
    return members(reply.result)


async def error_of(
    server: LowLevelServer, method: str, params: JsonObject | None = None, **more: Any
) -> Failure:
    """The error that answers a request."""
    reply = await send(server, method, params, **more)
    assert isinstance(reply, Failure), reply
    return reply


def sealing(**options: Any) -> tuple[LowLevelServer, list[Incoming]]:
    """A server that asks on all methods that may, behind the boundary, and what it was given."""
    server = LowLevelServer("Low")
    given: list[Incoming] = []

    async def handle(request: Incoming) -> JsonObject:
        given.append(request)
        if (state := request.params.get("requestState")) is None:
            return asking("round 1")
        if request.method == "tools/call":
            return text(f"was {state}") if state == "round 2" else asking("round 2")
        return asking(f"after {state}")

    for method in METHODS:
        server.method(method)(handle)
    server.seal_states(**options)
    return server, given
