"""One request as a method's handler is given it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from attrs import field, frozen

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


MethodHandler: TypeAlias = Callable[[Incoming], Awaitable[JsonObject]]
"""Serves one method: returns the members of the result, or raises ProtocolError."""
