"""What a result has to be before it leaves, whoever made it.

Specification: basic/index, "ResultType"; basic/patterns/mrtr, "Supported Requests" and "Server
Requirements"; client/elicitation and client/sampling, "Capabilities".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .errors import MissingCapability, UsageError
from .incoming import Incoming
from .jsonrpc import JsonObject
from .named_ends import capabilities_named
from .protocol import COMPLETE, INPUT_REQUIRED, TARGETS
from .questions import FORM_NEEDS, URL_NEEDS, lacking, merged

_INTERIM: Final = ("inputRequests", "requestState")


def allowed(request: Incoming, result: object) -> JsonObject:
    """The members of a result that answers ``request``.

    One that has no ``resultType`` is complete.

    Raises:
        UsageError: a handler may not answer so.
        MissingCapability: it asks what the client has not declared.
    """
    if not isinstance(result, Mapping):
        raise UsageError(
            f"The handler of {request.method} gave {type(result).__name__}; it gives the members "
            "of a result, by name"
        )
    members: JsonObject = {**cast("Mapping[str, Any]", result)}
    kind = members.get("resultType")
    if kind == INPUT_REQUIRED:
        _check_interim(request, members)
    elif "resultType" not in members:
        return _completed(request, members)
    elif not isinstance(kind, str):
        raise UsageError(f"The handler of {request.method} gave a resultType that is no text")
    return members


def _completed(request: Incoming, members: JsonObject) -> JsonObject:
    if request.method in TARGETS and any(name in members for name in _INTERIM):
        raise UsageError(
            f"The handler of {request.method} gave questions or a state without "
            f'"resultType": "{INPUT_REQUIRED}"'
        )
    return {"resultType": COMPLETE, **members}


def _check_interim(request: Incoming, members: JsonObject) -> None:
    method = request.method
    if method not in TARGETS:
        raise UsageError(f"{method} must not answer {INPUT_REQUIRED}")
    if not isinstance(members.get("requestState", ""), str):
        raise UsageError(f"The handler of {method} gave a requestState that is no text")
    questions = members.get("inputRequests", {})
    if not isinstance(questions, Mapping):
        raise UsageError(f"The handler of {method} gave inputRequests that are no object")
    if not questions and "requestState" not in members:
        raise UsageError(f"{method} answers {INPUT_REQUIRED} without questions and state")
    needs = merged(_needs(method, key, question) for key, question in questions.items())
    if missing := lacking(needs, request.meta.capabilities):
        raise MissingCapability(
            missing,
            "The server has to ask the user something, and this client has not declared that it "
            f"can be asked: {capabilities_named(missing)}",
        )


def _needs(method: str, key: str, question: object) -> JsonObject:
    """The capabilities without which a client must not be sent a question."""
    if isinstance(question, Mapping):
        asked = cast("Mapping[str, Any]", question)
        needs, params = _NEEDS.get(str(asked.get("method"))), asked.get("params", {})
        if needs is not None and isinstance(params, Mapping):
            found = needs(cast("Mapping[str, Any]", params))
            if found is not None:
                return found
    raise UsageError(
        f"The handler of {method} gave inputRequests[{key!r}], which is no request of "
        f"{', '.join(_NEEDS)}"
    )


def _elicitation(params: Mapping[str, Any]) -> JsonObject | None:
    return {"form": FORM_NEEDS, "url": URL_NEEDS}.get(str(params.get("mode", "form")))


def _sampling(params: Mapping[str, Any]) -> JsonObject | None:
    with_tools = "tools" in params or "toolChoice" in params
    return {"sampling": {"tools": {}} if with_tools else {}}


def _roots(_: Mapping[str, Any]) -> JsonObject | None:
    return {"roots": {}}


_NEEDS: Final[Mapping[str, Callable[[Mapping[str, Any]], JsonObject | None]]] = {
    "elicitation/create": _elicitation,
    "sampling/createMessage": _sampling,
    "roots/list": _roots,
}
