"""The machine of a function with ``Ask`` parameters.

Its state is what was answered so far. A question that is open is made anew in each round, as
the question of a flow's state is, and an answer counts only for that very question; one that is
answered is never made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from attrs import evolve, field, frozen

from ..engine.by_hand import InputRequired
from ..engine.call import Call
from ..engine.errors import UsageError
from ..engine.machine import Asks, End, Frozen, MovesOn, Wants
from ..engine.named_ends import unhandled
from ..engine.outcomes import Answered, Done, Event, EventKind, Failed, Refused, Unusable
from ..engine.questions import Given, Refusal
from .ask_graph import AskGraph, graph_of
from .ask_parameters import AskParameter
from .ask_round import Gathering, Posed, Taken
from .ask_states import Answer, AskState, Waiting
from .freezing import Freezer
from .functions import Function, Signature

_FREEZER: Final = Freezer([AskState])
_LONGEST_NOTE: Final = 500


@frozen
class AskMachine:
    """Fills the ``Ask`` parameters of a function, and calls it.

    Attributes:
        name: what clients call.
        function: what is called when everything is there.
        arguments: the arguments that it takes.
        call_parameter: its parameter that takes the call, if there is one.
        parameters: those that are asked for.
        graph: the flow that they make.
    """

    name: str
    function: Function
    arguments: tuple[str, ...]
    call_parameter: str | None
    parameters: Mapping[str, AskParameter]
    graph: AskGraph = field(repr=False)

    @classmethod
    def of(cls, name: str, function: Function, signature: Signature) -> AskMachine:
        """The machine of a function whose signature has been read."""
        graph = graph_of(getattr(function, "__name__", name), signature.asks, signature.returns)
        parameters, call_parameter = signature.parameters, signature.call_parameter
        return cls(name, function, parameters, call_parameter, signature.asks, graph)

    async def begin(self, call: Call[Any]) -> object:
        """Ask all that can be asked, or call the function."""
        at = Gathering(self.parameters, call, {})
        state = await self._on(AskState(), at)
        return _narrowed(state, call) if isinstance(state, Waiting) else state

    async def resume(self, state: object, call: Call[Any]) -> object:
        """Make the open questions anew, from what was answered."""
        sealed, values = self._kept(cast("AskState", state))
        at = Gathering(self.parameters, call, sealed.notes, values)
        await at.reach(sealed.open)
        return _narrowed(self._waiting(sealed, at), call)

    def wants(self, state: object) -> Wants:
        """Answers to the open questions, or nothing where they have become values."""
        questions = _wanted(cast("Waiting", state))
        return Asks(questions, together=True) if questions else MovesOn()

    def handles(self, state: object, kind: EventKind) -> bool:
        """Whether there is an edge for this event."""
        del state
        return kind != "unavailable"

    async def move(self, state: object, event: Event, call: Call[Any]) -> object:
        """Take the answers in and go on, or end with a text for the model."""
        del call
        waiting = cast("Waiting", state)
        match event:
            case Refused(how):
                return Failed(unhandled(self.name, event, waiting.at.refused(how)))
            case Unusable():
                return Failed(unhandled(self.name, event, waiting.at.faults()))
            case Answered(answers):
                taken = cast("tuple[Taken, ...]", answers)
                sealed = _with(waiting, dict(zip(_wanted(waiting), taken, strict=True)))
                return await self._on(sealed, waiting.at)
            case _:
                return await self._on(waiting.sealed, waiting.at)

    def forms(self) -> dict[str, tuple[object, type]]:
        """The answer of each parameter that is asked for by one form, by its name."""
        return {
            name: (name, parameter.forms[0])
            for name, parameter in self.parameters.items()
            if len(parameter.forms) == 1
        }

    def freeze(self, state: object) -> Frozen:
        """Pack the answers so far."""
        return _FREEZER.freeze(cast("Waiting", state).sealed)

    def thaw(self, frozen: Frozen) -> object:
        """Restore them."""
        return _FREEZER.thaw(frozen)

    # -- going on -----------------------------------------------------------------------------

    async def _on(self, sealed: AskState, at: Gathering) -> Waiting | End:
        """Ask what is open still, then what can be asked next, then call the function."""
        await at.reach([name for name in sealed.open if name not in at.values])
        number = sealed.number
        if not at.questions:
            await at.reach(self.parameters)
            number += 1
        if not at.questions:
            return await self._end(at)
        notes = {name: asked.note for name, asked in at.questions.items() if asked.note}
        return self._waiting(AskState(number, at.digests(), sealed.answers, notes), at)

    def _waiting(self, sealed: AskState, at: Gathering) -> Waiting:
        # Functions that change their mind may take more rounds than the graph foresees.
        states: list[type[Waiting]] = [Waiting, *self.graph.states]
        state = states[min(sealed.number, len(states) - 1)]
        return state(sealed.number, sealed.open, sealed.answers, sealed.notes, at=at)

    async def _end(self, at: Gathering) -> End:
        given = at.given([*self.arguments, *self.parameters])
        if self.call_parameter is not None:
            given[self.call_parameter] = at.call
        result: object = await self.function(**given)
        if isinstance(result, InputRequired):
            raise UsageError(
                f"{self.name!r} has Ask parameters and returned InputRequired; ask in one way"
            )
        return cast("End", result) if isinstance(result, Done | Failed) else Done(result)

    def _kept(self, state: AskState) -> tuple[AskState, dict[str, object]]:
        """What a deploy has left of a state, and the values of its answers: parameters that are
        gone, or take another type of answer now, are forgotten."""
        values: dict[str, object] = {}
        for name, answer in state.answers.items():
            parameter = self.parameters.get(name)
            reading = parameter and parameter.restored(answer.digest, answer.response)
            if isinstance(reading, Given):
                values[name] = reading.value
        answers = {name: answer for name, answer in state.answers.items() if name in values}
        there = {name: digest for name, digest in state.open.items() if name in self.parameters}
        return evolve(state, open=there, answers=answers), values


def _wanted(state: Waiting) -> dict[str, Posed]:
    questions = state.at.questions
    return {name: questions[name] for name in state.taken or questions}


def _narrowed(state: Waiting, call: Call[Any]) -> Waiting:
    """Wait for nothing but what this request answers, where it answers some of the questions:
    what is answered need not be asked anew with the rest."""
    readings = state.at.readings(call.input_responses)
    changed = any(state.open.get(name) != digest for name, digest in state.at.digests().items())
    # Of questions that have changed, and of refusals, the round judges as a whole.
    if changed or any(isinstance(reading, Refusal) for reading in readings.values()):
        return state
    return evolve(state, taken=tuple(n for n, r in readings.items() if isinstance(r, Given)))


def _with(state: Waiting, taken: Mapping[str, Taken]) -> AskState:
    """The state with what was answered; what was answered in vain is noted on its question."""
    at = state.at
    answers = {
        name: Answer(at.questions[name].answer.digest, one.response) for name, one in taken.items()
    }
    at.values.update({name: one.value for name, one in taken.items()})
    for name, fault in at.faults().items():
        at.note(name, _noted(fault.note or fault.reason))
    return evolve(state.sealed, answers=state.answers | answers)


def _noted(fault: str) -> str:
    return f"The last answer cannot be used: {fault[:_LONGEST_NOTE]}."
