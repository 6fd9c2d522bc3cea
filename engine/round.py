"""One round of a machine: from what a request brought to an end or to the next questions.

The round knows neither tokens nor transports, and does not care who answers: the caller may
seal what it gets and wait for another request, or ask at once and take another round in the
same call. Specification: basic/patterns/mrtr.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from attrs import define, evolve, field, frozen

from .call import Call
from .errors import MissingCapability, UsageError
from .jsonrpc import JsonObject, JsonValue, dumps
from .limits import Limits, raising
from .machine import Asks, End, Frozen, Machine, MovesOn, Polls, Progress, Reruns, Wants
from .named_ends import stuck, unasked, unhandled
from .outcomes import (
    Answered,
    Done,
    Entered,
    Event,
    Failed,
    Polled,
    Refused,
    Unavailable,
    Unusable,
)
from .preanswers import Preanswers
from .questions import Given, Invalid, Refusal, Single, lacking, merged
from .sealing import question_digest


@frozen
class Resumed:
    """A state that an earlier round left behind, and what was asked in it."""

    state: object
    frozen: Frozen
    questions: Mapping[str, bytes] = field(factory=dict[str, bytes])
    kept: Mapping[str, JsonValue] = field(factory=dict[str, JsonValue], repr=False)
    asked: int = 0
    unusable: int = 0


@frozen
class Suspended:
    """A round that ended in a question or a poll.

    Attributes:
        resume: what the next round must be given back.
        requests: the ``inputRequests`` to send now, by key; empty for a poll.
        progress: how far a poll is.
        timeouts: seconds for the answers, by key, where a question says so.
    """

    resume: Resumed
    requests: Mapping[str, JsonObject]
    progress: Progress | None = None
    timeouts: Mapping[str, float] = field(factory=dict[str, float])


@frozen
class _Settled:
    """A state that waits, and for what: a state is asked once in a round."""

    state: object
    wants: Asks | Reruns | Polls


@frozen
class _Answers:
    """The answers to one state's questions, as far as they are there."""

    event: Event | None = None
    kept: Mapping[str, JsonValue] = field(factory=dict[str, JsonValue], repr=False)
    faults: Mapping[str, Invalid] = field(factory=dict[str, Invalid])


