"""Connections: made, shared, lost, and closed when an exchange is cancelled."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Reply, Success
from antiphon.transports.http_answer import BadStatus
from antiphon.transports.http_client import HttpTransport, open_http
from tests.http_client.scripted import (
    STREAM_HEAD,
    Ears,
    Peer,
    answer,
    answering,
    chunk,
    connected,
    echoing_id,
    event,
    progress,
    request,
    serving,
    stream,
    success,
)

OK = Success(1, {"value": "ok"})


# -- sharing ----------------------------------------------------------------------------------


async def test_one_connection_serves_requests_that_follow_each_other() -> None:
    kinds = answer(success()), stream(event(success())), answer(success(), status=404)
    async with connected(answering(*kinds * 5)) as (transport, server):
        for _ in range(15):
            assert await transport.exchange(request(), Ears()) == OK
        assert server.accepted == 1
    await server.all_left()


async def test_no_connection_is_made_before_it_is_needed() -> None:
    async with connected(answering(echoing_id)) as (_, server):
        await wait_all_tasks_blocked()
        assert server.accepted == 0


async def test_concurrent_exchanges_get_each_its_own_reply_and_notifications() -> None:
    started = 0
    all_started = trio.Event()

    async def handler(peer: Peer) -> None:
        nonlocal started
        while True:
            received = await peer.request()
            started += 1
            if started == 20:
                all_started.set()
            await all_started.wait()
            assert isinstance(received.id, int)
            await peer.send(stream(event(progress(received.id)), event(success(received.id))))

    replies: dict[int, tuple[list[object], Reply]] = {}

    async def exchange(transport: HttpTransport, id: int) -> None:
        ears = Ears()
        reply = await transport.exchange(request(id), ears)
        replies[id] = (list(ears.steps), reply)

    async with connected(handler) as (transport, server):
        async with trio.open_nursery() as nursery:
            for id in range(20):
                nursery.start_soon(exchange, transport, id)
        assert server.accepted == 20
    assert replies == {id: ([id], Success(id, {"value": "ok"})) for id in range(20)}


async def test_more_exchanges_than_connections_wait_their_turn() -> None:
    async with connected(answering(echoing_id)) as (transport, server):
        async with trio.open_nursery() as nursery:
            for id in range(300):
                nursery.start_soon(transport.exchange, request(id), Ears())
        assert server.accepted <= 100


async def test_a_connection_that_the_server_closed_while_idle_is_not_used_again() -> None:
    closed = trio.Event()

    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(success()))
        await peer.stream.aclose()
        closed.set()

    async with connected(handler) as (transport, server):
        for _ in range(3):
            assert await transport.exchange(request(), Ears()) == OK
            await closed.wait()
            await wait_all_tasks_blocked(0.01)
        assert server.accepted == 3


async def test_a_connection_is_left_before_common_servers_close_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They wait for 5 s; a request on a connection that is just being closed would be lost."""
    now = time.monotonic()
    async with connected(answering(echoing_id)) as (transport, server):
        for idle, connections in ((0, 1), (3.5, 1), (4.5, 2)):
            now += idle
            monkeypatch.setattr(time, "monotonic", lambda at=now: at)
            await transport.exchange(request(), Ears())
            assert server.accepted == connections


# -- lost -------------------------------------------------------------------------------------


async def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    async with serving(answering(b"")) as server:
        port = server.port
    async with open_http(f"http://127.0.0.1:{port}/mcp") as transport:
        with pytest.raises(TransportLost, match=f"http://127.0.0.1:{port}/mcp") as lost:
            await transport.exchange(request(), Ears())
    assert not lost.value.sent
    assert lost.value.detail == "Connection refused"


async def test_a_host_that_has_no_address_was_sent_nothing() -> None:
    async with open_http("http://host.invalid/mcp") as transport:
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(), Ears())
    assert not lost.value.sent
    assert lost.value.detail
    assert "Errno" not in lost.value.detail


async def test_a_server_that_speaks_no_tls_was_sent_nothing() -> None:
    async def plain(peer: Peer) -> None:
        await peer.send(answer(b"", status=400))
        await peer.left()

    async with (
        serving(plain) as server,
        open_http(server.url.replace("http:", "https:")) as transport,
    ):
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(), Ears())
        await server.all_left()
    assert not lost.value.sent
    assert lost.value.detail.startswith("TLS failed: ")
    assert "_" not in lost.value.detail


