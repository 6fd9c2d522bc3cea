"""The spans that a server's requests leave, collected in memory."""

from __future__ import annotations

from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext

SECRET: Final = "hunter2-and-nobody-may-read-it"


class Spans(InMemorySpanExporter):
    """The spans that have ended, in that order."""

    def __init__(self) -> None:
        super().__init__()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self))
        self.tracer = self.provider.get_tracer("the program's own")

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self.get_finished_spans()

    @property
    def last(self) -> ReadableSpan:
        return self.all[-1]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def context(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def linked(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]
