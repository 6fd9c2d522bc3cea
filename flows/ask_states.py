"""What is sealed between the rounds of ``Ask`` parameters: the answers so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, cast

from attrs import field, frozen

from .ask_round import Gathering
from .states import State


@frozen
class Answer:
    """A response that was accepted, as it came.

    Attributes:
        digest: of the type of answer that it was read as.
    """

    digest: bytes
    response: dict[str, Any] = field(repr=False)  # JSON


@frozen
class AskState(State):
    """Where a function with ``Ask`` parameters waits for answers.

    Attributes:
        number: of this round of questions, from 1.
        open: the parameters whose questions are open, with the digests of these.
        answers: what was answered, by parameter.
        notes: why a question is open again, by parameter.
    """

    tag: ClassVar[str] = "Ask parameters"
    version: ClassVar[int] = 1

    number: int = 0
    open: dict[str, bytes] = field(factory=dict[str, bytes], repr=False)
    answers: dict[str, Answer] = field(factory=dict[str, Answer], repr=False)
    notes: dict[str, str] = field(factory=dict[str, str], repr=False)


@frozen
class Waiting(AskState):
    """A state in the round that has come to it.

    Attributes:
        at: what this round has made.
        taken: the parameters whose questions are answered in this round, where some are.
    """

    at: Gathering = field(eq=False, repr=False, kw_only=True)
    taken: tuple[str, ...] = field(default=(), eq=False, repr=False, kw_only=True)

    @property
    def asks(self) -> tuple[str, ...]:
        """The parameters whose questions are open."""
        return tuple(self.open)

    @property
    def sealed(self) -> AskState:
        """What is carried to the next round."""
        return AskState(self.number, self.open, self.answers, self.notes)


def state_class(names: Iterable[str]) -> type[Waiting]:
    """The state of a round in which these parameters may be asked for."""
    words = "And".join(name.title().replace("_", "") for name in names)
    return cast("type[Waiting]", type(f"Asking{words}", (Waiting,), {"__slots__": ()}))
