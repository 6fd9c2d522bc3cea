"""States: pure data that says what a flow waits for. Each state class is also the decorator
that marks the handlers of its edges.

A state is a frozen attrs class. It is packed and sealed whole, so its fields hold what the
rest of the flow needs, and nothing else survives a round.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from ..engine.call import Call
from ..engine.jsonrpc import JsonValue
from ..engine.machine import Progress
from ..engine.outcomes import EventKind
from ..engine.questions import Question

A = TypeVar("A")
F = TypeVar("F")
N = TypeVar("N")
S = TypeVar("S", bound="State")
H = TypeVar("H", bound=Callable[..., Any])

EDGES: Final = "__antiphon_edges__"


def _mark(handler: H, state: type[State], *kinds: EventKind) -> H:
    """Note on the handler which edges it takes; the flow's class statement reads it."""
    marks: list[tuple[type[State], EventKind]] = getattr(handler, EDGES, [])
    setattr(handler, EDGES, [*marks, *((state, kind) for kind in kinds)])
    return handler


class Mark(Generic[S]):
    """Marks the handler of an edge out of ``S``: ``(self, at)`` or ``(self, at, call)``."""

    def __init__(self, state: type[S], kinds: tuple[EventKind, ...]) -> None:
        self._state = state
        self._kinds = kinds

    @overload
    def __call__(
        self, handler: Callable[[F, S], Awaitable[N]], /
    ) -> Callable[[F, S], Awaitable[N]]: ...
    @overload
    def __call__(
        self, handler: Callable[[F, S, Call[Any]], Awaitable[N]], /
    ) -> Callable[[F, S, Call[Any]], Awaitable[N]]: ...
    def __call__(self, handler: Callable[..., Any], /) -> Callable[..., Any]:
        """Note the edge on the handler and hand the handler back."""
        return _mark(handler, self._state, *self._kinds)


class EdgeMark:
    """An attribute of a state class that marks handlers of edges out of that very class."""

    def __init__(self, *kinds: EventKind) -> None:
        self._kinds = kinds

    def __get__(self, instance: object, owner: type[S]) -> Mark[S]:
        """The decorator that belongs to ``owner``."""
        return Mark(owner, self._kinds)


class State:
    """The common ground of all states; use :class:`Asking`, :class:`Polling`, :class:`Acting`.

    Attributes:
        tag: the state's name in tokens. By default the class's name: set it before you rename
            a class whose tokens are still about.
        version: raise it when the fields change in a way that older tokens do not fit.
    """

    __slots__ = ()
    tag: ClassVar[str] = ""
    version: ClassVar[int] = 1

    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        """Make today's fields of those that an older ``version`` sealed.

        ``fields`` are as they were packed, by name. None refuses the token, which is the
        default.
        """
        del version, fields
        return None


class Asking(State, Generic[A]):
    """Waits for an answer of type ``A`` to the question that :meth:`ask` makes."""

    __slots__ = ()

    @abstractmethod
    def ask(self) -> Question[A]:
        """The question, made from this state's own data and nothing else."""

    @overload
    @classmethod
    def answered(
        cls: type[S], handler: Callable[[F, S, A], Awaitable[N]], /
    ) -> Callable[[F, S, A], Awaitable[N]]: ...
    @overload
    @classmethod
    def answered(
        cls: type[S], handler: Callable[[F, S, A, Call[Any]], Awaitable[N]], /
    ) -> Callable[[F, S, A, Call[Any]], Awaitable[N]]: ...
    @classmethod
    def answered(cls: type[S], handler: Callable[..., Any], /) -> Callable[..., Any]:
        """Mark the handler of an answer: ``(self, at, answer[, call])``."""
        return _mark(handler, cls, "answered")

    declined = EdgeMark("declined")
    """Marks the handler of a person's no."""

    cancelled = EdgeMark("cancelled")
    """Marks the handler of a question that was closed without a choice."""

    refused = EdgeMark("declined", "cancelled")
    """Marks one handler for both: declined and cancelled."""

    unusable = EdgeMark("unusable")
    """Marks the handler of answers that fail their schema again and again;
    ``call.event.reason`` tells what was wrong."""

    unavailable = EdgeMark("unavailable")
    """Marks the handler for a client that cannot be asked; ``call.event.missing`` tells what
    it has not declared."""


class Polling(State):
    """Is not ready: the client comes back until the ``polled`` handler moves on."""

    __slots__ = ()

    def progress(self) -> Progress:
        """How far the work is, and when to come back; from this state's own data."""
        return Progress()

    polled = EdgeMark("polled")
    """Marks the handler of a client that came back."""


class Acting(State):
    """Moves on at once, in the same round: a step worth a name of its own."""

    __slots__ = ()

    entered = EdgeMark("entered")
    """Marks the handler of the step."""
