"""The ``requestState`` as a server takes it back: hostile until opened, one face for all faults."""

import logging
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from attrs import define, frozen

from antiphon import Asking, Done, Flow, Form, Limits, Principal, Server
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, JsonObject, JsonValue
from tests.engine.peer import KEY, Peer, accept, asked, call_params, meta, text_of, told
from tests.engine.tools import Bake, Both, Colour, Nothing, Order, OrderArgs, serving

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


@pytest.fixture
def refusals(caplog: pytest.LogCaptureFixture) -> Refusals:
    return Refusals(caplog)


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


# -- keys -------------------------------------------------------------------------------------


def worker(*keys: str | bytes) -> Peer:
    peer = Peer(Server("Shop", keys=keys))
    peer.server.tool(Order())
    return peer


async def test_keys_are_changed_in_three_steps_without_losing_a_round() -> None:
    old, added = worker(KEY), worker(KEY, OTHER_KEY)
    turned, new = worker(OTHER_KEY, KEY), worker(OTHER_KEY)
    # During each step workers from before it and from after it serve side by side.
    for side_by_side in ([old, added], [added, turned], [turned, new]):
        for sealer in side_by_side:
            state = await opened(sealer)
            for opener in side_by_side:
                assert await goes_on(opener, state)


async def test_a_key_that_was_dropped_opens_nothing_more(refusals: Refusals) -> None:
    state = await opened(worker(KEY, OTHER_KEY))
    assert await goes_on(worker(OTHER_KEY, KEY), state)
    reason = await refusals.reason(worker(OTHER_KEY), state)
    assert reason == "sealed under a key that this server does not hold"


async def test_the_first_key_seals() -> None:
    state = await opened(worker(OTHER_KEY, KEY))
    assert await goes_on(worker(OTHER_KEY), state)
    assert (await worker(KEY).refused("order", INK, state=state)).code == -32602


async def test_without_keys_a_server_opens_its_own_states_only() -> None:
    one, other = (serving(Order(), keys=None) for _ in range(2))
    assert one.server.ephemeral_keys
    assert not worker(KEY).server.ephemeral_keys
    state = await opened(one)
    assert await goes_on(one, state)
    assert (await other.refused("order", INK, state=state)).code == -32602


class Plain:
    """Seals nothing and keeps nothing: a codec owes integrity only."""

    def __init__(self) -> None:
        self.minted: dict[str, bytes] = {}

    def seal(self, payload: bytes) -> str:
        token = f"t{len(self.minted)}"
        self.minted[token] = payload
        return token

    def unseal(self, token: str) -> bytes:
        return self.minted[token]


async def test_a_codec_takes_the_place_of_the_keys(refusals: Refusals) -> None:
    codec = Plain()
    peer = serving(Order(), Bake(), keys=None, codec=codec)
    assert not peer.server.ephemeral_keys
    state = await opened(peer)
    assert state == "t0"
    assert await goes_on(peer, state)
    assert "for another tool" in await refusals.reason(peer, state, "bake")
    assert "for other arguments" in await refusals.reason(peer, state, arguments={"item": "x"})
    assert await refusals.reason(peer, "t9") == "the codec failed (it raised KeyError)"


async def test_a_codec_that_cannot_seal_ends_the_call_and_not_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Plain):
        def seal(self, payload: bytes) -> str:
            raise OSError("no key service")

    peer = serving(Order(), keys=None, codec=Broken())
    assert "error in the server" in told(await peer.call("order", INK))
    assert "The codec cannot seal" in caplog.text
    assert (await peer.ask("tools/list"))["tools"]


# -- size -------------------------------------------------------------------------------------


@frozen
class Hoarding(Asking[Colour]):
    everything: str

    def ask(self) -> Form[Colour]:
        return Form("Which?", Colour)


@frozen
class Hoard(Flow[Nothing]):
    size: int

    async def begin(self, args: Nothing) -> Hoarding:
        return Hoarding("x" * self.size)

    @Hoarding.answered
    async def chosen(self, at: Hoarding, colour: Colour) -> Done[str]:
        return Done(colour.name)


async def test_a_state_that_grows_too_large_is_told_to_the_author_and_not_to_the_user(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = serving(Hoard(100_000))
    text = told(await peer.call("hoard"))
    assert text == "hoard failed because of an error in the server. It has been logged."
    assert "limit token_bytes is 65536. Keep less in the state, or raise the limit" in caplog.text
    assert "xxxxxxxx" not in caplog.text
    roomy = serving(Hoard(100_000), limits=Limits(token_bytes=200_000))
    assert asked(await roomy.call("hoard")) == ["hoarding"]


async def test_a_small_state_makes_a_small_token() -> None:
    assert len(await opened(serving(Order()))) < 500
    first = await serving(Both()).call("both")
    assert len(first["requestState"]) < 500


# -- deploys ----------------------------------------------------------------------------------


def deployed(tag: str, version: int) -> Flow[Any]:
    """The flow after a deploy: its first state has this tag and version."""

    @frozen
    class First(Asking[Colour]):
        item: str
        count: int

        def ask(self) -> Form[Colour]:
            question = f"Which colour for {self.count} {self.item}?"
            return Form(question, Colour, key="choosing_colour")

    First.tag, First.version = tag, version

    @frozen
    class Deployed(Flow[OrderArgs]):
        name = "order"

        async def begin(self, args: OrderArgs) -> First:
            return First(args.item, args.count)

        @First.answered
        async def chosen(self, at: First, colour: Colour) -> Done[str]:
            return Done(f"{at.item} {colour.name}")

    return Deployed()


@pytest.mark.parametrize(
    ("tag", "version", "reason"),
    [
        ("ChoosingColour", 1, ""),
        ("Elsewhere", 1, "the flow has no state of this tag"),
        ("ChoosingColour", 2, "the state is of a version that the flow does not read"),
    ],
)
async def test_what_a_deploy_does_to_an_open_call(
    tag: str, version: int, reason: str, refusals: Refusals
) -> None:
    state = await opened(serving(Order()))
    after = serving(deployed(tag, version))
    if reason:
        assert await refusals.reason(after, state) == reason
    else:
        result = await after.call("order", INK, state=state, responses=RED)
        assert text_of(result) == "ink red"


async def test_a_state_of_a_newer_deploy_is_refused_by_an_older_one(refusals: Refusals) -> None:
    state = await opened(serving(deployed("ChoosingColour", 2)))
    reason = await refusals.reason(serving(Order()), state)
    assert reason == "the state is of a version that the flow does not read"
