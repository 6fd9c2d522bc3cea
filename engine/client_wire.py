"""One request of a client and its reply: ids, ``_meta``, progress, the time limit, the revision.

Specification: basic/index, "_meta"; basic/versioning; basic/patterns/progress and cancellation.
"""

from __future__ import annotations

import itertools
import secrets

import trio
from attrs import define, field, frozen

from .call_errors import LegTimeout, ServerError, VersionMismatch
from .conversation import server_of
from .eras import HANDSHAKE_REFUSED, advice
from .errors import BUSY, UNSUPPORTED_VERSION, InvalidReply
from .exchange import ClientTransport, Deferral, Deferred, MirroredRequest, Negotiating
from .hearing import DEAF, Hearing
from .jsonrpc import Failure, JsonObject, JsonValue, Reply, Request, Success
from .mirrored import Mirrored
from .protocol import (
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    SUPPORTED_VERSIONS,
    Implementation,
)
from .spans import trace_meta


@frozen
class Outgoing:
    """A request before it has an id.

    Attributes:
        method, params, capabilities: as they are sent.
        meta: members for its ``_meta``, besides those that every request has, and the trace
            context of the span that runs when it is sent.
        hearing: who hears what is said before the reply.
        reads: it changes nothing at the server and carries nothing secret, so that it may be
            sent twice.
        mirrored: parameters that a transport with headers repeats there.
    """

    method: str
    params: JsonObject = field(repr=False)
    capabilities: JsonObject
    meta: JsonObject = field(repr=False)
    hearing: Hearing = DEAF
    reads: bool = False
    mirrored: tuple[Mirrored, ...] = ()


@define
class Wire:
    """The client's end of a transport."""

    transport: ClientTransport
    info: Implementation
    timeout: float
    server: str | None = None
    # Whether it has shown that it speaks a revision without a handshake.
    _modern: bool = False
    _version: str = SUPPORTED_VERSIONS[0]
    # Two processes that share a conversation must not use one id twice.
    _tag: str = field(factory=lambda: secrets.token_hex(4))
    _numbers: itertools.count[int] = field(factory=lambda: itertools.count(1))

    async def send(self, outgoing: Outgoing) -> JsonObject:
        """Send a request; the result of its reply.

        Where the server refuses the revision and names one that both speak, it is sent once more.
        Where that is the very revision that was refused, only what reads is: to a server that
        contradicts itself no answer of a person goes twice.

        Raises:
            ServerError: the server answered with an error.
            LegTimeout: no reply came in time; the request was cancelled.
            InvalidReply, TransportLost: see :class:`ClientTransport`.
        """
        spoken = self._version
        try:
            return await self._once(outgoing)
        except ServerError as refusal:
            if refusal.code != UNSUPPORTED_VERSION:
                raise
            common = _common_version(refusal)
            if common == spoken and not outgoing.reads:
                raise
            self._version = common
        return await self._once(outgoing)

    async def _once(self, outgoing: Outgoing) -> JsonObject:
        id = f"{self._tag}-{next(self._numbers)}"
        params = self._params(id, outgoing)
        request = (
            MirroredRequest(id, outgoing.method, params, outgoing.mirrored)
            if outgoing.mirrored
            else Request(id, outgoing.method, params)
        )
        result = self._result(await self._exchange(request, outgoing.hearing), request)
        self.server = server_of(result) or self.server
        return result

    def _params(self, id: str, outgoing: Outgoing) -> JsonObject:
        meta: JsonObject = {
            **trace_meta(outgoing.meta),
            **outgoing.meta,
            META_VERSION: self._version,
            META_CLIENT: self.info.wire(),
            META_CAPABILITIES: outgoing.capabilities,
        }
        if outgoing.hearing.progress is not None:
            meta["progressToken"] = id
        if outgoing.hearing.log is not None:
            meta[META_LOG_LEVEL] = outgoing.hearing.log_level
        return {**outgoing.params, "_meta": meta}

    async def _exchange(self, request: Request, hearing: Hearing) -> Reply:
        reply: Reply | None = None
        scope = trio.move_on_after(self.timeout)
        ear = hearing.ear(str(request.id), scope, self.timeout)
        with scope:
            try:
                reply = await self.transport.exchange(request, ear)
            finally:
                ear.close()
        if ear.failure is not None:
            raise ear.failure
        if reply is None:
            raise LegTimeout(
                f"{self.transport.name} gave no reply to {request.method} within leg_timeout, "
                f"{self.timeout:g} s; it was cancelled, and may have been served all the same",
                self.timeout,
            )
        return reply

    def _result(self, reply: Reply, request: Request) -> JsonObject:
        # A server that could not read the id answers without one.
        if reply.id is not None and reply.id != request.id:
            raise InvalidReply(f"{self.transport.name} answered another request than was sent")
        if isinstance(reply, Success):
            self._modern = self._modern or "resultType" in reply.result
            return reply.result
        raise self._error(reply, request.method)

    def _error(self, reply: Failure, method: str) -> ServerError:
        told = "" if self._modern else self._advice(reply, method)
        error = ServerError(reply.code, reply.message, reply.data, advice=told)
        error.deferral = _deferral(reply)
        return error

    def _advice(self, reply: Failure, method: str) -> str:
        if not (isinstance(self.transport, Negotiating) and self.transport.negotiates):
            return advice(method, reply.code)
        refused = reply.code == UNSUPPORTED_VERSION and self._version in _supported(reply.data)
        return HANDSHAKE_REFUSED if refused else ""


def _deferral(reply: Failure) -> Deferral | None:
    if isinstance(reply, Deferred):
        return reply.deferral
    # The code is ours, and others may use it for what befell a tool half-way.
    limit = reply.data.get("limit") if isinstance(reply.data, dict) else None
    refused = reply.code == BUSY and isinstance(limit, str)
    return Deferral(unserved=True) if refused else None


def _common_version(refusal: ServerError) -> str:
    theirs = _supported(refusal.data)
    for version in SUPPORTED_VERSIONS:
        if version in theirs:
            return version
    raise VersionMismatch(refusal, SUPPORTED_VERSIONS, theirs) from None


def _supported(data: JsonValue) -> list[str]:
    """The revisions that a refusal names."""
    named = data.get("supported") if isinstance(data, dict) else None
    return [v for v in named if isinstance(v, str)] if isinstance(named, list) else []
