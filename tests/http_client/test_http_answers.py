"""Answers with a single body: what counts as a reply, and what the others are told as."""

from __future__ import annotations

import gzip
import zlib
from email.utils import formatdate

import httpx2
import pytest

from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Failure, JsonValue, Reply, Success
from antiphon.engine.limits import Limits
from antiphon.transports.http_answer import BadStatus, seconds_to_wait
from antiphon.transports.http_client import open_http
from tests.http_client.scripted import (
    STREAM_END,
    STREAM_HEAD,
    Ears,
    Peer,
    answer,
    answering,
    chunk,
    connected,
    event,
    failure,
    progress,
    request,
    success,
)


async def outcome_of(raw: bytes, limits: Limits | None = None) -> Reply | InvalidReply:
    """What comes of an answer with these bytes, which never harms the next request."""
    async with connected(answering(raw, answer(success())), limits=limits) as (transport, _):
        outcome: Reply | InvalidReply
        try:
            outcome = await transport.exchange(request(), Ears())
        except InvalidReply as error:
            outcome = error
        assert await transport.exchange(request(), Ears()) == Success(1, {"value": "ok"})
    return outcome


async def reply_to(raw: bytes, *, limits: Limits | None = None) -> Reply:
    outcome = await outcome_of(raw, limits)
    assert isinstance(outcome, Success | Failure), outcome
    return outcome


async def refused(raw: bytes, *, limits: Limits | None = None) -> InvalidReply:
    outcome = await outcome_of(raw, limits)
    assert isinstance(outcome, InvalidReply), outcome
    return outcome


# -- replies ----------------------------------------------------------------------------------


async def test_a_json_body_with_the_id_of_the_request_is_the_reply() -> None:
    assert await reply_to(answer(success())) == Success(1, {"value": "ok"})


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
async def test_the_media_type_is_read_without_case_and_parameters(kind: str) -> None:
    assert isinstance(await reply_to(answer(success(), kind=kind)), Success)


async def test_a_body_in_chunks_is_the_reply_too() -> None:
    head = STREAM_HEAD.replace(b"text/event-stream", b"application/json")
    body = b"".join(chunk(success()[at : at + 1]) for at in range(len(success())))
    assert isinstance(await reply_to(head + body + STREAM_END), Success)


async def test_a_body_that_ends_with_the_connection_is_the_reply_too() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + success())

    async with connected(handler) as (transport, _):
        assert isinstance(await transport.exchange(request(), Ears()), Success)


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 409, 429, 500, 503])
async def test_a_json_rpc_error_is_a_reply_whatever_the_status(status: int) -> None:
    reply = await reply_to(answer(failure(1, -32601), status=status))
    assert isinstance(reply, Failure)
    assert (reply.id, reply.code, reply.message) == (1, -32601, "it went wrong")


async def test_a_result_is_a_reply_whatever_the_status() -> None:
    assert isinstance(await reply_to(answer(success(), status=500)), Success)


@pytest.mark.parametrize(
    "body", [failure(None, -32700), failure(None).replace(b'"id": null, ', b"")]
)
@pytest.mark.parametrize("status", [400, 404, 413])
async def test_an_error_without_id_is_the_reply_where_the_client_is_at_fault(
    body: bytes, status: int
) -> None:
    reply = await reply_to(answer(body, status=status))
    assert isinstance(reply, Failure)
    assert reply.id is None


@pytest.mark.parametrize("status", [200, 401, 403, 429, 500, 503])
async def test_an_error_without_id_is_no_reply_otherwise(status: int) -> None:
    error = await refused(answer(failure(None, -32603), status=status))
    assert f"HTTP {status}" in str(error)
    assert "-32603 it went wrong" in str(error)


# -- what is no reply -------------------------------------------------------------------------


