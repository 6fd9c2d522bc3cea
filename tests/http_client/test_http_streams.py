"""Answers that stream: notifications first, the reply last, and everything that may go wrong."""

from __future__ import annotations

import logging

import httpx2
import pytest
import trio
from trio.testing import MockClock

from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Failure, Reply, Success
from antiphon.engine.limits import Limits
from antiphon.transports.http_answer import BadStatus
from tests.http_client.scripted import (
    STREAM_END,
    STREAM_HEAD,
    Ears,
    Peer,
    Played,
    answer,
    answering,
    chunk,
    connected,
    event,
    failure,
    played,
    progress,
    request,
    stream,
    success,
)

OK = Success(1, {"value": "ok"})


async def heard_and_replied(*chunks: bytes) -> tuple[list[object], Success | Failure]:
    ears = Ears()
    async with played(Played(chunks)) as transport:
        reply = await transport.exchange(request(), ears)
    return list(ears.steps), reply


# -- the good stream --------------------------------------------------------------------------


async def test_notifications_come_in_order_and_before_the_reply() -> None:
    order: list[object] = []
    async with connected(
        answering(stream(event(progress(1)), event(progress(2)), event(success())))
    ) as (transport, _):
        reply = await transport.exchange(
            request(), lambda notification: order.append(notification.params["progress"])
        )
        order.append(reply)
    assert order == [1, 2, OK]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
async def test_a_stream_is_read_alike_however_it_is_cut_and_ended(end: bytes) -> None:
    mark = "größe 名前"
    whole = (
        b"\xef\xbb\xbf: hello\n\ndata:\n\nevent: ping\ndata: x\n\n"
        + event(progress(1)).replace(b'"jsonrpc"', b'\ndata: "jsonrpc"')
        + event(success(1, mark))
    ).replace(b"\n", end)
    expected = ([1], Success(1, {"value": mark}))
    assert await heard_and_replied(whole) == expected
    for cut in range(1, len(whole)):
        assert await heard_and_replied(whole[:cut], whole[cut:]) == expected
    assert await heard_and_replied(*(whole[at : at + 1] for at in range(len(whole)))) == expected


async def test_a_stream_is_read_byte_by_byte_from_a_socket() -> None:
    async def dripping(peer: Peer) -> None:
        await peer.request()
        for byte in stream(event(progress(1)), event(success())):
            await peer.send(bytes([byte]))
        await peer.left()

    ears = Ears()
    async with connected(dripping) as (transport, _):
        assert await transport.exchange(request(), ears) == OK
    assert ears.steps == [1]


async def test_an_error_is_a_reply_on_a_stream_too() -> None:
    assert await heard_and_replied(event(failure())) == ([], Failure(1, -32603, "it went wrong"))


async def test_notifications_are_handed_on_while_the_stream_goes_on() -> None:
    heard = trio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD + chunk(event(progress(1))))
        await heard.wait()
        await peer.send(chunk(event(success())) + STREAM_END)

    async with connected(handler) as (transport, _):
        assert await transport.exchange(request(), lambda _: heard.set()) == OK


@pytest.mark.parametrize("kind", ["text/event-stream; charset=utf-8", "Text/Event-Stream"])
async def test_the_media_type_of_a_stream_is_read_without_case_and_parameters(kind: str) -> None:
    async with played(Played([event(success())], kind=kind)) as transport:
        assert await transport.exchange(request(), Ears()) == OK


# -- keep-alives and noise --------------------------------------------------------------------


async def test_keep_alives_of_any_kind_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    for noise in (b":\r\n", b": keep-alive\n\n", b"data:\n\n", b"event: ping\ndata: x\n\n"):
        assert await heard_and_replied(noise, event(success()), noise) == ([], OK)
    assert not caplog.records


async def test_data_that_is_no_message_is_ignored_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    noise = [event(data) for data in (b"ping", b"{}", b"[]", b"\xff", b"NaN", b"[" * 10_000)]
    assert await heard_and_replied(*noise, event(success())) == ([], OK)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "http://test/mcp" in caplog.text


async def test_a_request_on_the_stream_is_refused_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create\\n\\u001b[2J","params":{}}'
    assert await heard_and_replied(event(call), event(success())) == ([], OK)
    assert "elicitation/create [2J" in caplog.text
    assert len(caplog.records) == 1


async def test_an_error_in_the_listener_is_not_hidden_and_frees_the_connection() -> None:
    def deaf(_: object) -> None:
        raise RuntimeError("deaf")

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD + chunk(event(progress(1))))
        await peer.left()

    async with connected(handler) as (transport, server):
        with pytest.raises(RuntimeError, match="deaf"):
            await transport.exchange(request(), deaf)
        await server.all_left()


# -- the end ----------------------------------------------------------------------------------


async def test_what_follows_the_reply_is_not_read() -> None:
    ears = Ears()

    async def handler(peer: Peer) -> None:
        await peer.request()
        after = event(progress(9)) + event(success(1, "again"))
        await peer.send(STREAM_HEAD + chunk(event(success()) + after))
        await peer.left()

    async with connected(handler) as (transport, server):
        assert await transport.exchange(request(), ears) == OK
        await server.all_left()
    assert not ears.heard


