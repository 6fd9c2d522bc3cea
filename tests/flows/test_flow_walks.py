"""Walks at random through any flow, drawn from the edges that it declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final

import attrs
import pytest
from attrs import define, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Acting, Consent, Done, Edge, Failed, Flow, Form, Limits, Polling, walk
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.questions import Given, Invalid
from antiphon.flows.testing import EVERYTHING, Step
from examples.provision import Cloud, Provision, ProvisionArgs
from examples.review import ReviewArgs, ReviewChange
from examples.slow_report import Press, ReportArgs, SlowReport
from tests.flows.answering import NO_ANSWERS, accepted, useless
from tests.flows.parcel import Addressing, Paper, ParcelArgs, SendParcel, Travelling

LIMITS: Final = Limits(repeats=1000)
"""A walk at random may stand still for long; what ends one that does is tested elsewhere."""


@frozen
class Scene:
    """A flow to walk through, and the least that a client must be able to do for it."""

    flow: Callable[[], Flow[Any]]
    args: Any
    least: JsonObject = field(factory=dict[str, JsonValue])


def slow_report() -> SlowReport:
    """A report whose press prints three pages between two looks."""
    now = count(step=0.3)
    return SlowReport(Press(lambda: next(now)))


SCENES: Final = {
    "provision": Scene(lambda: Provision(Cloud()), ProvisionArgs("orders"), {"elicitation": {}}),
    "review": Scene(ReviewChange, ReviewArgs("- a\n+ b"), {"elicitation": {"form": {}}}),
    "slow_report": Scene(slow_report, ReportArgs("Sales")),
    "parcel": Scene(SendParcel, ParcelArgs("a vase")),
}


@define
class Tour:
    """A walk that says before each step which edge it must take, and holds it to that."""

    flow: Flow[Any]
    capable: bool
    step: Step
    taken: list[Edge] = field(factory=list[Edge])
    useless: int = 0

    @classmethod
    async def begin(cls, scene: Scene, *, capable: bool) -> Tour:
        flow = scene.flow()
        capabilities = EVERYTHING if capable else scene.least
        step = await walk(flow, scene.args, capabilities=capabilities, limits=LIMITS)
        tour = cls(flow, capable, step)
        tour._note(None, "begun", step)
        return tour

    @property
    def _source(self) -> type:
        state: object = self.step.state
        return type(state)

    @property
    def events(self) -> list[str]:
        """What may happen in the present state."""
        source = self._source
        events = [edge.event for edge in self.flow.edges if edge.source is source]
        return [event for event in dict.fromkeys(events) if event != "unavailable"]

    async def take(self, event: str, responses: JsonObject) -> None:
        """Respond with what makes this event happen."""
        self.follow(event, await self.step.respond(responses))

    async def stay(self, responses: JsonObject) -> None:
        """Respond with what moves nothing."""
        was = self.step
        self.step = await was.respond(responses)
        assert self.step.state == was.state
        assert set(self.step.requests) <= set(was.requests)

    async def useless_answer(self, responses: JsonObject) -> None:
        """Respond with an answer that fails its schema: it is asked for again, twice."""
        self.useless += 1
        if self.useless > LIMITS.unusable:
            await self.take("unusable", responses)
            return
        await self.stay(responses)
        for key in responses:
            params: Any = self.step.requests[key]["params"]
            assert "\n\nThe last answer cannot be used: " in params["message"]

    def follow(self, event: str, step: Step) -> None:
        """Go on to a step to which this event has led."""
        self._note(self._source, event, step)
        self.step = step
        self.useless = 0

    def _note(self, source: type | None, event: str, step: Step) -> None:
        reached: object = step.end or step.state
        target = type(reached)
        (route,) = self._routes(source, event, target)
        self.taken.extend(route)

    def _routes(self, source: type | None, event: str, target: type) -> Iterator[tuple[Edge, ...]]:
        """The ways along declared edges on which one round can lead from here to there."""
        for edge in self.flow.edges:
            if edge.source is not source or edge.event != event:
                continue
            if onward := self._passes(edge.target):
                rests = self._routes(edge.target, onward, target)
                yield from ((edge, *rest) for rest in rests)
            elif edge.target is target:
                yield (edge,)

    def _passes(self, state: type) -> str | None:
        """The event by which a state is left in the round that comes to it."""
        if issubclass(state, Acting):
            return "entered"
        lacking = not self.capable and any(
            edge.source is state and edge.event == "unavailable" for edge in self.flow.edges
        )
        return "unavailable" if lacking else None


# -- at random --------------------------------------------------------------------------------

ACTIONS: Final = {"declined": "decline", "cancelled": "cancel"}
STANDING: Final = ("nothing", "no answer", "half an answer")


def asked_of_a_person(requests: Mapping[str, Any]) -> list[str]:
    return [key for key, request in requests.items() if request["method"] == "elicitation/create"]


def forms(requests: Mapping[str, Any]) -> list[str]:
    keys = asked_of_a_person(requests)
    return [key for key in keys if requests[key]["params"]["mode"] == "form"]


async def go_on(tour: Tour, data: st.DataObject) -> None:
    """One more round, whatever it brings."""
    requests = tour.step.requests
    foreign: JsonObject = data.draw(st.dictionaries(st.sampled_from(["a", "b"]), NO_ANSWERS))
    if isinstance(tour.step.state, Polling):
        await tour.take("polled", foreign)
        return
    match event := data.draw(st.sampled_from([*tour.events, *STANDING])):
        case "answered":
            answers = {key: data.draw(accepted(request)) for key, request in requests.items()}
            await tour.take(event, {**foreign, **answers})
        case "declined" | "cancelled":
            key = data.draw(st.sampled_from(asked_of_a_person(requests)))
            await tour.take(event, {**foreign, key: {"action": ACTIONS[event]}})
        case "unusable" if keys := forms(requests):
            key = keys[0]
            for _ in range(data.draw(st.integers(1, LIMITS.unusable + 1 - tour.useless))):
                await tour.useless_answer({key: data.draw(useless(requests[key]))})
        case "half an answer" if len(requests) > 1:
            key = data.draw(st.sampled_from(list(requests)))
            await tour.stay({**foreign, key: data.draw(accepted(requests[key]))})
            assert set(tour.step.requests) == set(requests) - {key}
        case "no answer":
            await tour.stay({**foreign, **dict.fromkeys(requests, data.draw(NO_ANSWERS))})
        case _:
            await tour.stay(foreign)


@pytest.mark.parametrize("name", SCENES)
@given(data=st.data())
async def test_a_walk_takes_only_declared_edges_and_every_state_can_travel(
    name: str, data: st.DataObject
) -> None:
    tour = await Tour.begin(SCENES[name], capable=data.draw(st.booleans()))
    freezer = tour.flow.graph.freezer
    for _ in range(data.draw(st.integers(1, 20))):
        if tour.step.end is not None:
            break
        assert type(tour.step.state) in tour.flow.states
        assert freezer.thaw(freezer.freeze(tour.step.state)) == tour.step.state
        await go_on(tour, data)
    assert (tour.step.state is None) == isinstance(tour.step.end, Done | Failed)


# -- every event ------------------------------------------------------------------------------

PLAIN: Final = Paper(grams=1, to="a@example.org", speed="slow")
FRAGILE: Final = attrs.evolve(PLAIN, fragile=True)
EMPTY: Final[JsonObject] = {"addressing_1": {"action": "accept", "content": {}}}


async def parcel(*papers: Paper, capable: bool = True) -> Tour:
    """A tour that answers with these papers and stands where that leads."""
    tour = await Tour.begin(SCENES["parcel"], capable=capable)
    for paper in papers:
        tour.follow("answered", await tour.step.answer(paper, Consent()))
    return tour


async def polled(tour: Tour) -> Tour:
    while isinstance(tour.step.state, Travelling):
        tour.follow("polled", await tour.step.poll())
    return tour


async def test_an_answer_leads_through_polls_to_the_end() -> None:
    tour = await polled(await parcel(FRAGILE, PLAIN))
    assert tour.step.end == Done(PLAIN)
    assert [edge.handler for edge in tour.taken] == [
        *("begin", "packed", "addressed", "packed", "addressed"),
        *("travelled", "travelled", "travelled", "arrived"),
    ]


async def test_a_step_that_follows_at_once_may_be_the_last() -> None:
    tour = await parcel(FRAGILE, FRAGILE, FRAGILE)
    assert (tour.step.end, tour.step.round) == (Failed("Torn paper."), 4)


async def test_a_client_that_cannot_be_asked_polls_at_once() -> None:
    tour = await parcel(capable=False)
    assert tour.step.state == Travelling(None, 0)
    assert (await polled(tour)).step.end == Failed("It arrived, nobody knows where.")


async def test_declining_and_closing_may_lead_to_different_places() -> None:
    tour = await parcel()
    tour.follow("cancelled", await tour.step.cancel())
    assert tour.step.state == Addressing("a vase", 0)
    tour.follow("declined", await tour.step.decline())
    assert tour.step.end == Failed("'a vase' stays here.")


async def test_the_third_answer_of_no_use_takes_the_edge_for_it() -> None:
    tour = await parcel()
    for _ in range(3):
        await tour.useless_answer(EMPTY)
    assert tour.step.state == Travelling(None)


async def test_every_edge_of_a_flow_with_every_event_can_be_taken() -> None:
    tours = [
        await polled(await parcel(FRAGILE, PLAIN)),
        await parcel(FRAGILE, FRAGILE, FRAGILE),
        await polled(await parcel(capable=False)),
    ]
    for event, refuse in (("declined", Step.decline), ("cancelled", Step.cancel)):
        tours.append(await parcel())
        tours[-1].follow(event, await refuse(tours[-1].step))
    tours.append(await parcel())
    for _ in range(3):
        await tours[-1].useless_answer(EMPTY)
    assert {edge for tour in tours for edge in tour.taken} == set(SendParcel.edges)


# -- the strategies ---------------------------------------------------------------------------

QUESTION: Final = Form("Where to?", Paper)


@given(accepted(QUESTION.wire()))
def test_what_is_drawn_as_an_answer_is_one(response: JsonObject) -> None:
    reading = QUESTION.read(response)
    assert isinstance(reading, Given)
    assert isinstance(reading.value, Paper)


@given(useless(QUESTION.wire()))
def test_what_is_drawn_as_useless_is_so(response: JsonObject) -> None:
    assert isinstance(QUESTION.read(response), Invalid)
