"""Spans: one for each request, named by the conventions, current while it is served."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from opentelemetry import baggage, trace
from opentelemetry.trace import SpanKind, StatusCode

from antiphon import Call, LowLevelServer, Server
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Request, Success
from antiphon.engine.middleware import Proceed
from tests.engine.peer import KEY, Peer, meta
from tests.engine.rounds import INK
from tests.engine.spanning import SECRET, Spans, attributes, context, linked
from tests.engine.tools import Order, serving

TRACE = 0x0AF7651916CD43DD8448EB211C80319C
SPAN = 0x00F067AA0BA902B7
PARENT = f"00-{TRACE:032x}-{SPAN:016x}-01"

# -- names ------------------------------------------------------------------------------------


async def test_a_call_of_a_tool_is_named_as_the_conventions_say(spans: Spans) -> None:
    await serving(Order()).call("order", INK)
    assert spans.last.name == "tools/call order"
    assert spans.last.kind is SpanKind.SERVER
    assert spans.last.status.status_code is StatusCode.UNSET
    named = attributes(spans.last)
    assert len(named.pop("antiphon.flow_id")) == 16
    assert named == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "order",
        "antiphon.round": 1,
        "antiphon.result_type": "input_required",
    }


@pytest.mark.parametrize(("transport", "network"), [("http", "tcp"), ("stdio", "pipe")])
async def test_the_network_is_named(spans: Spans, transport: str, network: str) -> None:
    request = Request("a", "tools/list", {"_meta": meta()})
    await serving(Order()).server.handle(request, Exchange(transport=transport))
    assert attributes(spans.last) == {
        "mcp.method.name": "tools/list",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "a",
        "network.transport": network,
        "antiphon.result_type": "complete",
    }


async def test_prompts_and_resources_are_named_by_what_the_server_declares(spans: Spans) -> None:
    server = Server("Shop", keys=[KEY])

    @server.prompt
    async def greet(whom: str) -> str:
        """Greet."""
        return f"Hello {whom}"

    @server.resource("config://app")
    async def config() -> str:
        """The configuration."""
        return "on"

    @server.resource_template("people://{name}")
    async def person(name: str) -> str:
        """A person."""
        return name

    peer = Peer(server)
    await peer.ask("prompts/get", {"name": "greet", "arguments": {"whom": SECRET}})
    assert spans.last.name == "prompts/get greet"
    assert attributes(spans.last)["gen_ai.prompt.name"] == "greet"
    await peer.ask("resources/read", {"uri": "config://app"})
    assert spans.last.name == "resources/read"
    assert attributes(spans.last)["mcp.resource.uri"] == "config://app"
    await peer.ask("resources/read", {"uri": f"people://{SECRET}"})
    assert spans.last.name == "resources/read"
    assert attributes(spans.last)["antiphon.resource.template"] == "people://{name}"
    assert not any(SECRET in span.to_json() for span in spans.all)


async def test_what_nobody_serves_makes_no_names(spans: Spans) -> None:
    peer = serving(Order())
    await peer.exchange(f"no/{SECRET}", {"_meta": meta()})
    assert (spans.last.name, attributes(spans.last)["mcp.method.name"]) == ("_OTHER", "_OTHER")
    await peer.refused(SECRET)
    assert spans.last.name == "tools/call"
    await peer.exchange("initialize", {"protocolVersion": SECRET})
    assert spans.last.name == "initialize"
    assert not any(SECRET in span.to_json() for span in spans.all)


async def test_a_long_id_is_cut(spans: Spans) -> None:
    request = Request("i" * 5000, "tools/list", {"_meta": meta()})
    await serving(Order()).server.handle(request, Exchange())
    assert attributes(spans.last)["jsonrpc.request.id"] == "i" * 128


# -- parents ----------------------------------------------------------------------------------


async def test_the_parent_is_the_clients_span(spans: Spans) -> None:
    params: JsonObject = {"_meta": meta(traceparent=PARENT, tracestate="vendor=1")}
    await serving(Order()).ask("tools/list", params)
    assert spans.last.parent is not None
    assert (spans.last.parent.trace_id, spans.last.parent.span_id) == (TRACE, SPAN)
    assert spans.last.parent.is_remote
    assert context(spans.last).trace_id == TRACE
    assert context(spans.last).trace_state.to_header() == "vendor=1"


async def test_an_unsampled_parent_leaves_no_span(spans: Spans) -> None:
    params: JsonObject = {"_meta": meta(traceparent=PARENT.removesuffix("1") + "0")}
    await serving(Order()).ask("tools/list", params)
    assert spans.all == ()


@pytest.mark.parametrize("parent", [None, "nonsense", 7, {}])
async def test_without_a_parent_a_trace_begins(spans: Spans, parent: Any) -> None:
    await serving(Order()).ask("tools/list", {"_meta": meta(traceparent=parent)})
    assert spans.last.parent is None
    assert spans.last.links == ()


async def test_the_transports_span_is_the_parent_where_the_client_names_none(spans: Spans) -> None:
    with spans.tracer.start_as_current_span("POST /mcp") as around:
        await serving(Order()).ask("tools/list")
    assert spans.all[0].parent == around.get_span_context()
    assert spans.all[0].links == ()


async def test_the_transports_span_is_linked_where_the_client_names_another(spans: Spans) -> None:
    with spans.tracer.start_as_current_span("POST /mcp") as around:
        await serving(Order()).ask("tools/list", {"_meta": meta(traceparent=PARENT)})
    assert spans.all[0].parent is not None
    assert spans.all[0].parent.span_id == SPAN
    assert linked(spans.all[0]) == [around.get_span_context().span_id]


async def test_a_handlers_own_spans_and_baggage_are_inside(spans: Spans) -> None:
    server = Server("Shop", keys=[KEY])
    seen: list[object] = []

    async def work() -> None:
        with spans.tracer.start_as_current_span("work"):
            seen.append(baggage.get_baggage("tenant"))
            await trio.lowlevel.checkpoint()

    @server.tool
    async def busy() -> str:
        """Work."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
        return "done"

    params: JsonObject = {"name": "busy", "_meta": meta(traceparent=PARENT, baggage="tenant=blue")}
    await Peer(server).ask("tools/call", params)
    inner, outer = spans.all
    assert (inner.name, outer.name) == ("work", "tools/call busy")
    assert inner.parent == context(outer)
    assert seen == ["blue"]
    assert baggage.get_baggage("tenant") is None
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_middleware_runs_inside_the_span_and_names_nothing_else(spans: Spans) -> None:
    async def timed(request: Request, exchange: Exchange, proceed: Proceed) -> Any:
        with spans.tracer.start_as_current_span("timed"):
            return await proceed(request, exchange)

    await serving(Order(), middleware=[timed]).call("order", INK)
    inner, outer = spans.all
    assert inner.parent == context(outer)
    assert attributes(inner) == {}
    assert outer.name == "tools/call order"


