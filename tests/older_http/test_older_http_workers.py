"""Sessions behind several workers: whoever takes the connection, the right one serves."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import trio
from attrs import define, field

from antiphon import generate_key
from antiphon.engine.jsonrpc import JsonObject
from tests.cli.supervised import Supervisor, lingering, supervising
from tests.older_server.desk import initialize

KEYS = [generate_key()]
PATIENCE = 120


@define
class Guest:
    """A client of several connections.

    Attributes:
        headers: those of its session.
    """

    http: httpx2.AsyncClient
    url: str
    headers: dict[str, str] = field(factory=dict[str, str])

    async def post(self, **message: Any) -> httpx2.Response:
        body = {"jsonrpc": "2.0", **message}
        return await self.http.post(self.url, json=body, headers=self.headers)

    @asynccontextmanager
    async def stream(self, method: str, **options: Any) -> AsyncGenerator[Events]:
        async with self.http.stream(method, self.url, headers=self.headers, **options) as response:
            assert response.status_code == 200
            yield Events(response.aiter_lines())

    def calling(self, name: str, id: int = 1) -> Any:
        params: JsonObject = {"name": name, "arguments": {}}
        body: JsonObject = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        return self.stream("POST", json=body)


@define
class Events:
    """What comes on an event stream."""

    _lines: Any

    async def next(self) -> JsonObject:
        async for line in self._lines:
            if line.startswith("data: "):
                event: JsonObject = httpx2.Response(200, content=line[6:]).json()
                return event
        raise AssertionError("the stream has ended")

    async def end(self) -> None:
        async for line in self._lines:
            assert not line.startswith("data: ")


@asynccontextmanager
async def visitor(supervisor: Supervisor) -> AsyncGenerator[Guest]:
    """A client whose every request has a connection of its own."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    headers = {"accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(
        verify=False, timeout=PATIENCE, limits=limits, headers=headers
    ) as http:
        yield Guest(http, supervisor.url)


async def begin(guest: Guest) -> Guest:
    opened = await guest.post(id=0, method="initialize", params=initialize())
    assert opened.status_code == 200, opened.text
    return Guest(guest.http, guest.url, {"mcp-session-id": opened.headers["mcp-session-id"]})


async def one_each(guest: Guest, workers: int) -> Mapping[str, Guest]:
    """A session in each worker."""
    found: dict[str, Guest] = {}
    while len(found) < workers:
        one = await begin(guest)
        found.setdefault(one.headers["mcp-session-id"].partition("-")[0], one)
    return found


