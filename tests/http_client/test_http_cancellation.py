"""Exchanges that are cancelled, at any await or stage: nothing is left, and all goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Success
from antiphon.transports.http_client import HttpTransport, open_http
from tests.http_client.scripted import (
    CERTIFICATE,
    STREAM_HEAD,
    Ears,
    Handler,
    Peer,
    RawServer,
    Received,
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
from tests.stdio.harness import cancelled_at, descriptors


def _reply(received: Received) -> bytes:
    said = success(received.id)
    return stream(event(progress(1)), event(said)) if received.id == "stream" else answer(said)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate of the tests is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))


@asynccontextmanager
async def fresh(server: RawServer) -> AsyncGenerator[HttpTransport]:
    """A transport without a connection; when it is closed, so are its own."""
    async with open_http(server.url) as transport:
        yield transport
    await server.all_left()
    await wait_all_tasks_blocked()  # its tasks have ended too


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kind", ["body", "stream"])
@pytest.mark.parametrize("tls", [False, True])
async def test_cancelling_at_any_await_closes_the_connection(
    tls: bool, kind: str, late: bool
) -> None:
    async with serving(answering(_reply), tls=tls) as server:
        await wait_all_tasks_blocked()  # it listens
        tasks = trio.lowlevel.current_statistics().tasks_living
        before = descriptors()
        for step in range(1, 100):
            async with fresh(server) as transport:
                over = await cancelled_at(
                    step, partial(transport.exchange, request(kind), Ears()), late=late
                )
                if not over:
                    await server.all_left()
                accepted = server.accepted
                assert await transport.exchange(request(2), Ears()) == Success(2, {"value": "ok"})
                assert server.accepted == accepted + (not over), "the pool kept what is of no use"
            assert trio.lowlevel.current_statistics().tasks_living == tasks
            assert descriptors() == before
            if over:
                break
        else:
            pytest.fail("the exchange never came to its end")
    assert step > 5


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("tls", [False, True])
async def test_cancelling_at_any_await_on_a_used_connection_leaves_none_half_used(
    tls: bool, late: bool
) -> None:
    async with serving(answering(_reply), tls=tls) as server, fresh(server) as transport:
        for step in range(1, 100):
            await transport.exchange(request("first"), Ears())
            assert server.open == 1
            over = await cancelled_at(
                step, partial(transport.exchange, request("second"), Ears()), late=late
            )
            reply = await transport.exchange(request("third"), Ears())
            assert reply == Success("third", {"value": "ok"})
            while server.open > 1:
                await server.someone_leaves()
            if over:
                break
        else:
            pytest.fail("the exchange never came to its end")
    assert step > 2


async def test_a_certificate_that_nobody_trusts_ends_the_handshake() -> None:
    async with serving(answering(_reply), tls=True) as server, fresh(server) as transport:
        with pytest.raises(
            TransportLost, match="Its certificate is not valid: self-signed certificate"
        ) as lost:
            await transport.exchange(request(), Ears())
        assert not lost.value.sent


# -- at a stage of the answer ------------------------------------------------------------------


def silent_after(said: bytes, reached: trio.Event) -> Handler:
    """Serve the first request only so far, and every later one."""
    first = True

    async def handler(peer: Peer) -> None:
        nonlocal first
        if not first:
            await answering(echoing_id)(peer)
        first = False
        await peer.request()
        await peer.send(said)
        reached.set()
        await peer.left()

    return handler


STAGES = {
    "before the head": b"",
    "within the head": STREAM_HEAD[:30],
    "before the body": answer(success())[: -len(success())],
    "within the body": answer(success())[:-5],
    "before the first event": STREAM_HEAD,
    "within an event": STREAM_HEAD + chunk(event(success())[:-5]),
    "between events": STREAM_HEAD + chunk(event(progress(1))),
    "within an error page": answer(b"<p>" * 10, status=500, kind="text/html")[:-1],
}


@pytest.mark.parametrize("stage", STAGES)
async def test_cancelling_closes_the_connection_and_no_other(stage: str) -> None:
    reached = trio.Event()
    async with connected(silent_after(STAGES[stage], reached)) as (transport, server):
        await cancelled_when(reached, transport)
        await server.all_left()
        assert await transport.exchange(request(2), Ears()) == Success(2, {"value": "ok"})
        assert server.accepted == 2
        assert server.open == 1
    await server.all_left()


async def cancelled_when(reached: trio.Event, transport: HttpTransport) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.exchange, request(), Ears())
        await reached.wait()
        await wait_all_tasks_blocked(0.005)
        nursery.cancel_scope.cancel()


async def test_cancelling_while_tls_is_set_up_closes_the_connection() -> None:
    reached = trio.Event()

    async def silent(peer: Peer) -> None:
        await peer.stream.receive_some()
        reached.set()
        await peer.left()

    async with (
        serving(silent) as server,
        open_http(server.url.replace("http:", "https:")) as transport,
    ):
        await cancelled_when(reached, transport)
        await server.all_left()


async def test_cancelling_while_a_large_request_is_written_closes_the_connection() -> None:
    reached = trio.Event()

    async def not_reading(peer: Peer) -> None:
        await peer.stream.receive_some(1)
        reached.set()
        await trio.sleep_forever()

    async with connected(not_reading) as (transport, _), trio.open_nursery() as nursery:
        nursery.start_soon(transport.exchange, request(padding="x" * 20_000_000), Ears())
        await reached.wait()
        await wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()


async def test_an_exchange_that_is_cancelled_from_the_start_sends_nothing() -> None:
    async with connected(answering(echoing_id)) as (transport, server):
        with trio.CancelScope() as scope:
            scope.cancel()
            await transport.exchange(request(), Ears())
        assert scope.cancelled_caught
        assert server.accepted == 0


async def test_cancelled_exchanges_leave_no_slot_of_the_pool_taken() -> None:
    async def handler(peer: Peer) -> None:
        received = await peer.request()
        if received.id == "last":
            await peer.send(answer(success("last")))
        await peer.left()

    async with connected(handler) as (transport, server):
        for _ in range(2):
            with trio.move_on_after(0.2):
                async with trio.open_nursery() as nursery:
                    for id in range(150):
                        nursery.start_soon(transport.exchange, request(id), Ears())
        await server.all_left()
        assert isinstance(await transport.exchange(request("last"), Ears()), Success)


async def test_cancelling_one_exchange_leaves_the_others_alone() -> None:
    async def handler(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if received.id == "slow":
                await peer.left()
            await peer.send(echoing_id(received))

    async with connected(handler) as (transport, server):
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()

            async def slow() -> None:
                with scope:
                    await transport.exchange(request("slow"), Ears())

            nursery.start_soon(slow)
            for id in range(5):
                await transport.exchange(request(id), Ears())
            scope.cancel()
            for id in range(5):
                await transport.exchange(request(id), Ears())
        assert scope.cancelled_caught
        assert server.accepted == 2
