"""Keys, codecs, sizes and deploys, as they meet a call that is under way."""

from typing import Any

import pytest
from attrs import frozen

from antiphon import Asking, Done, Flow, Form, Limits, Server
from tests.engine.peer import KEY, Peer, asked, text_of, told
from tests.engine.states import INK, OTHER_KEY, RED, Refusals, goes_on, opened
from tests.engine.tools import Bake, Both, Colour, Nothing, Order, OrderArgs, serving

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
