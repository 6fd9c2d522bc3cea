"""Where a request meets the program's tracing, if it has any.

This side of the seam imports no OpenTelemetry, so a program without tracing pays for one look-up
a request. The other side is :mod:`.otel` for what is served, and :mod:`.otel_context` for what is
asked of others.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .carrier import Carrier
    from .jsonrpc import JsonObject, JsonValue, Reply, Request

_API: Final = "opentelemetry.trace"


class RequestSpan:
    """The span of a request. This one stands for a request that has none, and does nothing."""

    @property
    def mark(self) -> bytes:
        """What a later round needs to name this span; empty where it has no name."""
        return b""

    def serve(self, carrier: Carrier) -> None:
        """Say what the request asks for."""

    def begin(self, flow_id: str, round: int, previous: bytes) -> None:
        """Say which round it is; ``previous`` is the mark of the round before, or empty."""

    def end(self, reply: Reply) -> None:
        """Say how it was answered."""


_NO_SPAN: Final = RequestSpan()
CURRENT: Final[ContextVar[RequestSpan]] = ContextVar("request span", default=_NO_SPAN)
"""The span of the request that is being served; each task has its own."""


def collects_spans() -> bool:
    """Whether the program has set a tracer provider up.

    Only a program that has imported OpenTelemetry can have: nothing is imported to find out.
    """
    if sys.modules.get(_API) is None:
        return False
    from .otel import tracer

    return tracer() is not None


def request_span(
    request: Request, transport: str, methods: Container[str]
) -> AbstractContextManager[RequestSpan]:
    """A span around the serving of a request, for a program that collects them."""
    from .otel import RecordedSpan

    return RecordedSpan(request, transport, methods)


_ONE: Final = ("traceparent", "tracestate")
"""What is about one span; half of each of two spans would be about none."""


def trace_meta(given: Mapping[str, JsonValue]) -> JsonObject:
    """What the ``_meta`` of a request tells of the span that runs here, if one does.

    Args:
        given: what the caller puts there, which goes first.
    """
    if sys.modules.get(_API) is None:
        return {}
    from .otel_context import running

    spoken_for = {*given, *_ONE} if not given.keys().isdisjoint(_ONE) else given
    return {name: value for name, value in running().items() if name not in spoken_for}
