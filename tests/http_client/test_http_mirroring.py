"""Arguments that a tool marks, as a client sends them in headers."""

from __future__ import annotations

from typing import Annotated

import pytest

from antiphon import Server, header, http_app, open_client
from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import MirroredRequest
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.mirrored import SAFE, Mirrored
from tests.http_client.scripted import Ears, Peer, Received, answering, connected, request, success
from tests.http_client.scripted import answer as answered
from tests.http_server.serving import serving

MARKED = (
    Mirrored("Region", ("region",), "string"),
    Mirrored("Count", ("count",), "integer"),
    Mirrored("Dry", ("dry",), "boolean"),
    Mirrored("Zone", ("place", "zone"), "string"),
)


async def sent_with(arguments: JsonValue, marked: tuple[Mirrored, ...] = MARKED) -> Received:
    """What comes to a server of a call with these arguments."""
    seen: list[Received] = []

    async def handler(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(answered(success()))

    plain = request(name="query", arguments=arguments)
    async with connected(handler) as (transport, _):
        call = MirroredRequest(plain.id, plain.method, plain.params, marked)
        await transport.exchange(call, Ears())
    return seen[0]


def repeated(received: Received) -> dict[str, str]:
    prefix = "mcp-param-"
    return {n.removeprefix(prefix): v for n, v in received.headers.items() if n.startswith(prefix)}


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, {"region": "us-west1"}),
        ({"region": "Hello, 世界"}, {"region": "=?base64?SGVsbG8sIOS4lueVjA==?="}),
        ({"region": " padded "}, {"region": "=?base64?IHBhZGRlZCA=?="}),
        ({"region": "line1\nline2"}, {"region": "=?base64?bGluZTEKbGluZTI=?="}),
        ({"region": "a\tb"}, {"region": "=?base64?YQli?="}),
        ({"region": "=?base64?literal?="}, {"region": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}),
        ({"region": ""}, {"region": ""}),
        ({"count": 42}, {"count": "42"}),
        ({"count": 42.0}, {"count": "42"}),
        ({"count": -0.0}, {"count": "0"}),
        ({"count": -SAFE}, {"count": str(-SAFE)}),
        ({"count": 1e15}, {"count": "1000000000000000"}),
        ({"dry": True}, {"dry": "true"}),
        ({"dry": False}, {"dry": "false"}),
        ({"place": {"zone": "a"}}, {"zone": "a"}),
        ({"region": None, "count": None, "place": None}, {}),
        ({"place": {"zone": None}}, {}),
        ({"zone": "not there", "other": "x"}, {}),
        ({"region": 3, "count": "3", "dry": "yes", "place": "a"}, {}),
        ({}, {}),
        (None, {}),
        ([], {}),
    ],
)
async def test_what_is_marked_and_there_has_a_header(
    arguments: JsonValue, headers: dict[str, str]
) -> None:
    assert repeated(await sent_with(arguments)) == headers


async def test_what_is_not_marked_has_none() -> None:
    assert repeated(await sent_with({"region": "eu"}, ())) == {}


async def test_headers_of_arguments_stand_beside_those_of_the_protocol() -> None:
    received = await sent_with({"region": "eu"})
    assert received["mcp-name"] == "query"
    assert received["mcp-method"] == "tools/call"
    assert received["mcp-protocol-version"] == "2026-07-28"


@pytest.mark.parametrize("arguments", [{"count": SAFE + 1}, {"count": 1e16}, {"region": "\ud800"}])
async def test_what_no_header_can_carry_is_refused_before_it_is_sent(
    arguments: JsonObject,
) -> None:
    plain = request(name="query", arguments=arguments)
    async with connected(answering(answered(success()))) as (transport, server):
        call = MirroredRequest(plain.id, plain.method, plain.params, MARKED)
        with pytest.raises(UsageError):
            await transport.exchange(call, Ears())
        assert server.accepted == 0


# -- with a server of ours ----------------------------------------------------------------------


def make_server() -> Server:
    server = Server("Warehouse")

    @server.tool
    async def query(
        region: Annotated[str, header("Region")], limit: Annotated[int, header("Limit")] = 10
    ) -> str:
        """Say what came."""
        return f"{region} {limit}"

    return server


@pytest.mark.parametrize("listed", [True, False])
async def test_a_server_that_asks_for_headers_gets_them(listed: bool) -> None:
    async with (
        serving(http_app(make_server())) as port,
        open_client(f"http://127.0.0.1:{port}/mcp") as client,
    ):
        if listed:
            await client.list_tools()
        assert (await client.call_tool("query", {"region": "Größe"})).text == "Größe 10"
        assert (await client.call_tool("query", {"region": "eu", "limit": 3})).text == "eu 3"
