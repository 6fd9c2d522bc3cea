"""What is said where a flow cannot go on and has no edge of its own, in words for a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

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


_SHOWN: Final = 300
"""Characters of a question that are told to a model."""

_CANNOT: Final = (
    "and this client has not declared that it can be asked ({missing}), so nothing more was done. "
    "Tell the user what is needed, or call again from a client that can show questions."
)


def unasked(
    name: str, missing: JsonObject, wires: Iterable[JsonObject], arguments: Iterable[str] = ()
) -> str:
    """The named end of a call whose questions the client cannot show, in words for a model.

    Args:
        name: what the model called.
        missing: the capabilities that the client has not declared.
        wires: the questions, as they would have been sent.
        arguments: those by which the call could have answered.
    """
    asked = "; ".join(map(_gist, wires))
    told = f"{name} has to ask: {asked}; " + _CANNOT.format(missing=capabilities_named(missing))
    named = ", ".join(map(repr, arguments))
    return f"{told} Or call again with the user's answer in argument {named}." if named else told


def not_askable(name: str, missing: JsonObject) -> str:
    """The same before it is known what would be asked."""
    told = _CANNOT.format(missing=capabilities_named(missing))
    return f"{name} asks questions before it can finish, {told}"


def _gist(wire: JsonObject) -> str:
    params = wire.get("params")
    message = params.get("message") if isinstance(params, dict) else None
    if isinstance(message, str):
        return repr(message if len(message) <= _SHOWN else message[:_SHOWN] + "…")
    return _OTHERS.get(str(wire.get("method")), "something")


_OTHERS: Final[Mapping[str, str]] = {
    "sampling/createMessage": "the client's language model",
    "roots/list": "the client for its roots",
}


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
