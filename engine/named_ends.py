"""What is said where a flow cannot go on and has no edge of its own, in words for a model."""

from __future__ import annotations

from collections.abc import Iterable

from .jsonrpc import JsonObject
from .limits import raising
from .outcomes import Event, Refused, Unusable


def capabilities_named(missing: JsonObject) -> str:
    """Capabilities as words: ``elicitation.url, sampling``."""
    parts = [
        f"{name}.{part}" if part else name
        for name, need in missing.items()
        for part in (need if isinstance(need, dict) and need else ("",))
    ]
    return ", ".join(parts)


def unhandled(name: str, event: Event, questions: Iterable[str] = ()) -> str:
    """The named end of an event that the flow has no edge for, in words for a model.

    Args:
        name: what the model called.
        event: what happened.
        questions: the names of the questions that it happened to, where they have some.
    """
    asked = ", ".join(map(repr, questions))
    match event:
        case Refused("declined"):
            return (
                f"{name}: the user declined to answer{asked and f' {asked}'}, so nothing more was "
                "done. Do not retry."
            )
        case Refused():
            return (
                f"{name}: the user closed the question{asked and f' {asked}'} without answering, "
                "so nothing more was done. Ask the user before calling again."
            )
        case Unusable(reason):
            return (
                f"{name}: the answer{asked and f' to {asked}'} could not be used ({reason}), and "
                f"was asked for again as often as limit unusable allows {raising('unusable')}, so "
                "nothing more was done."
            )
        case _:
            return f"{name}: the call cannot go on from here ({event.kind})."


def stuck(name: str, tag: str, asked: int) -> str:
    """The named end of a question that leads nowhere."""
    return (
        f"{name}: the same question ({tag}) was put {asked} times without "
        f"getting any further, as often as limit repeats allows {raising('repeats')}, so nothing "
        "more was done."
    )
