"""The ``requestState`` as a server takes it back: hostile until opened, one face for all faults."""

from base64 import urlsafe_b64encode

import pytest

from antiphon import Principal, Server
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, JsonObject, JsonValue
from tests.engine.peer import KEY, Peer, asked, call_params, meta
from tests.engine.states import INK, RED, Clock, Refusals, goes_on, opened
from tests.engine.tools import Bake, Order, serving

# -- what is no state -------------------------------------------------------------------------


@pytest.mark.parametrize("state", [5, 1.5, True, [], {}, {"a": 1}, ["a1.AAAA"]])
async def test_a_state_that_is_no_text_is_malformed(state: JsonValue) -> None:
    refusal = await serving(Order()).refused("order", INK, state=state)
    assert refusal.code == -32602
    assert "requestState" in refusal.message
    assert refusal.message != "Invalid or expired requestState"


async def test_null_is_no_state() -> None:
    result = await serving(Order()).ask(
        "tools/call", {"name": "order", "arguments": INK, "requestState": None}
    )
    assert asked(result) == ["choosing_colour"]


@pytest.mark.parametrize(
    "state",
    [
        "",
        " ",
        "x",
        "a1.",
        "a2." + "A" * 200,
        "null",
        '{"state":1}',
        "a1." + "A" * 200,
        "a1." + urlsafe_b64encode(b"garbage" * 30).decode(),
        "größe",
        "a1." + "é" * 200,
        "😀" * 500,
        "\u2028",
        "A" * 1024 * 1024,
    ],
    ids=lambda state: f"{state[:8]!r}x{len(state)}",
)
async def test_what_was_never_minted_is_refused(state: str, refusals: Refusals) -> None:
    reason = await refusals.reason(serving(Order()), state)
    assert any(
        word in reason
        for word in ("not a token", "a key that this server does not hold", "limit token_bytes")
    )


@pytest.mark.parametrize("place", [0, 2, 3, 5, 10, 40, 60, -1])
async def test_a_state_that_was_changed_is_refused(place: int, refusals: Refusals) -> None:
    peer = serving(Order())
    state = await opened(peer)
    for character in "AB":
        changed = state[:place] + character + state[len(state[:place]) + 1 :]
        if changed != state:
            await refusals.reason(peer, changed)
    assert await goes_on(peer, state)


async def test_a_state_that_was_cut_or_extended_is_refused(refusals: Refusals) -> None:
    peer = serving(Order())
    state = await opened(peer)
    for changed in (state[:-1], state[1:], state + "A", state + "-TAMPERED", state + state):
        await refusals.reason(peer, changed)


# -- what it is bound to ----------------------------------------------------------------------


async def test_a_state_belongs_to_its_tool(refusals: Refusals) -> None:
    peer = serving(Order(), Bake())
    peer.server.tool(Order(), name="reorder")
    state = await opened(peer)
    assert "for another tool" in await refusals.reason(peer, state, "reorder")
    assert "for another tool" in await refusals.reason(peer, state, "bake")
    assert await goes_on(peer, state)


async def test_a_state_belongs_to_its_arguments(refusals: Refusals) -> None:
    peer = serving(Order())
    state = await opened(peer)
    for other in ({"item": "ink"}, {"item": "ink", "count": 3}, {**INK, "count": "2"}, {}):
        reason = await refusals.reason(peer, state, arguments=other)
        assert "for other arguments" in reason


async def test_arguments_are_compared_as_json_values() -> None:
    peer = serving(Order())
    state = await opened(peer)
    assert await goes_on(peer, state, {"count": 2, "item": "ink"})
    assert await goes_on(peer, state, {"count": 2.0, "item": "ink"})


async def test_a_defaulted_argument_is_another_than_one_that_was_sent(refusals: Refusals) -> None:
    peer = serving(Order())
    first = await peer.call("order", {"item": "ink"})
    state = first["requestState"]
    reason = await refusals.reason(peer, state, arguments={"item": "ink", "count": 1})
    assert "for other arguments" in reason


async def test_absent_arguments_are_the_same_as_none_at_all() -> None:
    peer = serving(Bake())
    first = await peer.call("bake")
    given: list[object] = [None, {}]
    for arguments in given:
        again = await peer.call("bake", arguments, state=first["requestState"])
        assert again["resultType"] == "input_required"


