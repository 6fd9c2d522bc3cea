"""The application on real sockets, behind hypercorn's trio worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx2
import pytest
import trio
from hypercorn.middleware.dispatcher import TrioDispatcherMiddleware
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from antiphon.engine.exchange import Exchange, Principal
from antiphon.engine.jsonrpc import Reply, Request, write_message
from antiphon.engine.limits import Limits
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import (
    Answer,
    ScriptedServer,
    call,
    done,
    head_of,
    progress,
    success,
)
from tests.http_server.serving import connected, hypercorn, serving

pytestmark = pytest.mark.usefixtures("quiet_log")


@pytest.fixture
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test here may leave a warning or a traceback in the server's log."""
    yield
    assert [record for record in caplog.records if record.levelname not in ("INFO", "DEBUG")] == []


async def post(port: int, request: Request, path: str = "/mcp", **more: str) -> httpx2.Response:
    headers = head_of(request, **{"host": f"127.0.0.1:{port}", **more})
    async with httpx2.AsyncClient() as client:
        return await client.post(
            f"http://127.0.0.1:{port}{path}", content=write_message(request), headers=headers
        )


async def test_client_of_another_make_is_served() -> None:
    async with serving(http_app(ScriptedServer())) as port:
        response = await post(port, call())
    assert response.status_code == 200
    assert response.json()["result"] == {"resultType": "complete"}


async def test_names_with_every_kind_of_character_arrive() -> None:
    server = ScriptedServer()
    names = ["größe", "名前", " edges\t", "=?base64?x?=", "a\u2028b", "plain name"]
    async with serving(http_app(server)) as port:
        statuses = [(await post(port, call(name))).status_code for name in names]
    assert statuses == [200] * len(names)
    assert [request.params["name"] for request in server.requests] == names


