"""Sessions: what their requests say, how they are lost, and how they end."""

from __future__ import annotations

import logging

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from antiphon import UsageError
from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.handshake_link import HandshakeLink, SessionLost, SpeaksOlder
from antiphon.engine.jsonrpc import Notification, Success
from antiphon.transports.http_answer import BadStatus
from antiphon.transports.http_client import open_http
from tests.http_client.scripted import answer, failure, stream, success
from tests.http_older.scripted import (
    ACCEPTED,
    SESSION,
    VERSION,
    Heard,
    attended,
    call,
    in_session,
    initialized,
    linked,
    numbered,
    serves,
    shake,
    silence,
    streaming,
)


async def test_headers_of_a_session() -> None:
    server = serves(tools_call=answer(success()), GET=streaming())
    async with in_session(server) as (link, heard):
        await link.exchange(call(), heard.notification, heard.request)
        await link.say(Success(7, {}))
        async with attended(link, heard):
            await server.until("GET")
        await link.end()
    first, *others = server.received
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert server.names[1:] == [
        "notifications/initialized", "tools/call", "answer", "GET", "DELETE"
    ]  # fmt: skip
    for received in others:
        assert received["mcp-session-id"] == SESSION
        assert received["mcp-protocol-version"] == VERSION
    for received in server.received:
        assert received["accept"] == "application/json, text/event-stream"
        assert received["accept-encoding"] == "identity"
        assert ("content-type" in received.headers) == received.line.startswith("POST")
        assert "mcp-method" not in received.headers


async def test_server_without_sessions() -> None:
    server = serves(initialize=initialized(session=None), tools_call=answer(success()))
    async with in_session(server) as (link, heard):
        reply = await link.exchange(call(), heard.notification, heard.request)
        await link.end()
    assert isinstance(reply, Success)
    assert server.names == ["initialize", "notifications/initialized", "tools/call"]
    for received in server.received:
        assert "mcp-session-id" not in received.headers


async def test_the_id_may_come_with_a_stream() -> None:
    head, body = stream(b"data: " + success(0) + b"\n\n").split(b"\r\n", 1)
    opening = head + b"\r\nMCP-SESSION-ID: " + SESSION.encode() + b"\r\n" + body
    server = serves(initialize=opening, tools_call=answer(success()))
    async with in_session(server) as (link, heard):
        await link.exchange(call(), heard.notification, heard.request)
    assert server.received[-1]["mcp-session-id"] == SESSION


async def test_an_id_that_is_no_visible_ascii_is_refused() -> None:
    server = serves(initialize=initialized("two words"))
    async with linked(server) as (link, raw):
        with pytest.raises(InvalidReply, match="not visible ASCII") as caught:
            await shake(link, Heard())
        await raw.all_left()
    assert "two words" not in str(caught.value)


async def test_a_refused_handshake_begins_no_session() -> None:
    refused = answer(failure(0, -32602), f"Mcp-Session-Id: {SESSION}", status=400)
    server = serves(initialize=[refused, initialized(session=None)], tools_call=answer(success()))
    async with linked(server) as (link, _):
        heard = Heard()
        await shake(link, heard)
        await shake(link, heard)
        await link.end()
    for received in server.received:
        assert "mcp-session-id" not in received.headers


# -- losing it --------------------------------------------------------------------------------

NOT_FOUND = answer(failure(1, -32001), status=404)


async def test_a_lost_session_is_told_from_every_other_error() -> None:
    server = serves(tools_call=NOT_FOUND, answer=answer(b"gone", status=404, kind="text/plain"))
    async with in_session(server) as (link, heard):
        with pytest.raises(SessionLost) as of_call:
            await link.exchange(call(), heard.notification, heard.request)
        with pytest.raises(SessionLost) as of_answer:
            await link.say(Success(1, {}))
    for caught in (of_call, of_answer):
        assert "does not know the session" in str(caught.value)
        assert SESSION not in repr(caught.value)


async def test_without_a_session_404_is_as_always() -> None:
    plain = answer(b"no such page", status=404, kind="text/plain")
    server = serves(initialize=initialized(session=None), tools_call=plain, answer=plain)
    async with in_session(server) as (link, heard):
        with pytest.raises(BadStatus) as of_call:
            await link.exchange(call(), heard.notification, heard.request)
        with pytest.raises(BadStatus) as of_answer:
            await link.say(Success(1, {}))
    assert [of_call.value.status, of_answer.value.status] == [404, 404]


async def test_another_handshake_begins_another_session() -> None:
    server = serves(
        initialize=[initialized("first-one"), initialized("other-one")],
        tools_call=[NOT_FOUND, answer(success())],
        GET=streaming(numbered("1")),
    )
    async with linked(server) as (link, _):
        heard = Heard()
        async with attended(link, heard):
            await shake(link, heard)
            with pytest.raises(SessionLost):
                await link.exchange(call(), heard.notification, heard.request)
            await shake(link, heard)
            await link.exchange(call(), heard.notification, heard.request)
            await server.until("GET", 2)
    assert ["mcp-session-id" in r.headers for r in server.of("initialize")] == [False, False]
    assert ["mcp-protocol-version" in r.headers for r in server.of("initialize")] == [False] * 2
    assert [r["mcp-session-id"] for r in server.of("tools/call")] == ["first-one", "other-one"]
    # The stream of the lost session is left, and its cursor with it.
    assert [r["mcp-session-id"] for r in server.of("GET")] == ["first-one", "other-one"]
    assert "last-event-id" not in server.of("GET")[1].headers


