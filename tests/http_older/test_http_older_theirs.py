"""Our links against the official SDK's server, in the handshake that it still serves."""

from __future__ import annotations

import logging

import pytest
import trio

from antiphon.engine.handshake_link import SessionLost
from antiphon.engine.jsonrpc import JsonObject, JsonValue, Notification, Reply, Request, Success
from antiphon.transports.http_client import open_http
from antiphon.transports.http_older import OlderHttp
from tests.http_older.scripted import Heard, attended
from tests.http_older.theirs import URI, Events, Their, their_server
from tests.interop.servers import PATIENCE

ANSWERS: dict[str, JsonObject] = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": {
        "role": "assistant", "model": "none", "content": {"type": "text", "text": "Hi"}
    },
    "roots/list": {"roots": [{"uri": "file:///home"}]},
}  # fmt: skip


async def handshake(link: OlderHttp, heard: Heard) -> Reply:
    request = Request(
        "begin",
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "ours", "version": "1"},
        },
    )
    reply = await link.exchange(request, heard.notification, heard.request)
    link.begun("2025-11-25")
    await link.say(Notification("notifications/initialized", {}))
    return reply


async def call(link: OlderHttp, heard: Heard, tool: str, id: int = 1) -> JsonValue:
    """Call a tool; its text."""
    params: JsonObject = {"name": tool, "arguments": {}, "_meta": {"progressToken": f"p{id}"}}
    request = Request(id, "tools/call", params)
    reply = await link.exchange(request, heard.notification, heard.request)
    assert isinstance(reply, Success)
    return text_of(reply)


def text_of(reply: Success) -> JsonValue:
    content = reply.result["content"]
    assert isinstance(content, list)
    (block,) = content
    assert isinstance(block, dict)
    return block["text"]


async def answer_all(link: OlderHttp, heard: Heard) -> None:
    """Answer whatever is asked."""
    for number in range(100):
        while len(heard.requests) <= number:
            await heard.until(len(heard.names) + 1)
        request = heard.requests[number]
        await link.say(Success(request.id, ANSWERS[request.method]))


@pytest.mark.parametrize(
    ("tool", "answered"),
    [
        ("ask", "accept {'name': 'Ada'}"),
        ("twice", "accept {'name': 'Ada'}, accept {'name': 'Ada'}"),
        ("sample", "Hi"),
        ("roots", "['file:///home']"),
        ("tell", "told"),
    ],
)
async def test_tools_that_ask_and_tell(tool: str, answered: str) -> None:
    heard = Heard()
    with trio.fail_after(PATIENCE):
        async with their_server() as (url, _), open_http(url) as transport:
            link = transport.older()
            await handshake(link, heard)
            async with attended(link, heard) as nursery:
                nursery.start_soon(answer_all, link, heard)
                assert await call(link, heard, tool) == answered
            await link.end()
    if tool == "tell":
        assert heard.names == ["notifications/progress", "notifications/message"] * 2
        assert heard.notifications[0].params["progressToken"] == "p1"


async def test_a_cancelled_call_is_cancelled_there() -> None:
    heard = Heard()

    async def slow(link: OlderHttp, their: Their, scope: trio.CancelScope) -> None:
        with scope:
            await call(link, heard, "slow")

    with trio.fail_after(PATIENCE):
        async with their_server() as (url, their), open_http(url) as transport:
            link = transport.older()
            await handshake(link, heard)
            async with trio.open_nursery() as nursery:
                scope = trio.CancelScope()
                nursery.start_soon(slow, link, their, scope)
                await their.started.wait()
                scope.cancel()
            await their.cancelled.wait()
            assert await call(link, heard, "tell", 2) == "told"
            await link.end()


async def test_a_call_whose_stream_is_closed_meanwhile() -> None:
    heard = Heard()
    with trio.fail_after(PATIENCE):
        async with (
            their_server(events=Events(), retry=100) as (url, their),
            open_http(url) as transport,
            trio.open_nursery() as nursery,
        ):
            link = transport.older()
            await handshake(link, heard)

            async def let_it_close() -> None:
                await heard.until(1)
                their.heard.set()

            nursery.start_soon(let_it_close)
            assert await call(link, heard, "poll") == "polled"
            await link.end()
    assert [message.params["data"] for message in heard.notifications] == ["before", "meanwhile"]


async def test_what_is_told_on_the_stream_of_no_call() -> None:
    heard = Heard()
    with trio.fail_after(PATIENCE):
        async with their_server() as (url, their), open_http(url) as transport:
            link = transport.older()
            await handshake(link, heard)
            async with attended(link, heard):
                request = Request(5, "resources/subscribe", {"uri": URI})
                await link.exchange(request, heard.notification, heard.request)
                assert their.subscribed == [URI]
                assert await call(link, heard, "change") == "changed"
                await heard.until(2)
            await link.end()
    assert heard.names == ["notifications/resources/updated", "notifications/tools/list_changed"]


async def test_a_server_that_answers_in_json() -> None:
    heard = Heard()
    with trio.fail_after(PATIENCE):
        async with their_server(json=True) as (url, _), open_http(url) as transport:
            link = transport.older()
            assert isinstance(await handshake(link, heard), Success)
            assert await call(link, heard, "tell") == "told"
            await link.end()


async def test_an_ended_session_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "antiphon")
    heard = Heard()
    with trio.fail_after(PATIENCE):
        async with their_server() as (url, _), open_http(url) as transport:
            link, other = transport.older(), transport.older()
            await handshake(link, heard)
            other._session = link._session  # pyright: ignore[reportPrivateUsage]
            async with attended(link, heard):
                await call(link, heard, "tell")
                await other.end()
                with pytest.raises(SessionLost):
                    await call(link, heard, "tell", 2)
                with pytest.raises(SessionLost):
                    await link.say(Notification("notifications/roots/list_changed", {}))
            await handshake(link, heard)
            assert await call(link, heard, "tell", 3) == "told"
            await link.end()
    assert not caplog.records
