"""Walks at random through any flow, drawn from the edges that it declares."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

import attrs
import pytest
from attrs import define, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Acting, Consent, Edge, Flow, Form, Limits, Polling, walk
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.outcomes import Done, Failed
from antiphon.engine.questions import Given, Invalid
from antiphon.flows.testing import EVERYTHING, Step
from examples.provision import Cloud, Confirmed, Provision, ProvisionArgs, Region
from examples.review import ReviewArgs, ReviewChange, Verdict
from examples.slow_report import Press, ReportArgs, SlowReport
from tests.flows.answering import NO_ANSWERS, accepted, useless
from tests.flows.parcel import Paper, ParcelArgs, SendParcel

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
    step: Step
    capable: bool
    taken: list[Edge] = field(factory=list[Edge])
    useless: int = 0

    @classmethod
    async def begin(cls, scene: Scene, *, capable: bool) -> Tour:
        flow = scene.flow()
        capabilities = EVERYTHING if capable else scene.least
        step = await walk(flow, scene.args, capabilities=capabilities, limits=LIMITS)
        tour = cls(flow, step, capable)
        tour._follow(None, "begun", step)
        return tour

    @property
    def events(self) -> list[str]:
        """What may happen in the present state."""
        source = type(self.step.state)
        events = [edge.event for edge in self.flow.edges if edge.source is source]
        return [event for event in dict.fromkeys(events) if event != "unavailable"]

    async def take(self, event: str, responses: JsonObject) -> None:
        """Respond with what makes this event happen."""
        source = type(self.step.state)
        self._follow(source, event, await self.step.respond(responses))

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

    def _follow(self, source: type | None, event: str, step: Step) -> None:
        target: type = type(step.state if step.end is None else step.end)
        (route,) = self._routes(source, event, target)
        self.taken.extend(route)
        self.step = step
        self.useless = 0

    def _routes(
        self, source: type | None, event: str, target: type
    ) -> Iterator[tuple[Edge, ...]]:
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

STANDING: Final = ("nothing", "no answer", "half an answer")


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
            key = data.draw(st.sampled_from([k for k, r in requests.items() if _is_form(r)]))
            await tour.take(event, {**foreign, key: {"action": event.removesuffix("led")[:7]}})
        case "unusable":
            key = next(key for key, request in requests.items() if _is_form(request))
            await tour.useless_answer({key: data.draw(useless(requests[key]))})
        case "half an answer" if len(requests) > 1:
            key = data.draw(st.sampled_from(list(requests)))
            await tour.stay({**foreign, key: data.draw(accepted(requests[key]))})
            assert list(tour.step.requests) == [k for k in requests if k != key]
        case "no answer":
            await tour.stay({**foreign, **dict.fromkeys(requests, data.draw(NO_ANSWERS))})
        case _:
            await tour.stay(foreign)
