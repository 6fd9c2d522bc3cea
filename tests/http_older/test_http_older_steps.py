"""A call with a question over HTTP that is cancelled at each of its steps."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from antiphon import open_client
from antiphon.engine.handshake_eras_known import forget_eras
from tests.client.stepping import Stop
from tests.http_client.scripted import STREAM_END, STREAM_HEAD, Peer, Received, chunk, serving
from tests.http_client.scripted import answer as whole
from tests.http_older.scripted import ACCEPTED, SESSION, OlderServer, serves

FORM: dict[str, Any] = {
    "mode": "form",
    "message": "?",
    "requestedSchema": {"type": "object", "properties": {}},
}


def event(**members: Any) -> bytes:
    return chunk(b"data: %b\n\n" % json.dumps({"jsonrpc": "2.0", **members}).encode())


def asking() -> OlderServer:
    """A server whose tool asks, and which refuses what has no session."""
    answered = trio.Event()

    async def greet(peer: Peer, received: Received) -> None:
        agreed: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
        reply = {"jsonrpc": "2.0", "id": json.loads(received.body)["id"], "result": agreed}
        await peer.send(whole(json.dumps(reply).encode(), f"Mcp-Session-Id: {SESSION}"))

    async def tool(peer: Peer, received: Received) -> None:
        message = json.loads(received.body)
        if "_meta" in message["params"]:
            await peer.send(whole(b"{}", status=400))
            return
        question = event(id="q", method="elicitation/create", params=FORM)
        await peer.send(STREAM_HEAD + question)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_left, peer, nursery.cancel_scope)
            await answered.wait()
            nursery.cancel_scope.cancel()
        if not answered.is_set():
            raise EOFError
        await peer.send(event(id=message["id"], result={"content": []}) + STREAM_END)

    async def take(peer: Peer, received: Received) -> None:
        answered.set()
        await peer.send(ACCEPTED)

    refused = whole(b"{}", status=400)
    return serves(initialize=greet, tools_call=tool, answer=take, server_discover=refused)


async def _until_left(peer: Peer, scope: trio.CancelScope) -> None:
    await peer.left()
    scope.cancel()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_wherever_a_call_is_cancelled_its_session_and_connections_are_ended(
    mode: Any,
) -> None:
    asked = at = 0

    async def person(question: object) -> Any:
        nonlocal asked
        asked += 1
        await trio.lowlevel.checkpoint()
        return {}

    cut_short = True
    while cut_short:
        at += 1
        forget_eras()
        server = asking()
        stop = Stop(at)
        async with serving(server) as raw:
            trio.lowlevel.add_instrument(stop)
            try:
                with stop.scope:
                    async with open_client(raw.url, mode=mode, elicitation=person) as client:
                        assert (await client.call_tool("t")).content == []
            finally:
                trio.lowlevel.remove_instrument(stop)
            await raw.all_left()
            if server.of("notifications/initialized"):
                await server.until("DELETE")
        cut_short = stop.scope.cancel_called
    assert asked
    assert at > 20