ALICE = Principal("host", "https://issuer", "alice")
PRINCIPALS = [
    None,
    ALICE,
    Principal("host", "https://issuer", "bob"),
    Principal("host", "https://other", "alice"),
    Principal("other", "https://issuer", "alice"),
    Principal("host"),
    Principal("host", None, "alice"),
    Principal('host","https://issuer', None, "alice"),
]


@pytest.mark.parametrize("opener", PRINCIPALS, ids=str)
async def test_a_state_belongs_to_its_principal(
    opener: Principal | None, refusals: Refusals
) -> None:
    peer = serving(Order())
    peer.principal = opener
    state = await opened(peer)
    for other in PRINCIPALS:
        peer.principal = other
        if other == opener:
            assert await goes_on(peer, state)
        else:
            assert "for another principal" in await refusals.reason(peer, state)


async def test_nothing_that_a_request_claims_makes_a_principal() -> None:
    peer = serving(Order())
    peer.principal = ALICE
    state = await opened(peer)
    peer.principal = None
    claim: JsonObject = {
        "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
        "principal": "alice",
        "subject": "alice",
    }
    params = call_params("order", INK, state, RED)
    reply = await peer.exchange("tools/call", {"_meta": {**meta(), **claim}, **params})
    assert isinstance(reply, Failure)
    assert reply.message == "Invalid or expired requestState"


async def test_a_principal_of_the_authors_own_making(refusals: Refusals) -> None:
    def tenant(exchange: Exchange) -> str | None:
        return exchange.principal.client if exchange.principal else None

    peer = serving(Order(), bind_principal=tenant)
    peer.principal = ALICE
    state = await opened(peer)
    peer.principal = Principal("host", "https://elsewhere", "carol")
    assert await goes_on(peer, state)
    peer.principal = Principal("other")
    assert "for another principal" in await refusals.reason(peer, state)
    peer.principal = None
    assert "for another principal" in await refusals.reason(peer, state)


async def test_a_state_belongs_to_its_server(refusals: Refusals) -> None:
    state = await opened(serving(Order()))
    other = Peer(Server("Another shop", keys=[KEY]))
    other.server.tool(Order())
    assert "for another audience" in await refusals.reason(other, state)
    same = Peer(Server("Another shop", keys=[KEY], audience="Shop"))
    same.server.tool(Order())
    assert await goes_on(same, state)


async def test_every_drift_is_logged_and_none_is_told(refusals: Refusals) -> None:
    clock = Clock()
    peer = serving(Order(), clock=clock)
    state = await opened(peer)
    clock.now += 601
    other = Peer(Server("Another shop", keys=[KEY], clock=clock), principal=ALICE)
    other.server.tool(Bake())
    assert await refusals.reason(other, state, "bake", {}) == (
        "sealed for another principal, sealed for another audience, sealed for another tool, "
        "prompt or resource, sealed for other arguments, expired"
    )


async def test_the_log_names_the_flow_where_the_state_could_be_read(
    refusals: Refusals, caplog: pytest.LogCaptureFixture
) -> None:
    peer = serving(Order())
    peer.principal = ALICE
    state = await opened(peer)
    peer.principal = None
    await refusals.reason(peer, state)
    assert len(caplog.records[-1].__dict__["flow_id"]) == 16
    await refusals.reason(peer, "x")
    assert caplog.records[-1].__dict__["flow_id"] is None


# -- time -------------------------------------------------------------------------------------


async def test_a_state_expires_and_each_round_renews_it(refusals: Refusals) -> None:
    clock = Clock()
    peer = serving(Bake(), Order(), clock=clock)
    first = state = (await peer.call("bake"))["requestState"]
    for _ in range(3):
        clock.now += 599
        state = (await peer.call("bake", state=state))["requestState"]
    clock.now += 599
    assert (await peer.call("bake", state=state))["resultType"] == "complete"
    assert await refusals.reason(peer, first, "bake", {}) == "expired"
    clock.now += 2
    assert await refusals.reason(peer, state, "bake", {}) == "expired"


async def test_the_time_to_answer_can_be_set() -> None:
    clock = Clock()
    peer = serving(Order(), clock=clock, ttl=5)
    state = await opened(peer)
    clock.now += 4.9
    assert await goes_on(peer, state)
    clock.now += 0.2
    assert (await peer.refused("order", INK, state=state)).code == -32602
