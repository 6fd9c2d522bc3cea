"""The bytes of a stored conversation, in every format that was ever written.

msgpack of ``[name, version, payload, digest]``. The digest finds damage; it is no protection
from who may write the bytes, so everything inside is checked again by who reads it.

A payload class stands for its format and never changes. A new format gets a class of its own, a
way up from the one before, and files in ``tests/golden/conversations``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import attrs
import msgspec
from attrs import frozen

from .answering import Outcome
from .call_errors import Kind, UnreadableDump
from .errors import CallError
from .jsonrpc import InvalidJson, JsonObject, loads
from .limits import Limits

NAME: Final = "antiphon/conversation"
VERSION: Final = 2

_DIGEST_BYTES: Final = 16


@frozen(kw_only=True)
class PayloadV1:
    """The first format. JSON stays JSON: msgpack has no integers beyond 64 bits."""

    method: str
    target: bytes
    meta: bytes
    kinds: list[str]
    via: str
    home: bytes
    server: str
    deadline: float | None
    people: float
    streak: int
    tally: dict[str, int]
    interim: bytes | None


@frozen(kw_only=True)
class Trace:
    """What became of one question; see :class:`~.answering.AuditEntry`."""

    at: float
    round: int
    key: str
    kind: Kind
    outcome: Outcome
    server: str
    via: str


@frozen(kw_only=True)
class Payload(PayloadV1):
    """The format that is written: the first, and the audit trail."""

    trail: list[Trace]


_read_outer: Final = msgspec.msgpack.Decoder(tuple[str, int, bytes, bytes]).decode
_read_first: Final = msgspec.msgpack.Decoder(PayloadV1).decode
_read_payload: Final = msgspec.msgpack.Decoder(Payload).decode


def packed(payload: Payload) -> bytes:
    """The bytes of a conversation, in the newest format."""
    inner = msgspec.msgpack.encode(payload)
    return msgspec.msgpack.encode((NAME, VERSION, inner, digest(inner)))


def opened(blob: bytes) -> Payload:
    """What :func:`packed` made bytes of, in this version or an earlier one.

    Raises:
        UnreadableDump: the bytes are damaged, no conversation, or from a newer version.
    """
    try:
        name, version, inner, checked = _read_outer(blob)
    except (msgspec.MsgspecError, RecursionError):
        raise UnreadableDump("The bytes are no stored conversation, or damaged") from None
    if name != NAME:
        raise UnreadableDump("The bytes are no stored conversation")
    if version > VERSION:
        raise UnreadableDump(
            f"The stored conversation has format {version}; this version reads up to {VERSION}. "
            "Load it with the version that wrote it, or a newer one",
            newer=True,
        )
    if version < 1 or checked != digest(inner):
        raise UnreadableDump("The stored conversation is damaged")
    try:
        return _read_payload(inner) if version > 1 else _second(_read_first(inner))
    except (msgspec.MsgspecError, RecursionError):
        raise UnreadableDump("The stored conversation is damaged") from None


def _second(first: PayloadV1) -> Payload:
    return Payload(**attrs.asdict(first, recurse=False), trail=[])


def digest(whole: bytes) -> bytes:
    """A short digest, which finds damage and tells targets apart."""
    return hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).digest()


def read_part(text: bytes, limits: Limits) -> JsonObject:
    """A part of a payload that is a JSON object.

    Raises:
        InvalidJson, ValueError: it is none.
    """
    value = loads(text, limits)
    if not isinstance(value, dict):
        raise ValueError("a part is no object")  # noqa: TRY004  # JSON, not Python
    return value


@contextmanager
def making_sense() -> Generator[None]:
    """Turn every fault of what a payload says into UnreadableDump."""
    try:
        yield
    except (InvalidJson, CallError, ValueError, TypeError) as error:
        raise UnreadableDump(f"The stored conversation does not make sense: {error}") from None