async def test_a_server_that_never_shakes_hands_was_sent_nothing() -> None:
    async with (
        serving(Peer.left) as server,
        open_http(server.url.replace("http:", "https:"), connect_timeout=0.05) as transport,
    ):
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(), Ears())
        await server.all_left()
    assert not lost.value.sent
    assert lost.value.detail == "It did not come about within connect_timeout, 0.05 s"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        answer(success())[:-1],
        answer(success()).replace(b"\r\nContent-Length", b"\r\nTransfer-Encoding: chunked\r\nX"),
        STREAM_HEAD,
        STREAM_HEAD + b"zz\r\n",
        STREAM_HEAD + chunk(event(progress(1))),
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    ],
)
async def test_a_request_may_have_arrived_once_it_was_written(said: bytes) -> None:
    async def handler(peer: Peer) -> None:
        await peer.request()
        await peer.send(said)

    async with connected(handler) as (transport, server):
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(), Ears())
        assert lost.value.sent
        assert transport.name in str(lost.value)
        assert len(str(lost.value)) < 400
        await server.all_left()
        assert server.accepted == 1, "nothing may be tried twice here"


async def test_a_server_that_leaves_while_a_request_is_written_may_have_it() -> None:
    async def handler(peer: Peer) -> None:
        await peer.stream.receive_some(1)
        peer.stream.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, bytes(8))

    async with connected(handler) as (transport, _):
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(padding="x" * 10_000_000), Ears())
    assert lost.value.sent


async def test_a_server_that_answers_before_it_has_read_all_is_understood() -> None:
    async def handler(peer: Peer) -> None:
        await peer.stream.receive_some(1)
        await peer.send(answer(b"too large", "Connection: close", status=413, kind="text/plain"))
        await peer.stream.send_eof()
        await peer.left()

    async with connected(handler) as (transport, _):
        with pytest.raises(BadStatus, match=r"HTTP 413.*too large"):
            await transport.exchange(request(padding="x" * 10_000_000), Ears())


async def test_closing_the_transport_ends_what_is_under_way() -> None:
    outcome: list[BaseException] = []

    async def exchange(transport: HttpTransport) -> None:
        try:
            await transport.exchange(request(), Ears())
        except TransportLost as error:
            outcome.append(error)

    async def silent(peer: Peer) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD)
        await peer.left()

    async with serving(silent) as server, trio.open_nursery() as nursery:
        async with open_http(server.url) as transport:
            nursery.start_soon(exchange, transport)
            await wait_all_tasks_blocked(0.01)
        await server.all_left()
    assert isinstance(outcome[0], TransportLost)
    assert outcome[0].sent


async def test_closing_the_transport_ends_what_still_waits_for_a_connection() -> None:
    """It must not be sent when the ends of others leave it one."""
    outcomes: list[TransportLost] = []

    async def exchange(transport: HttpTransport, id: int) -> None:
        with pytest.raises(TransportLost) as lost:
            await transport.exchange(request(id), Ears())
        outcomes.append(lost.value)

    async def silent(peer: Peer) -> None:
        await peer.request()
        await peer.left()

    async with serving(silent) as server, trio.open_nursery() as nursery:
        async with open_http(server.url) as transport:
            for id in range(105):
                nursery.start_soon(exchange, transport, id)
            while server.open < 100:
                await wait_all_tasks_blocked(0.01)
        await server.all_left()
        await wait_all_tasks_blocked(0.01)
        assert server.accepted == 100
        assert len(outcomes) == 105
    assert "was closed" in str(outcomes[0])


async def test_a_peer_that_vanishes_is_noticed_by_probes_of_tcp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    streams: list[trio.SocketStream] = []

    async def recorded(*args: Any, **options: Any) -> trio.SocketStream:
        streams.append(await open_tcp_stream(*args, **options))
        return streams[-1]

    open_tcp_stream = trio.open_tcp_stream
    monkeypatch.setattr(trio, "open_tcp_stream", recorded)
    async with connected(answering(echoing_id)) as (transport, _):
        await transport.exchange(request(), Ears())
        (opened,) = streams
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
