"""A conversation as bytes, so that another process can go on with it.

The bytes are those of :mod:`.stored_form`. They hold arguments and state in the clear: keep them
as you would keep those.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import attrs

from .answering import AuditEntry
from .asked import Origin
from .asked_round import KINDS
from .call_errors import Kind, quoted
from .client_carriers import CARRIERS, Carrier
from .client_messages import InputRequired
from .conversation import Finished, Rounds, Tally, read_interim
from .errors import UsageError
from .exchange import ClientTransport, FullyNamed
from .handshake_link import META_OPEN_CALL
from .jsonrpc import JsonObject, dumps
from .limits import Limits
from .protocol import INPUT_REQUIRED
from .stored_form import Payload, Trace, digest, making_sense, opened, packed, read_part

N = TypeVar("N", int, float)


def dump(rounds: Rounds[Any]) -> bytes:
    """The bytes of an unfinished conversation.

    Raises:
        UsageError: it is finished, or its state means nothing to another process.
    """
    if isinstance(rounds.step, Finished):
        raise UsageError(f"The call of {rounds.origin} is finished; nothing is left to resume")
    if not is_storable(rounds):
        raise UsageError(
            f"The call of {rounds.origin} cannot be stored: its server speaks an earlier revision "
            "of the protocol, in which an open call lives in its connection. Answer it here"
        )
    payload = Payload(
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
        trail=[_trace(entry) for entry in rounds.trail],
    )
    return packed(payload)


def is_storable(rounds: Rounds[Any]) -> bool:
    """Whether another process could go on with it."""
    return rounds.interim is None or META_OPEN_CALL not in rounds.interim.meta


def _trace(entry: AuditEntry) -> Trace:
    return Trace(
        at=entry.at,
        round=entry.round,
        key=entry.key,
        kind=entry.kind,
        outcome=entry.outcome,
        server=entry.origin.server,
        via=entry.origin.via,
    )


def _wire(interim: InputRequired) -> JsonObject:
    members: JsonObject = {
        "resultType": INPUT_REQUIRED,
        "inputRequests": interim.input_requests,
        "_meta": interim.meta,
    }
    if interim.request_state is not None:
        members["requestState"] = interim.request_state
    return members


def home_of(transport: ClientTransport) -> bytes:
    """What the target of a transport is recognized by, without what is secret in it."""
    whole = transport.full_target if isinstance(transport, FullyNamed) else transport.name
    return digest(whole.encode("utf-8", "surrogatepass"))


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
    payload = opened(blob)
    if not moved:
        _check_home(payload, transport)
    with making_sense():
        return _restored(payload, transport, refused, limits)


def _check_home(payload: Payload, transport: ClientTransport) -> None:
    # A client must not use a state for any other request (basic/patterns/mrtr, "Client
    # Requirements"), and arguments and answers are not meant for whoever is asked next.
    if payload.home != home_of(transport):
        raise UsageError(
            f"The stored conversation began with {quoted(payload.via)}, and this client leads to "
            f"{quoted(transport.name)}; the whole targets differ, what their names leave out "
            "included. Nothing of it was sent. Where it is the same server, load it with moved=True"
        )


def _restored(
    payload: Payload, transport: ClientTransport, refused: frozenset[Kind], limits: Limits
) -> Rounds[Any]:
    kinds: set[Kind] = {_kind(name) for name in payload.kinds}
    interim = None
    if payload.interim is not None:
        interim = read_interim(read_part(payload.interim, limits), "the dump")
    carrier, target, name = read_target(payload, limits)
    return Rounds(
        carrier=carrier,
        target=target,
        meta=read_part(payload.meta, limits),
        kinds=frozenset(kinds - refused),
        via=transport.name,
        home=home_of(transport),
        server=payload.server,
        deadline=None if payload.deadline is None else _sound(payload.deadline),
        people=_sound(payload.people),
        streak=_sound(payload.streak),
        tally=Tally(**{name: _sound(count) for name, count in payload.tally.items()}),
        interim=interim,
        trail=tuple(_entry(trace, payload.method, name) for trace in payload.trail),
    )


def read_target(payload: Payload, limits: Limits) -> tuple[Carrier[Any], JsonObject, str]:
    """The method of a conversation, the parameters of its legs, and the name among them.

    Raises:
        InvalidJson, ValueError: they make no sense.
    """
    carrier = CARRIERS.get(payload.method)
    if carrier is None:
        raise ValueError("its method is not known")
    target = read_part(payload.target, limits)
    name = target.get(carrier.names)
    if not isinstance(name, str):
        raise ValueError("it does not say what is called")  # noqa: TRY004  # JSON, not Python
    return carrier, target, name


def _entry(trace: Trace, method: str, name: str) -> AuditEntry:
    return AuditEntry(
        at=_sound(trace.at),
        origin=Origin(trace.server, trace.via, method, name),
        round=_sound(trace.round),
        key=trace.key,
        kind=trace.kind,
        outcome=trace.outcome,
    )


def _kind(name: str) -> Kind:
    if name not in KINDS:
        raise ValueError("it names an unknown kind of question")
    return name


def _sound(number: N) -> N:
    if not 0 <= number < math.inf:
        raise ValueError("a number is out of range")
    return number
