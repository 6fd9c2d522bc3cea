"""A call's rounds as a value: what to send next, and what a reply makes of it.

Nothing here waits or does input and output. A reply makes a new value out of an old one, so a
leg that fails or is cancelled leaves the conversation where it was. Specification:
basic/patterns/mrtr; basic/index, "ResultType".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

import attrs
from attrs import field, frozen

from .answering import AuditEntry
from .asked import InputRequest, Origin, Response
from .asked_round import KINDS, read_questions
from .call_errors import Kind, RoundsExceeded, quoted
from .client_carriers import Carrier
from .client_messages import InputRequired
from .errors import CallError, InvalidReply, ProtocolError, UsageError, printable
from .jsonrpc import JsonObject, JsonValue
from .pacing import Backoff, Schedule, retry_hint
from .protocol import COMPLETE, INPUT_REQUIRED, META_SERVER
from .structuring import structure

R = TypeVar("R")
T = TypeVar("T")

_NAME_CHARACTERS: Final = 200
"""Of a name, those that a person would look at."""


def read_complete(result: JsonObject, kind: type[T], said_by: str) -> T:
    """Take the result of a method that has no rounds.

    Raises:
        InvalidReply: it is interim, of an unknown type, or malformed.
    """
    if result_type(result, said_by) != COMPLETE:
        raise InvalidReply(f"{said_by} sent an interim result, which this method cannot have")
    try:
        return structure(result, kind, part="result")
    except ProtocolError as error:
        raise InvalidReply(f"{said_by}: {error.message}") from None


def result_type(result: JsonObject, said_by: str) -> str:
    """``complete`` or ``input_required``. It alone decides; where it is absent: complete.

    Raises:
        InvalidReply: it is anything else.
    """
    kind = result.get("resultType", COMPLETE)
    if isinstance(kind, str) and kind in (COMPLETE, INPUT_REQUIRED):
        return kind
    raise InvalidReply(f"{said_by} sent a result of a type that this client does not know")


def server_of(result: JsonObject) -> str | None:
    """How the server names itself in a result, where a person could read it."""
    meta = result.get("_meta")
    named = meta.get(META_SERVER) if isinstance(meta, dict) else None
    name = named.get("name") if isinstance(named, dict) else None
    return name if isinstance(name, str) and printable(name[:_NAME_CHARACTERS]) else None


# -- steps ------------------------------------------------------------------------------------


@frozen
class Asked:
    """The server asks; the conversation goes on with one answer for each key."""

    questions: Mapping[str, InputRequest]


@frozen
class Waiting:
    """The server is not ready; ``after`` seconds from now is a good time to ask again."""

    after: float


@frozen
class Finished(Generic[R]):
    """The call is over."""

    result: R


Step: TypeAlias = Asked | Waiting | R
"""What a caller sees: a question, a wait, or the result itself."""


@frozen(kw_only=True)
class Rules:
    """What a client puts up with in one conversation.

    Attributes:
        max_rounds: rounds with questions.
        max_polls: rounds without.
        questions: questions of one round.
        schedule: the waits between polls.
    """

    max_rounds: int = 10
    max_polls: int = 1000
    questions: int = 16
    schedule: Schedule = field(factory=Backoff)


@frozen(kw_only=True)
class Tally:
    """What has happened in a conversation, for a record of it.

    Attributes:
        legs: requests that were answered.
        rounds: interim results with questions.
        polls: interim results without.
        accepted, declined, cancelled: answers of people.
        answered: answers to sampling and roots.
    """

    legs: int = 0
    rounds: int = 0
    polls: int = 0
    accepted: int = 0
    declined: int = 0
    cancelled: int = 0
    answered: int = 0


_COUNTED: Final = {
    "accept": "accepted",
    "decline": "declined",
    "cancel": "cancelled",
    "answer": "answered",
}


_NO_QUESTIONS: Final[Mapping[str, InputRequest]] = MappingProxyType({})


# -- rounds -----------------------------------------------------------------------------------


@frozen(kw_only=True)
class Rounds(Generic[R]):
    """One logical call, as it stands.

    Attributes:
        carrier: the method.
        target: the parameters that every leg repeats unchanged.
        meta: what the caller adds to every leg's ``_meta``.
        kinds: the kinds of question that are declared.
        via: the target of the client, by the name that this program gave it.
        home: a digest of the whole target, which the name may leave a part of out.
        server: how the server names itself, or ``via``.
        deadline: on the wall clock, in seconds since the epoch; None for never.
        people: seconds that callbacks have taken so far.
        streak: polls since the last round with questions.
        trail: what became of every question so far, without its contents and the answers.
        interim: the last interim result.
        step: what is next; None before the first leg.
    """

    carrier: Carrier[R]
    target: JsonObject = field(repr=False)
    meta: JsonObject = field(factory=dict[str, JsonValue], repr=False)
    kinds: frozenset[Kind] = frozenset(KINDS)
    via: str
    home: bytes = field(repr=False)
    server: str
    deadline: float | None = None
    people: float = 0.0
    streak: int = 0
    tally: Tally = Tally()
    trail: tuple[AuditEntry, ...] = field(default=(), repr=False)
    interim: InputRequired | None = field(default=None, repr=False)
    step: Asked | Waiting | Finished[R] | None = field(default=None, repr=False)

    @property
    def origin(self) -> Origin:
        """Where the questions of this call come from."""
        return self.origin_at(self.server)

    def origin_at(self, server: str) -> Origin:
        """The same, where the server has given itself another name."""
        name = str(self.target.get(self.carrier.names))
        return Origin(server, self.via, self.carrier.method, name)

    def expect(self, answers: Mapping[str, object]) -> Mapping[str, InputRequest]:
        """The questions of this step, each of which has an answer among these.

        Raises:
            UsageError: the call is over, or the keys are not those of the questions.
        """
        if isinstance(self.step, Finished):
            raise UsageError(f"The call of {self.origin} is finished; begin another one")
        questions = self.step.questions if isinstance(self.step, Asked) else _NO_QUESTIONS
        if missing := sorted(questions.keys() - answers.keys()):
            raise UsageError(f"{self.origin} waits for answers to {_listed(missing)}")
        if strange := sorted(map(str, answers.keys() - questions.keys())):
            raise UsageError(f"{self.origin} did not ask for {_listed(strange)}")
        return questions

    def leg(self, responses: Mapping[str, Response]) -> Leg[R]:
        """The next request, with the answers to this step's questions."""
        params: JsonObject = dict(self.target)
        if responses:
            params["inputResponses"] = {key: r.wire for key, r in responses.items()}
        if self.interim is not None and self.interim.request_state is not None:
            params["requestState"] = self.interim.request_state
        return Leg(self, params, _counted(self.tally, responses))

    def resumed(self, rules: Rules) -> Rounds[R]:
        """The same with its step worked out anew from the last interim result.

        Raises:
            InvalidReply, QuestionRefused: as for :meth:`Leg.taken`.
        """
        if self.interim is None:
            return self
        step = _step(self.interim, self.origin, self.kinds, self.streak, rules)
        return attrs.evolve(self, step=step)