@define
class Round:
    """One round.

    Attributes:
        machine: what runs.
        call: the request.
        limits: bound how far the machine may run and repeat itself.
        preanswers: what the request answers beforehand.
    """

    machine: Machine
    call: Call[Any]
    limits: Limits
    preanswers: Preanswers = field(factory=Preanswers)
    _moves: int = field(default=0, init=False)

    async def run(
        self, resumed: Resumed | None, responses: Mapping[str, JsonValue]
    ) -> End | Suspended:
        """Run until the machine ends, asks or polls.

        Args:
            resumed: what :class:`Suspended` handed out; None for an opening request, whose
                responses may answer the first state's questions at once.
            responses: the client's ``inputResponses``; unknown keys are ignored.

        Raises:
            ProtocolError: -32021 where a question needs what the client did not declare and the
                machine has no edge for it.
            IllegalMove, SealingError: the machine is at fault.
            Exception: whatever a handler raises.
        """
        if resumed is not None:
            resumed = evolve(resumed, state=await self.machine.resume(resumed.state, self.call))
            wants = self.machine.wants(resumed.state)
            return await self._from(resumed, wants, responses, opening=False)
        settled = await self._settled(await self.machine.begin(self.call))
        if not isinstance(settled, _Settled):
            return settled
        opened = Resumed(settled.state, self.machine.freeze(settled.state))
        return await self._from(opened, settled.wants, responses, opening=True)

    async def _from(
        self, resumed: Resumed, wants: Wants, responses: Mapping[str, JsonValue], *, opening: bool
    ) -> End | Suspended:
        """Take the edge that the responses open, or stay."""
        if opening and not (responses and isinstance(wants, Asks)):
            return await self._arrive(resumed, wants)
        if not isinstance(wants, Asks):
            return await self._follow(resumed, Polled())
        answers = self._read(wants, resumed, responses, opening=opening)
        if answers.event is None:
            return await self._stay(resumed, wants, answers, opening=opening)
        return await self._follow(resumed, answers.event)

    async def _follow(self, resumed: Resumed, event: Event) -> End | Suspended:
        settled = await self._settled(await self._moved(resumed.state, event))
        if not isinstance(settled, _Settled):
            return settled
        frozen = self.machine.freeze(settled.state)
        # A machine that comes back to where it was has made no progress.
        again = frozen == resumed.frozen
        if isinstance(settled.wants, Reruns):
            again = again and _digests(settled.wants.questions) == resumed.questions
        asked = resumed.asked if again else 0
        return await self._arrive(Resumed(settled.state, frozen, asked=asked), settled.wants)

    async def _arrive(self, resumed: Resumed, wants: Wants) -> End | Suspended:
        """Go on with what is answered beforehand, or come to rest."""
        ready = self.preanswers.take(wants.arguments) if isinstance(wants, Asks) else {}
        if not (ready and isinstance(wants, Asks)):
            return await self._rest(resumed, wants)
        answering = _pinned(resumed, _digests(wants.questions))
        return await self._from(answering, wants, ready, opening=False)

    async def _moved(self, state: object, event: Event) -> object:
        self._moves += 1
        if self._moves > self.limits.steps:
            raise UsageError(
                f"Flow {self.machine.name!r} moved {self.limits.steps} times in one round without "
                "asking, polling or ending; mend the loop or raise limit steps by Limits(steps=...)"
            )
        self.call.event = event
        if self.machine.handles(state, event.kind):
            return await self.machine.move(state, event, self.call)
        return Failed(unhandled(self.machine.name, event))

    async def _settled(self, state: object) -> End | _Settled:
        """Run automatic states until one waits."""
        while not _is_end(state):
            wants = self.machine.wants(state)
            if not isinstance(wants, MovesOn):
                return _Settled(state, wants)
            state = await self._moved(state, Entered())
        return state

    # -- answers ------------------------------------------------------------------------------

    def _read(
        self,
        wants: Asks,
        resumed: Resumed,
        responses: Mapping[str, JsonValue],
        *,
        opening: bool,
    ) -> _Answers:
        given: dict[str, object] = {}
        kept: dict[str, JsonValue] = {}
        faults: dict[str, Invalid] = {}
        refusals: list[Refusal] = []
        for key, question in wants.questions.items():
            response = resumed.kept.get(key, responses.get(key))
            # An answer counts only for the very question that was asked.
            pinned = opening or resumed.questions.get(key) == question_digest(question.wire())
            reading = question.read(response) if pinned and isinstance(response, dict) else None
            match reading:
                case Given(value):
                    given[key], kept[key] = value, response
                case Refusal():
                    refusals.append(reading)
                case Invalid():
                    faults[key] = reading
                case None:
                    pass
        if refusals:
            declined = any(refusal.how == "declined" for refusal in refusals)
            return _Answers(Refused("declined" if declined else "cancelled"))
        if faults and resumed.unusable >= self.limits.unusable:
            return _Answers(Unusable("; ".join(fault.reason for fault in faults.values())))
        if len(given) == len(wants.questions):
            values = tuple(given[key] for key in wants.questions)
            return _Answers(Answered(values if wants.together else values[0]))
        return _Answers(None, kept, faults)

    async def _stay(
        self, resumed: Resumed, wants: Asks, answers: _Answers, *, opening: bool
    ) -> End | Suspended:
        """Ask again what is missing or of no use, and keep what is good."""
        if answers.kept and len(dumps(answers.kept)) > self.limits.token_bytes // 4:
            # They would not fit into the token, whoever is to blame for their size.
            answers = evolve(answers, kept={})
        open = {k: q for k, q in wants.questions.items() if k not in answers.kept}
        still = Asks(open, True, wants.names)
        # What is kept stays pinned to the question that it answered.
        pins = {key: question_digest(wants.questions[key].wire()) for key in answers.kept}
        further = opening or len(answers.kept) > len(resumed.kept)
        again = Resumed(
            resumed.state,
            resumed.frozen,
            pins,
            answers.kept,
            0 if further else resumed.asked,
            resumed.unusable + bool(answers.faults),
        )
        return await self._rest(again, still, answers.faults)

    # -- waiting ------------------------------------------------------------------------------

    async def _rest(
        self, resumed: Resumed, wants: Wants, faults: Mapping[str, Invalid] | None = None
    ) -> End | Suspended:
        """Come to rest in a state that waits."""
        if isinstance(wants, Polls):
            progress = wants.progress
            await self.call.progress(progress.done, progress.total, progress.message)
            return Suspended(resumed, {}, progress)
        if isinstance(wants, MovesOn):
            raise UsageError(f"Flow {self.machine.name!r} rests in a state that moves on by itself")
        questions = wants.questions
        again = _repeated(questions, faults or {})
        if missing := self._missing(questions.values()):
            return await self._unavailable(resumed, missing, wants, again)
        if questions and resumed.asked >= self.limits.repeats:
            return Failed(stuck(self.machine.name, resumed.frozen.tag, resumed.asked))
        if len(questions) > self.limits.questions:
            raise UsageError(
                f"Flow {self.machine.name!r} asks {len(questions)} questions in one round; "
                f"limit questions is {self.limits.questions} {raising('questions')}"
            )
        requests = {key: question.wire() for key, question in questions.items()}
        pinned = _pinned(resumed, {key: question_digest(wire) for key, wire in requests.items()})
        timeouts = {key: q.timeout for key, q in questions.items() if q.timeout is not None}
        return Suspended(pinned, requests | again, timeouts=timeouts)

    def _missing(self, questions: Iterable[Single[Any]]) -> JsonObject:
        return lacking(merged(q.needs for q in questions), self.call.capabilities)

    async def _unavailable(
        self,
        resumed: Resumed,
        missing: JsonObject,
        wants: Asks | Reruns,
        again: Mapping[str, JsonObject],
    ) -> End | Suspended:
        if not self.machine.handles(resumed.state, "unavailable"):
            wires = [again.get(key, q.wire()) for key, q in wants.questions.items()]
            names = wants.arguments.values() if isinstance(wants, Asks) else ()
            raise MissingCapability(
                missing,
                unasked(self.machine.name, missing, wires, self.preanswers.open(names)),
            )
        return await self._follow(resumed, Unavailable(missing))


def _is_end(state: object) -> TypeGuard[End]:
    return isinstance(state, (Done, Failed))


def _digests(questions: Mapping[str, Single[Any]]) -> dict[str, bytes]:
    return {key: question_digest(question.wire()) for key, question in questions.items()}


def _pinned(resumed: Resumed, digests: Mapping[str, bytes]) -> Resumed:
    return Resumed(
        resumed.state,
        resumed.frozen,
        {**resumed.questions, **digests},
        resumed.kept,
        resumed.asked + 1,
        resumed.unusable,
    )


def _repeated(
    questions: Mapping[str, Single[Any]], faults: Mapping[str, Invalid]
) -> dict[str, JsonObject]:
    """The questions whose answers were of no use, with the reason."""
    return {
        key: questions[key].wire(f"The last answer cannot be used: {fault.note or fault.reason}.")
        for key, fault in faults.items()
    }