async def test_every_worker_serves_every_session(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        async with supervising(tmp_path, KEYS) as supervisor, visitor(supervisor) as nobody:
            guests = await one_each(nobody, 2)
            assert sorted(guests) == ["w0", "w1"]
            for guest in guests.values():
                for id in range(20):
                    assert (await guest.post(id=id, method="ping")).json()["result"] == {}
                wrong = {**guest.headers, "host": "evil.example"}
                for _ in range(8):
                    answer = await guest.http.post(guest.url, headers=wrong)
                    assert answer.status_code == 403, "the guards stand wherever it is served"
                assert (await guest.http.delete(guest.url, headers=guest.headers)).is_success
                for id in range(4):
                    assert (await guest.post(id=id, method="ping")).status_code == 404


async def test_questions_and_streams_pass_between_workers(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        async with supervising(tmp_path, KEYS) as supervisor, visitor(supervisor) as nobody:
            for guest in (await one_each(nobody, 2)).values():
                for id in range(6):
                    async with guest.calling("paint", id) as events:
                        question = await events.next()
                        answer = {"action": "accept", "content": {"name": "red"}}
                        said = await guest.post(id=question["id"], result=answer)
                        assert said.status_code == 202
                        reply: Any = await events.next()
                        assert reply["id"] == id
                        assert reply["result"]["content"][0]["text"] == "painted red"
                        await events.end()


async def test_client_that_leaves_cancels_its_call_in_the_other_worker(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        async with (
            supervising(tmp_path, KEYS) as supervisor,
            visitor(supervisor) as nobody,
            lingering() as place,
        ):
            for guest in (await one_each(nobody, 2)).values():
                for _ in range(3):
                    params = {"name": "linger", "arguments": {"port": place.port}}
                    async with trio.open_nursery() as nursery:
                        call = partial(guest.post, id=1, method="tools/call", params=params)
                        nursery.start_soon(call)
                        async with place.until_released() as stream:
                            nursery.cancel_scope.cancel()
                            with trio.CancelScope(shield=True):
                                assert await stream.receive_some() == b"", "it was cancelled"


async def unread_body(guest: Guest, head: str, body: bytes, size: int) -> bytes:
    """The answer to a POST whose body goes on and on, until the connection ends."""
    url = httpx2.URL(guest.url)
    assert url.port is not None
    lines = [f"POST {url.path} HTTP/1.1", f"Host: {url.host}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in guest.headers.items()]
    answer = b""
    stream = await trio.open_tcp_stream(url.host, url.port)
    async with stream, trio.open_nursery() as nursery:

        async def say() -> None:
            with suppress(trio.BrokenResourceError):
                await stream.send_all("\r\n".join([*lines, head, "", ""]).encode())
                for _ in range(size):
                    await stream.send_all(body)

        nursery.start_soon(say)
        with suppress(trio.BrokenResourceError):  # our bytes may still be on their way
            while part := await stream.receive_some():
                answer += part
        nursery.cancel_scope.cancel()
    return answer


async def test_connection_ends_where_a_body_is_too_large_for_the_other_worker(
    tmp_path: Path,
) -> None:
    with trio.fail_after(PATIENCE):
        async with supervising(tmp_path, KEYS) as supervisor, visitor(supervisor) as nobody:
            for guest in (await one_each(nobody, 2)).values():
                for _ in range(4):
                    head = f"Content-Length: {1000 * 65536}\r\nConnection: close"
                    answer = await unread_body(guest, head, b"x" * 65536, 1000)
                    assert answer.startswith(b"HTTP/1.1 413")


async def test_length_beside_a_transfer_coding_is_not_passed_on(tmp_path: Path) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    with trio.fail_after(PATIENCE):
        async with supervising(tmp_path, KEYS) as supervisor, visitor(supervisor) as nobody:
            for guest in (await one_each(nobody, 2)).values():
                for _ in range(4):
                    head = "Transfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: close"
                    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(ping), ping)
                    answer = await unread_body(guest, head, body, 1)
                    assert answer.startswith(b"HTTP/1.1 200"), answer


async def test_sessions_of_a_worker_that_died_are_gone_and_another_can_begin(
    tmp_path: Path,
) -> None:
    with trio.fail_after(PATIENCE):
        async with supervising(tmp_path, KEYS) as supervisor, visitor(supervisor) as nobody:
            guests = await one_each(nobody, 2)
            victim = supervisor.pids[0]  # the first worker starts alone
            os.kill(victim, signal.SIGKILL)
            await supervisor.see(f"Worker {victim} was killed by SIGKILL")
            for id in range(4):
                assert (await guests["w1"].post(id=id, method="ping")).status_code == 200
                assert (await guests["w0"].post(id=id, method="ping")).status_code == 404
            await supervisor.see(">\n")
            await one_each(nobody, 2)
            assert (await guests["w0"].post(id=1, method="ping")).status_code == 404


async def test_parked_calls_and_streams_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        async with (
            supervising(tmp_path, KEYS, "--grace", "600") as supervisor,
            visitor(supervisor) as nobody,
        ):
            guests = list((await one_each(nobody, 2)).values())
            async with (
                guests[0].stream("GET") as first,
                guests[1].stream("GET") as second,
                guests[0].calling("paint") as call,
            ):
                await call.next()
                supervisor.process.send_signal(signal.SIGTERM)
                taken_back, last = await call.next(), await call.next()
                assert taken_back["method"] == "notifications/cancelled"
                assert "error" in last
                for stream in (call, first, second):
                    await stream.end()
            assert await supervisor.see_end() == 0