@pytest.mark.parametrize("id", [2, "1", "", -1, 1.5, pytest.param("x" * 100000, id="long")])
async def test_a_reply_to_another_request_is_refused(id: JsonValue) -> None:
    error = await refused(answer(success(id)))
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"{}",
        b"[" + success() + b"]",
        success() + success(),
        success()[:-1],
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":[]}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"notifications/progress"}',
        b'{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}',
        b"\xff\xfe",
        b"[" * 100000,
    ],
)
@pytest.mark.parametrize("status", [200, 400])
async def test_json_that_is_no_reply_is_refused_with_its_status(body: bytes, status: int) -> None:
    error = await refused(answer(body, status=status))
    assert f"HTTP {status}" in str(error)
    assert len(str(error)) < 500
    assert isinstance(error, BadStatus) == (status >= 400)


async def test_a_request_that_is_sent_back_is_not_quoted() -> None:
    """It may hold the answers of a person."""

    async def echo(peer: Peer) -> None:
        received = await peer.request()
        await peer.send(answer(received.body, status=422, kind="text/plain"))

    async with connected(echo) as (transport, _):
        with pytest.raises(BadStatus) as caught:
            await transport.exchange(request(name="add", inputResponses="swordfish"), Ears())
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/problem+json", None])
async def test_another_media_type_is_refused_though_the_body_is_a_reply(kind: str | None) -> None:
    error = await refused(answer(success(), kind=kind))
    assert (kind or "no content type") in str(error)


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_an_answer_without_body_is_refused(status: int) -> None:
    bare = b"HTTP/1.1 %d Fine\r\n%b\r\n" % (
        status,
        b"" if status == 204 else b"Content-Length: 0\r\n",
    )
    assert f"HTTP {status}" in str(await refused(bare))
    assert "empty body" in str(await refused(answer(b"")))


# -- errors of HTTP ---------------------------------------------------------------------------


async def test_an_error_page_is_told_by_its_status_and_beginning() -> None:
    page = b"<html>\r\n<h1>Not \x1b[31mFound\x00</h1>" + b"." * 100_000
    error = await refused(answer(page, status=404, kind="text/html; charset=latin-1"))
    assert isinstance(error, BadStatus)
    assert error.status == 404
    assert "HTTP 404" in str(error)
    assert "check the address" in str(error)
    assert "<html> <h1>Not [31mFound </h1>..." in str(error)
    assert len(str(error)) < 450
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "token="),
        (403, "credentials"),
        (405, "POST"),
        (429, "too many"),
        (503, "cannot serve"),
    ],
)
async def test_common_refusals_say_what_to_do(status: int, advice: str) -> None:
    body = b'{"error":"invalid_token"}'
    error = await refused(answer(body, status=status))
    assert isinstance(error, BadStatus)
    assert error.status == status
    assert error.retry_after is None
    assert advice in str(error)
    assert "invalid_token" in str(error)


async def test_a_server_that_is_too_busy_may_say_for_how_long() -> None:
    error = await refused(answer(b"", "Retry-After: 7", status=503, kind=None))
    assert isinstance(error, BadStatus)
    assert error.retry_after == 7.0
    assert "7 s" in str(error)
    soon = formatdate(4102444800, usegmt=True)
    error = await refused(answer(b"x", f"Retry-After: {soon}", status=429, kind="text/plain"))
    assert isinstance(error, BadStatus)
    assert error.retry_after is not None
    assert error.retry_after > 3600


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW + 90), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        ("Tuesday, 14-Nov-23 22:14:50 GMT", 90.0),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("inf", None),
        ("nan", None),
        ("٣", None),
        pytest.param("9" * 5000, None, id="too-many-digits"),
        ("soon", None),
        ("7, 8", None),
        ("Wed, 99 Nov 2023 22:13:20 GMT", None),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert seconds_to_wait(header, NOW) == seconds


