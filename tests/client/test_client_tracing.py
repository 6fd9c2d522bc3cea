"""The trace context of a running span goes with every request, unless the caller's goes there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.context import Context
from opentelemetry.propagate import get_global_textmap, set_global_textmap
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from antiphon import Call, Server, open_client
from antiphon.engine.client_reads import PromptRef
from tests.client import listening
from tests.client.scripted import ScriptedTransport, accept_prod, asks, client_of, done
from tests.client.test_client_cache import contents

TRACER = TracerProvider(shutdown_on_exit=False).get_tracer("the program's own")
TRACING = {"traceparent", "tracestate", "baggage"}
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
NOTHING: dict[str, Any] = {}


def told(wire: ScriptedTransport) -> list[dict[str, Any]]:
    """What each request has said of traces."""
    metas = [params["_meta"] for params in wire.params]
    return [{name: meta[name] for name in TRACING & meta.keys()} for meta in metas]


def written(span: trace.Span) -> str:
    at = span.get_span_context()
    return f"00-{at.trace_id:032x}-{at.span_id:016x}-{at.trace_flags:02x}"


# -- what is told -----------------------------------------------------------------------------


async def test_each_leg_names_the_span_in_which_it_is_sent() -> None:
    client, wire = client_of(asks(), done())
    conversation = client.conversation("t")
    with TRACER.start_as_current_span("asking") as asking:
        await conversation.advance()
    with TRACER.start_as_current_span("answering") as answering:
        await conversation.advance({"region": {"name": "dev"}})
    assert told(wire) == [
        {"traceparent": written(asking)},
        {"traceparent": written(answering)},
    ]


async def test_without_a_span_nothing_is_told() -> None:
    client, wire = client_of(asks(), done(), {"tools": []}, elicitation=accept_prod)
    token = context.attach(baggage.set_baggage("user", "alice"))
    try:
        await client.call_tool("t")
        await client.list_tools()
    finally:
        context.detach(token)
    assert told(wire) == [NOTHING] * 3


async def test_every_kind_of_request_names_it() -> None:
    client, wire = client_of(
        {"supportedVersions": [], "capabilities": {}},
        {"tools": []},
        {"completion": {"values": []}},
        {"messages": []},
        contents("a"),
        done(),
    )
    with TRACER.start_as_current_span("all") as span:
        await client.discover()
        await client.list_tools()
        await client.complete(PromptRef("p"), "a", "")
        await client.get_prompt("p")
        await client.read_resource("file:///a")
        await client.call_tool("t")
    assert told(wire) == [{"traceparent": written(span)}] * 6


async def test_a_subscription_names_it() -> None:
    client, server = listening.client_of(listening.ending)
    with TRACER.start_as_current_span("hearing") as span:
        async with client.subscribe(tools=True):
            pass
    meta: Any = server.requests[0].params["_meta"]
    assert meta["traceparent"] == written(span)


async def test_state_and_baggage_go_along() -> None:
    parent = SpanContext(1, 2, is_remote=True, trace_state=TraceState([("vendor", "1")]))
    client, wire = client_of(done())
    here = trace.set_span_in_context(NonRecordingSpan(parent))
    token = context.attach(baggage.set_baggage("order", "a b", here))
    try:
        with TRACER.start_as_current_span("inner"):
            await client.call_tool("t")
    finally:
        context.detach(token)
    (meta,) = told(wire)
    assert (meta["tracestate"], meta["baggage"]) == ("vendor=1", "order=a+b")


async def test_a_span_that_is_not_sampled_says_so() -> None:
    quiet = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer("quiet")
    client, wire = client_of(done())
    with quiet.start_as_current_span("unsampled") as span:
        await client.call_tool("t")
    assert told(wire) == [{"traceparent": written(span)}]
    assert not span.is_recording()
    assert not span.get_span_context().trace_flags & TraceFlags.SAMPLED


async def test_what_w3c_would_not_pass_on_is_not_told() -> None:
    client, wire = client_of(done())
    token = context.attach(baggage.set_baggage("much", "x" * 9000))
    try:
        with TRACER.start_as_current_span("call"):
            await client.call_tool("t")
    finally:
        context.detach(token)
    assert [meta.keys() for meta in told(wire)] == [{"traceparent"}]


# -- who goes first ---------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{"traceparent": GIVEN}, {"tracestate": "mine=1"}])
async def test_a_trace_that_the_caller_names_is_not_mixed_with_another(given: Any) -> None:
    parent = SpanContext(1, 2, is_remote=True, trace_state=TraceState([("vendor", "1")]))
    client, wire = client_of(asks(), done(), elicitation=accept_prod)
    with trace.use_span(NonRecordingSpan(parent)), TRACER.start_as_current_span("call"):
        await client.call_tool("t", meta=given)
    assert told(wire) == [given] * 2


async def test_baggage_that_the_caller_gives_takes_the_place_of_the_programs() -> None:
    client, wire = client_of(done())
    token = context.attach(baggage.set_baggage("user", "alice"))
    try:
        with TRACER.start_as_current_span("call") as span:
            await client.call_tool("t", meta={"baggage": "mine=1", "com.example/x": 1})
    finally:
        context.detach(token)
    assert told(wire) == [{"traceparent": written(span), "baggage": "mine=1"}]


@pytest.fixture
def propagator() -> Iterator[Any]:
    """Lets a test choose the program's propagator."""
    before = get_global_textmap()
    yield set_global_textmap
    set_global_textmap(before)


