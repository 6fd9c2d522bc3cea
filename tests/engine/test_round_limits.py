"""Questions that change, rounds without an end, polls, and clients that cannot be asked."""

import pytest
from attrs import define, field, frozen

from antiphon import Asking, Call, Done, Flow, Form, Limits
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.peer import DECLINE, EVERYTHING, accept, asked, text_of, told
from tests.engine.rounds import INK, RED, YES, both, to_confirming
from tests.engine.tools import Bake, Both, Colour, Everything, Nothing, Order, Shop, serving

# -- questions that change --------------------------------------------------------------------


@define
class Stock:
    colours: list[str] = field(factory=lambda: ["red", "blue"])


STOCK = Stock()


@frozen
class Picking(Asking[Colour]):
    def ask(self) -> Form[Colour]:
        return Form("Which?", Colour, choices={"name": STOCK.colours})


@frozen
class Pick(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Picking:
        return Picking()

    @Picking.answered
    async def picked(self, at: Picking, colour: Colour, call: Call[Nothing]) -> Done[str]:
        return Done(f"{colour.name} in round {call.round}")


async def test_an_answer_to_a_question_that_has_changed_since_is_stale() -> None:
    peer = serving(Pick())
    STOCK.colours = ["red", "blue"]
    first = await peer.call("pick")
    STOCK.colours = ["blue", "green"]
    stale = await peer.call(
        "pick", state=first["requestState"], responses={"picking": accept(name="blue")}
    )
    assert asked(stale) == ["picking"]
    properties = stale["inputRequests"]["picking"]["params"]["requestedSchema"]["properties"]
    assert properties["name"]["enum"] == ["blue", "green"]
    last = await peer.call(
        "pick", state=stale["requestState"], responses={"picking": accept(name="green")}
    )
    assert text_of(last) == "green in round 3"


async def test_a_refusal_of_a_question_that_has_changed_since_is_stale_too() -> None:
    peer = serving(Pick())
    STOCK.colours = ["red"]
    first = await peer.call("pick")
    STOCK.colours = ["blue"]
    stale = await peer.call("pick", state=first["requestState"], responses={"picking": DECLINE})
    assert asked(stale) == ["picking"]


async def test_an_answer_outside_the_options_of_run_time_is_of_no_use() -> None:
    peer = serving(Pick())
    STOCK.colours = ["red"]
    again = await peer.call("pick", responses={"picking": accept(name="blue")})
    assert asked(again) == ["picking"]
    assert "cannot be used" in again["inputRequests"]["picking"]["params"]["message"]


# -- without an end ---------------------------------------------------------------------------


async def test_a_client_that_answers_nothing_is_asked_a_bounded_number_of_times() -> None:
    peer = serving(Order())
    step = await peer.call("order", INK)
    for _ in range(4):
        step = await peer.call("order", INK, state=step["requestState"])
        assert asked(step) == ["choosing_colour"]
    result = await peer.call("order", INK, state=step["requestState"])
    assert told(result) == (
        "order: the same question (ChoosingColour) was put 5 times without getting any further, "
        "as often as limit repeats allows (Limits(repeats=...) raises it), so nothing more was "
        "done."
    )


@frozen
class Again(Asking[Colour]):
    def ask(self) -> Form[Colour]:
        return Form("Again?", Colour)


@frozen
class Stuck(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Again:
        return Again()

    @Again.answered
    async def never_enough(self, at: Again, colour: Colour) -> Again | Done[str]:
        return Again()


async def test_a_flow_that_asks_the_same_again_and_again_is_stopped() -> None:
    peer = serving(Stuck())
    step = await peer.call("stuck")
    for _ in range(4):
        step = await peer.call("stuck", state=step["requestState"], responses={"again": RED})
        assert asked(step) == ["again"]
    result = await peer.call("stuck", state=step["requestState"], responses={"again": RED})
    assert "the same question (Again) was put 5 times" in told(result)


async def test_a_partial_answer_gets_further() -> None:
    peer = serving(Both(), limits=Limits(repeats=2))
    step = await peer.call("both")
    step = await both(peer, step["requestState"], {})
    step = await both(peer, step["requestState"], {"a": RED})
    assert asked(step) == ["b"]
    step = await both(peer, step["requestState"], {})
    assert asked(step) == ["b"]
    assert "without getting any further" in told(await both(peer, step["requestState"], {}))


async def test_rounds_are_bounded() -> None:
    peer = serving(Bake(), limits=Limits(rounds=2))
    step = await peer.call("bake")
    step = await peer.call("bake", state=step["requestState"])
    result = await peer.call("bake", state=step["requestState"])
    assert told(result).startswith("bake: gave up after 2 rounds, which is limit rounds")


# -- polls ------------------------------------------------------------------------------------


async def test_a_poll_has_state_and_no_questions() -> None:
    peer = serving(Bake())
    step = await peer.call("bake")
    states = [step["requestState"]]
    for _ in range(3):
        assert set(step) == {"resultType", "requestState", "_meta"}
        assert step["_meta"]["antiphon/retryAfterMs"] == 250
        step = await peer.call("bake", state=step["requestState"])
        states.append(step.get("requestState"))
    assert len(set(states[:-1])) == 3
    step = await peer.call("bake", state=states[-1])
    assert text_of(step) == "a cake"


async def test_answers_to_a_poll_are_ignored() -> None:
    peer = serving(Bake())
    step = await peer.call("bake", responses={"baking": RED})
    step = await peer.call("bake", state=step["requestState"], responses={"baking": DECLINE})
    assert step["resultType"] == "input_required"


# -- capabilities -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "declared", "required"),
    [
        ("order", {}, {"elicitation": {"form": {}}}),
        ("order", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("order", {"sampling": {}}, {"elicitation": {"form": {}}}),
        (
            "everything",
            {},
            {"sampling": {}, "roots": {}, "elicitation": {"url": {}}},
        ),
        (
            "everything",
            {"sampling": {}, "roots": {}, "elicitation": {}},
            {"elicitation": {"url": {}}},
        ),
    ],
)
async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks(
    tool: str, declared: JsonObject, required: JsonObject
) -> None:
    peer = serving(Order(), Everything())
    peer.capabilities = declared
    refusal = await peer.refused(tool, INK if tool == "order" else {})
    assert refusal.code == -32021
    assert refusal.data == {"requiredCapabilities": required}
    assert tool in refusal.message


async def test_bare_elicitation_declares_forms() -> None:
    peer = serving(Order())
    peer.capabilities = {"elicitation": {}}
    assert asked(await peer.call("order", INK)) == ["choosing_colour"]


async def test_a_retry_is_treated_by_its_own_declaration() -> None:
    peer = serving(Order())
    first = await peer.call("order", INK)
    peer.capabilities = {}
    refusal = await peer.refused(
        "order", INK, state=first["requestState"], responses={"choosing_colour": RED}
    )
    assert refusal.code == -32021
    peer.capabilities = EVERYTHING
    second = await peer.call(
        "order", INK, state=first["requestState"], responses={"choosing_colour": RED}
    )
    assert asked(second) == ["confirming"]


async def test_what_needs_no_question_needs_no_capability() -> None:
    peer = serving(Order(shop := Shop()))
    second = await to_confirming(peer)
    peer.capabilities = {}
    last = await peer.call(
        "order", INK, state=second["requestState"], responses={"confirming": YES}
    )
    assert last["resultType"] == "complete"
    assert shop.calls[-1].capabilities == {}
