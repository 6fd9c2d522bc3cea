"""A conversation as bytes, so that another process can go on with it.

msgpack of ``[name, version, payload, digest]``. The digest finds damage; it is no protection
from who may write the bytes, which is why everything inside is checked again. The payload holds
arguments and state in the clear: keep it as you would keep them.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final, TypeVar

import attrs
import msgspec
from attrs import frozen

from .asked_round import KINDS
from .call_errors import Kind, UnreadableDump, quoted
from .client_carriers import CARRIERS
from .client_messages import InputRequired
from .conversation import Finished, Rounds, Tally, read_interim
from .errors import CallError, UsageError
from .exchange import ClientTransport, FullyNamed
from .jsonrpc import InvalidJson, JsonObject, dumps, loads
from .limits import Limits
from .protocol import INPUT_REQUIRED

NAME: Final = "antiphon/conversation"
VERSION: Final = 1

_DIGEST_BYTES: Final = 16

N = TypeVar("N", int, float)


@frozen(kw_only=True)
class _Payload:
    """What is stored. JSON stays JSON: msgpack has no integers beyond 64 bits."""

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


_read_outer: Final = msgspec.msgpack.Decoder(tuple[str, int, bytes, bytes]).decode
_read_payload: Final = msgspec.msgpack.Decoder(_Payload).decode


def dump(rounds: Rounds[Any]) -> bytes:
    """The bytes of an unfinished conversation.

    Raises:
        UsageError: it is finished.
    """
    if isinstance(rounds.step, Finished):
        raise UsageError(f"The call of {rounds.origin} is finished; nothing is left to resume")
    payload = _Payload(
        method=rounds.carrier.method,
        target=dumps(rounds.target),
        meta=dumps(rounds.meta),
        kinds=sorted(rounds.kinds),
        via=rounds.via,
        home=rounds.home,
        server=rounds.server,
        deadline=rounds.deadline,
        people=rounds.people,
        streak=rounds.streak,
        tally=attrs.asdict(rounds.tally),
        interim=None if rounds.interim is None else dumps(_wire(rounds.interim)),
    )
    packed = msgspec.msgpack.encode(payload)
    return msgspec.msgpack.encode((NAME, VERSION, packed, _digest(packed)))


def _wire(interim: InputRequired) -> JsonObject:
    members: JsonObject = {
        "resultType": INPUT_REQUIRED,
        "inputRequests": interim.input_requests,
        "_meta": interim.meta,
    }
    if interim.request_state is not None:
        members["requestState"] = interim.request_state
    return members


def _digest(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).digest()


def home_of(transport: ClientTransport) -> bytes:
    """What the target of a transport is recognized by, without what is secret in it."""
    whole = transport.full_target if isinstance(transport, FullyNamed) else transport.name
    return _digest(whole.encode("utf-8", "surrogatepass"))


def load(
    blob: bytes,
    transport: ClientTransport,
    *,
    moved: bool,
    refused: frozenset[Kind],
    limits: Limits,
) -> Rounds[Any]:
    """The conversation that :func:`dump` made bytes of, its step not yet worked out.

    Args:
        blob: the bytes.
        transport: that of the client that goes on.
        moved: whether it may lead elsewhere than that of the client that stored it.
        refused: kinds of question that it does not take, whatever was declared before.
        limits: of the JSON inside.

    Raises:
        UnreadableDump: the bytes are damaged, no conversation, or from a newer version.
        UsageError: the transport leads elsewhere.
    """
    payload = _opened(blob)
    if not moved:
        _check_home(payload, transport)
    try:
        return _restored(payload, transport, refused, limits)
    except (InvalidJson, CallError, ValueError, TypeError) as error:
        raise UnreadableDump(f"The stored conversation does not make sense: {error}") from None


def _opened(blob: bytes) -> _Payload:
    try:
        name, version, packed, digest = _read_outer(blob)
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
    if version < 1 or digest != _digest(packed):
        raise UnreadableDump("The stored conversation is damaged")
    try:
        return _read_payload(packed)
    except (msgspec.MsgspecError, RecursionError):
        raise UnreadableDump("The stored conversation is damaged") from None


def _check_home(payload: _Payload, transport: ClientTransport) -> None:
    # A client must not use a state for any other request (basic/patterns/mrtr, "Client
    # Requirements"), and arguments and answers are not meant for whoever is asked next.
    if payload.home != home_of(transport):
        raise UsageError(
            f"The stored conversation began with {quoted(payload.via)}, and this client leads to "
            f"{quoted(transport.name)}; the whole targets differ, what their names leave out "
            "included. Nothing of it was sent. Where it is the same server, load it with moved=True"
        )


def _restored(
    payload: _Payload, transport: ClientTransport, refused: frozenset[Kind], limits: Limits
) -> Rounds[Any]:
    kinds: set[Kind] = {_kind(name) for name in payload.kinds}
    interim = None
    if payload.interim is not None:
        interim = read_interim(_object(payload.interim, limits), "the dump")
    carrier = CARRIERS.get(payload.method)
    if carrier is None:
        raise ValueError("its method is not known")
    target = _object(payload.target, limits)
    if not isinstance(target.get(carrier.names), str):
        raise ValueError("it does not say what is called")  # noqa: TRY004  # JSON, not Python
    return Rounds(
        carrier=carrier,
        target=target,
        meta=_object(payload.meta, limits),
        kinds=frozenset(kinds - refused),
        via=transport.name,
        home=home_of(transport),
        server=payload.server,
        deadline=None if payload.deadline is None else _sound(payload.deadline),
        people=_sound(payload.people),
        streak=_sound(payload.streak),
        tally=Tally(**{name: _sound(count) for name, count in payload.tally.items()}),
        interim=interim,
    )


def _object(text: bytes, limits: Limits) -> JsonObject:
    value = loads(text, limits)
    if not isinstance(value, dict):
        raise ValueError("a part is no object")  # noqa: TRY004  # JSON, not Python
    return value


def _kind(name: str) -> Kind:
    if name not in KINDS:
        raise ValueError("it names an unknown kind of question")
    return name


def _sound(number: N) -> N:
    if not 0 <= number < math.inf:
        raise ValueError("a number is out of range")
    return number
