"""The application over HTTP/2, behind hypercorn's trio worker."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import h2.connection
import h2.events
import trio
from attrs import define, field
from h2.config import H2Configuration

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Reply, Request, write_message
from antiphon.engine.limits import Limits
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import (
    Answer,
    ScriptedServer,
    call,
    head_of,
    progress,
    success,
)
from tests.http_server.serving import serving


@define
class Http2Client:
    """One HTTP/2 connection with prior knowledge, one stream at a time."""

    stream: trio.SocketStream
    connection: h2.connection.H2Connection = field(
        factory=lambda: h2.connection.H2Connection(H2Configuration(header_encoding=None))
    )

    async def flush(self) -> None:
        await self.stream.send_all(self.connection.data_to_send())

    async def open(self, request: Request, **more: str | None) -> int:
        id = self.connection.get_next_available_stream_id()
        pseudo = [(b":method", b"POST"), (b":path", b"/mcp"), (b":scheme", b"http")]
        authority = [(b":authority", b"localhost")]
        head = [*pseudo, *authority, *head_of(request, host=None, **more)]
        self.connection.send_headers(id, head)
        await self.flush()
        return id

    async def send(self, id: int, data: bytes, *, end: bool) -> None:
        self.connection.send_data(id, data, end_stream=end)
        await self.flush()

    async def read(self, id: int, answer: Answer) -> None:
        """Take in whatever comes next."""
        for event in self.connection.receive_data(await self.stream.receive_some()):
            if isinstance(event, h2.events.ResponseReceived):
                answer.headers = dict(event.headers)
                answer.status = int(answer.headers[b":status"])
            elif isinstance(event, h2.events.DataReceived):
                answer.chunks.append(event.data)
                self.connection.acknowledge_received_data(event.flow_controlled_length, id)
            elif isinstance(event, h2.events.StreamEnded):
                answer.ended = True
        await self.flush()

    async def ask(self, request: Request, **more: str | None) -> Answer:
        id = await self.open(request, **more)
        await self.send(id, write_message(request), end=True)
        answer = Answer()
        while not answer.ended:
            await self.read(id, answer)
        return answer


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[Http2Client]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        client = Http2Client(stream)
        client.connection.initiate_connection()
        await client.flush()
        yield client


async def speak(request: Request, exchange: Exchange) -> Reply:
    if request.params["name"] != "add":
        await exchange.notify(progress(1))
    if request.params["name"] == "wait":
        await trio.sleep_forever()
    return success(request)


async def test_one_connection_carries_every_kind_of_answer() -> None:
    async with serving(http_app(ScriptedServer(speak))) as port, connected(port) as client:
        assert (await client.ask(call())).json["id"] == 1
        assert (await client.ask(call("speak"))).messages == [progress(1), success(call())]
        assert (await client.ask(call(), content_type="text/plain")).status == 415
        assert (await client.ask(call())).status == 200


async def test_stream_that_is_reset_cancels_its_call() -> None:
    cancelled = trio.Event()

    async def wait(request: Request, exchange: Exchange) -> Reply:
        try:
            return await speak(request, exchange)
        finally:
            if request.params["name"] == "wait":
                cancelled.set()

    request = call("wait")
    answer = Answer()
    async with serving(http_app(ScriptedServer(wait))) as port, connected(port) as client:
        id = await client.open(request)
        await client.send(id, write_message(request), end=True)
        while not answer.chunks:
            await client.read(id, answer)
        client.connection.reset_stream(id)
        await client.flush()
        with trio.fail_after(5):
            await cancelled.wait()
        assert (await client.ask(call())).status == 200


async def test_streams_of_one_connection_wait_their_turn_and_too_many_are_refused() -> None:
    limits = Limits(concurrent_calls=1, waiting_calls=1)
    app = http_app(ScriptedServer(speak, limits=limits))
    async with serving(app) as port, connected(port) as client:
        running, told = await client.open(call("wait")), Answer()
        await client.send(running, write_message(call("wait")), end=True)
        while not told.chunks:
            await client.read(running, told)
        waiting = await client.open(call())
        await client.send(waiting, write_message(call()), end=True)
        assert (await client.ask(call(id=3))).status == 503
        client.connection.reset_stream(running)
        await client.flush()
        answer = Answer()
        with trio.fail_after(5):
            while not answer.ended:
                await client.read(waiting, answer)
        assert answer.status == 200
        assert (await client.ask(call())).status == 200


async def test_server_outlives_a_client_that_sends_on_after_its_refusal() -> None:
    server = ScriptedServer(limits=Limits(message_bytes=1000))
    answer = Answer()
    async with serving(http_app(server)) as port, connected(port) as client:
        id = await client.open(call())
        await client.send(id, b" " * 2000, end=False)
        while not answer.chunks:
            await client.read(id, answer)
        assert answer.status == 413
        for _ in range(10):
            await client.send(id, b" " * 1000, end=False)
        await client.send(id, b"", end=True)
        while not answer.ended:
            await client.read(id, answer)
        assert (await client.ask(call())).status == 200