async def test_a_reply_that_has_come_is_not_lost_to_a_cancellation() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD + chunk(event(progress(1)) + event(success())))
        await peer.left()

    async with connected(handler) as (transport, server):
        replies: list[Reply] = []
        with trio.CancelScope() as scope:
            replies.append(await transport.exchange(request(), lambda _: scope.cancel()))
            await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert replies == [OK]
        await server.all_left()


async def test_a_stream_that_floods_after_its_reply_is_left() -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD + chunk(event(success())))
        while True:
            await peer.send(chunk(b": flood\n\n" * 1000))

    async with connected(handler) as (transport, server):
        assert await transport.exchange(request(), Ears()) == OK
        await server.all_left()


async def test_a_stream_that_ends_with_its_reply_gives_its_connection_back() -> None:
    async def handler(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(STREAM_HEAD + chunk(event(success())))
            await peer.send(STREAM_END)

    async with connected(handler) as (transport, server):
        for _ in range(5):
            assert await transport.exchange(request(), Ears()) == OK
        assert server.accepted == 1


async def test_a_stream_cut_at_any_byte_is_lost_unless_the_reply_is_out() -> None:
    whole = stream(event(progress(1)), event(success()))
    complete = len(whole) - len(STREAM_END) - len(b"\r\n")
    cuts = iter(range(len(whole)))
    cut = 0

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(whole[:cut])

    async with connected(handler) as (transport, server):
        for cut in cuts:
            if cut >= complete:
                assert await transport.exchange(request(), Ears()) == OK
                continue
            with pytest.raises(TransportLost) as lost:
                await transport.exchange(request(), Ears())
            assert lost.value.sent
        assert server.accepted == len(whole)


async def test_a_stream_that_ends_without_a_reply_is_lost() -> None:
    for chunks in (
        [],
        [event(progress(1))],
        [b"data: " + success()],
        [b"data: " + success() + b"\n"],
    ):
        async with played(Played(chunks)) as transport:
            with pytest.raises(TransportLost, match="before the reply") as lost:
                await transport.exchange(request(), Ears())
            assert lost.value.sent


async def test_a_reply_that_cannot_be_read_is_told_when_no_other_comes() -> None:
    async with played(Played([event(success()[:-2])])) as transport:
        with pytest.raises(InvalidReply, match=r"without a reply.*Not strict JSON"):
            await transport.exchange(request(), Ears())


@pytest.mark.parametrize("other", [success(2), success("1"), failure(2), failure(None)])
async def test_a_reply_to_another_request_ends_the_stream(other: bytes) -> None:
    transport = Played([event(other), event(success())])
    async with played(transport) as opened:
        with pytest.raises(InvalidReply, match="HTTP 200"):
            await opened.exchange(request(), Ears())
    assert transport.bodies[0].closed


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_stream_with_an_error_status_is_not_waited_for(status: int) -> None:
    raw = answer(event(success()), status=status, kind="text/event-stream")
    async with connected(answering(raw)) as (transport, _):
        with pytest.raises(BadStatus) as caught:
            await transport.exchange(request(), Ears())
    assert caught.value.status == status


# -- sizes and times --------------------------------------------------------------------------


async def test_an_event_of_the_limit_passes_and_a_longer_one_does_not() -> None:
    size = len(success())
    async with played(Played([event(success())]), Limits(message_bytes=size)) as transport:
        assert await transport.exchange(request(), Ears()) == OK
    async with played(Played([event(success())]), Limits(message_bytes=size - 1)) as transport:
        with pytest.raises(InvalidReply, match="limit message_bytes"):
            await transport.exchange(request(), Ears())


async def test_a_stream_may_be_longer_than_the_limit() -> None:
    chunks = [event(progress(step)) for step in range(1000)]
    async with played(Played([*chunks, event(success())]), Limits(message_bytes=200)) as transport:
        ears = Ears()
        assert await transport.exchange(request(), ears) == OK
    assert len(ears.heard) == 1000


@pytest.fixture
def patient_clock() -> MockClock:
    """Jumps only when bytes have had time to cross the loopback device."""
    return MockClock(autojump_threshold=0.05)


@pytest.mark.parametrize("own", [True, False])
async def test_a_silent_stream_is_waited_for(patient_clock: MockClock, own: bool) -> None:
    day = 24 * 3600

    async def handler(peer: Peer) -> None:
        await peer.request()
        for piece in (STREAM_HEAD, chunk(b": still here\n\n"), chunk(event(success()))):
            await trio.sleep(day)
            await peer.send(piece)

    begun = trio.current_time()
    async with (
        httpx2.AsyncClient() as client,
        connected(handler, client=None if own else client, patience=float("inf")) as (transport, _),
    ):
        assert await transport.exchange(request(), Ears()) == OK
    assert 3 * day <= trio.current_time() - begun < 3 * day + 60


async def test_a_slow_drip_is_ended_by_the_scope_around_it(patient_clock: MockClock) -> None:
    async def dripping(peer: Peer) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD)
        while True:
            await trio.sleep(15)
            await peer.send(chunk(b":\n"))

    async with connected(dripping, patience=float("inf")) as (transport, server):
        with trio.move_on_after(60) as scope:
            await transport.exchange(request(), Ears())
        assert scope.cancelled_caught
        await server.all_left()
