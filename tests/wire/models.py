"""Whether a server's message is what the official models of the revision take it for.

The models ignore members that they do not know, and take ``"1"`` for 1. So they must not only
accept a message: what they make of it must be the message again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeAlias, cast, get_args

import msgspec
from mcp_types import (
    MissingRequiredClientCapabilityErrorData,
    Result,
    UnsupportedProtocolVersionErrorData,
)
from mcp_types.jsonrpc import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.methods import (
    MONOLITH_NOTIFICATIONS,
    MONOLITH_RESULTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
    SERVER_RESULTS,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

VERSION: Final = "2026-07-28"
_Object: TypeAlias = "dict[str, Any]"
_ERROR_DATA: Final[dict[int, type[BaseModel]]] = {
    MISSING_REQUIRED_CLIENT_CAPABILITY: MissingRequiredClientCapabilityErrorData,
    UNSUPPORTED_PROTOCOL_VERSION: UnsupportedProtocolVersionErrorData,
}


def faults(method: str | None, message: dict[str, Any], version: str = VERSION) -> list[str]:
    """What is wrong with a message, each fault with its path; nothing for a good one.

    Args:
        method: of the request that the message answers; a result needs it.
        message: what was sent, decoded.
        version: the revision. The models of all earlier ones are those of 2025-11-25.
    """
    if "method" in message and "id" in message:
        return list(_request_faults(message, version))
    if "method" in message:
        return list(_notification_faults(message, version))
    if "error" in message:
        return list(_error_faults(message))
    return list(_result_faults(method, message, version))


def _request_faults(message: dict[str, Any], version: str) -> Iterator[str]:
    method = message["method"]
    yield from _differences(JSONRPCRequest, message)
    model = SERVER_REQUESTS.get((method, version))
    if model is None:
        yield f"method: {method!r} is no request of a server in {version}"
        return
    yield from _differences(model, message)


def _notification_faults(message: dict[str, Any], version: str) -> Iterator[str]:
    method = message["method"]
    yield from _differences(JSONRPCNotification, message)
    model = SERVER_NOTIFICATIONS.get((method, version))
    if model is None:
        yield f"method: {method!r} is no notification of a server in {version}"
        return
    yield from _differences(model, message)
    yield from _refusals(MONOLITH_NOTIFICATIONS[method], message)


def _error_faults(message: dict[str, Any]) -> Iterator[str]:
    # JSON-RPC has a null for an id that could not be read; the revision leaves the member out.
    yield from _differences(JSONRPCError, {"id": None, **message})
    error = message["error"]
    if (model := _ERROR_DATA.get(error.get("code"))) is not None:
        yield from _refusals(model, error.get("data", {}), "error.data")  # it may hold more


def _result_faults(method: str | None, message: dict[str, Any], version: str) -> Iterator[str]:
    result = message["result"]
    yield from _differences(JSONRPCResponse, {**message, "result": {}})
    if method is None or (method, version) not in SERVER_RESULTS:
        yield from _refusals(Result, result, "result")  # an extension's: no more is known of it
        return
    kind = result.get("resultType") if version == VERSION else "complete"
    interim = {"complete": False, "input_required": True}.get(kind)
    model = _arm(SERVER_RESULTS[method, version], interim)
    if model is None:
        yield f"result.resultType: {result.get('resultType')!r} is none for {method}"
        return
    yield from _differences(model, result, "result")
    yield from _refusals(_arm(MONOLITH_RESULTS[method], interim), result, "result")


def _arm(row: Any, interim: bool | None) -> Any:
    """The model of results of this type: a union would take one for the other."""
    for arm in get_args(row) or (row,):
        if (arm.__name__ == "InputRequiredResult") is interim:
            return arm
    return None


# -- what a model makes of it ---------------------------------------------------------------


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _refusals(model: Any, sent: object, path: str = "") -> Iterator[str]:
    """Where a model does not accept what was sent."""
    try:
        _adapter(model).validate_python(sent, by_name=False)
    except ValidationError as error:
        yield from _told(error, path)


def _differences(model: Any, sent: object, path: str = "") -> Iterator[str]:
    """Where a model does not accept what was sent, or understands something else."""
    adapter = _adapter(model)
    try:
        value = adapter.validate_python(sent, by_name=False)
    except ValidationError as error:
        yield from _told(error, path)
        return
    understood = adapter.dump_python(value, mode="json", by_alias=True, exclude_unset=True)
    if _text(sent) != _text(understood):
        yield from _compare(sent, understood, path)


def _told(error: ValidationError, path: str) -> Iterator[str]:
    for each in error.errors():
        yield f"{'.'.join(map(str, (path, *each['loc']))).strip('.')}: {each['msg']}"


def _text(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _compare(sent: Any, understood: Any, path: str) -> Iterator[str]:
    if isinstance(sent, dict) and isinstance(understood, dict):
        yield from _compare_members(cast(_Object, sent), cast(_Object, understood), path)
    elif isinstance(sent, list) and isinstance(understood, list):
        pairs = zip(cast("list[Any]", sent), cast("list[Any]", understood), strict=True)
        for index, (one, other) in enumerate(pairs):
            yield from _compare(one, other, f"{path}[{index}]")
    elif sent != understood or isinstance(sent, bool) is not isinstance(understood, bool):
        # A whole number may well become a float, but true is not 1.
        yield f"{path}: the models take {sent!r:.80} for {understood!r:.80}"


def _compare_members(sent: _Object, understood: _Object, path: str) -> Iterator[str]:
    for name, value in sent.items():
        at = f"{path}.{name}".lstrip(".")
        if name in understood:
            yield from _compare(value, understood[name], at)
        else:
            yield f"{at}: the models know no such member"
