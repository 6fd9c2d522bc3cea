"""Walk through a flow without a transport, a token or a clock.

::

    step = await walk(Provision(fake_cloud), ProvisionArgs("orders"))
    assert step.state == ChoosingRegion("orders")
    step = await step.answer(Region("prod"))
    step = await step.decline()
    assert step.end == Failed("Nothing was provisioned: production was declined.")

Each step packs the state and restores it, as sealing would, so a state that cannot travel
fails in the walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast, overload

import attrs
from attrs import field, frozen

from ..engine.call import Call
from ..engine.deprecated_questions import Root, Sampled
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject, JsonValue
from ..engine.limits import Limits
from ..engine.machine import End, Machine, Progress
from ..engine.questions import Consent
from ..engine.round import Resumed, Round, Suspended
from ..engine.schema import plain
from .asks import AskFlow
from .flow import Args, Flow
from .machine import FlowMachine

EVERYTHING: Final[JsonObject] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {},
}
"""The capabilities of a client that can be asked anything."""


@frozen
class Step:
    """Where a walk stands.

    Attributes:
        end: how the flow ended, or None while it goes on.
        state: what it rests in, or None where it has ended.
        requests: the questions put to the client, in their wire form, by key.
        progress: how far a poll is, or None.
        round: the number of the request that led here, from 1.
    """

    _machine: Machine = field(repr=False, alias="machine")
    _call: Call[Any] = field(repr=False, alias="call")
    _limits: Limits = field(repr=False, alias="limits")
    _outcome: End | Suspended = field(repr=False, alias="outcome")

    @property
    def end(self) -> End | None:
        return None if isinstance(self._outcome, Suspended) else self._outcome

    @property
    def state(self) -> Any:  # noqa: ANN401  # tests compare it with their own states
        return self._outcome.resume.state if isinstance(self._outcome, Suspended) else None

    @property
    def requests(self) -> Mapping[str, JsonObject]:
        return self._outcome.requests if isinstance(self._outcome, Suspended) else {}

    @property
    def progress(self) -> Progress | None:
        return self._outcome.progress if isinstance(self._outcome, Suspended) else None

    @property
    def round(self) -> int:
        return self._call.round

    async def answer(self, *answers: object) -> Step:
        """Answer the questions that are open, in their order, each with a value of its type."""
        if len(answers) != len(self.requests):
            raise UsageError(f"{len(self.requests)} questions are open, not {len(answers)}")
        return await self.respond(dict(zip(self.requests, map(_response, answers), strict=True)))

    async def decline(self) -> Step:
        """Decline every question that is open."""
        return await self.respond({k: {"action": "decline"} for k in self.requests})

    async def cancel(self) -> Step:
        """Close every question that is open without a choice."""
        return await self.respond({k: {"action": "cancel"} for k in self.requests})

    async def poll(self) -> Step:
        """Come back without an answer."""
        return await self.respond({})

    async def respond(self, responses: Mapping[str, JsonValue]) -> Step:
        """Come back with ``inputResponses`` as they stand on the wire."""
        if not isinstance(self._outcome, Suspended):
            raise UsageError("The flow has ended; begin another walk")
        left = self._outcome.resume
        resumed = attrs.evolve(left, state=self._machine.thaw(left.frozen))
        number = self._call.round + 1
        call = attrs.evolve(self._call, round=number, event=None, input_responses=responses)
        return await _stepped(self._machine, call, self._limits, resumed, responses)


@overload
async def walk(
    flow: Flow[Args],
    args: Args,
    *,
    capabilities: JsonObject = EVERYTHING,
    limits: Limits | None = None,
) -> Step: ...
@overload
async def walk(
    flow: AskFlow,
    args: Mapping[str, object],
    *,
    capabilities: JsonObject = EVERYTHING,
    limits: Limits | None = None,
) -> Step: ...
async def walk(
    flow: Flow[Any] | AskFlow,
    args: object,
    *,
    capabilities: JsonObject = EVERYTHING,
    limits: Limits | None = None,
) -> Step:
    """Begin a walk; its first step is what the opening request would lead to.

    Args:
        flow: the flow object, with fakes for what it depends on; of a function with ``Ask``
            parameters what :func:`~.asks.flow_of` gives.
        args: the tool's arguments; of a function its own arguments by name.
        capabilities: what the client can be asked; everything by default.
        limits: of the engine.

    Raises:
        UsageError: the arguments are not those that the function takes.
        ProtocolError: the flow asks what the client cannot be asked, without an edge for it.
        Exception: whatever a handler raises.
    """
    machine: Machine
    if isinstance(flow, AskFlow):
        machine, args = flow.machine, flow.arguments(cast("Mapping[str, object]", args))
    else:
        machine = FlowMachine(flow, flow.name)
    call = Call[Any](args, capabilities=capabilities, flow_id="walk")
    return await _stepped(machine, call, limits or Limits(), None, {})


async def _stepped(
    machine: Machine,
    call: Call[Any],
    limits: Limits,
    resumed: Resumed | None,
    responses: Mapping[str, JsonValue],
) -> Step:
    return Step(machine, call, limits, await Round(machine, call, limits).run(resumed, responses))


def _response(answer: object) -> JsonValue:
    """An answer as a client would send it."""
    match answer:
        case Consent():
            return {"action": "accept"}
        case Sampled():
            return {"role": answer.role, "model": answer.model, "content": answer.content}
        case tuple():
            return {"roots": [{"uri": root.uri} for root in cast("tuple[Root, ...]", answer)]}
        case _:
            content = cast(JsonObject, plain(answer))
            # Nobody can type null: a field that was left out does not come.
            filled: JsonObject = {k: v for k, v in content.items() if v is not None}
            return {"action": "accept", "content": filled}
