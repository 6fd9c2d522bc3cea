"""The spans of a conversation: linked from round to round, with their errors and no secret."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from antiphon import Server, ToolError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Request
from antiphon.engine.middleware import Proceed
from tests.engine.peer import KEY, Peer, accept, asked, meta, told
from tests.engine.rounds import INK, RED, YES, to_confirming
from tests.engine.spanning import SECRET, Spans, attributes, context, linked
from tests.engine.tools import Bake, Order, Shop, serving


def failing(error: Exception) -> Peer:
    server = Server("Shop", keys=[KEY])

    @server.tool
    async def broken(text: str) -> str:
        """Fail."""
        raise error

    @server.prompt
    async def silent() -> str:
        """Fail, too."""
        raise error

    return Peer(server)


# -- rounds -----------------------------------------------------------------------------------


async def test_each_round_links_the_one_before(spans: Spans) -> None:
    peer = serving(Order())
    second = await to_confirming(peer)
    await peer.call("order", INK, state=second["requestState"], responses={"confirming": YES})
    one, two, three = spans.all
    assert [linked(span) for span in spans.all] == [
        [],
        [context(one).span_id],
        [context(two).span_id],
    ]
    assert two.links[0].context.trace_id == context(one).trace_id
    assert two.links[0].context.is_remote
    assert len({context(span).trace_id for span in spans.all}) == 3
    named = [attributes(span) for span in spans.all]
    assert [it["antiphon.round"] for it in named] == [1, 2, 3]
    assert len({it["antiphon.flow_id"] for it in named}) == 1
    assert named[2]["antiphon.result_type"] == "complete"
    assert three.status.status_code is StatusCode.UNSET


async def test_polls_are_rounds_too(spans: Spans) -> None:
    peer = serving(Bake())
    result = await peer.call("bake")
    for _ in range(4):
        result = await peer.call("bake", state=result["requestState"])
    assert len(spans.all) == 5
    assert [linked(span) for span in spans.all[1:]] == [
        [context(span).span_id] for span in spans.all[:-1]
    ]


async def test_a_round_links_one_that_another_worker_served(spans: Spans) -> None:
    first = await serving(Order()).call("order", INK)
    answers: JsonObject = {"choosing_colour": RED}
    result = await serving(Order()).call(
        "order", INK, state=first["requestState"], responses=answers
    )
    assert asked(result) == ["confirming"]
    assert linked(spans.all[1]) == [context(spans.all[0]).span_id]


async def test_rounds_go_on_where_only_some_workers_collect_spans(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = serving(Order())
    with monkeypatch.context() as patched:
        patched.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
        dark = await peer.call("order", INK)
    second = await peer.call(
        "order", INK, state=dark["requestState"], responses={"choosing_colour": RED}
    )
    with monkeypatch.context() as patched:
        patched.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
        last = await peer.call(
            "order", INK, state=second["requestState"], responses={"confirming": YES}
        )
    assert last["structuredContent"]["item"] == "ink"
    (span,) = spans.all
    assert attributes(span)["antiphon.round"] == 2
    assert span.links == ()


async def test_a_provider_without_spans_costs_no_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", trace.NoOpTracerProvider)
    peer = serving(Order())
    second = await to_confirming(peer)
    result = await peer.call(
        "order", INK, state=second["requestState"], responses={"confirming": YES}
    )
    assert result["structuredContent"]["item"] == "ink"


# -- errors -----------------------------------------------------------------------------------


async def test_an_error_sets_code_and_status(spans: Spans) -> None:
    await serving(Order()).refused("order", INK, state="a1.AAAA")
    assert spans.last.name == "tools/call order"
    assert spans.last.status.status_code is StatusCode.ERROR
    named = attributes(spans.last)
    assert (named["error.type"], named["rpc.response.status_code"]) == ("-32602", "-32602")
    assert "antiphon.round" not in named


@pytest.mark.parametrize("error", [ToolError(SECRET), ValueError(SECRET)], ids=["told", "masked"])
async def test_a_failed_tool_is_an_error_and_tells_nothing(spans: Spans, error: Exception) -> None:
    told(await failing(error).call("broken", {"text": SECRET}))
    assert spans.last.status.status_code is StatusCode.ERROR
    assert attributes(spans.last)["error.type"] == "tool_error"
    assert "rpc.response.status_code" not in attributes(spans.last)
    assert SECRET not in spans.last.to_json()


async def test_a_failed_prompt_is_an_internal_error_and_tells_nothing(spans: Spans) -> None:
    await failing(ValueError(SECRET)).exchange("prompts/get", {"name": "silent", "_meta": meta()})
    assert spans.last.status.status_code is StatusCode.ERROR
    assert attributes(spans.last)["error.type"] == "-32603"
    assert SECRET not in spans.last.to_json()


async def test_arguments_that_do_not_fit_are_an_error_and_are_not_shown(spans: Spans) -> None:
    told(await serving(Order()).call("order", {"item": SECRET, "count": SECRET}))
    assert spans.last.name == "tools/call order"
    assert attributes(spans.last)["error.type"] == "tool_error"
    assert SECRET not in spans.last.to_json()


async def test_what_middleware_answers_is_the_answer(spans: Spans) -> None:
    async def refusing(request: Request, exchange: Exchange, proceed: Proceed) -> Any:
        raise RuntimeError(SECRET)

    await serving(Order(), middleware=[refusing]).refused("order", INK)
    assert attributes(spans.last)["error.type"] == "-32603"
    assert SECRET not in spans.last.to_json()


async def test_nothing_of_a_conversation_is_in_its_spans(spans: Spans) -> None:
    shop = Shop()
    peer = serving(Order(shop))
    arguments: JsonObject = {"item": SECRET, "count": 2}
    first = await peer.call("order", arguments)
    colour: JsonObject = {"choosing_colour": accept(name=f"red {SECRET}")}
    second = await peer.call("order", arguments, state=first["requestState"], responses=colour)
    sure: JsonObject = {"confirming": YES}
    await peer.call("order", arguments, state=second["requestState"], responses=sure)
    assert shop.ordered
    shown = "".join(span.to_json() for span in spans.all)
    for secret in (SECRET, first["requestState"], second["requestState"]):
        assert secret not in shown


async def test_a_fault_of_the_telemetry_is_answered(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    peer = serving(Order())
    with monkeypatch.context() as patched:
        patched.setattr("antiphon.engine.otel.extract", broken)
        refusal = await peer.refused("order", INK)
    assert (refusal.code, refusal.message) == (-32603, "Internal error")
    assert asked(await peer.call("order", INK))
