"""What an exchange sends: one POST each, with the headers that mirror its body."""

from __future__ import annotations

import base64
import json
from collections.abc import Generator

import httpx2
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject, Request, Success
from antiphon.transports.http_client import Token, open_http
from tests.http_client.scripted import (
    Ears,
    Peer,
    Played,
    Received,
    answer,
    answering,
    connected,
    event,
    progress,
    request,
    serving,
    stream,
    success,
)


async def sent_with(
    *,
    headers: dict[str, str] | None = None,
    token: Token | None = None,
    client: httpx2.AsyncClient | None = None,
) -> Received:
    """The request that arrives at a server when a transport is opened with these options."""
    arrived: list[Received] = []

    def reply(received: Received) -> bytes:
        arrived.append(received)
        return answer(success())

    async with (
        serving(answering(reply)) as server,
        open_http(
            f"{server.url}?a=b#part", headers=headers, token=token, client=client
        ) as transport,
    ):
        await transport.exchange(request(), Ears())
    return arrived[0]


async def test_a_request_is_one_post_with_the_headers_of_the_page() -> None:
    received = await sent_with()
    assert received.line == "POST /mcp?a=b HTTP/1.1"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["accept"] == "application/json, text/event-stream"
    assert received.headers["mcp-protocol-version"] == "2026-07-28"
    assert received.headers["mcp-method"] == "tools/call"
    assert received.headers["mcp-name"] == "add"
    assert received.headers["host"].startswith("127.0.0.1:")
    assert "authorization" not in received.headers
    assert "cookie" not in received.headers
    body = json.loads(received.body)
    assert body["params"]["arguments"] == {"a": 1, "b": 2}
    assert (body["jsonrpc"], body["id"], body["method"]) == ("2.0", 1, "tools/call")


async def test_no_compressed_answer_is_asked_for() -> None:
    assert (await sent_with())["accept-encoding"] == "identity"


async def test_no_header_is_sent_twice() -> None:
    received = await sent_with(headers={"User-Agent": "mine", "host": "elsewhere", "X-A": "b\tc d"})
    assert sorted(received.headers) == sorted(name.lower() for name in received.names)
    assert received.headers["user-agent"] == "mine"
    assert received.headers["host"] == "elsewhere"
    assert received.headers["x-a"] == "b\tc d"


def mirrored_name(posts: list[httpx2.Request]) -> str | None:
    return posts[-1].headers.get("mcp-name")


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "add"}, "add"),
        ("prompts/get", {"name": "greet", "uri": "x:y"}, "greet"),
        ("resources/read", {"uri": "file:///a%20b.txt", "name": "x"}, "file:///a%20b.txt"),
        ("tools/list", {"name": "x"}, None),
        ("tools/call", {"name": 7}, None),
    ],
)
async def test_the_name_that_a_method_is_about_is_mirrored(
    method: str, params: dict[str, str], name: str | None
) -> None:
    server = Played([success()], kind="application/json")
    async with (
        httpx2.AsyncClient(transport=server) as client,
        open_http("http://test/mcp", client=client) as transport,
    ):
        await transport.exchange(request(method=method, **params), Ears())
    assert mirrored_name(server.sent) == name
    assert server.sent[0].headers["mcp-method"] == method


@pytest.mark.parametrize(
    "name",
    ["größe", "名前", " padded", "padded ", "two\nlines", "tab\there", "=?base64?eA==?=", "\x7f"],
)
async def test_a_name_that_is_no_plain_header_value_travels_as_base64(name: str) -> None:
    server = Played([success()], kind="application/json")
    async with (
        httpx2.AsyncClient(transport=server) as client,
        open_http("http://test/mcp", client=client) as transport,
    ):
        await transport.exchange(request(name=name), Ears())
    encoded = base64.b64encode(name.encode()).decode()
    assert mirrored_name(server.sent) == f"=?base64?{encoded}?="


async def test_the_revision_in_the_header_is_the_one_in_the_body() -> None:
    server = Played([success()], kind="application/json")
    versions: JsonObject = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    async with (
        httpx2.AsyncClient(transport=server) as client,
        open_http("http://test/mcp", client=client) as transport,
    ):
        await transport.exchange(Request(1, "tools/list", {"_meta": versions}), Ears())
        await transport.exchange(Request(1, "tools/list", {}), Ears())
    assert server.sent[0].headers["mcp-protocol-version"] == "2099-01-01"
    assert "mcp-protocol-version" not in server.sent[1].headers