async def test_space_around_the_name_header_is_trimmed() -> None:
    request = call("add")
    body = write_message(request)
    async with serving(http_app(ScriptedServer())) as port, connected(port) as client:
        await client.stream.send_all(
            b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nACCEPT: */*\r\n"
            b"mcp-protocol-version:2026-07-28\r\nMCP-METHOD: tools/call\r\nMcP-nAmE: \t add \t \r\n"
            b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )
        data = await client.stream.receive_some()
    assert data.startswith(b"HTTP/1.1 200")


async def test_guards_are_on_for_a_local_bind() -> None:
    async with serving(http_app(ScriptedServer())) as port:
        evil = await post(port, call(), host="evil.example.com", origin="http://evil.example.com")
        local = await post(
            port, call(), host=f"localhost:{port}", origin=f"http://localhost:{port}"
        )
    assert evil.status_code == 403
    assert local.status_code == 200


async def test_large_messages_pass_both_ways() -> None:
    text = "x" * 3_000_000

    async def echo(request: Request, exchange: Exchange) -> Reply:
        return success(request, text=request.params["text"])

    async with serving(http_app(ScriptedServer(echo))) as port:
        response = await post(port, call(text=text))
    assert response.json()["result"]["text"] == text


async def test_each_event_arrives_when_it_is_said() -> None:
    heard = [trio.Event(), trio.Event()]

    async def speak(request: Request, exchange: Exchange) -> Reply:
        for step, event in enumerate(heard):
            await exchange.notify(progress(step))
            await event.wait()
        return success(request)

    request = call()
    answer = Answer()
    async with serving(http_app(ScriptedServer(speak))) as port, connected(port) as client:
        body = write_message(request)
        await client.send_head([*head_of(request), (b"content-length", b"%d" % len(body))])
        await client.send_body(body)
        for step, event in enumerate(heard):
            await client.receive_chunk(answer)
            assert answer.messages[-1] == progress(step)
            event.set()
        await client.receive_chunk(answer)
    assert answer.messages[-1] == success(request)


async def test_connection_is_used_again_after_every_kind_of_answer() -> None:
    async def speak(request: Request, exchange: Exchange) -> Reply:
        if request.params["name"] == "speak":
            await exchange.notify(progress(1))
        return await done(request, exchange)

    async with serving(http_app(ScriptedServer(speak))) as port, connected(port) as client:
        for name, change, status in [
            ("add", {}, 200),
            ("speak", {}, 200),
            ("add", {"content_type": "text/plain"}, 415),
            ("add", {"accept": "text/html"}, 406),
            ("add", {"origin": "null"}, 403),
            ("add", {"mcp_name": "sub"}, 400),
            ("add", {}, 200),
        ]:
            request = call(name)
            answer = await client.ask(request, head_of(request, **change))
            assert answer.status == status


# -- credentials on one connection ------------------------------------------------------------

ALICE, BOB = Principal("app", "issuer", "alice"), Principal("app", "issuer", "bob")


async def known(token: str) -> Principal | None:
    return {"A": ALICE, "B": BOB}.get(token)


@pytest.mark.parametrize("body_late", [False, True])
async def test_each_request_of_one_connection_has_its_own_principal(body_late: bool) -> None:
    server = ScriptedServer()
    statuses: list[int] = []
    async with (
        serving(http_app(server, authenticate=known)) as port,
        connected(port) as client,
    ):
        for authorization in ("Bearer A", "Bearer B", None, "Bearer A", "Bearer C", "Bearer B"):
            request = call()
            body = write_message(request)
            headers = head_of(request, authorization=authorization)
            await client.send_head([*headers, (b"content-length", b"%d" % len(body))])
            refused = authorization in (None, "Bearer C")
            if body_late and refused:
                answer = Answer()
                await client.receive_chunk(answer)
                assert answer.status == 401, "the refusal does not wait for the body"
            await client.send_body(body)
            statuses.append((await client.receive()).status or 401)
    assert statuses == [200, 200, 401, 200, 401, 200]
    assert server.principals == [ALICE, BOB, ALICE, BOB]


# -- bodies that are too large ----------------------------------------------------------------


async def test_body_over_the_limit_is_answered_and_the_connection_goes_on() -> None:
    request = call()
    server = ScriptedServer(limits=Limits(message_bytes=100_000))
    async with serving(http_app(server)) as port, connected(port) as client:
        await client.send_head([*head_of(request), (b"transfer-encoding", b"chunked")])
        await client.send_body(*[b" " * 10_000] * 19)
        assert (await client.receive()).status == 413
        assert (await client.ask(request, head_of(request))).status == 200


@pytest.mark.parametrize(
    "size", [(b"content-length", b"1000000000"), (b"transfer-encoding", b"chunked")]
)
async def test_body_without_end_is_answered_and_cut_off(size: tuple[bytes, bytes]) -> None:
    request = call()
    server = ScriptedServer(limits=Limits(message_bytes=100_000))
    answers: list[Answer] = []
    async with serving(http_app(server)) as port, connected(port) as client:

        async def read() -> None:
            answer = Answer()
            answers.append(answer)
            await client.receive_chunk(answer)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await client.send_head([*head_of(request), size])
            with pytest.raises(trio.BrokenResourceError):
                await client.stream.send_all((b"C350\r\n" + b" " * 50_000 + b"\r\n") * 5_000)
    assert [answer.status for answer in answers] == [413]


async def test_refused_client_that_has_filled_every_queue_is_let_go() -> None:
    async def slow(token: str) -> Principal | None:
        await trio.testing.wait_all_tasks_blocked(0.1)
        return None

    app = http_app(ScriptedServer(limits=Limits(message_bytes=100_000)), authenticate=slow)
    async with serving(app) as port, connected(port) as client:
        size = (b"content-length", b"1000000000")
        await client.send_head([*head_of(call(), authorization="Bearer C"), size])
        with pytest.raises(trio.BrokenResourceError):
            await client.stream.send_all(bytes(200_000_000))
        with suppress(trio.BrokenResourceError):
            assert (await client.stream.receive_some()).startswith(b"HTTP/1.1 401")


# -- clients that leave -----------------------------------------------------------------------


class Watched:
    """A handler that runs until it is cancelled."""

    def __init__(self, *, speak: bool) -> None:
        self.speak = speak
        self.started = trio.Event()
        self.cancelled = trio.Event()

    async def __call__(self, request: Request, exchange: Exchange) -> Reply:
        if request.params["name"] != "wait":
            return await done(request, exchange)
        try:
            if self.speak:
                await exchange.notify(progress(1))
            self.started.set()
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
            self.cancelled.set()


@pytest.mark.parametrize("abruptly", [False, True])
@pytest.mark.parametrize("speak", [False, True])
async def test_client_that_closes_its_socket_cancels_its_call(speak: bool, abruptly: bool) -> None:
    watched = Watched(speak=speak)
    request = call("wait")
    body = write_message(request)
    async with serving(http_app(ScriptedServer(watched))) as port:
        async with connected(port) as client:
            await client.send_head([*head_of(request), (b"content-length", b"%d" % len(body))])
            await client.send_body(body)
            await watched.started.wait()
            if abruptly:
                client.stream.setsockopt(
                    trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, bytes([1] + [0] * 7)
                )
        with trio.fail_after(5):
            await watched.cancelled.wait()
        assert (await post(port, call())).status_code == 200


@pytest.mark.parametrize("part", [b"", b'{"jsonrpc":'])
async def test_client_that_closes_between_head_and_body_leaves_nothing(part: bytes) -> None:
    server = ScriptedServer()
    request = call()
    async with serving(http_app(server)) as port:
        async with connected(port) as client:
            await client.send_head([*head_of(request), (b"content-length", b"100")])
            await client.stream.send_all(part)
        assert (await post(port, request)).status_code == 200
    assert len(server.requests) == 1


# -- beside other applications ----------------------------------------------------------------


async def hello(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
    """An application of somebody else, with a lifespan."""
    if scope["type"] == "lifespan":
        for stage in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{stage}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def test_application_mounts_under_a_prefix_beside_another() -> None:
    app = TrioDispatcherMiddleware({"/tools": http_app(ScriptedServer()), "/": hello})
    async with serving(app) as port:
        assert (await post(port, call(), "/tools/mcp")).status_code == 200
        assert (await post(port, call(), "/tools/other")).status_code == 404
        assert (await post(port, call(), "/mcp")).text == "hello"


async def test_application_mounts_in_a_framework_that_keeps_the_lifespan_to_itself() -> None:
    async def index(request: StarletteRequest) -> PlainTextResponse:
        return PlainTextResponse("hello")

    routes = [Route("/", index, methods=["POST"]), Mount("/tools", app=http_app(ScriptedServer()))]
    async with serving(Starlette(routes=routes)) as port:
        assert (await post(port, call(), "/tools/mcp")).status_code == 200
        assert (await post(port, call(), "/tools/other")).status_code == 404
        assert (await post(port, call(), "/")).text == "hello"


# -- processes --------------------------------------------------------------------------------


async def test_asyncio_worker_fails_at_start_in_words_that_name_the_right_one() -> None:
    async with hypercorn("-k", "asyncio") as running:
        said = await running.read_on()
    assert "hypercorn -k trio" in said
    assert "Running on" not in said


async def test_several_workers_with_an_ephemeral_key_are_warned_of_once() -> None:
    async with hypercorn("-k", "trio", "-w", "2") as running:
        await running.wait_for("Running on", times=2)
        assert (await post(running.port, call())).status_code == 200
        running.process.terminate()
        said = await running.read_on()
    assert said.count("2 workers") == 1
    assert "antiphon keygen" in said
    assert "Traceback" not in said


async def test_one_worker_is_not_warned_of() -> None:
    async with hypercorn("-k", "trio") as running:
        await running.wait_for("Running on")
        running.process.terminate()
        said = await running.read_on()
    assert "keygen" not in said
    assert "Traceback" not in said
