"""What a deploy does to the states of functions that ask by hand."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from antiphon import Ask, Call, InputRequired, Server, UsageError
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.hands import Sure
from tests.engine.low import METHODS
from tests.engine.offering import error_of
from tests.engine.peer import KEY, Peer
from tests.engine.states import Refusals
from tests.engine.tools import Bake
from tests.naming import shown


def paying(unit: str, **options: Any) -> Peer:
    """A peer of a deploy whose functions keep an amount in this unit."""
    server = Server("Till", keys=[KEY])

    async def pay(call: Call) -> str | InputRequired:
        if call.request_state is None:
            return InputRequired(state={unit: 5})
        return f"{call.request_state[unit]} {unit}"

    async def pay_one(one: str, call: Call) -> str | InputRequired:
        return await pay(call)

    server.tool(name="pay", **options)(pay)
    server.prompt(name="pay", **options)(pay)
    server.resource_template("pay://{one}", **options)(pay_one)
    return Peer(server)


TARGET: dict[str, JsonObject] = {
    "tools/call": {"name": "pay"},
    "prompts/get": {"name": "pay"},
    "resources/read": {"uri": "pay://once"},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("before", "after"), [({}, 2), ({"state_version": 2}, 3), ({}, 7)])
async def test_a_state_of_an_older_version_is_refused(
    method: str, before: dict[str, int], after: int, caplog: pytest.LogCaptureFixture
) -> None:
    first = await paying("cents", **before).ask(method, TARGET[method])
    later = paying("euros", state_version=after)
    params = {**TARGET[method], "requestState": first["requestState"]}
    error = await error_of(later, method, params)
    assert (error.code, error.message) == (-32602, "Invalid or expired requestState")
    old = before.get("state_version", 1)
    assert f"(of version {old}, and the function reads version {after})" in caplog.text


async def test_a_state_of_a_newer_version_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    first = await paying("euros", state_version=2).call("pay")
    older = paying("cents")
    reason = await Refusals(caplog).reason(older, first["requestState"], "pay", {})
    assert reason.endswith("(of version 2, and the function reads version 1)")


@pytest.mark.parametrize("method", METHODS)
async def test_a_state_of_the_same_version_comes_back(method: str) -> None:
    first = await paying("cents", state_version=3).ask(method, TARGET[method])
    params = {**TARGET[method], "requestState": first["requestState"]}
    assert "5 cents" in str(await paying("cents", state_version=3).ask(method, params))


async def test_the_first_version_need_not_be_said() -> None:
    first = await paying("cents").call("pay")
    again = await paying("cents", state_version=1).call("pay", state=first["requestState"])
    assert again["content"][0]["text"] == "5 cents"


@pytest.mark.parametrize("version", [0, -1, True, "2", 1.0, None], ids=shown)
def test_what_is_no_version_is_refused_at_once(version: Any) -> None:
    with pytest.raises(UsageError, match="state_version is none of 1, 2, 3"):
        paying("cents", state_version=version)


def test_what_does_not_ask_by_hand_has_no_such_version() -> None:
    server = Server("Till")

    async def asks(sure: Annotated[Sure, Ask("Sure?")]) -> str:
        return sure.sure

    async def cannot_ask() -> str:
        return ""

    with pytest.raises(UsageError, match="Tool bake: state_version is for functions that ask by"):
        server.tool(Bake(), state_version=2)
    with pytest.raises(UsageError, match="Tool asks: state_version"):
        server.tool(state_version=2)(asks)
    with pytest.raises(UsageError, match="Resource cannot_ask: state_version"):
        server.resource("till://x", state_version=2)(cannot_ask)