# -- credentials ------------------------------------------------------------------------------


async def test_a_token_is_sent_as_bearer() -> None:
    assert (await sent_with(token="t0ken"))["authorization"] == "Bearer t0ken"


async def test_a_token_is_asked_for_before_each_request() -> None:
    tokens = iter(["first", "second"])
    seen: list[str] = []

    async def token() -> str:
        return next(tokens)

    def reply(received: Received) -> bytes:
        seen.append(received.headers["authorization"])
        return answer(success(received.id))

    async with connected(answering(reply), token=token) as (transport, server):
        await transport.exchange(request(), Ears())
        await transport.exchange(request(), Ears())
    assert seen == ["Bearer first", "Bearer second"]
    assert server.accepted == 1


async def test_a_user_in_the_address_is_sent_as_basic_credentials() -> None:
    received: list[Received] = []

    def reply(got: Received) -> bytes:
        received.append(got)
        return answer(success())

    async with serving(answering(reply)) as server:
        address = server.url.replace("http://", "http://me:p%40ss@")
        async with open_http(address) as transport:
            await transport.exchange(request(), Ears())
    expected = base64.b64encode(b"me:p@ss").decode()
    assert received[0].headers["authorization"] == f"Basic {expected}"
    assert received[0].headers["host"] == f"127.0.0.1:{server.port}"


async def test_cookies_are_not_kept() -> None:
    seen: list[Received] = []

    def reply(received: Received) -> bytes:
        seen.append(received)
        return answer(success(received.id), "Set-Cookie: session=1; Path=/")

    async with connected(answering(reply)) as (transport, _):
        await transport.exchange(request(), Ears())
        await transport.exchange(request(), Ears())
    assert "cookie" not in seen[1].headers


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await sent_with()).line == "POST /mcp?a=b HTTP/1.1"


# -- a client of the caller's -----------------------------------------------------------------


async def test_the_defaults_of_a_given_client_apply_beneath_those_of_the_protocol() -> None:
    defaults = {"X-Api-Key": "k", "Accept": "text/html", "User-Agent": "theirs", "X-Both": "1"}
    async with httpx2.AsyncClient(
        headers=defaults, cookies={"c": "1"}, auth=("me", "pass"), trust_env=False
    ) as client:
        received = await sent_with(client=client, headers={"x-both": "2"})
        assert not client.is_closed
    assert received.headers["x-api-key"] == "k"
    assert received.headers["accept"] == "application/json, text/event-stream"
    assert received.headers["accept-encoding"] == "identity"
    assert received.headers["user-agent"] == "theirs"
    assert received.headers["x-both"] == "2"
    assert received.headers["authorization"].startswith("Basic ")
    assert "cookie" not in received.headers


@pytest.mark.parametrize("asked", [True, False])
async def test_a_token_counts_before_the_default_of_a_given_client(asked: bool) -> None:
    async def ask() -> str:
        return "new"

    async with httpx2.AsyncClient(headers={"Authorization": "Bearer old"}) as client:
        received = await sent_with(client=client, token=ask if asked else "new")
    assert received["authorization"] == "Bearer new"
    assert [name.lower() for name in received.names].count("authorization") == 1


class ReadingAuth(httpx2.Auth):
    """Asks again where it is told to, and reads what it is told, as schemes do that refresh."""

    requires_response_body = True

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        answered = yield request
        if answered.status_code == 401:
            request.headers["Authorization"] = "Bearer " + answered.text
            yield request


@pytest.mark.parametrize("streamed", [True, False])
async def test_what_a_given_client_has_read_is_taken_all_the_same(streamed: bool) -> None:
    def reply(received: Received) -> bytes:
        if "authorization" not in received.headers:
            return answer(b"t0ken", status=401, kind="text/plain")
        said = success(received.id)
        return stream(event(progress(1)), event(said)) if streamed else answer(said)

    ears = Ears()
    async with (
        httpx2.AsyncClient(auth=ReadingAuth()) as client,
        connected(answering(reply), client=client) as (transport, server),
    ):
        for id in range(3):
            assert await transport.exchange(request(id), ears) == Success(id, {"value": "ok"})
        assert server.accepted == 1
    assert ears.steps == [1] * (3 if streamed else 0)


