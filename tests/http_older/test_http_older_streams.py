"""Answers to calls: what comes beside a reply, streams that break off, and calls that are left."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.handshake_link import SessionLost
from antiphon.engine.jsonrpc import Reply, Success
from antiphon.engine.limits import Limits
from antiphon.transports.http_answer import BadStatus
from antiphon.transports.http_older import OlderHttp
from tests.http_client.scripted import (
    STREAM_HEAD,
    Peer,
    Received,
    answer,
    chunk,
    event,
    failure,
    progress,
    stream,
    success,
)
from tests.http_older.scripted import (
    ACCEPTED,
    SESSION,
    Heard,
    Play,
    asked,
    breaking,
    call,
    in_session,
    numbered,
    serves,
    streaming,
    told,
)


def batch(*messages: bytes) -> bytes:
    return b"[" + b",".join(messages) + b"]"


async def one_call(link: OlderHttp, heard: Heard, id: int | str = 1) -> Reply:
    return await link.exchange(call(id), heard.notification, heard.request)


async def test_what_comes_before_a_reply_is_heard_in_order() -> None:
    events = [progress(1), asked("q1"), told(), asked("q2", "roots/list")]
    plays: list[Play] = [stream(*map(event, [*events, success()])), answer(success(2))]
    async with in_session(serves(tools_call=plays)) as (link, heard):
        assert await one_call(link, heard) == Success(1, {"value": "ok"})
        assert await one_call(link, heard, 2) == Success(2, {"value": "ok"})
    assert heard.names == [
        "notifications/progress", "elicitation/create", "notifications/message", "roots/list"
    ]  # fmt: skip
    assert [request.id for request in heard.requests] == ["q1", "q2"]


async def test_answers_reach_the_server_while_the_call_is_open() -> None:
    answered = trio.Event()

    async def asking(peer: Peer, received: Received) -> None:
        del received
        await peer.send(STREAM_HEAD + chunk(event(asked("q"))))
        await answered.wait()
        await peer.send(chunk(event(success())))

    async def take(peer: Peer, received: Received) -> None:
        assert json.loads(received.body) == {
            "jsonrpc": "2.0", "id": "q", "result": {"action": "accept"}
        }  # fmt: skip
        await peer.send(ACCEPTED)
        answered.set()

    server = serves(tools_call=asking, answer=take)
    async with in_session(server) as (link, heard), trio.open_nursery() as nursery:
        nursery.start_soon(one_call, link, heard)
        await heard.until(1)
        await link.say(Success("q", {"action": "accept"}))


async def test_servers_of_2025_03_26_may_send_several_messages_as_one() -> None:
    body = stream(event(batch(told(), asked("q"))), event(batch(progress(1), success())))
    async with in_session(serves(tools_call=body)) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)
    assert heard.names == ["notifications/message", "elicitation/create", "notifications/progress"]


async def test_data_that_is_no_message_is_passed_over() -> None:
    body = stream(event(b"ping"), event(b"[1]"), event(b'{"jsonrpc": "2.0"}'), event(success()))
    async with in_session(serves(tools_call=body)) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)


@pytest.mark.parametrize("where", ["body", "stream", "batch"])
async def test_a_reply_to_another_request_is_none(where: str) -> None:
    other = success(2)
    bodies = {
        "body": answer(other),
        "stream": stream(event(other)),
        "batch": stream(event(batch(other))),
    }
    async with in_session(serves(tools_call=bodies[where])) as (link, heard):
        with pytest.raises(InvalidReply, match="reply to request 2, not to 1"):
            await one_call(link, heard)


@pytest.mark.parametrize("id", ["", "e1"])
async def test_an_event_beyond_the_limit_ends_the_call(id: str) -> None:
    play = streaming(numbered("e0"), numbered(id, b"x" * 2000))
    async with in_session(serves(tools_call=play), limits=Limits(message_bytes=1000)) as opened:
        link, heard = opened
        with pytest.raises(InvalidReply, match="message_bytes"):
            await one_call(link, heard)


# -- streams that break off -------------------------------------------------------------------


@pytest.mark.parametrize("broken", [stream(event(progress(1))), breaking(event(progress(1)))])
async def test_without_ids_a_stream_is_lost(broken: Play) -> None:
    server = serves(tools_call=broken)
    async with in_session(server) as (link, heard):
        with pytest.raises(TransportLost) as caught:
            await one_call(link, heard)
    assert caught.value.sent
    assert "GET" not in server.names


@pytest.mark.parametrize("how", [stream, breaking])
async def test_a_stream_is_taken_up_again_when_its_server_says(
    patient_clock: MockClock, how: Callable[..., Play]
) -> None:
    server = serves(
        tools_call=how(numbered("e1", retry=500), numbered("e2", progress(1))),
        GET=stream(numbered("e3", asked("q")), numbered("e4", success())),
    )
    async with in_session(server) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)
    (get,) = server.of("GET")
    assert get["last-event-id"] == "e2"
    assert get["mcp-session-id"] == SESSION
    assert "text/event-stream" in get["accept"]
    assert heard.names == ["notifications/progress", "elicitation/create"]
    (post_time,), (get_time,) = server.times_of("tools/call"), server.times_of("GET")
    assert get_time - post_time == pytest.approx(0.5, abs=0.2)


async def test_a_handshake_is_taken_up_again_in_its_session(patient_clock: MockClock) -> None:
    head, body = stream(numbered("e0", retry=10)).split(b"\r\n", 1)
    opening = head + b"\r\nMcp-Session-Id: " + SESSION.encode() + b"\r\n" + body
    server = serves(initialize=opening, GET=stream(numbered("e1", success(0))))
    async with in_session(server):
        pass
    (get,) = server.of("GET")
    assert get["mcp-session-id"] == SESSION
    assert "mcp-protocol-version" not in get.headers


async def test_a_cut_event_is_asked_for_again(patient_clock: MockClock) -> None:
    cut = numbered("e2", success())[:-1]
    server = serves(tools_call=breaking(numbered("e1"), cut), GET=stream(numbered("e2", success())))
    async with in_session(server) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)
    assert server.of("GET")[0]["last-event-id"] == "e1"


async def test_a_server_that_polls_is_followed_for_long(patient_clock: MockClock) -> None:
    # Each stream brings one event and ends.
    steps: list[Play] = [stream(numbered(f"e{n}", progress(n), retry=2000)) for n in range(1, 31)]
    server = serves(tools_call=stream(numbered("e0")), GET=[*steps, stream(event(success()))])
    async with in_session(server) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)
    assert len(heard.notifications) == 30
    assert [get["last-event-id"] for get in server.of("GET")] == [f"e{n}" for n in range(31)]
    times = server.times_of("GET")
    for sooner, later in pairwise(times[1:]):
        assert later - sooner == pytest.approx(2.0, abs=0.3)


async def test_a_server_that_gives_nothing_more_is_given_up(patient_clock: MockClock) -> None:
    server = serves(tools_call=stream(numbered("e0", retry=10)), GET=stream(b": nothing\n\n"))
    async with in_session(server) as (link, heard):
        with pytest.raises(TransportLost, match="does not give the rest") as caught:
            await one_call(link, heard)
    assert caught.value.sent
    assert 10 < len(server.of("GET")) <= 20


async def test_a_stream_that_stands_for_a_while_counts_anew(patient_clock: MockClock) -> None:
    async def slow(peer: Peer, received: Received) -> None:
        del received
        await peer.send(STREAM_HEAD)
        await trio.sleep(30)
        raise EOFError

    server = serves(
        tools_call=stream(numbered("e0", retry=10)), GET=[*[slow] * 22, stream(event(success()))]
    )
    async with in_session(server) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)


async def test_no_server_is_asked_in_a_hurry(patient_clock: MockClock) -> None:
    plays: list[Play] = [stream(numbered(f"e{n}", retry=0)) for n in range(20)]
    server = serves(tools_call=plays[0], GET=[*plays[1:], stream(event(success()))])
    async with in_session(server) as (link, heard):
        began = trio.current_time()
        await one_call(link, heard)
        assert trio.current_time() - began >= 20 * 0.1


@pytest.mark.parametrize("retry", [301_000, 10**40])
async def test_a_server_that_wants_too_long_a_wait_is_given_up(
    patient_clock: MockClock, retry: int
) -> None:
    server = serves(tools_call=stream(numbered("e0", retry=retry)))
    async with in_session(server) as (link, heard):
        with pytest.raises(TransportLost, match="does not give the rest"):
            await one_call(link, heard)
    assert "GET" not in server.names


@pytest.mark.parametrize("id", ["", "\t", "\x01", "a\x7f", "x" * 1025])
async def test_an_id_that_fits_no_header_is_none(id: str) -> None:
    async with in_session(serves(tools_call=stream(numbered(id)))) as (link, heard):
        with pytest.raises(TransportLost, match="ended the stream"):
            await one_call(link, heard)


@pytest.mark.parametrize("id", ["größe 名前", "x" * 1024, "a b\x80c"])
async def test_any_other_id_is_sent_back(patient_clock: MockClock, id: str) -> None:
    server = serves(tools_call=stream(numbered(id)), GET=stream(event(success())))
    async with in_session(server) as (link, heard):
        await one_call(link, heard)
    assert server.of("GET")[0]["last-event-id"].encode("latin-1").decode() == id


@pytest.mark.parametrize("status", [400, 405, 501])
async def test_where_nothing_is_taken_up_the_call_is_lost(
    patient_clock: MockClock, status: int
) -> None:
    # An error without an id answers the GET, and not the call.
    refusal = answer(failure(None), status=status)
    server = serves(tools_call=stream(numbered("e0")), GET=refusal)
    async with in_session(server) as (link, heard):
        with pytest.raises(TransportLost, match="does not give the rest") as caught:
            await one_call(link, heard)
    assert caught.value.sent
    assert len(server.of("GET")) == (1 if status < 500 else 19)


async def test_the_session_may_be_lost_meanwhile(patient_clock: MockClock) -> None:
    gone = answer(failure(None), status=404)
    server = serves(tools_call=stream(numbered("e0")), GET=gone)
    async with in_session(server) as (link, heard):
        with pytest.raises(SessionLost):
            await one_call(link, heard)
    assert len(server.of("GET")) == 1


async def test_a_server_that_is_busy_is_asked_again(patient_clock: MockClock) -> None:
    server = serves(
        tools_call=stream(numbered("e0", retry=10)),
        GET=[
            answer(status=409),
            answer(b"", "Retry-After: 7", status=503),
            breaking(),
            stream(event(success())),
        ],
    )
    async with in_session(server) as (link, heard):
        assert isinstance(await one_call(link, heard), Success)
    times = server.times_of("GET")
    assert times[2] - times[1] >= 7


async def test_what_comes_instead_of_the_reply_ends_the_call(patient_clock: MockClock) -> None:
    server = serves(tools_call=stream(numbered("e0")), GET=stream(event(success(2))))
    async with in_session(server) as (link, heard):
        with pytest.raises(InvalidReply, match="not to 1"):
            await one_call(link, heard)


async def test_a_refused_call_is_no_broken_stream() -> None:
    refusal = answer(b"no", status=500, kind="text/plain")
    async with in_session(serves(tools_call=refusal)) as (link, heard):
        with pytest.raises(BadStatus) as caught:
            await one_call(link, heard)
    assert caught.value.status == 500
