"""Who answers for a client of ours, and who listens."""

from __future__ import annotations

import trio
from attrs import define, field

from antiphon import FormRequest, UrlRequest
from antiphon.engine.asked import ElicitationAnswer


@define
class Person:
    """Answers one question after the other, and remembers them."""

    answers: list[ElicitationAnswer]
    asked: list[FormRequest | UrlRequest] = field(factory=list[FormRequest | UrlRequest])

    async def __call__(self, question: FormRequest | UrlRequest) -> ElicitationAnswer:
        self.asked.append(question)
        return self.answers.pop(0)

    @property
    def messages(self) -> list[str]:
        return [question.message for question in self.asked]


def person(*answers: ElicitationAnswer) -> Person:
    return Person(list(answers))


@define
class Progressed:
    """Remembers progress, and tells when there is some."""

    told: list[tuple[float, float | None, str | None]] = field(
        factory=list[tuple[float, float | None, str | None]]
    )
    begun: trio.Event = field(factory=trio.Event)

    def __call__(self, done: float, total: float | None, message: str | None) -> None:
        self.told.append((done, total, message))
        self.begun.set()
