"""Digests of JSON values, by value, and of a principal.

Two JSON values have one digest exactly when they are equal: the order of members does not
count; 1 and 1.0 are one number, and so are 0 and -0; ``true`` is none; integers count to the
last digit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import msgspec

from ..errors import UsageError
from ..jsonrpc import JsonObject, JsonValue

# A client may look for two sets of arguments with one digest: 256 bits leave it no hope. A
# question is of our own making, and there are many in a token: 128 bits.
_ARGUMENTS_BYTES: Final = 32
_QUESTION_BYTES: Final = 16
_PRINCIPAL_BYTES: Final = 16

SALT_BYTES: Final = 16

_encoder = msgspec.msgpack.Encoder(order="deterministic")
_FLOAT64: Final = b"\xcb"
# What msgpack carries as an integer.
_LEAST: Final = -(2**63)
_BEYOND: Final = 2**64


def arguments_digest(arguments: Mapping[str, JsonValue]) -> bytes:
    """The digest of a request's arguments; 32 bytes.

    Raises:
        UsageError: they are no JSON.
    """
    return _digest(arguments, _ARGUMENTS_BYTES, b"arguments")


def question_digest(request: JsonObject) -> bytes:
    """The digest of a question as it stands in ``inputRequests``; 16 bytes.

    Raises:
        UsageError: it is no JSON.
    """
    return _digest(request, _QUESTION_BYTES, b"question")


def principal_tag(principal: str | None, salt: bytes) -> bytes:
    """A tag by which a principal is known again and, without a guess, not read.

    Nobody is a principal of its own: its tag is no principal's. A fresh ``salt`` of 16 bytes in
    each token keeps two tokens from showing that one person holds both.
    """
    named = b"" if principal is None else b"=" + principal.encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=_PRINCIPAL_BYTES, key=salt, person=b"principal").digest()


def _digest(value: Mapping[str, JsonValue], size: int, person: bytes) -> bytes:
    try:
        canonical = _canonical(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"This is no JSON, and has no digest: {error}") from None
    return blake2b(canonical, digest_size=size, person=person).digest()


def _canonical(value: Mapping[str, JsonValue]) -> bytes:
    """One text for all equal objects."""
    packed = _packed(value)
    # Nearly always there is no float in it, and the first text is the canonical one.
    if packed is not None and _FLOAT64 not in packed:
        return packed
    whole = _whole(value)
    packed = _packed(whole)
    # Here begins with "{", which begins no object of msgpack: the two never meet.
    return json.dumps(whole, sort_keys=True).encode("ascii") if packed is None else packed


def _packed(value: object) -> bytes | None:
    """As msgpack with sorted keys; None for long integers and lone surrogates."""
    try:
        return _encoder.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return None


def _whole(value: JsonValue | Mapping[str, JsonValue]) -> object:
    """The value with one form for each number: an integer where msgpack has it.

    Beyond that a float stays one, and an integer that equals a float becomes it: spelled out,
    ``1e308`` would have 309 digits for the 5 that were sent.
    """
    if isinstance(value, float):
        return int(value) if _LEAST <= value < _BEYOND and value.is_integer() else value
    if isinstance(value, int) and not _LEAST <= value < _BEYOND:
        return _as_float(value)
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def _as_float(value: int) -> int | float:
    try:
        number = float(value)
    except OverflowError:
        return value
    return number if int(number) == value else value