async def test_an_answer_that_a_given_client_has_read_concerns_no_other_on_its_connection() -> None:
    """Its connection serves the next request while the answer is still with a hook."""
    ids: list[str] = []
    second_begun = trio.Event()

    async def hook(response: httpx2.Response) -> None:
        await response.aread()
        ids.append(str(response.json()["id"]))
        if len(ids) == 1:
            await second_begun.wait()

    async def handler(peer: Peer) -> None:
        await peer.send(answer(success((await peer.request()).id)))
        whole = answer(success((await peer.request()).id))
        await peer.send(whole[:20])
        await wait_all_tasks_blocked(0.01)
        second_begun.set()
        await wait_all_tasks_blocked(0.01)
        await peer.send(whole[20:])
        await answering(answer(success("third")))(peer)

    async with (
        httpx2.AsyncClient(event_hooks={"response": [hook]}) as client,
        connected(handler, client=client) as (transport, server),
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(transport.exchange, request("first"), Ears())
        await wait_all_tasks_blocked(0.01)
        reply = await transport.exchange(request("second"), Ears())
        assert reply == Success("second", {"value": "ok"})
        await transport.exchange(request("third"), Ears())
        assert server.accepted == 1


# -- what cannot be sent ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "",
        "mcp",
        "/mcp",
        "ftp://host/mcp",
        "http://",
        "http:///mcp",
        "http://host:0x1/",
        "http://host:0/",
        "http://host:65536/",
        "http://host:99999999/",
        "http://" + "a" * 64 + ".example/",
        "http://a..b/",
        "http://host/\n",
        "http://user:secret-pass@word@:x/",
    ],
)
async def test_an_address_that_cannot_be_used_is_refused_without_being_quoted(address: str) -> None:
    with pytest.raises(UsageError, match="address of the server") as refused:
        async with open_http(address):
            pass
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert "secret-pass" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["Accept", "content-TYPE", "Mcp-Method", "Content-Length", "mcp-name", "MCP-Param-Region"],
)
async def test_headers_of_the_protocol_cannot_be_given(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        async with open_http("http://host/", headers={name: "x"}):
            pass


@pytest.mark.parametrize("name", ["", "a b", "a:b", "größe", "a\r\nb"])
async def test_a_header_with_an_impossible_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no name for a header"):
        async with open_http("http://host/", headers={name: "x"}):
            pass


@pytest.mark.parametrize("value", ["secret\r\nEvil: 1", "secret\x00", " secret", "secret-größe"])
async def test_a_header_with_an_impossible_value_is_refused_without_quoting_it(value: str) -> None:
    with pytest.raises(UsageError, match="X-Key") as refused:
        async with open_http("http://host/", headers={"X-Key": value}):
            pass
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("token", ["", "a b", "secret\r\nEvil: 1", "größe", "secret\n"])
async def test_a_token_that_is_none_is_refused_without_quoting_it(token: str) -> None:
    async def ask() -> str:
        return token

    with pytest.raises(UsageError, match="bearer token") as at_open:
        async with open_http("http://127.0.0.1:1/", token=token):
            pass
    async with open_http("http://127.0.0.1:1/", token=ask) as transport:
        with pytest.raises(UsageError, match="bearer token") as at_exchange:
            await transport.exchange(request(), Ears())
    assert "secret" not in f"{at_open.value}{at_exchange.value}"


async def test_credentials_given_twice_are_refused() -> None:
    twice: list[tuple[str, dict[str, str] | None, str | None]] = [
        ("http://me:pass@host/", None, "t"),
        ("http://host/", {"authorization": "Bearer x"}, "t"),
        ("http://me:pass@host/", {"Authorization": "Bearer x"}, None),
    ]
    for address, headers, token in twice:
        with pytest.raises(UsageError, match="given twice"):
            async with open_http(address, headers=headers, token=token):
                pass


@pytest.mark.parametrize("method", ["tools/call\r\nEvil: 1", "größe"])
async def test_a_method_that_no_header_can_carry_is_refused(method: str) -> None:
    async with open_http("http://127.0.0.1:1/") as transport:
        with pytest.raises(UsageError, match="Mcp-Method"):
            await transport.exchange(request(method=method), Ears())


async def test_a_closed_transport_says_so() -> None:
    async with open_http("http://127.0.0.1:1/mcp") as transport:
        assert transport.name == "http://127.0.0.1:1/mcp"
    with pytest.raises(UsageError, match="is closed"):
        await transport.exchange(request(), Ears())


async def test_any_result_comes_back_as_it_was_sent() -> None:
    async with connected(answering(answer(success("seven", {"n": 2**63})))) as (transport, _):
        reply = await transport.exchange(request("seven"), Ears())
    assert reply == Success("seven", {"value": {"n": 2**63}})
