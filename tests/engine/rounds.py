"""Steps of an order, for the tests of rounds."""

from collections.abc import Mapping
from typing import Any

from antiphon.engine.jsonrpc import JsonObject, JsonValue
from tests.engine.peer import Peer, accept

INK: JsonObject = {"item": "ink", "count": 2}
RED = accept(name="red")
YES = accept(sure="yes")


async def to_confirming(peer: Peer) -> dict[str, Any]:
    first = await peer.call("order", INK)
    return await peer.call(
        "order", INK, state=first["requestState"], responses={"choosing_colour": RED}
    )


async def both(peer: Peer, state: object, responses: Mapping[str, JsonValue]) -> dict[str, Any]:
    return await peer.call("both", state=str(state), responses=dict(responses))
