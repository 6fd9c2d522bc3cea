"""A declared machine, as a round sees it: its states are opaque, and say what they wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from attrs import field, frozen

from .call import Call
from .outcomes import Done, Event, EventKind, Failed
from .questions import Single


@frozen
class Frozen:
    """A state as bytes, with the tag and version of the class that made it."""

    tag: str
    version: int
    data: bytes = field(repr=False)


@frozen
class Progress:
    """How far a state that is not ready has come.

    Attributes:
        done: work done so far; it must rise.
        total: all the work, where it is known.
        message: a sentence for the person who waits.
        again_in: seconds after which the client should come back, or None to leave it to it.
    """

    done: float = 0.0
    total: float | None = None
    message: str | None = None
    again_in: float | None = None


@frozen
class Asks:
    """The state waits for answers to these questions, by key; ``together`` for a tuple.

    ``names`` are those of the arguments by which they may be answered beforehand, where these
    are not the keys.
    """

    questions: Mapping[str, Single[Any]]
    together: bool
    names: Mapping[str, str] = field(factory=dict[str, str])

    @property
    def arguments(self) -> dict[str, str]:
        """The name of the argument that answers each question beforehand, by key."""
        return {key: self.names.get(key, key) for key in self.questions}


@frozen
class Reruns:
    """The function that asks these questions by hand runs again, whatever comes back."""

    questions: Mapping[str, Single[Any]]


@frozen
class Polls:
    """The state is not ready."""

    progress: Progress


@frozen
class MovesOn:
    """The state goes on by itself, in the same round."""


Wants: TypeAlias = Asks | Reruns | Polls | MovesOn
End: TypeAlias = Done[Any] | Failed


class Machine(Protocol):
    """A declared machine, seen from a round. States are opaque here."""

    @property
    def name(self) -> str:
        """The name that clients call."""
        ...

    async def begin(self, call: Call[Any]) -> object:
        """The first state, or an end."""
        ...

    async def resume(self, state: object, call: Call[Any]) -> object:
        """Make a state that came back in a token ready for :meth:`wants`."""
        ...

    def wants(self, state: object) -> Wants:
        """What a state waits for; pure, from the state's own data."""
        ...

    def handles(self, state: object, kind: EventKind) -> bool:
        """Whether the machine has an edge for this event."""
        ...

    async def move(self, state: object, event: Event, call: Call[Any]) -> object:
        """Take an edge: the next state, or an end.

        Raises:
            IllegalMove: the handler returned what its signature does not allow.
        """
        ...

    def freeze(self, state: object) -> Frozen:
        """Pack a state exactly; raises SealingError where that cannot be."""
        ...

    def thaw(self, frozen: Frozen) -> object:
        """Restore a state; raises TokenRefused where this machine cannot."""
        ...
