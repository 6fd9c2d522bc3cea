"""Refusing a request because its sender, or everybody together, has asked for too much at once.

Specification: server/tools, "Security Considerations", wants calls limited and names no error.
"""

from __future__ import annotations

from ..engine.errors import BUSY
from ..engine.jsonrpc import Failure, RequestId
from ..engine.limits import Limits, raising

__all__ = ["BUSY", "busy", "passed_limit"]


def passed_limit(limits: Limits, size: int, held: int, waiting: int) -> str | None:
    """The limit that one more request would pass, by name.

    A request that comes alone passes none, so whatever may be received can be served.

    Args:
        limits: what is allowed.
        size: the request's bytes.
        held: the bytes of those that are pending.
        waiting: how many of them wait for their turn.
    """
    if held and held + size > limits.pending_bytes:
        return "pending_bytes"
    if waiting >= limits.waiting_calls:
        return "waiting_calls"
    return None


def busy(id: RequestId, limits: Limits, name: str) -> Failure:
    """The reply to a request that would pass the limit of this name."""
    value: int = getattr(limits, name)
    text = (
        f"Too many requests at once: limit {name} is {value} {raising(name)}; send it again later"
    )
    return Failure(id, BUSY, text, {"limit": name, "value": value})
