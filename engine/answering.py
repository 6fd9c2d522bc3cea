"""Who answers a server's questions: the callbacks of a client, and the record of what they said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

import trio
from attrs import field, frozen

from .asked import (
    Action,
    ElicitationAnswer,
    FormRequest,
    InputRequest,
    Origin,
    Response,
    UrlRequest,
)
from .asked_deprecated import RootsAnswer, RootsRequest, SamplingAnswer, SamplingRequest
from .call_errors import Kind
from .deprecated_questions import Root
from .errors import UsageError
from .jsonrpc import JsonObject

ElicitationCallback: TypeAlias = Callable[[FormRequest | UrlRequest], Awaitable[ElicitationAnswer]]
SamplingCallback: TypeAlias = Callable[[SamplingRequest], Awaitable[SamplingAnswer]]
RootsCallback: TypeAlias = Callable[[RootsRequest], Awaitable[RootsAnswer]]
RootsSource: TypeAlias = RootsCallback | Sequence[Root | str]

Outcome: TypeAlias = Action | Literal["refused", "failed", "abandoned"]


@frozen(kw_only=True)
class AuditEntry:
    """What became of one question.

    Attributes:
        at: when, on the wall clock, in seconds since the epoch.
        origin: the server, the target as this program named it, the method and the tool.
        round: which round with questions it was part of, from 1; 0 outside of any call.
        key: the question's name within its round.
        kind: form, url, sampling or roots.
        outcome: accept, decline, cancel; answer for sampling and roots; refused by policy;
            failed, where the callback raised or its answer did not fit; abandoned, where the
            callback was cancelled: by a deadline, by a failing neighbour, or from outside.
        question: the question, where one was read. Not in the repr.
        answer: what is sent to the server, where anything is. Not in the repr.
    """

    at: float
    origin: Origin
    round: int
    key: str
    kind: Kind
    outcome: Outcome
    question: InputRequest | None = field(default=None, repr=False)
    answer: JsonObject | None = field(default=None, repr=False)


Audit: TypeAlias = Callable[[AuditEntry], None]
"""Called at once for every question and its outcome; what it raises ends the call."""


@frozen(kw_only=True)
class Callbacks:
    """What a program registered; this is also what its client declares."""

    elicitation: ElicitationCallback | None = None
    sampling: SamplingCallback | None = None
    roots: RootsSource | None = None

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of question that have somebody to answer them."""
        kinds: set[Kind] = set()
        if self.elicitation is not None:
            kinds |= {"form", "url"}
        if self.sampling is not None:
            kinds.add("sampling")
        if self.roots is not None:
            kinds.add("roots")
        return frozenset(kinds)

    async def answer(self, question: InputRequest) -> object:
        """Ask whoever answers this kind; whatever the callback raises passes through."""
        if isinstance(question, FormRequest | UrlRequest) and self.elicitation is not None:
            return await self.elicitation(question)
        if isinstance(question, SamplingRequest) and self.sampling is not None:
            return await self.sampling(question)
        if isinstance(question, RootsRequest) and self.roots is not None:
            return await self.roots(question) if callable(self.roots) else self.roots
        raise UsageError(f"No callback answers {question}; register one, or answer it by advance()")


async def gather(
    questions: Mapping[str, InputRequest],
    answer: Callable[[InputRequest], Awaitable[Response]],
) -> dict[str, Response]:
    """Answer all questions at the same time.

    The first failure cancels the others and is raised as it is, not in a group.
    """
    if len(questions) == 1:
        ((key, question),) = questions.items()
        return {key: await answer(question)}
    answers: dict[str, Response] = {}
    failures: list[BaseException] = []

    async def ask(key: str, question: InputRequest) -> None:
        try:
            answers[key] = await answer(question)
        except BaseException as failure:  # raised below, outside the nursery
            if only_cancelled(failure):
                raise
            failures.append(failure)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for key, question in questions.items():
            nursery.start_soon(ask, key, question)
    if failures:
        raise failures[0]
    return {key: answers[key] for key in questions}


def only_cancelled(error: BaseException) -> bool:
    """Whether it is a cancellation and nothing else, also where it comes out of a nursery."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return all(map(only_cancelled, group.exceptions))
    return isinstance(error, trio.Cancelled)