# -- ending it --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 204, 404, 405, 500])
async def test_whatever_is_answered_to_the_end(status: int) -> None:
    server = serves(DELETE=answer(status=status))
    async with in_session(server) as (link, _):
        await link.end()
        await link.end()
    assert server.names[2:] == ["DELETE"]


async def test_the_end_waits_for_a_second_at_most(patient_clock: MockClock) -> None:
    async with in_session(serves(DELETE=silence)) as (link, _):
        began = trio.current_time()
        await link.end()
        assert trio.current_time() - began == pytest.approx(1.0)


async def test_the_end_of_a_session_whose_server_is_gone() -> None:
    transport = open_http("http://127.0.0.1:1/mcp")
    async with transport as opened:
        link = opened.older()
        await link.end()


async def test_the_end_runs_where_all_is_cancelled() -> None:
    server = serves()
    async with in_session(server) as (link, _):
        with trio.CancelScope() as scope:
            scope.cancel()
            await link.end()
    assert server.names[-1] == "DELETE"


async def test_the_end_raises_nothing_of_a_token_either() -> None:
    tokens = ["one", "two"]

    async def token() -> str:
        return tokens.pop(0)  # IndexError in the end

    async with in_session(serves(), token=token) as (link, _):
        await link.end()
    assert not tokens


# -- credentials and secrets ------------------------------------------------------------------


async def test_each_request_asks_for_a_token() -> None:
    number = 0

    async def token() -> str:
        nonlocal number
        number += 1
        return f"token-{number}"

    server = serves(tools_call=answer(success()), GET=streaming())
    async with in_session(server, token=token) as (link, heard):
        await link.exchange(call(), heard.notification, heard.request)
        async with attended(link, heard):
            await server.until("GET")
        await link.end()
    sent = [received["authorization"] for received in server.received]
    assert sent == [f"Bearer token-{n}" for n in range(1, 6)]


async def test_the_session_is_told_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = answer(f"no session {SESSION} here".encode(), status=400, kind="text/plain")
    server = serves(tools_call=echo, answer=echo, GET=echo)
    texts: list[str] = []
    async with in_session(server) as (link, heard):
        texts.append(repr(link))
        async with attended(link, heard):
            await server.until("GET")
            await wait_all_tasks_blocked(0.05)
        for send in (
            lambda: link.exchange(call(), heard.notification, heard.request),
            lambda: link.say(Success(1, {})),
        ):
            with pytest.raises(BadStatus, match=r"no session \*\*\* here") as caught:
                await send()
            texts += [str(caught.value), repr(caught.value)]
        await link.end()
    assert "gives no stream" in caplog.text
    assert SESSION not in "".join([*texts, caplog.text])


@pytest.mark.parametrize("name", ["Mcp-Session-Id", "last-event-id"])
async def test_headers_of_a_session_are_not_the_callers(name: str) -> None:
    with pytest.raises(UsageError, match="set by the transport"):
        async with open_http("http://localhost/mcp", headers={name: "mine"}):
            pass


# -- the seam ---------------------------------------------------------------------------------


async def test_transport_offers_links() -> None:
    async with open_http("http://localhost/mcp") as transport:
        assert isinstance(transport, SpeaksOlder)
        assert not transport.probes
        link: HandshakeLink = transport.older()
        assert link.name == "http://localhost/mcp"
        assert transport.older() is not link


async def test_nothing_is_sent_when_the_transport_is_closed() -> None:
    async with open_http("http://localhost:1/mcp") as transport:
        link = transport.older()
    with pytest.raises(UsageError, match="closed"):
        await link.exchange(call(), Heard().notification, Heard().request)
    with pytest.raises(UsageError, match="closed"):
        await link.say(Notification("notifications/initialized", {}))
    await link.end()


async def test_a_server_that_is_not_there() -> None:
    async with open_http("http://127.0.0.1:1/mcp") as transport:
        link = transport.older()
        with pytest.raises(TransportLost) as caught:
            await link.exchange(call(), Heard().notification, Heard().request)
        assert not caught.value.sent
        with pytest.raises(TransportLost):
            await link.say(Success(1, {}))


@pytest.mark.parametrize("accepted", [ACCEPTED, answer(status=204, kind=None), answer(b"{}")])
async def test_any_success_accepts_a_message(accepted: bytes) -> None:
    async with in_session(serves(answer=accepted)) as (link, _):
        await link.say(Success(1, {}))


@pytest.mark.parametrize("status", [302, 400, 401, 500])
async def test_a_message_may_be_refused(status: int) -> None:
    refusal = answer(failure(None), "Location: /there", status=status)
    async with in_session(serves(answer=refusal)) as (link, _):
        with pytest.raises(InvalidReply, match=f"HTTP {status}"):
            await link.say(Success(1, {}))
