"""One flow as a tool, a prompt and a template; each state opens where it was sealed only."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import pytest
from attrs import frozen

from antiphon import Principal
from antiphon.engine.errors import INVALID_PARAMS
from antiphon.engine.jsonrpc import Failure, JsonObject
from antiphon.engine.sealing import INVALID_STATE
from tests.engine.offering import (
    Essay,
    contents_text,
    continued,
    error_of,
    message_text,
    offering,
)
from tests.engine.peer import Peer, accept, asked, text_of

DRY: Final[JsonObject] = {"tone": accept(tone="dry")}
YES: Final[JsonObject] = {"sure": accept(sure=True)}
ANSWERS: Final = {"tone": DRY, "sure": YES}


@frozen
class Door:
    """One request that the flow serves, and how its end reads."""

    method: str
    params: JsonObject

    async def open(self, peer: Peer, state: object = None, answers: object = None) -> Any:
        return await peer.ask(self.method, {**self.params, **continued(state, answers)})

    async def error(self, peer: Peer, state: object = None, answers: object = None) -> Failure:
        return await error_of(peer, self.method, {**self.params, **continued(state, answers)})

    def said(self, result: dict[str, Any]) -> str:
        if self.method == "tools/call":
            return text_of(result)
        return message_text(result) if self.method == "prompts/get" else contents_text(result)


CATS: Final[JsonObject] = {"name": "essay", "arguments": {"animal": "cats"}}
OTHER: Final[JsonObject] = {**CATS, "name": "other"}
DOORS: Final = (
    Door("tools/call", CATS),
    Door("tools/call", OTHER),
    Door("prompts/get", CATS),
    Door("prompts/get", OTHER),
    Door("resources/read", {"uri": "essay://cats"}),
    Door("resources/read", {"uri": "other://cats"}),
    Door("resources/read", {"uri": "essay://dogs"}),
    Door("resources/read", {"uri": "static://cats"}),
)
ASKING: Final = DOORS[:-1]


def _id(door: Door) -> str:
    return f"{door.method} {door.params.get('uri') or door.params.get('name')}"


def everywhere() -> Peer:
    server = offering()
    for name in ("essay", "other"):
        server.tool(Essay(), name=name)
        server.prompt(Essay(), name=name)
        server.resource_template(f"{name}://{{animal}}", Essay(), name=name)

    @server.resource("static://cats")
    async def cats() -> str:
        return "always the same"

    return Peer(server)


@pytest.fixture
def peer() -> Peer:
    return everywhere()


async def rounds(peer: Peer, door: Door) -> Sequence[dict[str, Any]]:
    """All results of one conversation, from the first question to the end."""
    results = [await door.open(peer)]
    while results[-1]["resultType"] == "input_required":
        (key,) = asked(results[-1])
        results.append(await door.open(peer, results[-1]["requestState"], ANSWERS[key]))
    return results


@pytest.mark.parametrize("door", ASKING, ids=_id)
async def test_the_same_flow_goes_through_every_door(peer: Peer, door: Door) -> None:
    results = await rounds(peer, door)
    assert len(results) == 3
    animal = "dogs" if "dogs" in str(door.params) else "cats"
    assert door.said(results[-1]) == f"On {animal}, dry"


@pytest.mark.parametrize(
    ("sealed", "opened"),
    [pair for pair in product(ASKING, DOORS) if pair[0] != pair[1]],
    ids=_id,
)
async def test_a_state_opens_only_where_it_was_sealed(
    peer: Peer, sealed: Door, opened: Door, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, _ = await rounds(peer, sealed)
    for result, answers in ((first, DRY), (second, YES)):
        error = await opened.error(peer, result["requestState"], answers)
        assert (error.code, error.message, error.data) == (INVALID_PARAMS, INVALID_STATE, None)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert asked(await sealed.open(peer, first["requestState"], DRY)) == ["sure"]


@pytest.mark.parametrize("door", DOORS, ids=_id)
@pytest.mark.parametrize("state", ["", "a1.AAAA", "x", "a2.", "é", "a1." + "A" * 70_000])
async def test_a_state_that_nobody_sealed_is_refused_at_every_door(
    peer: Peer, door: Door, state: str
) -> None:
    error = await door.error(peer, state, DRY)
    assert (error.code, error.message, error.data) == (INVALID_PARAMS, INVALID_STATE, None)


@pytest.mark.parametrize("door", DOORS, ids=_id)
@pytest.mark.parametrize("state", [5, {}, [], True])
async def test_a_state_that_is_no_text_is_refused_at_every_door(
    peer: Peer, door: Door, state: object
) -> None:
    assert (await door.error(peer, state)).code == INVALID_PARAMS


@pytest.mark.parametrize("door", ASKING, ids=_id)
async def test_a_state_opens_for_the_principal_that_it_was_sealed_for(
    peer: Peer, door: Door
) -> None:
    peer.principal = Principal("app", "https://issuer", "alice")
    first = await door.open(peer)
    for other in (Principal("app", "https://issuer", "bob"), None):
        peer.principal = other
        error = await door.error(peer, first["requestState"], DRY)
        assert (error.code, error.message) == (INVALID_PARAMS, INVALID_STATE)
    peer.principal = Principal("app", "https://issuer", "alice")
    assert asked(await door.open(peer, first["requestState"], DRY)) == ["sure"]


@pytest.mark.parametrize("door", ASKING, ids=_id)
async def test_any_server_with_the_key_takes_the_next_round(door: Door) -> None:
    first = await door.open(everywhere())
    second = await door.open(everywhere(), first["requestState"], DRY)
    last = await door.open(everywhere(), second["requestState"], YES)
    assert last["resultType"] == "complete"
