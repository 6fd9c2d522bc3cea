"""Spans of OpenTelemetry, named by its semantic conventions for MCP.

Imported for the first request that is served in a program that collects spans.
Conventions: open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md, "Server".

No argument, answer, state or message becomes an attribute. For that reason a status has no
description, though the conventions would have the error's message there: messages quote what
was wrong. A uri made from a template holds arguments, so the template stands in its place.
"""

from __future__ import annotations

from collections.abc import Container
from contextvars import Token
from functools import lru_cache
from types import TracebackType
from typing import Final, Self

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.propagate import extract
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode, TraceFlags

from .carrier import Carrier
from .jsonrpc import Failure, JsonObject, Reply, Request
from .protocol import COMPLETE, INPUT_REQUIRED, META_VERSION, SUPPORTED_VERSIONS
from .spans import CURRENT, RequestSpan
from .tracing import TraceContext

_CALL: Final = "tools/call"
_NAMED: Final = {_CALL: "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}
_IDENTIFIED: Final = {"uri": "mcp.resource.uri", "uriTemplate": "antiphon.resource.template"}
_NETWORK: Final = {"stdio": "pipe", "http": "tcp"}

_LONGEST_ID: Final = 128
# What nobody serves is no name of ours: a client could make as many as it likes. The word is
# that of the conventions for HTTP and RPC.
_OTHER: Final = "_OTHER"
_HANDSHAKE: Final = "initialize"

_TRACE_ID, _SPAN_ID = 16, 8
_MARK: Final = _TRACE_ID + _SPAN_ID + 1


@lru_cache(maxsize=1)
def _tracer_of(provider: trace.TracerProvider) -> trace.Tracer:
    return provider.get_tracer("antiphon")


def tracer() -> trace.Tracer | None:
    """The program's tracer, or None where it has set no provider up."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    return _tracer_of(provider)


class RecordedSpan(RequestSpan):
    """The span of one request: current for whatever serves it, ended when that ends.

    Its parent is the client's span where ``_meta`` names one, and otherwise the span in which
    the transport runs, if any. Where there are both, the second is linked.
    """

    def __init__(self, request: Request, transport: str, methods: Container[str]) -> None:
        served = request.method in methods or request.method == _HANDSHAKE
        self._method = request.method if served else _OTHER
        self._request = request
        self._transport = transport

    def __enter__(self) -> Self:
        context, links = _origin(self._meta())
        tracer = _tracer_of(trace.get_tracer_provider())
        self._span: Span = tracer.start_span(
            self._method, context, SpanKind.SERVER, self._attributes(), links
        )
        self._attached: Token[Context] = attach(trace.set_span_in_context(self._span, context))
        self._current = CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        # Every fault is a reply by now: what is raised here is cancellation. It is no error of
        # the server, and no error of gRPC's servers in the conventions either.
        if kind is not None:
            self._span.set_attribute("antiphon.cancelled", True)
        CURRENT.reset(self._current)
        detach(self._attached)
        self._span.end()

    def _meta(self) -> JsonObject:
        meta = self._request.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    def _attributes(self) -> dict[str, str]:
        found = {
            "mcp.method.name": self._method,
            "jsonrpc.request.id": str(self._request.id)[:_LONGEST_ID],
        }
        version = self._meta().get(META_VERSION)
        if version in SUPPORTED_VERSIONS:
            found["mcp.protocol.version"] = str(version)
        if self._transport in _NETWORK:
            found["network.transport"] = _NETWORK[self._transport]
        if self._method == _CALL:
            found["gen_ai.operation.name"] = "execute_tool"
        return found

    @property
    def mark(self) -> bytes:
        """The span's trace id, id and flags."""
        # It travels in the token. Ids derived from the flow's would need no room there, but a link
        # to them would lead to a span that nobody has recorded: the SDK chooses every real one.
        at = self._span.get_span_context()
        if not at.is_valid:
            return b""
        ids = at.trace_id.to_bytes(_TRACE_ID, "big") + at.span_id.to_bytes(_SPAN_ID, "big")
        return ids + bytes([at.trace_flags & 0xFF])

    def serve(self, carrier: Carrier) -> None:
        """Name a tool or a prompt; of a resource only what the server itself has declared."""
        if (attribute := _NAMED.get(carrier.method)) is not None:
            self._span.update_name(f"{self._method} {carrier.name}")
            self._span.set_attribute(attribute, carrier.name)
            return
        for member, attribute in _IDENTIFIED.items():
            if member in carrier.description:
                self._span.set_attribute(attribute, str(carrier.description[member]))

    def begin(self, flow_id: str, round: int, previous: bytes) -> None:
        """Name the round, and link the one before it."""
        self._span.set_attributes({"antiphon.flow_id": flow_id, "antiphon.round": round})
        if len(previous) == _MARK:
            self._span.add_link(_marked(previous))

    def end(self, reply: Reply) -> None:
        """Set the status by the reply."""
        if isinstance(reply, Failure):
            self._span.set_attribute("rpc.response.status_code", str(reply.code))
            self._fail(str(reply.code))
            return
        kind = reply.result.get("resultType")
        if kind in (COMPLETE, INPUT_REQUIRED):
            self._span.set_attribute("antiphon.result_type", str(kind))
        if self._method == _CALL and reply.result.get("isError") is True:
            self._fail("tool_error")

    def _fail(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)


def _origin(meta: JsonObject) -> tuple[Context, list[Link]]:
    """The context of a request's span, and a link to the ambient one where it is not the parent."""
    ambient = trace.get_current_span().get_span_context()
    context = extract(TraceContext.of(meta).headers(), get_current())
    parent = trace.get_current_span(context).get_span_context()
    linked = ambient.is_valid and parent.span_id != ambient.span_id
    return context, [Link(ambient)] if linked else []


def _marked(mark: bytes) -> SpanContext:
    ids, flags = mark[:-1], mark[-1]
    return SpanContext(
        int.from_bytes(ids[:_TRACE_ID], "big"),
        int.from_bytes(ids[_TRACE_ID:], "big"),
        is_remote=True,
        trace_flags=TraceFlags(flags),
    )