def _step(
    interim: InputRequired, origin: Origin, kinds: frozenset[Kind], streak: int, rules: Rules
) -> Asked | Waiting:
    if interim.input_requests:
        questions = read_questions(interim.input_requests, origin, kinds, rules.questions)
        return Asked(MappingProxyType(questions))
    return Waiting(rules.schedule.after(streak, retry_hint(interim.meta)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _counted(tally: Tally, responses: Mapping[str, Response]) -> Tally:
    changed: dict[str, int] = {}
    for response in responses.values():
        name = _COUNTED[response.action]
        before: int = getattr(tally, name)
        changed[name] = changed.get(name, before) + 1
    return attrs.evolve(tally, legs=tally.legs + 1, **changed)


@frozen
class Leg(Generic[R]):
    """One request of a conversation, and what its reply leads to."""

    rounds: Rounds[R]
    params: JsonObject = field(repr=False)
    tally: Tally

    @property
    def reads(self) -> bool:
        """Whether it changes nothing at the server and carries no answer and no state."""
        return self.rounds.carrier.reads and self.params.keys() == self.rounds.target.keys()

    def taken(
        self, result: JsonObject, rules: Rules
    ) -> tuple[Rounds[R], Asked | Waiting | Finished[R]]:
        """The conversation after this result, and its step.

        Raises:
            InvalidReply: the result is none.
            QuestionRefused: it asks what is not declared.
            RoundsExceeded: it is one interim result too many.
        """
        server = server_of(result) or self.rounds.server
        origin = self.rounds.origin_at(server)
        if result_type(result, str(origin)) == INPUT_REQUIRED:
            return self._asked(read_interim(result, str(origin)), server, origin, rules)
        try:
            step = Finished(self.rounds.carrier.read(result))
        except ProtocolError as error:
            raise InvalidReply(f"{origin}: {error.message}") from None
        return attrs.evolve(
            self.rounds, server=server, tally=self.tally, interim=None, step=step
        ), step

    def _asked(
        self, interim: InputRequired, server: str, origin: Origin, rules: Rules
    ) -> tuple[Rounds[R], Asked | Waiting]:
        asks = bool(interim.input_requests)
        streak = 0 if asks else self.rounds.streak + 1
        tally = attrs.evolve(
            self.tally, rounds=self.tally.rounds + asks, polls=self.tally.polls + (not asks)
        )
        try:
            step = _step(interim, origin, self.rounds.kinds, streak, rules)
            _check_limits(tally, step, origin, rules)
        except CallError as error:
            error.interim = interim
            raise
        return attrs.evolve(
            self.rounds, server=server, tally=tally, streak=streak, interim=interim, step=step
        ), step


def read_interim(result: JsonObject, said_by: str) -> InputRequired:
    """Take an ``InputRequiredResult``.

    Raises:
        InvalidReply: it is malformed, or brings neither questions nor a state.
    """
    try:
        interim = structure(result, InputRequired, part="result")
    except ProtocolError as error:
        raise InvalidReply(f"{said_by}: {error.message}") from None
    if not interim.input_requests and interim.request_state is None:
        raise InvalidReply(f"{said_by} sent an interim result with neither questions nor state")
    return interim


def _check_limits(tally: Tally, step: Asked | Waiting, origin: Origin, rules: Rules) -> None:
    if tally.rounds <= rules.max_rounds and tally.polls <= rules.max_polls:
        return
    if isinstance(step, Asked):
        asked, most = _listed(step.questions), rules.max_rounds
        told = f"asks again (for {asked}) after {most} rounds; limit max_rounds"
    else:
        told = f"is still not ready after {rules.max_polls} polls; limit max_polls"
    raise RoundsExceeded(f"{origin} {told}", rounds=tally.rounds, polls=tally.polls)
