"""A call of a server of an earlier revision, open while its client comes and goes.

The server's questions arrive while the call is open. The client is handed them as an interim
result, and comes back with the answers in another leg; meanwhile the call stays open here, in a
task of its own, for a limited time.

Specification: 2025-11-25, client/elicitation, client/sampling, client/roots, basic/utilities.
"""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

import attrs
import trio
from attrs import define, field, frozen

from .call_errors import Kind
from .errors import INTERNAL_ERROR, CallError
from .exchange import OnNotification, TransportLost
from .handshake_client_words import interim_result, meta_of
from .jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
)
from .protocol import PROGRESS

Send: TypeAlias = Callable[[Request, OnNotification], Awaitable[Reply]]
Say: TypeAlias = Callable[[Success | Failure], Awaitable[None]]

KEPT: Final = 64
"""Notifications kept for a client that is answering; the oldest are dropped."""


@frozen
class _Question:
    """One of the server's, and whether it certainly belongs to the call that has it."""

    request: Request
    ours: bool


@define(eq=False)
class OpenCall:
    """One request that may ask.

    Attributes:
        request: as the server gets it.
        kinds: the kinds of question that its sender takes.
        most: questions that may be pending at a time.
        limit: seconds for which it stays open while no leg waits for it.
        server: how the server names itself.
        post: answers a request of the server's without waiting.
        hand_back: finds another call for a question that may be another's.
        say: answers one, and raises where that cannot be done.
        outcome: the reply, or what befell the call; None while it is open.
    """

    request: Request
    kinds: frozenset[Kind]
    most: int
    limit: float
    server: JsonObject
    post: Callable[[Failure], None]
    hand_back: Callable[[Request], None]
    say: Say
    outcome: Reply | Exception | None = field(default=None, init=False)
    _scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _news: trio.Event = field(factory=trio.Event, init=False)
    _fetched: trio.Event | None = field(default=None, init=False)
    _waiting: dict[str, _Question] = field(factory=dict[str, _Question], init=False)
    _asked: dict[str, _Question] = field(factory=dict[str, _Question], init=False)
    _count: int = field(default=0, init=False)
    _ear: OnNotification | None = field(default=None, init=False)
    _token: JsonValue = field(default=None, init=False)
    _kept: deque[Notification] = field(factory=lambda: deque[Notification](maxlen=KEPT), init=False)

    # -- the server's side ----------------------------------------------------------------------

    async def run(self, send: Send) -> None:
        """Carry the call to its end; it raises nothing, whatever comes of it."""
        try:
            with self._scope:
                self._settle(await self._carried(send))
                if self._fetched is not None:
                    await self._fetched.wait()
        finally:
            text = f"{self.request.method} was given up, and may have been served all the same"
            self._settle(TransportLost(text, sent=True))
            self._let_go(self._asked)

    async def _carried(self, send: Send) -> Reply | Exception:
        try:
            return await send(self.request, self.hear)
        except Exception as error:  # noqa: BLE001  # for the leg that waits, or the next
            return error

    def hear(self, notification: Notification) -> None:
        """Pass on what belongs to this call, or keep it where no leg listens."""
        if self._ear is None:
            self._kept.append(notification)
        else:
            self._tell(notification, self._ear)

    def _tell(self, notification: Notification, ear: OnNotification) -> None:
        # The server knows the token of the first leg alone.
        if notification.method == PROGRESS:
            params: JsonObject = {**notification.params, "progressToken": self._token}
            notification = Notification(PROGRESS, params)
        ear(notification)

    def takes(self, kind: Kind) -> bool:
        """Whether a question of this kind can be put to whoever made the call."""
        return self.outcome is None and kind in self.kinds and self.pending < self.most

    @property
    def pending(self) -> int:
        """How many questions have no answer yet."""
        return len(self._waiting) + len(self._asked)

    def ask(self, question: Request, *, ours: bool) -> None:
        """Have a question put to the client, in this leg or the next.

        ``ours`` promises that it belongs to this call; otherwise it may outlive it.
        """
        self._count += 1
        self._waiting[f"question-{self._count}"] = _Question(question, ours)
        self._news.set()

    def withdraw(self, id: JsonValue) -> None:
        """The server does not want the answer to a question any more."""
        for questions in (self._waiting, self._asked):
            for key in [key for key, asked in questions.items() if same_id(asked.request.id, id)]:
                del questions[key]

    def _settle(self, outcome: Reply | Exception) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self._let_go(self._waiting)
            if isinstance(outcome, Exception):
                self._let_go(self._asked)
            self._news.set()

    def _let_go(self, questions: dict[str, _Question]) -> None:
        """Leave questions that nobody will answer in this call."""
        left = [*questions.values()]
        questions.clear()
        for question in left:
            if not question.ours:
                self.hand_back(question.request)
            elif isinstance(self.outcome, Exception):
                text = "The call that this question belongs to was given up"
                self.post(Failure(question.request.id, INTERNAL_ERROR, text))

    # -- the client's side ----------------------------------------------------------------------

    async def leg(self, request: Request, on_notification: OnNotification) -> Success | Failure:
        """Wait for the reply, or for questions; cancelling it gives the call up.

        Raises:
            CallError: what became of the call.
        """
        self._listen(request, on_notification)
        try:
            await self._something()
        except BaseException:
            self.give_up()
            raise
        finally:
            self._ear = None
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if self.outcome is not None:
            return attrs.evolve(self.outcome, id=request.id)
        return self._park(request.id)

    async def _something(self) -> None:
        await trio.lowlevel.checkpoint()
        while self.outcome is None and not self._waiting:
            self._news = trio.Event()
            await self._news.wait()

    def _listen(self, request: Request, on_notification: OnNotification) -> None:
        self._ear, self._token = on_notification, meta_of(request, "progressToken")
        while self._kept:
            self._tell(self._kept.popleft(), on_notification)

    def _park(self, id: RequestId) -> Success:
        self._asked |= self._waiting
        questions = {key: question.request for key, question in self._waiting.items()}
        self._waiting, handle = {}, secrets.token_urlsafe(24)
        self.leave_open()
        return Success(id, interim_result(questions, handle, self.server))

    def leave_open(self) -> None:
        """No leg waits for it: from now on its time is running."""
        self._fetched = trio.Event()
        self._scope.deadline = trio.current_time() + self.limit

    async def answer(self, answers: Mapping[str, JsonValue]) -> None:
        """A client has come back: bring its answers to the server.

        Raises:
            CallError: one could not be brought there. It and those after it can be given again.
        """
        self._scope.deadline = math.inf
        for key, answer in answers.items():
            question = self._asked.get(key)
            if question is not None and isinstance(answer, dict):
                await self._answer(question, answer)
                self._asked.pop(key, None)
        if self._fetched is not None:
            self._fetched.set()
            self._fetched = None

    async def _answer(self, question: _Question, answer: JsonObject) -> None:
        reply = Success(question.request.id, answer)
        if self.outcome is None:
            await self.say(reply)
        elif not question.ours:
            with suppress(CallError):  # this call is over, whatever becomes of another
                await self.say(reply)

    def give_up(self) -> None:
        """Nobody will come for it: tell the server, and end."""
        self._scope.cancel()


def same_id(one: JsonValue, other: JsonValue) -> bool:
    """Whether two ids are one: text and numbers are apart, and true is no number."""
    return type(one) is type(other) and one == other
