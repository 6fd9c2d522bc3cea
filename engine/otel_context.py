"""The trace context of the span that runs here, for a request to another program.

Imported for the first request of a client in a program that has imported OpenTelemetry's API.
"""

from __future__ import annotations

from opentelemetry import trace

from .tracing import TraceContext


def running() -> dict[str, str]:
    """The context of the current span, as the program's propagators write it; empty without one.

    A span that is not sampled is told too: the other side's sampler is to follow.
    """
    if not trace.get_current_span().get_span_context().is_valid:
        return {}
    # Its import looks for propagators among all that is installed.
    from opentelemetry.propagate import inject

    carrier: dict[str, str] = {}
    inject(carrier)
    # Members of other names, such as those of B3, have no place in a ``_meta``.
    return TraceContext.of(carrier).headers()
