"""An open order, and how a server refuses the state of one."""

import logging

import pytest
from attrs import define

from antiphon.engine.jsonrpc import JsonObject
from tests.engine.peer import Peer, accept, asked

INK: JsonObject = {"item": "ink", "count": 2}
RED: JsonObject = {"choosing_colour": accept(name="red")}
OTHER_KEY = "another-key-that-nobody-would-guess-02"


@define
class Clock:
    """A wall clock that stands still until it is moved."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def opened(peer: Peer) -> str:
    first = await peer.call("order", INK)
    return str(first["requestState"])


async def goes_on(peer: Peer, state: str, arguments: JsonObject = INK) -> bool:
    result = await peer.call("order", arguments, state=state, responses=RED)
    return asked(result) == ["confirming"]


class Refusals:
    """Collects how refusals look on the wire, and why they were logged."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    async def reason(
        self, peer: Peer, state: object, name: str = "order", arguments: object = None
    ) -> str:
        self._caplog.clear()
        given = INK if arguments is None else arguments
        refusal = await peer.refused(name, given, state=state, responses=RED)
        assert (refusal.code, refusal.message) == (-32602, "Invalid or expired requestState")
        assert refusal.data is None
        (record,) = [r for r in self._caplog.records if r.name == "antiphon.server"]
        assert record.levelno == logging.WARNING
        assert str(state)[:40] not in record.getMessage() or len(str(state)) < 4
        prefix = f"A call of {name!r}: The requestState is refused: "
        assert record.getMessage().startswith(prefix)
        return record.getMessage().removeprefix(prefix)