# -- redirects --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_but_told(status: int) -> None:
    target = "Location: https://you:secret-pass@other.example:8443/mcp?key=secret-key#secret-part"
    error = await refused(answer(b"", target, status=status))
    assert "redirect to https://other.example:8443/mcp, which is not followed" in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/elsewhere", "/elsewhere, which"),
        ("", "a redirect, which"),
        ("http://[::1", "a redirect, which"),
        ("http://host:x/", "a redirect, which"),
        ("mailto:me", "a redirect, which"),
        pytest.param("/" + "a" * 70000, "a redirect, which", id="too-long"),
        ("//other.example/x", "to http://other.example/x, which"),
    ],
)
async def test_a_redirect_may_lead_anywhere_or_nowhere(location: str, shown: str) -> None:
    error = await refused(answer(b"", f"Location: {location}", status=307))
    assert shown in str(error)
    assert len(str(error)) < 400


async def test_a_redirect_without_a_location_is_told_too() -> None:
    assert "HTTP 304" in str(await refused(b"HTTP/1.1 304 Not Modified\r\n\r\n"))


# -- codings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "br", "zstd", "deflate", "gzip, identity"])
async def test_a_coded_body_is_refused_by_name(coding: str) -> None:
    error = await refused(answer(gzip.compress(success()), f"Content-Encoding: {coding}"))
    assert coding in str(error)
    assert "identity" in str(error)


@pytest.mark.parametrize("coding", ["identity", "Identity", ""])
async def test_the_identity_coding_may_be_named(coding: str) -> None:
    assert isinstance(await reply_to(answer(success(), f"Content-Encoding: {coding}")), Success)


async def test_a_coded_stream_is_refused_before_it_is_read() -> None:
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + chunk(gzip.compress(event(success()))))
        await peer.left()

    async with connected(handler) as (transport, server):
        with pytest.raises(InvalidReply, match="gzip"):
            await transport.exchange(request(), Ears())
        await server.all_left()


async def test_a_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(b" " * 50_000_000 + success())
    await refused(answer(bomb, "Content-Encoding: deflate"), limits=Limits(message_bytes=1000))


# -- sizes ------------------------------------------------------------------------------------


async def test_a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    fits = Limits(message_bytes=len(success()))
    assert isinstance(await reply_to(answer(success()), limits=fits), Success)
    error = await refused(answer(success() + b" "), limits=fits)
    assert "limit message_bytes" in str(error)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
async def test_an_endless_body_is_given_up(kind: str) -> None:
    head = STREAM_HEAD.replace(b"text/event-stream", kind.encode())

    async def flood(peer: Peer) -> None:
        await peer.request()
        await peer.send(head)
        while True:
            await peer.send(chunk(b"data: " + b"x" * 10_000))

    async with connected(flood, limits=Limits(message_bytes=100_000)) as (transport, server):
        with pytest.raises(InvalidReply):
            await transport.exchange(request(), Ears())
        await server.all_left()


async def test_an_endless_head_is_given_up() -> None:
    async def flood(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await peer.send(b"X-Padding: " + b"x" * 10_000 + b"\r\n")

    async with connected(flood) as (transport, server):
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(), Ears())
        assert lost.value.sent
        assert len(str(lost.value)) < 400
        await server.all_left()


# -- with httpx2's own stand-in ---------------------------------------------------------------


async def test_a_mock_transport_of_httpx2_serves_as_a_server() -> None:
    def handle(post: httpx2.Request) -> httpx2.Response:
        if post.headers["mcp-method"] == "tools/list":
            return httpx2.Response(
                200, content=success(), headers={"Content-Type": "application/json"}
            )
        lines = event(progress(1)) + event(success())
        return httpx2.Response(200, content=lines, headers={"Content-Type": "text/event-stream"})

    ears = Ears()
    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(handle)) as client,
        open_http("http://test/mcp", client=client) as transport,
    ):
        assert isinstance(await transport.exchange(request(method="tools/list"), ears), Success)
        assert isinstance(await transport.exchange(request(), ears), Success)
    assert ears.steps == [1]