# -- many at once, and cancelled ----------------------------------------------------------------


async def test_calls_at_the_same_time_keep_their_own_spans(spans: Spans) -> None:
    server = Server("Shop", keys=[KEY])
    arrived: list[int] = []
    all_there = trio.Event()

    @server.tool
    async def meet(number: int, call: Call[object]) -> str:
        """Wait for all the others."""
        arrived.append(number)
        if len(arrived) == 50:
            all_there.set()
        await all_there.wait()
        with spans.tracer.start_as_current_span(str(number)):
            return call.flow_id

    flows: dict[str, str] = {}

    async def call(number: int) -> None:
        parent = f"00-{number + 1:032x}-{SPAN:016x}-01"
        result = await Peer(server).ask(
            "tools/call",
            {"name": "meet", "arguments": {"number": number}, "_meta": meta(traceparent=parent)},
        )
        flows[str(number)] = result["content"][0]["text"]

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(call, number)
    outer = {context(span).span_id: span for span in spans.all if span.kind is SpanKind.SERVER}
    inner = [span for span in spans.all if span.kind is not SpanKind.SERVER]
    assert len(outer) == len(inner) == 50
    for span in inner:
        assert span.parent is not None
        around = outer[span.parent.span_id]
        assert context(around).trace_id == int(span.name) + 1
        assert attributes(around)["antiphon.flow_id"] == flows[span.name]


async def test_a_cancelled_call_ends_its_span_without_an_error(spans: Spans) -> None:
    server = Server("Shop", keys=[KEY])

    @server.tool
    async def wait(call: Call[object]) -> str:
        """Wait for ever."""
        scope.cancel()
        await trio.sleep_forever()
        return ""

    with trio.CancelScope() as scope:
        await Peer(server).call("wait")
    assert scope.cancelled_caught
    (span,) = spans.all
    assert span.name == "tools/call wait"
    assert attributes(span)["antiphon.cancelled"] is True
    assert span.status.status_code is StatusCode.UNSET
    assert span.events == ()
    assert trace.get_current_span() is trace.INVALID_SPAN


# -- without ----------------------------------------------------------------------------------


async def test_a_program_that_sets_no_provider_has_no_spans() -> None:
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    seen: list[trace.Span] = []
    server = LowLevelServer("Bare")

    @server.method("tools/list")
    async def tools(_: object) -> JsonObject:
        seen.append(trace.get_current_span())
        return {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}

    reply = await server.handle(Request(1, "tools/list", {"_meta": meta()}), Exchange())
    assert isinstance(reply, Success)
    assert seen == [trace.INVALID_SPAN]


async def test_a_low_level_server_has_spans_too(spans: Spans) -> None:
    server = LowLevelServer("Bare")

    @server.method("com.example/echo")
    async def echo(_: object) -> JsonObject:
        return {"resultType": "complete"}

    await server.handle(Request(1, "com.example/echo", {"_meta": meta()}), Exchange())
    assert spans.last.name == "com.example/echo"
    assert attributes(spans.last)["antiphon.result_type"] == "complete"