class B3Alone(TextMapPropagator):
    """Writes what is no member of a ``_meta``."""

    @property
    def fields(self) -> set[str]:
        return {"b3"}

    def extract(self, carrier: Any, context: Any = None, getter: Any = None) -> Context:
        raise AssertionError

    def inject(self, carrier: Any, context: Any = None, setter: Any = None) -> None:
        carrier["b3"] = "1-2-1"


async def test_a_program_whose_propagator_writes_something_else_tells_nothing(
    propagator: Any,
) -> None:
    propagator(B3Alone())
    client, wire = client_of(done())
    with TRACER.start_as_current_span("call"):
        await client.call_tool("t")
    assert told(wire) == [NOTHING]
    assert "b3" not in wire.params[0]["_meta"]


# -- what does not depend on it ---------------------------------------------------------------


async def test_what_is_kept_serves_in_every_span() -> None:
    client, wire = client_of(contents("a"))
    for name in ("one", "two"):
        with TRACER.start_as_current_span(name):
            assert (await client.read_resource("file:///a")).text == "a"
    assert len(wire.requests) == 1


async def test_a_stored_conversation_goes_on_in_the_span_of_who_goes_on() -> None:
    client, _ = client_of(asks())
    with TRACER.start_as_current_span("asking") as asking:
        conversation = client.conversation("t")
        await conversation.advance()
    stored = conversation.dump()
    assert f"{asking.get_span_context().span_id:016x}".encode() not in stored
    later, wire = client_of(done(), elicitation=accept_prod)
    with TRACER.start_as_current_span("answering") as answering:
        await later.load(stored).run()
    assert told(wire) == [{"traceparent": written(answering)}]


async def test_a_server_is_told_of_the_very_span() -> None:
    heard: list[Any] = []
    server = Server("Depot")

    @server.tool
    async def stock(call: Call) -> str:
        heard.append(call.trace)
        return "enough"

    async with open_client(server) as client:
        with TRACER.start_as_current_span("call") as span:
            await client.call_tool("stock")
        await client.call_tool("stock")
    assert [trace.traceparent for trace in heard] == [written(span), None]


# -- programs without -------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]

CALLED = dedent("""
    import trio
    from antiphon import open_client
    from antiphon.engine.jsonrpc import Success

    class Shop:
        name = "Shop"

        async def exchange(self, request, on_notification):
            return Success(request.id, {"content": [{"type": "text", "text": "sold"}]})

    async def main():
        async with open_client(Shop()) as client:
            print((await client.call_tool("sell")).text)

    trio.run(main)
""")

ABSENT = "import sys\nsys.modules['opentelemetry'] = None\n"
IDLE = "import opentelemetry.trace\n"
UNUSED = "\nimport sys\nprint([name for name in sys.modules if name.startswith('opentelemetry')])\n"
NO_SEARCH = "\nimport sys\nprint('opentelemetry.propagate' in sys.modules)\n"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (ABSENT + CALLED, ["sold"]),
        (CALLED + UNUSED, ["sold", "[]"]),
        (IDLE + CALLED + NO_SEARCH, ["sold", "False"]),
    ],
    ids=["absent", "unused", "idle"],
)
def test_a_program_that_does_not_trace_pays_nothing(program: str, printed: list[str]) -> None:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == printed
