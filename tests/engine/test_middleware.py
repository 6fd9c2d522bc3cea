"""What stands around every request."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from attrs import evolve

from antiphon import Call, ProtocolError, Server, ToolError, open_client
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, JsonObject, Reply, Request, Success
from antiphon.engine.middleware import Middleware, Proceed
from antiphon.transports.asgi import http_app
from tests.engine.peer import Peer, members, meta, text_of
from tests.http_server.scripted import post
from tests.naming import shown
from tests.stdio.harness import call, served


def serving(*middleware: Middleware) -> Peer:
    """A peer of a server with one tool, which says its argument."""
    server = Server("Middle", middleware=middleware)

    @server.tool
    async def say(what: str, call: Call[Any]) -> str:
        await call.progress(1, 2)
        if what == "fail":
            raise ToolError("failed")
        return what

    return Peer(server)


def noting(name: str, notes: list[str]) -> Middleware:
    async def note(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        notes.append(f"{name} before {request.method}")
        reply = await proceed(request, exchange)
        notes.append(f"{name} after {type(reply).__name__}")
        return reply

    return note


async def test_the_first_is_the_outermost_and_all_stand_around_every_request() -> None:
    notes: list[str] = []
    peer = serving(noting("a", notes), noting("b", notes))
    await peer.call("say", {"what": "x"})
    assert notes == [
        "a before tools/call", "b before tools/call", "b after Success", "a after Success",
    ]  # fmt: skip
    notes.clear()
    await peer.ask("server/discover")
    assert notes[0] == "a before server/discover"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "nobody"}, -32602),
        ("com.example/do", {}, -32601),
        ("tools/call", {"name": "say", "arguments": 5}, -32602),
        ("tools/call", {"_meta": None}, -32602),
        ("initialize", {"_meta": None}, -32022),
    ],
)
async def test_it_sees_every_fault_as_the_reply_that_it_is(
    method: str, params: JsonObject, code: int
) -> None:
    seen: list[Reply] = []

    async def see(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        seen.append(await proceed(request, exchange))
        return seen[-1]

    reply = await serving(see).exchange(method, {"_meta": meta(), **params})
    assert isinstance(reply, Failure)
    assert reply.code == code
    assert seen == [reply]


async def test_it_may_answer_by_itself() -> None:
    async def answer(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        if request.method == "tools/call":
            return Failure(request.id, -32602, "Not today")
        return await proceed(request, exchange)

    peer = serving(answer)
    assert (await peer.refused("say", {"what": "x"})).message == "Not today"
    assert (await peer.ask("tools/list"))["tools"]


async def test_it_may_change_the_request_and_the_reply() -> None:
    async def shout(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        changed: JsonObject = {"what": "CHANGED"}
        params: JsonObject = {**request.params, "arguments": changed}
        reply = await proceed(evolve(request, params=params), exchange)
        assert isinstance(reply, Success)
        return evolve(reply, result={**members(reply.result), "isError": True})

    result = await serving(shout).call("say", {"what": "x"})
    assert (text_of(result), result["isError"]) == ("CHANGED", True)


async def test_a_reply_goes_out_under_the_id_of_its_request() -> None:
    inner: list[object] = []

    async def other_id(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        return await proceed(evolve(request, id="another"), exchange)

    async def see(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        reply = await proceed(request, exchange)
        inner.append(reply.id == request.id)
        return reply

    peer = serving(see, other_id)  # the peer itself compares the ids
    assert text_of(await peer.call("say", {"what": "x"})) == "x"
    assert inner == [True]


async def test_it_may_tell_handlers_who_asks() -> None:
    from antiphon import Principal

    async def name(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        return await proceed(request, evolve(exchange, principal=Principal("known")))

    server = Server("Middle", middleware=[name])

    @server.tool
    async def who(call: Call[Any]) -> str:
        assert call.principal is not None
        return call.principal.client

    assert text_of(await Peer(server).call("who")) == "known"


@pytest.mark.parametrize("after", [False, True])
async def test_its_exceptions_are_masked_and_logged(
    after: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Reply] = []

    async def fail(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        if after:
            await proceed(request, exchange)
        raise ValueError("geheim")

    async def see(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        seen.append(await proceed(request, exchange))
        return seen[-1]

    peer = serving(see, fail)
    refusal = await peer.refused("say", {"what": "x"})
    assert (refusal.code, refusal.message) == (-32603, "Internal error")
    assert "geheim" in caplog.text
    assert seen == [refusal]  # so does the one around it see it


async def test_a_protocol_error_that_it_raises_is_answered_as_it_is() -> None:
    async def refuse(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        raise ProtocolError(-32602, "Not so", {"why": "so"})

    refusal = await serving(refuse).refused("say", {"what": "x"})
    assert (refusal.code, refusal.message, refusal.data) == (-32602, "Not so", {"why": "so"})


@pytest.mark.parametrize("reply", [None, {}, "reply"], ids=shown)
async def test_what_is_no_reply_is_its_fault(reply: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def forget(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        await proceed(request, exchange)
        return reply  # type: ignore[no-any-return]

    assert (await serving(forget).refused("say", {"what": "x"})).code == -32603
    assert f"Middleware gave {type(reply).__name__}" in caplog.text


async def test_cancellation_passes_through_it() -> None:
    reached, cleaned = trio.Event(), trio.Event()

    async def wait(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        try:
            return await proceed(request, exchange)
        finally:
            cleaned.set()

    server = Server("Middle", middleware=[wait])

    @server.tool
    async def sleep() -> str:
        reached.set()
        await trio.sleep_forever()
        raise AssertionError

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Peer(server).call, "sleep")
        await reached.wait()
        nursery.cancel_scope.cancel()
    assert cleaned.is_set()


async def test_progress_passes_it_by_and_it_may_listen() -> None:
    heard: list[str] = []

    async def listen(request: Request, exchange: Exchange, proceed: Proceed) -> Reply:
        async def notify(notification: Any) -> None:
            heard.append(notification.method)
            await exchange.notify(notification)

        return await proceed(request, evolve(exchange, notify=notify))

    peer = serving(listen)
    params: JsonObject = {"name": "say", "arguments": {"what": "x"}}
    await peer.ask("tools/call", {**params, "_meta": meta(progressToken="t")})
    assert heard == ["notifications/progress"]
    (notification,) = peer.notifications
    assert (notification["progressToken"], notification["progress"]) == ("t", 1)


async def test_it_holds_on_every_transport() -> None:
    notes: list[str] = []
    server = serving(noting("a", notes)).server
    params: JsonObject = {"name": "say", "arguments": {"what": "x"}, "_meta": meta()}
    async with open_client(server) as client:
        await client.call_tool("say", {"what": "x"})
    async with served(server) as peer:
        await peer.say(call(1, "tools/call", **params))
        await peer.hear()
    await post(http_app(server), Request(1, "tools/call", params))
    assert notes.count("a after Success") == 3
