"""A client over HTTP and a server that would not serve now: statuses, ``Retry-After``, tries."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any, TypeAlias

import httpx2
import pytest
import trio
from attrs import field, frozen

from antiphon.engine.call_errors import ServerError
from antiphon.engine.client import Client
from antiphon.engine.errors import AntiphonError
from antiphon.engine.exchange import Deferral, TransportLost
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from antiphon.engine.retrying import RetryPolicy
from antiphon.transports.http_answer import BadStatus, deferral_of
from antiphon.transports.http_client import open_http
from tests.http_client.scripted import answer, answering, connected, failure

DONE: JsonObject = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
PAGE: JsonObject = {"resultType": "complete", "tools": []}


@frozen(kw_only=True)
class Reply:
    """A JSON-RPC reply with an HTTP status."""

    status: int = 200
    result: JsonObject | None = None
    error: JsonObject | None = None
    headers: dict[str, str] = field(factory=dict[str, str])

    def to(self, id: JsonValue) -> httpx2.Response:
        member = {"error": self.error} if self.error else {"result": self.result}
        message = {"jsonrpc": "2.0", "id": id, **member}
        return httpx2.Response(self.status, json=message, headers=self.headers)


Answer: TypeAlias = JsonObject | Reply | httpx2.Response | Exception


class Server(httpx2.AsyncBaseTransport):
    """Answers one request after the other, without a socket, so that time may jump."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = iter(answers)
        self.bodies: list[JsonObject] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await trio.lowlevel.checkpoint()
        body = json.loads(await request.aread())
        self.bodies.append(body)
        said = next(self.answers)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, httpx2.Response):
            return said
        reply = said if isinstance(said, Reply) else Reply(result=said)
        return reply.to(body["id"])


def page_of(status: int, **headers: str) -> httpx2.Response:
    """An error page, as a gateway sends it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, text="Not now", headers=named)


def refusing(status: int, code: int = -32603, **headers: str) -> Reply:
    """An error reply to the very request, with this status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, error={"code": code, "message": "Not now"}, headers=named)


@asynccontextmanager
async def client_of(*answers: Answer, **options: Any) -> AsyncGenerator[tuple[Client, Server]]:
    server = Server(*answers)
    policy = RetryPolicy(initial=1.0, chance=lambda: 1.0)
    async with (
        httpx2.AsyncClient(transport=server) as sender,
        open_http("http://test/mcp", client=sender) as transport,
    ):
        yield Client(transport, retry=policy, **options), server


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (page_of(429), 1),
        (page_of(429, retry_after="3"), 4),
        (page_of(503, retry_after="3"), 4),
        (page_of(503, retry_after="0"), 1),
        (refusing(429), 1),
        (refusing(429, retry_after="3"), 4),
        (refusing(503, retry_after="3"), 4),
        (refusing(503, 429, retry_after="3"), 4),
    ],
)
async def test_a_call_that_was_refused_for_now_is_sent_again_when_told(
    autojump_clock: object, refusal: Answer, seconds: float
) -> None:
    async with client_of(refusal, DONE) as (client, server):
        begun = trio.current_time()
        assert (await client.call_tool("t")).text == "done"
        assert trio.current_time() - begun == seconds
        assert len(server.bodies) == 2


async def test_a_date_is_waited_for(autojump_clock: object) -> None:
    passed = formatdate(0, usegmt=True)
    async with client_of(page_of(503, retry_after=passed), DONE) as (client, _):
        begun = trio.current_time()
        await client.call_tool("t")
        assert trio.current_time() - begun == 1


NOT_SURE: list[Answer] = [
    page_of(502),
    page_of(503),
    page_of(504),
    page_of(503, retry_after="soon"),
    refusing(503),
    httpx2.ReadError("reset"),
    httpx2.RemoteProtocolError("closed"),
]


@pytest.mark.parametrize("failure", NOT_SURE)
async def test_a_call_is_not_sent_again_where_a_gateway_may_have_lost_its_answer(
    failure: Answer,
) -> None:
    async with client_of(failure, DONE) as (client, server):
        with pytest.raises((BadStatus, ServerError, TransportLost)):
            await client.call_tool("t")
        assert len(server.bodies) == 1


@pytest.mark.parametrize("failure", NOT_SURE)
async def test_what_only_reads_is_sent_again_there(autojump_clock: object, failure: Answer) -> None:
    async with client_of(failure, PAGE) as (client, server):
        assert await client.list_tools() == []
        assert len(server.bodies) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 431, 500, 501])
async def test_other_statuses_are_final(status: int) -> None:
    async with client_of(page_of(status, retry_after="1"), PAGE) as (client, server):
        with pytest.raises(BadStatus):
            await client.list_tools()
        assert len(server.bodies) == 1


async def test_a_connection_that_did_not_come_about_is_tried_again(autojump_clock: object) -> None:
    refused = [httpx2.ConnectError("refused"), httpx2.ConnectTimeout("slow")]
    async with client_of(*refused, DONE) as (client, server):
        assert (await client.call_tool("t")).text == "done"
        assert len(server.bodies) == 3


@pytest.mark.parametrize("asked", ["31", "100000000", formatdate(4102444800, usegmt=True)])
async def test_a_server_that_wants_too_long_a_time_is_told_of_with_that_time(asked: str) -> None:
    async with client_of(page_of(429, retry_after=asked), DONE) as (client, server):
        with pytest.raises(BadStatus, match="wants no request for") as caught:
            await client.call_tool("t")
        assert caught.value.retry_after is not None
        assert caught.value.retry_after > 30
        assert len(server.bodies) == 1


async def test_a_server_that_stays_busy_is_the_last_error(autojump_clock: object) -> None:
    async with client_of(*[page_of(503, retry_after="5") for _ in range(9)]) as (client, server):
        with pytest.raises(BadStatus, match="HTTP 503") as caught:
            await client.call_tool("t")
        assert caught.value.__notes__ == ["This was the last of 4 tries."]
        assert len(server.bodies) == 4


async def test_an_error_reply_keeps_what_its_status_said() -> None:
    async with client_of(refusing(503, 429, retry_after="99")) as (client, _):
        with pytest.raises(ServerError) as caught:
            await client.call_tool("t")
        assert caught.value.code == 429
        assert caught.value.deferral == Deferral(unserved=True, after=99)


@pytest.mark.parametrize(
    ("status", "retry_after", "deferral"),
    [
        (429, None, Deferral(unserved=True)),
        (503, 1.0, Deferral(unserved=True, after=1.0)),
        (503, None, Deferral(unserved=False)),
        (502, 1.0, Deferral(unserved=False, after=1.0)),
        (504, None, Deferral(unserved=False)),
        (200, 1.0, None),
        (500, 1.0, None),
    ],
)
def test_a_status_says_whether_a_request_was_served(
    status: int, retry_after: float | None, deferral: Deferral | None
) -> None:
    assert deferral_of(status, retry_after) == deferral


@pytest.mark.parametrize("body", [failure(1, -32601), failure(None, -32000), b"Missing session ID"])
@pytest.mark.parametrize("status", [400, 404])
async def test_a_body_is_read_whatever_its_status(body: bytes, status: int) -> None:
    kind = "application/json" if body.startswith(b"{") else "text/plain"

    def reply(received: Any) -> bytes:
        own = body.replace(b'"id": 1', b'"id": ' + json.dumps(received.id).encode())
        return answer(own, status=status, kind=kind)

    async with connected(answering(reply)) as (transport, _):
        with pytest.raises(AntiphonError, match=r"it went wrong .*before|Missing session ID"):
            await Client(transport).call_tool("t")
