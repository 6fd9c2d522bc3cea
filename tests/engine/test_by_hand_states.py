"""The state of a function that asks by hand: written plain, sealed on its way, read plain."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Call, Done, Flow, InputRequired, Limits, Principal, Server
from antiphon.engine.jsonrpc import Failure, JsonObject, Success
from tests.engine.hands import SURE, YES, desk, lone_tool, peer_of
from tests.engine.peer import KEY, Peer, asked, members, meta, text_of, told
from tests.engine.states import OTHER_KEY, Clock, Refusals
from tests.engine.tools import Bake, Nothing
from tests.naming import shown

HAT: JsonObject = {"name": "hat"}
ALICE = Principal("app", "https://issuer.example", "alice")
BOB = Principal("app", "https://issuer.example", "bob")


async def opened(peer: Peer) -> str:
    return str((await peer.call("rename", HAT))["requestState"])


async def test_a_state_is_read_as_it_was_written_and_travels_sealed() -> None:
    made = desk()
    peer = peer_of(made)
    token = await opened(peer)
    assert token.startswith("a1.")
    assert "hat" not in token
    await peer.call("rename", HAT, state=token, responses=YES)
    assert [call.request_state for call in made.calls] == [None, {"name": "hat", "asked": 1}]
    assert "hat" not in repr(made.calls[1]).replace("name='hat'", "")


@pytest.mark.parametrize(
    "state",
    [
        0,
        -(2**70),
        1.5,
        "text \ud7ff 😀",
        b"\x00\xff",
        True,
        [1, [2, {"three": None}]],
        (1, (2, [3])),
        {"a": {"b": [b"c"]}, "empty": {}},
    ],
    ids=shown,
)
async def test_a_state_comes_back_exactly(state: object) -> None:
    seen: list[object] = []

    async def keep(call: Call[Any]) -> str | InputRequired:
        if call.round == 1:
            return InputRequired(state=state)
        seen.append(call.request_state)
        return "kept"

    peer = lone_tool(keep)
    first = await peer.call("keep")
    assert asked(first) == []  # a round with state alone: not ready yet
    await peer.call("keep", state=first["requestState"])
    assert seen == [state]
    assert type(seen[0]) is type(state)


async def test_questions_without_a_state_come_back_without_one() -> None:
    made = desk()
    peer = peer_of(made)
    params: JsonObject = {"name": "briefing", "arguments": {"topic": "hats"}}
    first = await peer.ask("prompts/get", params)
    await peer.ask(
        "prompts/get", {**params, "requestState": first["requestState"], "inputResponses": YES}
    )
    assert made.calls[1].request_state is None


@pytest.mark.parametrize("state", [object(), {1, 2}, lambda: 1, SURE, {"a": object()}], ids=shown)
async def test_a_state_that_cannot_be_carried_is_the_authors_fault(
    state: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def careless() -> str | InputRequired:
        return InputRequired({"sure": SURE}, state=state)

    result = await lone_tool(careless).call("careless")
    assert "error in the server" in told(result)
    assert "InputRequired(state=...)" in caplog.text


async def test_a_state_that_is_too_large_names_the_limit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def hoarder() -> str | InputRequired:
        return InputRequired(state="x" * 5000)

    result = await lone_tool(hoarder, limits=Limits(token_bytes=1000)).call("hoarder")
    assert "error in the server" in told(result)
    assert "limit token_bytes is 1000" in caplog.text


# -- what it is bound to ----------------------------------------------------------------------


async def test_it_is_bound_to_the_arguments_whatever_their_order(refusals: Refusals) -> None:
    async def two(a: int, b: int, call: Call[Any]) -> str | InputRequired:
        return str(call.request_state) if call.round > 1 else InputRequired(state=a + b)

    peer = lone_tool(two)
    first = await peer.call("two", {"a": 1, "b": 2})
    state = first["requestState"]
    assert text_of(await peer.call("two", {"b": 2.0, "a": 1}, state=state)) == "3"
    reason = await refusals.reason(peer, state, "two", {"a": 2, "b": 1})
    assert reason == "sealed for other arguments"


async def test_it_is_bound_to_the_tool(refusals: Refusals) -> None:
    made = desk()

    @made.server.tool
    async def remove(name: str, call: Call[Any]) -> str | InputRequired:
        return InputRequired({"sure": SURE})

    state = await opened(peer_of(made))
    reason = await refusals.reason(peer_of(made), state, "remove", HAT)
    assert reason == "sealed for another tool, prompt or resource"


async def test_it_is_bound_to_the_principal(refusals: Refusals) -> None:
    made = desk()
    state = await opened(peer_of(made, principal=ALICE))
    for other in (BOB, None):
        reason = await refusals.reason(peer_of(made, principal=other), state, "rename", HAT)
        assert reason == "sealed for another principal"
    result = await peer_of(made, principal=ALICE).call("rename", HAT, state=state, responses=YES)
    assert text_of(result) == "hat yes"


async def test_it_expires_and_each_round_renews_it(refusals: Refusals) -> None:
    clock = Clock()

    async def slow(call: Call[Any]) -> str | InputRequired:
        return InputRequired(state=call.round)

    peer = lone_tool(slow, clock=clock, ttl=60)
    result = await peer.call("slow")
    for _ in range(3):
        clock.now += 59
        result = await peer.call("slow", state=result["requestState"])
    clock.now += 60
    assert await refusals.reason(peer, result["requestState"], "slow", {}) == "expired"


async def test_another_key_or_another_server_does_not_open_it(refusals: Refusals) -> None:
    state = await opened(peer_of(desk()))
    other = peer_of(desk(keys=[OTHER_KEY]))
    assert "does not hold" in await refusals.reason(other, state, "rename", HAT)
    other = peer_of(desk(audience="elsewhere"))
    assert await refusals.reason(other, state, "rename", HAT) == "sealed for another audience"


async def test_a_flow_and_a_function_of_one_name_do_not_open_each_others_states(
    refusals: Refusals,
) -> None:
    flows, functions = Server("Desk", keys=[KEY]), Server("Desk", keys=[KEY])
    flows.tool(Bake())

    async def bake() -> str | InputRequired:
        return InputRequired(state={"done": 1})

    functions.tool(bake)
    of_flow = (await Peer(flows).call("bake"))["requestState"]
    of_function = (await Peer(functions).call("bake"))["requestState"]
    reason = "the flow has no state of this tag"
    assert (await refusals.reason(Peer(flows), of_function, "bake", {})).startswith(reason)
    assert (await refusals.reason(Peer(functions), of_flow, "bake", {})).startswith(reason)


# -- prompts, templates, resources ------------------------------------------------------------

CARRIERS: list[tuple[str, JsonObject, JsonObject]] = [
    (
        "prompts/get",
        {"name": "briefing", "arguments": {"topic": "hats"}},
        {"name": "briefing", "arguments": {"topic": "cats"}},
    ),
    ("resources/read", {"uri": "notes://ada"}, {"uri": "notes://bob"}),
]


def said(result: JsonObject) -> str:
    """The text of a prompt or a resource."""
    if "messages" in result:
        return str(result["messages"][0]["content"]["text"])  # type: ignore[index, call-overload]
    return str(result["contents"][0]["text"])  # type: ignore[index, call-overload]


@pytest.mark.parametrize(("method", "params", "_other"), CARRIERS, ids=lambda p: str(p)[:12])
async def test_prompts_and_templates_ask_as_tools_do(
    method: str, params: JsonObject, _other: JsonObject
) -> None:
    peer = peer_of(desk())
    first = await peer.ask(method, params)
    assert asked(first) == ["sure"]
    assert "ttlMs" not in first  # an interim result is never kept
    back: JsonObject = {**params, "requestState": first["requestState"]}
    assert asked(await peer.ask(method, back)) == ["sure"]
    last = await peer.ask(method, {**back, "inputResponses": YES})
    assert said(last).endswith(" yes")


@pytest.mark.parametrize(("method", "params", "other"), CARRIERS, ids=lambda p: str(p)[:12])
async def test_their_states_are_bound_to_what_was_asked_for(
    method: str, params: JsonObject, other: JsonObject, caplog: pytest.LogCaptureFixture
) -> None:
    peer = peer_of(desk())
    first = await peer.ask(method, params)
    reply = await peer.exchange(
        method, {"_meta": meta(), **other, "requestState": first["requestState"]}
    )
    assert isinstance(reply, Failure)
    assert (reply.code, reply.message) == (-32602, "Invalid or expired requestState")
    assert "sealed for other arguments" in caplog.text or "another tool, prompt" in caplog.text


async def test_a_client_that_cannot_be_asked_is_told_so_for_prompts_too() -> None:
    peer = peer_of(desk(), capabilities={})
    for method, params, _ in CARRIERS:
        reply = await peer.exchange(method, {"_meta": meta({}), **params})
        assert isinstance(reply, Failure)
        assert reply.code == -32021
        assert members(reply.data)["requiredCapabilities"] == {"elicitation": {"form": {}}}


def test_a_static_resource_that_declares_to_ask_is_no_resource() -> None:
    server = Server("Desk")

    async def settings() -> str | InputRequired:
        return InputRequired({"sure": SURE})

    with pytest.raises(TypeError, match="only a resource template may"):
        server.resource("config://app")(settings)


async def test_a_static_resource_that_asks_all_the_same_is_the_servers_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("Desk")

    @server.resource("config://app")
    async def settings() -> Any:
        return InputRequired({"sure": SURE})

    reply = await Peer(server).exchange("resources/read", {"_meta": meta(), "uri": "config://app"})
    assert isinstance(reply, Failure)
    assert reply.code == -32603
    assert "error in the server" in reply.message
    assert "cannot ask; make it a resource template" in caplog.text


async def test_a_static_resource_refuses_a_state_that_comes_in(refusals: Refusals) -> None:
    server = Server("Desk", keys=[KEY])

    @server.resource("config://app")
    async def settings() -> str:
        return "all"

    params: JsonObject = {"_meta": meta(), "uri": "config://app"}
    assert isinstance(await Peer(server).exchange("resources/read", params), Success)
    foreign = await opened(peer_of(desk()))
    for state in ("", "a1.AAAA", foreign):
        reply = await Peer(server).exchange("resources/read", {**params, "requestState": state})
        assert isinstance(reply, Failure)
        assert (reply.code, reply.message) == (-32602, "Invalid or expired requestState")


async def test_a_function_that_never_asks_refuses_a_state_that_comes_in(
    refusals: Refusals,
) -> None:
    async def plain() -> str:
        return "plain"

    await refusals.reason(lone_tool(plain), await opened(peer_of(desk())), "plain", {})


def test_a_flow_does_not_ask_by_hand() -> None:
    with pytest.raises(TypeError, match="InputRequired"):

        class Mixed(Flow[Nothing]):  # pyright: ignore[reportUnusedClass]  # it must not be made
            async def begin(self, args: Nothing) -> InputRequired | Done[str]:
                return InputRequired(state=1)
