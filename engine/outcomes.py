"""How a flow ends, and what makes it move."""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, TypeVar

from attrs import field, frozen

from .jsonrpc import JsonObject

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@frozen
class Done(Generic[T_co]):
    """The flow has finished; ``result`` is what the caller asked for.

    Of a tool: text, an attrs value (sent as structured content and as text), content blocks, or
    any other JSON value. Of a prompt: text or messages. Of a resource: text, bytes, or contents.

    Attributes:
        result: as above.
        meta: the result's ``_meta``; its keys have a prefix, such as ``com.example/trace``.
    """

    result: T_co
    meta: JsonObject | None = field(default=None, kw_only=True)


@frozen
class Failed:
    """The flow has ended without a result; ``message`` is written for a model to act on.

    A tool sends it as an ``isError`` result, a prompt or a resource as an error.
    """

    message: str


End: TypeAlias = "Done[object] | Failed"

EventKind = Literal[
    "answered", "declined", "cancelled", "unusable", "unavailable", "polled", "entered"
]


@frozen
class Answered:
    """Every question of the state was answered; ``value`` has the type that it asked for."""

    value: object = field(repr=False)
    kind: Literal["answered"] = "answered"


@frozen
class Refused:
    """The person declined, or closed the question without a choice."""

    kind: Literal["declined", "cancelled"]


@frozen
class Unusable:
    """Answers came that fail their schema, more often than they are asked for again."""

    reason: str
    kind: Literal["unusable"] = "unusable"


@frozen
class Unavailable:
    """The client did not declare ``missing``, so the question cannot be put to it."""

    missing: JsonObject
    kind: Literal["unavailable"] = "unavailable"


@frozen
class Polled:
    """The client came back to a state that was not ready."""

    kind: Literal["polled"] = "polled"


@frozen
class Entered:
    """The flow came to a state that moves on by itself."""

    kind: Literal["entered"] = "entered"


Event: TypeAlias = Answered | Refused | Unusable | Unavailable | Polled | Entered
