"""All questions of one round, read at one door, before anybody is asked anything.

Specification: basic/patterns/mrtr, "InputRequests".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, get_args

from .asked import InputRequest, Origin, elicitation_mode, read_elicitation
from .asked_deprecated import RootsRequest, read_sampling, wants_tools
from .asked_parts import Malformed
from .call_errors import Kind, QuestionRefused, quoted
from .errors import InvalidReply
from .jsonrpc import JsonObject, JsonValue
from .limits import raising

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_NO_TOOLS: Final = "the model is to call tools, which no client of this version declares"


def capabilities(kinds: Collection[Kind]) -> JsonObject:
    """What a client declares that answers these kinds of question."""
    declared: JsonObject = {}
    modes: JsonObject = {mode: {} for mode in ("form", "url") if mode in kinds}
    if modes:
        declared["elicitation"] = modes
    declared.update({kind: {} for kind in ("sampling", "roots") if kind in kinds})
    return declared


def read_questions(
    requests: JsonObject, origin: Origin, allowed: Collection[Kind], most: int
) -> dict[str, InputRequest]:
    """Understand the ``inputRequests`` of an interim result.

    Raises:
        InvalidReply: one of them is malformed, or there are more than ``most``.
        QuestionRefused: one of them is of a kind that is not allowed.
    """
    if len(requests) > most:
        raise InvalidReply(
            f"{origin} asks {len(requests)} questions in one round; limit questions is {most} "
            + raising("questions")
        )
    return {key: _read(key, request, origin, allowed) for key, request in requests.items()}


def _read(key: str, request: JsonValue, origin: Origin, allowed: Collection[Kind]) -> InputRequest:
    asked = f"Question {quoted(key)} of {origin}"
    try:
        kind, params = _taken_apart(request)
        if kind not in allowed:
            raise QuestionRefused(asked, key, kind)
        if kind == "sampling" and wants_tools(params):
            raise QuestionRefused(asked, key, kind, _NO_TOOLS)
        return _understood(key, kind, params, origin)
    except Malformed as fault:
        raise InvalidReply(f"{asked} is malformed: {fault}") from None


def _understood(key: str, kind: Kind, params: JsonObject, origin: Origin) -> InputRequest:
    if kind == "sampling":
        return read_sampling(key, params, origin)
    if kind == "roots":
        return RootsRequest(key=key, origin=origin)
    return read_elicitation(key, params, origin)


def _taken_apart(request: JsonValue) -> tuple[Kind, JsonObject]:
    if not isinstance(request, dict):
        raise Malformed("it is no object")
    params = request.get("params", {})
    if not isinstance(params, dict):
        raise Malformed('"params" is no object')
    match request.get("method"):
        case "elicitation/create":
            return elicitation_mode(params), params
        case "sampling/createMessage":
            return "sampling", params
        case "roots/list":
            return "roots", params
        case _:
            raise Malformed("its method is none that a server may ask")
