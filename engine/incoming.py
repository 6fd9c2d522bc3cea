"""One request as a method's handler is given it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from .call import Call
from .exchange import Exchange
from .jsonrpc import JsonObject, RequestId
from .protocol import RequestMeta


@frozen
class Incoming:
    """A request whose envelope and ``_meta`` have been checked; its parameters have not.

    Attributes:
        id: JSON-RPC's own.
        method: what is asked for.
        params: as they were sent, ``_meta`` included.
        meta: what ``_meta`` says of the client.
        exchange: what the transport knows of the sender, and a way to notify it.
    """

    id: RequestId
    method: str
    params: JsonObject = field(repr=False)  # they may hold answers and sealed states
    meta: RequestMeta = field(repr=False)
    exchange: Exchange = field(repr=False)

    def call(
        self,
        arguments: object = None,
        *,
        round: int = 1,
        flow_id: str = "",
        input_responses: JsonObject | None = None,
    ) -> Call[Any]:
        """What a handler may know of it; also how a low-level handler tells progress."""
        meta, exchange = self.meta, self.exchange
        call: Call[Any] = Call(
            arguments,
            principal=exchange.principal,
            client=meta.client,
            capabilities=meta.capabilities,
            meta=meta.raw,
            round=round,
            flow_id=flow_id,
            input_responses=input_responses or {},
            log_level=meta.log_level,
            lifespan=exchange.lifespan,
            progress_token=meta.progress_token,
            notify=exchange.notify,
        )
        return call


MethodHandler: TypeAlias = Callable[[Incoming], Awaitable[Mapping[str, Any]]]
"""Serves one method: returns the members of the result, or raises ProtocolError.

A result without ``resultType`` is complete. What is no JSON is found when it is sent.
"""
