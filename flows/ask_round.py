"""What one round makes of ``Ask`` parameters: values, and questions that are put."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from inspect import isawaitable
from typing import Any, cast

from attrs import Factory, define, evolve, field, frozen

from ..engine.by_hand import InputRequired
from ..engine.call import Call
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject, JsonValue
from ..engine.questions import Given, Invalid, Question, Reading, Refusal, Single
from ..engine.sealing import question_digest
from .ask_parameters import Answerable, AskParameter, in_order


@frozen
class Taken:
    """An answer that was accepted: what the parameter gets, and the response itself."""

    value: object = field(repr=False)
    response: JsonObject = field(repr=False)


@frozen
class Posed(Single[Taken]):
    """The question of a parameter.

    Attributes:
        parameter: which is filled by the answer.
        question: what its function asks.
        answer: what that is answered by.
        note: why it is asked again.
    """

    parameter: AskParameter
    question: Single[Any]
    answer: Answerable
    note: str = ""
    key: str | None = field(default=None, init=False)
    timeout: float | None = field(
        init=False, default=Factory(lambda self: self.question.timeout, takes_self=True)
    )

    @property
    def needs(self) -> JsonObject:
        return self.question.needs

    def wire(self, note: str = "") -> JsonObject:
        return self.question.wire(note or self.note)

    def read(self, response: JsonObject) -> Reading[Taken]:
        reading = self.parameter.outcome(self.question.read(response))
        return Given(Taken(reading.value, response)) if isinstance(reading, Given) else reading


@define
class Gathering:
    """The parameters of a function, as far as one round can fill them.

    Attributes:
        parameters: all of them, in the order in which they are asked for.
        call: the round's request.
        notes: why a question is asked again, by parameter.
        values: what has been given.
        questions: what has been asked.
    """

    parameters: Mapping[str, AskParameter]
    call: Call[Any]
    notes: Mapping[str, str]
    values: dict[str, object] = field(factory=dict[str, object], repr=False)
    _questions: dict[str, Posed] = field(factory=dict[str, Posed], init=False)

    @property
    def questions(self) -> dict[str, Posed]:
        """The questions that have no answer yet."""
        return {
            name: self._questions[name]
            for name in self.parameters
            if name in self._questions and name not in self.values
        }

    def given(self, names: Collection[str]) -> dict[str, object]:
        """Arguments and parameters, by name."""
        return {name: self._value(name) for name in names}

    def _value(self, name: str) -> object:
        return self.values[name] if name in self.parameters else getattr(self.call.args, name)

    async def reach(self, names: Collection[str]) -> None:
        """Run the functions of these parameters, and of those that they wait for, as far as
        that goes; none twice, and one after the other."""
        wanted = set(names).union(*(self.parameters[name].behind for name in names))
        for parameter in in_order(self.parameters.values()):
            if parameter.name in wanted and self._is_ready(parameter):
                await self._fill(parameter)

    def _is_ready(self, parameter: AskParameter) -> bool:
        known = parameter.name in self.values or parameter.name in self._questions
        return not known and self.values.keys() >= {*parameter.waits_for}

    async def _fill(self, parameter: AskParameter) -> None:
        given = self.given(parameter.takes)
        if parameter.call_as is not None:
            given[parameter.call_as] = self.call
        made = parameter.function(**given)
        if isawaitable(made):
            made = await made
        if isinstance(made, Question | InputRequired):
            self._questions[parameter.name] = self._posed(parameter, cast(object, made))
        else:
            self.values[parameter.name] = parameter.valued(cast(object, made))

    def _posed(self, parameter: AskParameter, made: object) -> Posed:
        if isinstance(made, Single):
            question = cast("Single[Any]", made)
            if (answer := parameter.answerable(question)) is not None:
                return Posed(parameter, question, answer, self.notes.get(parameter.name, ""))
        raise UsageError(
            f"The function of Ask parameter {parameter.name!r} gave a "
            f"{type(cast(object, made)).__name__} whose answer the parameter does not hold"
        )

    def digests(self) -> dict[str, bytes]:
        """By which a token knows the open questions."""
        return {name: question_digest(asked.wire()) for name, asked in self.questions.items()}

    def note(self, name: str, note: str) -> None:
        """Say why a question is asked again."""
        self._questions[name] = evolve(self._questions[name], note=note)

    # -- the answers of this round ------------------------------------------------------------

    def readings(self, responses: Mapping[str, JsonValue]) -> dict[str, Reading[Taken]]:
        """What the responses say to the open questions; those that say nothing left out."""
        return {
            name: reading
            for name, question in self.questions.items()
            if isinstance(response := responses.get(name), dict)
            and (reading := question.read(response)) is not None
        }

    def refused(self, how: str) -> list[str]:
        """The parameters whose questions were refused so."""
        read = self.readings(self.call.input_responses)
        return [name for name, r in read.items() if isinstance(r, Refusal) and r.how == how]

    def faults(self) -> dict[str, Invalid]:
        """The answers that are of no use."""
        read = self.readings(self.call.input_responses)
        return {name: fault for name, fault in read.items() if isinstance(fault, Invalid)}
