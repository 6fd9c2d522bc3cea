"""The trace context in ``_meta``: taken where it is well formed, and otherwise left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Call, Server
from antiphon.engine.jsonrpc import JsonValue
from antiphon.engine.tracing import TraceContext
from tests.engine.peer import KEY, Peer, meta

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    "parent",
    [PARENT, f"00-{TRACE}-{SPAN}-ff", f"cc-{TRACE}-{SPAN}-01", f"cc-{TRACE}-{SPAN}-01-what-later"],
)
def test_a_parent_is_taken_as_it_is(parent: str) -> None:
    assert TraceContext.of({"traceparent": parent}) == TraceContext(parent)


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "00",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-more",
        f"cc-{TRACE}-{SPAN}-01more",
        f"cc-{TRACE}-{SPAN}-01-é",
        f"cc-{TRACE}-{SPAN}-01-" + "x" * 512,
        PARENT + "\n",
        f" {PARENT}",
        PARENT.replace("0", "\u0660"),
        7,
        None,
        True,
        [PARENT],
        {"traceparent": PARENT},
    ],
    ids=str,
)
def test_a_malformed_parent_is_none_and_takes_its_state_along(parent: JsonValue) -> None:
    assert TraceContext.of({"traceparent": parent, "tracestate": "a=1"}) == TraceContext()


@pytest.mark.parametrize(
    "state",
    [
        "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
        "fw529a3039@dt=FfAAAAGz",
        "a=1 , b=a b,,",
        ",".join(f"k{number}=v" for number in range(32)),
    ],
)
def test_a_state_goes_with_its_parent(state: str) -> None:
    read = TraceContext.of({"traceparent": PARENT, "tracestate": state})
    assert read == TraceContext(PARENT, state)
    assert TraceContext.of({"tracestate": state}) == TraceContext()


@pytest.mark.parametrize(
    "state",
    [
        "",
        ",",
        "a",
        "=1",
        "a=",
        "A=1",
        "a=b=c",
        "a=1,a=2",
        "a=1\nb=2",
        "a=é",
        "a=" + "v" * 257,
        ",".join(f"k{number}=v" for number in range(33)),
        ",".join(f"k{number}={'v' * 200}" for number in range(3)),
        5,
        ["a=1"],
    ],
    ids=lambda state: str(state)[:16],
)
def test_a_malformed_state_leaves_its_parent(state: JsonValue) -> None:
    assert TraceContext.of({"traceparent": PARENT, "tracestate": state}) == TraceContext(PARENT)


@pytest.mark.parametrize(
    "baggage",
    [
        "userId=alice",
        "userId=alice,serverNode=DF%2028;prop=1;flag , isProduction = false",
        "empty=",
        "a=b=c",
        ",".join(f"k{number}=v" for number in range(64)),
    ],
)
def test_baggage_needs_no_parent(baggage: str) -> None:
    assert TraceContext.of({"baggage": baggage}) == TraceContext(baggage=baggage)


@pytest.mark.parametrize(
    "baggage",
    [
        "",
        "alone",
        "=1",
        "a=1,,b=2",
        "a=1,",
        'a="1"',
        "a=b c",
        "a=é",
        "a b=1",
        "a=1;",
        "a=1\r\nb=2",
        "a=" + "v" * 8192,
        ",".join(f"k{number}=v" for number in range(65)),
        5,
        {"a": 1},
    ],
    ids=lambda baggage: str(baggage)[:16],
)
def test_malformed_baggage_leaves_its_parent(baggage: JsonValue) -> None:
    assert TraceContext.of({"traceparent": PARENT, "baggage": baggage}) == TraceContext(PARENT)


@given(st.text(), st.text(), st.text())
def test_any_text_is_taken_or_left(parent: str, state: str, baggage: str) -> None:
    read = TraceContext.of({"traceparent": parent, "tracestate": state, "baggage": baggage})
    assert read.traceparent in {parent, None}
    assert read.tracestate in {state, None}
    assert read.baggage in {baggage, None}


@pytest.mark.parametrize(
    "mean", ["a" * 512, "a=" + " " * 500 + "\n", "k=v;" * 2047, "a =" * 2730 + "\n"]
)
def test_texts_that_are_nearly_right_are_left_at_once(mean: str) -> None:
    read = TraceContext.of({"traceparent": PARENT, "tracestate": mean, "baggage": mean})
    assert read == TraceContext(PARENT)


def test_headers_are_what_is_there() -> None:
    assert TraceContext().headers() == {}
    whole: dict[str, JsonValue] = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "b=2"}
    assert TraceContext.of(whole).headers() == whole


def test_the_repr_keeps_baggage_to_itself() -> None:
    assert "alice" not in repr(TraceContext.of({"baggage": "user=alice"}))


async def test_a_handler_reads_the_context_of_its_request() -> None:
    server = Server("Shop", keys=[KEY])
    seen: list[TraceContext] = []

    @server.tool
    async def look(call: Call[object]) -> str:
        """Look."""
        seen.append(call.trace)
        return "seen"

    peer = Peer(server)
    await peer.ask("tools/call", {"name": "look", "_meta": meta(traceparent=PARENT, baggage="a=1")})
    await peer.call("look")
    assert seen == [TraceContext(PARENT, baggage="a=1"), TraceContext()]
