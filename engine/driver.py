"""A conversation with its client attached: it sends the legs and calls the callbacks.

The rounds themselves are a value, :class:`~.conversation.Rounds`; here is the waiting.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from typing import Any, Generic, TypeAlias, TypeVar

import attrs
import trio

from .answering import AuditEntry, Outcome, gather, only_cancelled
from .asked import InputRequest, Response
from .call_errors import (
    AnswerInvalid,
    DeadlineExceeded,
    Kind,
    PeopleTimeout,
    QuestionRefused,
    UnreadableDump,
)
from .client_messages import InputRequired
from .client_options import Settings, check_seconds
from .client_wire import Outgoing
from .conversation import Asked, Finished, Leg, Rounds, Step, Tally, Waiting
from .errors import CallError, InvalidReply, UsageError
from .hearing import DEAF, Hearing
from .jsonrpc import JsonObject
from .stored import dump, is_storable

R = TypeVar("R")
Send: TypeAlias = Callable[[Outgoing], Awaitable[JsonObject]]
GiveUp: TypeAlias = Callable[[str], None]
"""Told of a state that nobody will come back with."""
Around: TypeAlias = Callable[[bool], AbstractAsyncContextManager[None]]
"""Entered before a leg is sent, and left when its reply was taken or it failed. It is told whether
the leg does no harm when it is sent again: a poll, or what only reads."""


class Conversation(Generic[R]):
    """One call, round by round; made by ``Client.conversation`` or ``Client.load``.

    It moves only when a reply was taken: an error or a cancellation leaves it where it was, and
    the same step can be tried again or stored. One task at a time may move it.
    """

    def __init__(
        self,
        send: Send,
        settings: Settings,
        rounds: Rounds[R],
        hearing: Hearing = DEAF,
        give_up: GiveUp | None = None,
    ) -> None:
        self._send_leg = send
        self._give_up = give_up
        self._settings = settings
        self._rounds = rounds
        self._hearing = hearing
        self._around: Around | None = None
        self._busy = False

    @classmethod
    def resumed(
        cls,
        send: Send,
        settings: Settings,
        rounds: Rounds[R],
        hearing: Hearing = DEAF,
        give_up: GiveUp | None = None,
    ) -> Conversation[R]:
        """Go on with stored rounds, their questions pending again; see ``Client.load``."""
        conversation = cls(send, settings, rounds, hearing, give_up)
        try:
            conversation._rounds = rounds.resumed(settings.rules)
        except QuestionRefused as error:
            conversation._audit(error.key, error.kind, "refused", rounds.tally.rounds)
            raise
        except InvalidReply as error:
            raise UnreadableDump(f"The stored question makes no sense: {error}") from None
        return conversation

    def __repr__(self) -> str:
        return f"<Conversation {self._rounds.origin}, {self._rounds.tally}>"

    @property
    def step(self) -> Step[R] | None:
        """Where it stands: what is asked, a wait, the result; None before the first leg."""
        step = self._rounds.step
        if step is None:
            return None
        return _told(step)

    @property
    def done(self) -> bool:
        """Whether the step is the result."""
        return isinstance(self._rounds.step, Finished)

    @property
    def interim(self) -> InputRequired | None:
        """The last interim result; None before the first and after the end."""
        return self._rounds.interim

    @property
    def tally(self) -> Tally:
        """What has happened so far, in this process and those before."""
        return self._rounds.tally

    @property
    def trail(self) -> tuple[AuditEntry, ...]:
        """What became of every question so far, in this process and those before.

        Without the questions' contents and the answers, which ``audit=`` alone is given.
        """
        return self._rounds.trail

    @property
    def deadline(self) -> float | None:
        """On the wall clock, in seconds since the epoch; None for never."""
        return self._rounds.deadline

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, or infinity; below zero when it has passed."""
        deadline = self._rounds.deadline
        return math.inf if deadline is None else deadline - self._settings.clock()

    def dump(self) -> bytes:
        """The conversation as bytes, for ``Client.load`` in any process.

        Its deadline, rounds, pending questions, state, tally and trail survive. Arguments and
        state stand in it in the clear. While it is :attr:`moving`, they are those of the step
        before, and of a request that is on its way nothing is told.

        Raises:
            UsageError: the call is finished, or it is one of a server of an earlier revision,
                which is open on its connection.
        """
        return dump(self._rounds)

    @property
    def storable(self) -> bool:
        """Whether nothing of it lives in this process alone."""
        return is_storable(self._rounds)

    def abandon(self) -> None:
        """Give the call up; for one that is not brought to its end.

        A server of an earlier revision, which holds it open, is told. Others keep nothing.
        """
        self._drop(self._rounds.interim)

    def _drop(self, interim: InputRequired | None) -> None:
        if self._give_up is not None and interim is not None and interim.request_state is not None:
            self._give_up(interim.request_state)

    @property
    def moving(self) -> bool:
        """Whether a task moves it now, so that where it stands may be about to change."""
        return self._busy

    @property
    def kept(self) -> bool:
        """Whether a store keeps it, step by step."""
        return self._around is not None

    def keep_by(self, around: Around | None) -> None:
        """Let every leg run inside of this; for those who store conversations.

        Raises:
            UsageError: somebody does so already.
        """
        if around is not None and self.kept:
            raise UsageError(f"The conversation with {self._rounds.origin} is in a store already")
        self._around = around

    async def advance(self, answers: Mapping[str, Any] | None = None) -> Step[R]:
        """Send the next request, and return where that leads.

        Args:
            answers: one for each question of the step, by key, as a callback would give it:
                Accept, Decline, Cancel or a mapping for a form or link; SamplingReply or text;
                a sequence of roots. Nothing where nothing was asked.

        Returns:
            Asked, Waiting (``advance`` itself never waits for that), or the result.

        Raises:
            UsageError: the keys are not those that were asked, or the call is finished.
            AnswerInvalid: a question does not allow its answer.
            RoundsExceeded, DeadlineExceeded, QuestionRefused, LegTimeout, ServerError,
                TransportLost, InvalidReply: see :mod:`~.call_errors`.
        """
        with self._turn():
            return _told(await self._advance(self._responses(answers or {})))

    async def run(self) -> R:
        """Go on to the end, with the callbacks of the client; the result.

        Where it fails, a call that a server of an earlier revision holds open is given up.

        Raises:
            PeopleTimeout: the callbacks took too long; all else as for :meth:`advance`.
        """
        with self._turn(), self._or_abandoned():
            step = self._rounds.step
            while not isinstance(step, Finished):
                responses: dict[str, Response] = {}
                if isinstance(step, Asked):
                    responses = await self._ask(step)
                elif isinstance(step, Waiting):
                    await self._wait(step)
                step = await self._advance(responses)
            return step.result

    @contextmanager
    def _turn(self) -> Generator[None]:
        if self._busy:
            raise UsageError(f"Two tasks move the conversation with {self._rounds.origin} at once")
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    @contextmanager
    def _or_abandoned(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            self.abandon()
            raise

    # -- the wire -----------------------------------------------------------------------------

    async def _advance(self, responses: Mapping[str, Response]) -> Asked | Waiting | Finished[R]:
        rounds = self._rounds
        leg = rounds.leg(responses)
        outgoing = Outgoing(
            rounds.carrier.method,
            leg.params,
            self._settings.declared(rounds.kinds),
            rounds.meta,
            self._hearing,
            leg.reads,
        )
        try:
            with self._before_deadline():
                async with self._kept(leg):
                    result = await self._send_leg(outgoing)
                    self._rounds, step = leg.taken(result, self._settings.rules)
        except CallError as error:
            self._drop(error.interim)  # of the reply that was not taken
            error.interim = error.interim or rounds.interim
            if isinstance(error, QuestionRefused):
                self._audit(error.key, error.kind, "refused", rounds.tally.rounds + 1)
            raise
        return step

    def _kept(self, leg: Leg[R]) -> AbstractAsyncContextManager[None]:
        if self._around is None:
            return nullcontext()
        return self._around(leg.reads or isinstance(leg.rounds.step, Waiting))

    async def _wait(self, waiting: Waiting) -> None:
        with self._before_deadline():
            await trio.sleep(waiting.after)

    @contextmanager
    def _before_deadline(self) -> Generator[None]:
        remaining = self.remaining
        if remaining == math.inf:
            yield
            return
        if remaining > 0:
            with trio.move_on_after(remaining) as scope:
                yield
            if not scope.cancelled_caught:
                return
        raise self._out_of_time(DeadlineExceeded, "the deadline passed")

    def _out_of_time(self, kind: type[DeadlineExceeded], what: str) -> DeadlineExceeded:
        error = kind(f"Calling {self._rounds.origin}: {what} before the result came")
        error.interim = self._rounds.interim
        return error

    # -- people -------------------------------------------------------------------------------

    async def _ask(self, asked: Asked) -> dict[str, Response]:
        started = self._settings.clock()
        try:
            with self._before_deadline(), self._within_budget():
                return await gather(asked.questions, self._answer)
            raise self._out_of_time(PeopleTimeout, "people_timeout ran out")
        finally:
            spent = max(self._settings.clock() - started, 0)
            self._rounds = attrs.evolve(self._rounds, people=self._rounds.people + spent)

    def _within_budget(self) -> AbstractContextManager[object]:
        budget = check_seconds("people_timeout", self._settings.people_timeout)
        if budget == math.inf:
            return nullcontext()
        return trio.move_on_after(max(budget - self._rounds.people, 0))

    async def _answer(self, question: InputRequest) -> Response:
        try:
            answer = await self._settings.callbacks.answer(question)
        except BaseException as error:
            self._record(question, "abandoned" if only_cancelled(error) else "failed")
            raise
        response = self._checked(question, answer)
        self._record(question, response.action, response.wire)
        return response

    def _responses(self, answers: Mapping[str, Any]) -> dict[str, Response]:
        questions = self._rounds.expect(answers)
        responses = {key: self._checked(q, answers[key]) for key, q in questions.items()}
        for key, response in responses.items():
            self._record(questions[key], response.action, response.wire)
        return responses

    def _checked(self, question: InputRequest, answer: object) -> Response:
        try:
            return question.respond(answer)
        except AnswerInvalid as error:
            error.interim = self._rounds.interim
            self._record(question, "failed")
            raise

    # -- the record ---------------------------------------------------------------------------

    def _record(
        self, question: InputRequest, outcome: Outcome, answer: JsonObject | None = None
    ) -> None:
        round = self._rounds.tally.rounds
        self._audit(question.key, question.kind, outcome, round, question, answer)

    def _audit(
        self,
        key: str,
        kind: Kind,
        outcome: Outcome,
        round: int,
        question: InputRequest | None = None,
        answer: JsonObject | None = None,
    ) -> None:
        entry = AuditEntry(
            at=self._settings.clock(),
            origin=self._rounds.origin,
            round=round,
            key=key,
            kind=kind,
            outcome=outcome,
        )
        self._rounds = attrs.evolve(self._rounds, trail=(*self._rounds.trail, entry))
        if self._settings.audit is not None:
            self._settings.audit(attrs.evolve(entry, question=question, answer=answer))


def _told(step: Asked | Waiting | Finished[R]) -> Step[R]:
    return step.result if isinstance(step, Finished) else step
