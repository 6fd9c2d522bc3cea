"""The JSON door: the only place where bytes become messages and messages become bytes.

What comes in is strict JSON: UTF-8 without a byte order mark, one value, no NaN and no
infinities, no lone surrogates, nesting, digits and size within :class:`~.limits.Limits`. Of
members with one name the last counts. An id is a string or an integer: ``1.0``, ``true`` and
``null`` are refused. ``"1"`` and ``1`` are different ids.

Specification: basic/index, "Messages"; JSON-RPC 2.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias, Union, cast

import msgspec
from attrs import field, frozen

from .errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    PeerError,
    ProtocolError,
    UsageError,
)
from .limits import Limits, raising

# A Union, so that the names resolve when hints are read at run time.
JsonValue: TypeAlias = Union[bool, int, float, str, "list[JsonValue]", "dict[str, JsonValue]", None]
JsonObject: TypeAlias = dict[str, JsonValue]
RequestId: TypeAlias = str | int

DEFAULT_LIMITS: Final = Limits()

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


@frozen
class Request:
    """A request: it wants exactly one reply, which carries its id."""

    id: RequestId
    method: str
    params: JsonObject = field(repr=False)  # they may hold answers and sealed states


@frozen
class Notification:
    """A one-way message; it is never answered."""

    method: str
    params: JsonObject = field(repr=False)


@frozen
class Success:
    """The reply to a request that was served."""

    id: RequestId
    result: JsonObject = field(repr=False)


@frozen
class Failure:
    """The reply to a request that could not be served; ``id`` is None where none was read."""

    id: RequestId | None
    code: int
    message: str
    data: JsonValue = None


Reply: TypeAlias = Success | Failure
Message: TypeAlias = Request | Notification | Success | Failure


class InvalidJson(PeerError):
    """The peer sent bytes that the JSON door refuses; the message says why."""


def loads(data: bytes | bytearray | memoryview, limits: Limits = DEFAULT_LIMITS) -> JsonValue:
    """Decode one JSON value.

    Raises:
        InvalidJson: the bytes are not strict JSON, or pass a limit.
    """
    if len(data) > limits.message_bytes:
        raise InvalidJson(
            f"The message has {len(data)} bytes; limit message_bytes is {limits.message_bytes} "
            + raising("message_bytes")
        )
    try:
        value = cast(JsonValue, _decoder.decode(data))
    except RecursionError:
        raise _too_deep(limits) from None
    except UnicodeDecodeError:
        raise InvalidJson("The JSON is not valid UTF-8") from None
    except msgspec.MsgspecError as error:
        raise InvalidJson(f"Not strict JSON: {error}") from None
    _check_extent(data, value, limits)
    return value


_DIGIT: Final = re.compile(rb"\d")


@lru_cache(maxsize=32)
def _long_digits(digits: int) -> re.Pattern[bytes]:
    return re.compile(rb"\d{%d}" % (digits + 1))


def _has_long_digits(text: bytes | bytearray, digits: int) -> bool:
    # A run of more digits than allowed covers one of these places; few messages have one there.
    if not _DIGIT.search(text[digits :: digits + 1]):
        return False
    return _long_digits(digits).search(text) is not None


def _check_extent(data: bytes | bytearray | memoryview, value: JsonValue, limits: Limits) -> None:
    """Walk the value only when its text could pass a limit at all: most messages cannot."""
    text = data if isinstance(data, bytes | bytearray) else bytes(data)
    openings = text.count(b"{") + text.count(b"[")
    if openings <= limits.depth and not _has_long_digits(text, limits.digits):
        return
    bound = 10**limits.digits
    layer = [value]
    depth = 0
    while layer:
        below: list[JsonValue] = []
        for item in layer:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, int) and not -bound < item < bound:
                raise InvalidJson(
                    f"An integer has more digits than limit digits {limits.digits} "
                    + raising("digits")
                )
        containers = any(isinstance(item, dict | list) for item in layer)
        depth += containers
        if depth > limits.depth:
            raise _too_deep(limits)
        layer = below


def _too_deep(limits: Limits) -> InvalidJson:
    text = f"The JSON is nested deeper than limit depth {limits.depth} {raising('depth')}"
    return InvalidJson(text)


def dumps(value: object) -> bytes:
    """Encode one JSON value compactly, in UTF-8, on one line.

    Raises:
        UsageError: the value cannot be said in JSON (a lone surrogate, NaN, a foreign type).
    """
    try:
        text = _encoder.encode(value)
    except UnicodeEncodeError:
        raise UsageError("A text with a lone surrogate cannot be sent as JSON") from None
    except (TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise UsageError(f"The value cannot be sent as JSON: {error}") from None
    # The encoder writes null for NaN: only a text that holds a null needs a second look.
    if b"null" in text and not is_finite(value):
        raise UsageError("NaN and infinities cannot be sent as JSON")
    return text


def is_finite(value: object) -> bool:
    """Whether a JSON value holds no NaN and no infinity."""
    if isinstance(value, float):
        return value - value == 0
    if isinstance(value, dict):
        return all(map(is_finite, cast("dict[str, object]", value).values()))
    if isinstance(value, list | tuple):
        return all(map(is_finite, cast("list[object]", value)))
    return True


def read_message(data: bytes | bytearray | memoryview, limits: Limits = DEFAULT_LIMITS) -> Message:
    """Decode one JSON-RPC message.

    Raises:
        ProtocolError: -32700 for what is not JSON, -32600 for what is not a message. Its ``id``
            is that of the request where it could be read.
    """
    try:
        value = loads(data, limits)
    except InvalidJson as error:
        raise ProtocolError(PARSE_ERROR, f"Parse error: {error}") from None
    return as_message(value)


def as_message(value: JsonValue) -> Message:
    """Take a decoded JSON value for a JSON-RPC message; errors as in :func:`read_message`."""
    if not isinstance(value, dict):
        kind = "an array (batches are not served)" if isinstance(value, list) else "no object"
        raise ProtocolError(INVALID_REQUEST, f"Invalid request: the message is {kind}")
    id = _readable_id(value)
    if value.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0"', id=id)
    if "method" in value:
        return _call(value, id)
    if "result" in value or "error" in value:
        return _reply(value, id)
    raise ProtocolError(INVALID_REQUEST, 'Invalid request: "method" is missing', id=id)


def _readable_id(value: JsonObject) -> RequestId | None:
    id = value.get("id")
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _call(value: JsonObject, id: RequestId | None) -> Request | Notification:
    method = value["method"]
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, 'Invalid request: "method" must be text', id=id)
    if "id" in value and id is None:
        raise ProtocolError(INVALID_REQUEST, 'Invalid request: "id" must be a string or an integer')
    params = value.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, 'Invalid params: "params" must be an object', id=id)
    return Notification(method, params) if id is None else Request(id, method, params)


def _reply(value: JsonObject, id: RequestId | None) -> Success | Failure:
    result, error = value.get("result"), value.get("error")
    if isinstance(result, dict) and error is None:
        if id is None:
            raise ProtocolError(INVALID_REQUEST, "Invalid response: it has a result and no id")
        return Success(id, result)
    if isinstance(error, dict) and result is None:
        code, message = error.get("code"), error.get("message")
        if isinstance(code, int) and not isinstance(code, bool) and isinstance(message, str):
            return Failure(id, code, message, error.get("data"))
    raise ProtocolError(INVALID_REQUEST, "Invalid response: neither a result nor an error", id=id)


def write_message(message: Message) -> bytes:
    """Encode a JSON-RPC message on one line, without the line's end.

    Raises:
        UsageError: it holds a value that cannot be said in JSON.
    """
    return dumps(_members(message))


def _members(message: Message) -> Mapping[str, object]:
    if isinstance(message, Success):
        return {"jsonrpc": "2.0", "id": message.id, "result": message.result}
    if isinstance(message, Request):
        return {
            "jsonrpc": "2.0",
            "id": message.id,
            "method": message.method,
            "params": message.params,
        }
    if isinstance(message, Notification):
        return {"jsonrpc": "2.0", "method": message.method, "params": message.params}
    error: dict[str, object] = {"code": message.code, "message": message.message}
    if message.data is not None:
        error["data"] = message.data
    if message.id is None:
        return {"jsonrpc": "2.0", "error": error}
    return {"jsonrpc": "2.0", "id": message.id, "error": error}


def failure(error: ProtocolError, id: RequestId | None = None) -> Failure:
    """The reply that tells a peer of its mistake."""
    return Failure(error.id if error.id is not None else id, error.code, error.message, error.data)
