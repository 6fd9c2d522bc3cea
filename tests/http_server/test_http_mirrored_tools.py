"""Tools whose parameters are mirrored, from their registration to a call over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, cast

import pytest
from attrs import frozen

from antiphon import Asking, DefinitionError, Done, Flow, Form, Server, http_app
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Request, Success
from antiphon.engine.mirrored import header
from antiphon.engine.protocol import META_CAPABILITIES
from antiphon.transports.asgi import HttpApp
from tests.http_server.scripted import Answer, call, listing, meta, post


@frozen
class QueryArgs:
    region: Annotated[str, header("Region")]
    query: str = "select"


@frozen
class Sure:
    sure: bool


@frozen
class Confirming(Asking[Sure]):
    region: str

    def ask(self) -> Form[Sure]:
        return Form(f"Query {self.region}?", Sure)


@frozen
class ConfirmedQuery(Flow[QueryArgs]):
    """Query a region, once that is confirmed."""

    name = "confirmed_query"

    async def begin(self, args: QueryArgs) -> Confirming:
        return Confirming(args.region)

    @Confirming.answered
    async def confirmed(self, at: Confirming, answer: Sure) -> Done[str]:
        return Done(f"queried {at.region}")


async def query(
    region: Annotated[str, header("Region")], limit: Annotated[int, header("Limit")] = 10
) -> str:
    """Query a region."""
    return f"{limit} of {region}"


@pytest.fixture
def server() -> Server:
    server = Server("mirroring")
    server.tool(query)
    server.tool(ConfirmedQuery())
    return server


@pytest.fixture
def app(server: Server) -> HttpApp:
    return http_app(server)


def asking(name: str, region: str, **more: Any) -> Request:
    capable: JsonObject = {**meta(), META_CAPABILITIES: {"elicitation": {}}}
    return call(name, arguments={"region": region}, _meta=capable, **more)


def result_of(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200
    return cast("dict[str, Any]", answer.json["result"])


async def test_list_shows_the_mark(app: HttpApp) -> None:
    tools = result_of(await post(app, listing()))["tools"]
    marks = [
        {name: p.get("x-mcp-header") for name, p in tool["inputSchema"]["properties"].items()}
        for tool in tools
    ]
    assert marks == [{"region": "Region", "limit": "Limit"}, {"region": "Region", "query": None}]


async def test_call_with_its_headers_is_served(app: HttpApp) -> None:
    request = call("query", arguments={"region": "eu", "limit": 3})
    answer = await post(app, request, mcp_param_region="eu", mcp_param_limit="3.0")
    assert result_of(answer)["content"] == [{"type": "text", "text": "3 of eu"}]


async def test_default_of_an_absent_argument_is_not_mirrored(app: HttpApp) -> None:
    request = call("query", arguments={"region": "eu"})
    answer = await post(app, request, mcp_param_region="eu")
    assert result_of(answer)["content"] == [{"type": "text", "text": "10 of eu"}]
    answer = await post(app, request, mcp_param_region="eu", mcp_param_limit="10")
    assert (answer.status, answer.code) == (400, -32020)


@pytest.mark.parametrize("region", [None, "us", "EU"])
async def test_call_without_its_header_is_refused(app: HttpApp, region: str | None) -> None:
    request = call("query", arguments={"region": "eu"})
    answer = await post(app, request, mcp_param_region=region)
    assert (answer.status, answer.code) == (400, -32020)
    assert "Mcp-Param-Region" in answer.message


async def test_every_round_carries_the_headers(app: HttpApp) -> None:
    first = await post(app, asking("confirmed_query", "eu"), mcp_param_region="eu")
    interim = result_of(first)
    assert interim["resultType"] == "input_required"
    (key,) = interim["inputRequests"]
    request = asking(
        "confirmed_query",
        "eu",
        id=2,
        requestState=interim["requestState"],
        inputResponses={key: {"action": "accept", "content": {"sure": True}}},
    )
    refused = await post(app, request)
    assert (refused.status, refused.code) == (400, -32020)
    last = await post(app, request, mcp_param_region="eu")
    assert result_of(last)["content"] == [{"type": "text", "text": "queried eu"}]


async def test_argument_that_the_schema_refuses_is_told_to_the_model(app: HttpApp) -> None:
    answer = await post(app, call("query", arguments={"region": 7}))
    assert result_of(answer)["isError"] is True


async def test_unknown_tool_is_told_as_such(app: HttpApp) -> None:
    answer = await post(app, call("nothing", arguments={"region": "eu"}))
    assert (answer.status, answer.code) == (400, -32602)


async def test_other_transports_know_no_headers(server: Server) -> None:
    request = call("query", arguments={"region": "eu"})
    assert isinstance(await server.handle(request, Exchange()), Success)


def test_faulty_mark_is_refused_at_registration() -> None:
    async def search(
        score: Annotated[float, header("Score")], rank: Annotated[int, header("score")] = 0
    ) -> str:
        return f"{score} {rank}"

    server = Server("faulty")
    with pytest.raises(DefinitionError) as caught:
        server.tool(search)
    assert caught.value.subject == "Tool search"
    assert len(caught.value.faults) == 2
    server.tool(name="search")(query)
