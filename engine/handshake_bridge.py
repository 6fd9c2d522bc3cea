"""The bridge: a call of an earlier revision, for which the server takes the client's part.

Each round is served as for a client of this revision. What it asks is put to the peer while its
call is open, and the answers enter the next round by the very same door; a poll waits here. No
token leaves the process. Specification: basic/patterns/mrtr; 2025-11-25, client/elicitation,
client/sampling, client/roots.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol, TypeAlias

import trio
from attrs import evolve, field, frozen

from .bridged import BridgedExchange
from .content import tool_error
from .errors import INVALID_REQUEST
from .handshake_results import older_question
from .jsonrpc import Failure, JsonObject, JsonValue, Notification, Reply, Request, Success, dumps
from .limits import Limits, raising
from .own_requests import Kept, OwnRequests, Post
from .pacing import Backoff, retry_hint
from .protocol import INPUT_REQUIRED

_log = logging.getLogger("antiphon.server")

Serve: TypeAlias = Callable[[Request, BridgedExchange], Awaitable[Reply]]

USER_REJECTED: Final = -1
"""The code with which a client says that its user rejects a sampling request."""

CANCEL: Final[JsonObject] = {"action": "cancel"}
DECLINE: Final[JsonObject] = {"action": "decline"}
_INTERIM: Final = frozenset({"inputResponses", "requestState"})


class Asks(Protocol):
    """Puts one question to the peer."""

    async def __call__(self, method: str, params: JsonObject) -> Reply:
        """The peer's reply."""
        ...


@frozen
class Bridge:
    """One call of an earlier revision.

    Attributes:
        serve: serves one round.
        version: the peer's revision.
        limits: of these, ``question_seconds`` and ``rounds``.
        own: the requests of the session.
        post: sends what belongs to this call; None where nothing can be asked.
        kept: the answers that it has not served yet.
    """

    serve: Serve
    version: str
    limits: Limits
    own: OwnRequests
    post: Post | None
    kept: Kept = field(factory=Kept)
    pace: Backoff = field(factory=Backoff)

    async def run(self, request: Request, exchange: BridgedExchange) -> Reply:
        """Serve rounds until one ends the call; its reply is in terms of this revision.

        Raises:
            UsageError: what it asks cannot be sent.
        """
        try:
            return await self._run(request, exchange)
        finally:
            self.kept.clear()

    async def _run(self, request: Request, exchange: BridgedExchange) -> Reply:
        given = {name: v for name, v in request.params.items() if name not in _INTERIM}
        params, polls = given, 0
        # A flow says itself, and better, that it has had as many as it may: hence one more. What
        # is asked by hand of one who declines at once would go on until the call is too old.
        for _ in range(self.limits.rounds + 1):
            exchange.timeouts.clear()
            reply = await self.serve(evolve(request, params=params), exchange)
            params = given
            self.kept.clear()
            if not isinstance(reply, Success) or reply.result.get("resultType") != INPUT_REQUIRED:
                return reply
            result = reply.result
            dumps(result.get("inputRequests"))  # what no JSON can say is nothing to ask
            questions = _questions(result)
            polls = 0 if questions else polls + 1
            if polls:
                await trio.sleep(self.pace.after(polls, _hint(result)))
            answers = await self._answers(questions, exchange.timeouts)
            params = {**given, "inputResponses": answers}
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        text = (
            f"The call had {self.limits.rounds} rounds, which is limit rounds {raising('rounds')}"
        )
        return ended(request, f"{text}, so nothing more was done.")

    async def _answers(
        self, questions: Mapping[str, JsonObject], timeouts: Mapping[str, float]
    ) -> JsonObject:
        """The answers to the questions of one round, which are open at the same time."""
        answers: dict[str, JsonValue] = {}

        async def ask(key: str, question: JsonObject, put: trio.Event) -> None:
            seconds = timeouts.get(key, self.limits.question_seconds)
            try:
                answers[key] = await self._answer(question, seconds, put.set)
            finally:
                put.set()

        async with trio.open_nursery() as nursery:
            for key, question in questions.items():
                # In their order: a client may show them one after the other.
                put = trio.Event()
                nursery.start_soon(ask, key, question, put)
                await put.wait()
        return answers

    async def _answer(
        self, question: JsonObject, seconds: float, put: Callable[[], None]
    ) -> JsonObject:
        """What a client of this revision would have sent for the question; ``put`` is called
        when it is on its way."""
        if self.post is None:
            return CANCEL
        send = self.post

        async def post(message: Request | Notification) -> None:
            await send(message)
            put()

        method, params = older_question(question, self.version)
        with trio.move_on_after(seconds):
            reply = await self.own.ask(method, params, post, self.kept)
            if isinstance(reply, Success):
                return reply.result
            return _refused(method, reply)
        _log.info(
            "A question (%s) was not answered within %g s; limit question_seconds %s",
            method,
            seconds,
            raising("question_seconds"),
        )
        return CANCEL


def ended(request: Request, text: str) -> Reply:
    """The end of a call that cannot go on: of a tool, in a result that a model reads."""
    if request.method == "tools/call":
        return Success(request.id, tool_error(text))
    return Failure(request.id, INVALID_REQUEST, text)


def _questions(result: JsonObject) -> dict[str, JsonObject]:
    asked = result.get("inputRequests")
    if not isinstance(asked, dict):
        return {}
    return {key: question for key, question in asked.items() if isinstance(question, dict)}


def _hint(result: JsonObject) -> float | None:
    meta = result.get("_meta")
    return retry_hint(meta) if isinstance(meta, dict) else None


def _refused(method: str, failure: Failure) -> JsonObject:
    """An error in place of an answer: the person said no, or nobody could be asked."""
    if failure.code == USER_REJECTED:
        return DECLINE
    # Its text is the peer's own and may hold anything.
    _log.info("A client answered a question (%s) with error %d", method, failure.code)
    return CANCEL
