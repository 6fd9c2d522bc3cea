"""What stands inside a token, whatever codec carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

import msgspec
from attrs import Factory, field, frozen

from ..errors import SealingError
from ..jsonrpc import JsonObject, JsonValue
from .digests import SALT_BYTES, arguments_digest
from .errors import Reason, TokenRefused
from .exact import pack, unpack

FORMAT: Final = 1
"""The format of :class:`Envelope`; another order or meaning of its fields is another format."""


@frozen
class Origin:
    """What a token is bound to; made afresh for each request, before a handler runs.

    The digest of the arguments is taken at once: what a handler does to them later changes
    nothing.

    Attributes:
        method: the request's method.
        target: the name of the tool or prompt, or the uri of the resource.
        arguments: as they were sent; empty where there are none.
        principal: the verified sender, rendered so that no two are rendered alike, or None.
    """

    method: str
    target: str
    arguments: JsonObject = field(repr=False, eq=False)
    principal: str | None = field(repr=False)
    digest: bytes = field(
        init=False,
        repr=False,
        default=Factory(lambda self: arguments_digest(self.arguments), takes_self=True),
    )


@frozen(kw_only=True)
class Claims:
    """What the next round needs back.

    Attributes:
        flow_id: the same in all rounds of one flow.
        round: the number of the round that ends with this token; the first is 1.
        started: when the flow began, in seconds of the wall clock's epoch.
        tag: which state this is.
        version: the version of the state's class.
        state: the packed state.
        questions: for each key, the digest of the question that was asked.
        kept: answers that were accepted while others of their round are still open.
        asked: how often this very question has been put.
        unusable: how often an accepted answer failed its schema.
        span: the mark of the round's span in a trace, for the next round's span to link; empty
            where no spans are collected.
        spent: the arguments that have answered a question beforehand.
    """

    flow_id: str
    round: int
    started: float
    tag: str
    version: int
    state: bytes = field(repr=False)
    questions: Mapping[str, bytes] = field(repr=False)
    kept: Mapping[str, JsonValue] = field(factory=dict[str, JsonValue], repr=False)
    asked: int = 0
    unusable: int = 0
    span: bytes = b""
    spent: tuple[str, ...] = ()


class Envelope(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The payload: the claims, and what the server stamps on them. Times in epoch seconds.

    What has a default stands last, and is written only where it is needed. So tokens of before
    it was carried open here, and tokens that carry none open there.
    """

    format: int
    issued: float
    expires: float
    audience: str
    method: str
    target: str
    arguments: bytes
    salt: Annotated[bytes, msgspec.Meta(min_length=SALT_BYTES, max_length=SALT_BYTES)]
    principal: bytes
    flow_id: str
    round: int
    started: float
    tag: str
    version: int
    state: bytes
    questions: dict[str, bytes]
    kept: bytes
    asked: int
    unusable: int
    span: bytes = b""
    spent: list[str] = []

    def __repr__(self) -> str:
        return f"Envelope(flow_id={self.flow_id!r}, round={self.round}, tag={self.tag!r})"


class _Marked(msgspec.Struct, array_like=True):
    """As much of an envelope as every format has."""

    format: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Envelope)
_marked = msgspec.msgpack.Decoder(_Marked)

_UNWRITABLE: Final = (msgspec.MsgspecError, TypeError, ValueError, OverflowError)
_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def pack_kept(kept: Mapping[str, JsonValue]) -> bytes:
    """The answers of a half-answered round; nearly always there are none.

    Raises:
        SealingError: one of them cannot be carried.
    """
    return pack(dict(kept), "kept") if kept else b""


def write(envelope: Envelope) -> bytes:
    """The payload of an envelope.

    Raises:
        SealingError: a claim is not of its type; the message names it.
    """
    try:
        payload = _encoder.encode(_needed(envelope))
        # The types are checked while its maker can still be told, not in the next round.
        _decoder.decode(payload)
    except _UNWRITABLE:
        raise SealingError(f"The claim {_misfit(envelope)} cannot be sealed") from None
    return payload


def _needed(envelope: Envelope) -> tuple[object, ...]:
    members = msgspec.structs.astuple(envelope)
    if envelope.spent:
        return members
    return members[:-1] if envelope.span else members[:-2]


def read(payload: bytes) -> Envelope:
    """The envelope of a payload.

    Raises:
        TokenRefused: it is none, or one of another format.
    """
    try:
        envelope = _decoder.decode(payload)
    except _UNREADABLE:
        raise TokenRefused(_unread(payload)) from None
    if envelope.format != FORMAT:
        raise TokenRefused(Reason.FORMAT)
    return envelope


def claims_of(envelope: Envelope) -> Claims:
    """The claims of an envelope.

    Raises:
        TokenRefused: the kept answers are none.
    """
    try:
        kept: object = unpack(envelope.kept) if envelope.kept else {}
    except ValueError:
        raise TokenRefused(Reason.MALFORMED) from None
    if not isinstance(kept, dict):
        raise TokenRefused(Reason.MALFORMED)
    return Claims(
        flow_id=envelope.flow_id,
        round=envelope.round,
        started=envelope.started,
        tag=envelope.tag,
        version=envelope.version,
        state=envelope.state,
        questions=envelope.questions,
        kept=cast("JsonObject", kept),
        asked=envelope.asked,
        unusable=envelope.unusable,
        span=envelope.span,
        spent=tuple(envelope.spent),
    )


def _unread(payload: bytes) -> Reason:
    # An integrity-only codec hands on whatever was sealed, by a newer version too.
    try:
        return Reason.MALFORMED if _marked.decode(payload).format == FORMAT else Reason.FORMAT
    except _UNREADABLE:
        return Reason.MALFORMED


def _misfit(envelope: Envelope) -> str:
    """Which claim it was, found one by one."""
    for claim in msgspec.structs.fields(Envelope):
        value: Any = getattr(envelope, claim.name)
        try:
            msgspec.msgpack.decode(_encoder.encode(value), type=claim.type)
        except _UNWRITABLE:
            return f"{claim.name!r} ({type(value).__name__})"
    raise AssertionError("every claim fits by itself")  # pragma: no cover
