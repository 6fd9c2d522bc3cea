"""How a client finds out by its first request which revision a server speaks, as HTTP does."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing
from attrs import define, field

from antiphon import Client, InvalidReply, ServerError, UsageError, open_client
from antiphon.engine.errors import CallError
from antiphon.engine.exchange import Deferral, Deferred, OnNotification, TransportLost
from antiphon.engine.handshake_era import EraTransport, Mode
from antiphon.engine.handshake_link import HandshakeLink, OnRequest, RefusedBy, SessionLost
from antiphon.engine.jsonrpc import Failure, Notification, Reply, Request, Success
from tests.older_client.older_server import (
    text,
)

DISCOVERED: Any = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
}

Outcome: TypeAlias = Reply | CallError


class Status(InvalidReply):
    """An answer without a JSON-RPC reply."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


@define(eq=False)
class Web:
    """A transport that finds the revision out as HTTP does, to a server that says these things.

    Attributes:
        says: what is said to a request of this revision, by method.
        greets: whether it takes the handshake.
        busy: how many handshakes it puts off.
        in_json: whether it says so in JSON-RPC.
    """

    says: Callable[[Request], Outcome]
    greets: bool = True
    busy: int = 0
    in_json: bool = True
    full_target: str = field(factory=lambda: f"http://{secrets.token_hex(8)}/")
    name: str = "web"
    probes: bool = False
    mirrors: bool = True
    asked: list[str] = field(factory=list[str])
    lost: list[str] = field(factory=list[str])
    ended: int = 0

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        await trio.lowlevel.checkpoint()
        self.asked.append(request.method)
        outcome = self.says(request)
        if isinstance(outcome, CallError):
            raise outcome
        return outcome

    def older(self) -> HandshakeLink:
        return WebLink(self)


@define(eq=False)
class WebLink:
    """Its sessions: whatever is in ``web.lost`` loses the one that it is said in, once."""

    web: Web
    name: str = "web"

    async def exchange(
        self, request: Request, on_notification: OnNotification, on_request: OnRequest
    ) -> Reply:
        await trio.lowlevel.checkpoint()
        self.web.asked.append(f"older {request.method}")
        if request.method in self.web.lost:
            self.web.lost.remove(request.method)
            raise SessionLost("The session is gone")
        if request.method == "prompts/get":
            return Success(request.id, {"messages": []})
        if request.method != "initialize":
            return Success(request.id, text("older"))
        if self.web.busy:
            self.web.busy -= 1
            wait = Deferral(unserved=True, after=3)
            if self.web.in_json:
                return Deferred(request.id, -32000, "Too many", deferral=wait)
            error = Status(429)
            error.deferral = wait
            raise error
        if not self.web.greets:
            raise Status(404)
        return Success(
            request.id, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
        )

    async def say(self, message: Notification | Success | Failure) -> None:
        await trio.lowlevel.checkpoint()

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()

    def begun(self, version: str) -> None:
        pass

    async def end(self) -> None:
        self.web.ended += 1


@asynccontextmanager
async def browsing(web: Web, **options: Any) -> AsyncGenerator[Client]:
    async with open_client(web, retry=None, **options) as client:
        yield client


def answering(status: int) -> Callable[[Request], Outcome]:
    return lambda _: Status(status)


def refused(code: int, status: int) -> Callable[[Request], Outcome]:
    return lambda request: RefusedBy(request.id, code, "no", status=status)


@pytest.mark.parametrize(
    "says",
    [
        refused(-32600, 400),
        refused(-32000, 400),
        refused(-32601, 404),
        refused(-32602, 400),
        answering(400),
        answering(404),
        answering(405),
        answering(415),
    ],
    ids=["-32600", "-32000", "-32601", "-32602", "400", "404", "405", "415"],
)
async def test_a_refusal_without_a_word_of_this_revision_means_the_handshake(says: Any) -> None:
    web = Web(says)
    async with browsing(web) as client:
        assert (await client.call_tool("t")).text == "older"
        assert (await client.call_tool("t")).text == "older"
    assert [method for method in web.asked if "older" in method] == [
        "older initialize",
        "older tools/call",
        "older tools/call",
    ]
    assert web.asked.count("tools/call") == 1
    assert web.ended == 1


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
async def test_an_error_of_this_revision_is_the_servers_last_word(code: int) -> None:
    web = Web(refused(code, 400))
    async with browsing(web) as client:
        for _ in range(2):
            with pytest.raises(ServerError):
                await client.get_prompt("p")
    assert not any("older" in method for method in web.asked)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
async def test_a_status_about_something_else_says_nothing_of_the_revision(status: int) -> None:
    web = Web(lambda _: Status(status))
    async with browsing(web) as client:
        with pytest.raises(InvalidReply, match=str(status)):
            await client.call_tool("t")
    assert web.asked == ["tools/call"]


async def test_a_server_of_this_revision_that_refuses_a_call_is_asked_once_for_its_revision() -> (
    None
):
    def says(request: Request) -> Outcome:
        if request.method == "server/discover":
            return Success(request.id, DISCOVERED)
        return RefusedBy(request.id, -32602, "Unknown tool", status=400)

    web = Web(says)
    async with browsing(web) as client:
        for _ in range(2):
            with pytest.raises(ServerError, match="Unknown tool"):
                await client.call_tool("t")
    assert web.asked == ["tools/call", "server/discover", "tools/call"]


async def test_where_nothing_answers_the_first_error_stands_and_tells_of_both() -> None:
    web = Web(lambda _: Status(404), greets=False)
    async with browsing(web) as client:
        with pytest.raises(Status) as caught:
            await client.call_tool("t")
    assert "Nor does it take the handshake" in caught.value.__notes__[0]
    assert web.asked == ["tools/call", "server/discover", "older initialize"]


async def test_a_call_that_an_error_of_status_200_answers_is_not_sent_again() -> None:
    web = Web(lambda request: Failure(request.id, -32602, "Bad arguments"))
    async with browsing(web) as client:
        with pytest.raises(ServerError, match="Bad arguments"):
            await client.call_tool("t")
        assert (await client.call_tool("t")).text == "older"
    assert web.asked == [
        "tools/call",
        "server/discover",
        "older initialize",
        "older tools/call",
    ]


async def test_the_revision_of_an_address_is_remembered_and_found_out_anew() -> None:
    address = "http://remembered/"
    first = Web(lambda _: Status(400), full_target=address)
    async with browsing(first) as client:
        await client.call_tool("t")
    second = Web(lambda _: Status(400), full_target=address)
    async with browsing(second) as client:
        assert (await client.call_tool("t")).text == "older"
    assert second.asked == ["older initialize", "older tools/call"]

    def new(request: Request) -> Outcome:
        result = DISCOVERED if request.method == "server/discover" else {**text("new")}
        return Success(request.id, {"resultType": "complete", **result})

    third = Web(new, greets=False, full_target=address)
    async with browsing(third) as client:
        assert (await client.call_tool("t")).text == "new"
    fourth = Web(new, full_target=address)
    async with browsing(fourth) as client:
        assert (await client.call_tool("t")).text == "new"
    assert fourth.asked == ["tools/call"]


def speaks_both(request: Request) -> Outcome:
    """A server of all revisions, in this one."""
    result = DISCOVERED if request.method == "server/discover" else text("new")
    return Success(request.id, {"resultType": "complete", **result})


async def test_what_stands_before_a_server_of_all_revisions_does_not_make_it_an_older_one() -> None:
    in_the_way = [Status(404)]
    web = Web(lambda request: in_the_way.pop() if in_the_way else speaks_both(request))
    async with browsing(web) as client:
        with pytest.raises(Status):
            await client.call_tool("t")
        assert (await client.call_tool("t")).text == "new"
    assert web.asked == ["tools/call", "server/discover", "tools/call"]


async def test_what_fails_late_does_not_unsay_what_another_request_has_shown() -> None:
    shown = trio.Event()

    class Slow(Web):
        async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
            if request.method == "prompts/get":
                await shown.wait()
            return await super().exchange(request, on_notification)

    def says(request: Request) -> Outcome:
        return Status(400) if request.method == "prompts/get" else speaks_both(request)

    async def fail() -> None:
        with pytest.raises(Status):
            await client.get_prompt("p")

    web = Slow(says)
    async with browsing(web) as client, trio.open_nursery() as nursery:
        nursery.start_soon(fail)
        await client.call_tool("t")
        shown.set()
    assert web.asked == ["tools/call", "prompts/get"]


async def test_a_server_that_is_replaced_meanwhile_is_found_out_anew() -> None:
    web = Web(answering(400), lost=["tools/call"])
    async with browsing(web) as client:
        with pytest.raises(TransportLost):
            await client.call_tool("t")
        web.says, web.greets = speaks_both, False
        assert (await client.call_tool("t")).text == "new"
        assert (await client.call_tool("t")).text == "new"
    assert web.asked[-3:] == ["server/discover", "tools/call", "tools/call"]


async def test_an_older_one_is_not_taken_for_that_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr("antiphon.engine.handshake_eras_known.monotonic", lambda: now)
    slow = [RefusedBy("", -32000, "Bad gateway", status=400)]
    web = Web(lambda request: slow.pop() if slow else speaks_both(request))
    async with browsing(web) as client:
        assert (await client.call_tool("t")).text == "older"
    now += 3599
    async with browsing(web) as client:
        assert (await client.call_tool("t")).text == "older"
    now += 2
    async with browsing(web) as client:
        assert (await client.call_tool("t")).text == "new"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("in_json", [True, False], ids=["error", "status"])
async def test_a_handshake_that_is_put_off_is_made_later(
    mode: Mode, in_json: bool, autojump_clock: trio.testing.MockClock
) -> None:
    web = Web(refused(-32600, 400), busy=1, in_json=in_json, lost=["prompts/get"])
    async with open_client(web, mode=mode) as client:
        assert (await client.call_tool("t")).text == "older"
        assert 3 <= trio.current_time() < 5
        web.busy = 1
        await client.get_prompt("p")
        assert (await client.call_tool("t")).text == "older"
    assert web.asked.count("older tools/call") == 2


async def test_a_result_without_a_type_leaves_it_open() -> None:
    web = Web(lambda request: Success(request.id, {"tools": []}))
    async with browsing(web) as client:
        assert await client.list_tools() == []
    assert web.asked == ["tools/list"]


async def test_a_connection_that_breaks_says_nothing_of_the_revision() -> None:
    web = Web(lambda _: TransportLost("gone", sent=False))
    async with browsing(web) as client:
        with pytest.raises(TransportLost):
            await client.call_tool("t")
    assert web.asked == ["tools/call"]


async def test_arguments_are_repeated_in_headers_by_this_revision_only() -> None:
    async with trio.open_nursery() as nursery:
        old, new = (
            EraTransport(Web(refused(-32600, 400)), nursery, mode=mode)
            for mode in ("legacy", "auto")
        )
        assert (old.mirrors, new.mirrors) == (False, True)
        assert old.full_target.startswith("http://")


async def test_the_traits_of_the_transport_inside_show() -> None:
    web = Web(refused(-32600, 400))
    async with trio.open_nursery() as nursery:
        outer = EraTransport(web, nursery)
        assert outer.name == "web"
        assert outer.full_target == web.full_target
        assert not hasattr(outer, "authorization")
        assert not hasattr(outer, "on_status")
        await outer.close()
        with pytest.raises(UsageError, match="closed"):
            await outer.exchange(Request("1", "tools/list", {}), partial(print))


# -- a session that the server has lost -----------------------------------------------------------


async def test_a_read_in_a_lost_session_is_sent_again_in_a_new_one() -> None:
    web = Web(answering(400), lost=["prompts/get"])
    async with browsing(web) as client:
        await client.get_prompt("p")
    assert [method for method in web.asked if "older" in method] == [
        "older initialize",
        "older prompts/get",
        "older initialize",
        "older prompts/get",
    ]


async def test_a_call_in_a_lost_session_is_not_sent_again_and_the_next_one_is_served() -> None:
    web = Web(answering(400), lost=["tools/call"])
    async with browsing(web) as client:
        with pytest.raises(TransportLost) as caught:
            await client.call_tool("t")
        assert caught.value.sent
        assert (await client.call_tool("t")).text == "older"
    assert web.asked.count("older initialize") == 2
    assert web.asked.count("older tools/call") == 2


async def test_a_session_that_is_lost_twice_is_an_error() -> None:
    web = Web(answering(400), lost=["prompts/get"] * 2)
    async with browsing(web) as client:
        with pytest.raises(TransportLost):
            await client.get_prompt("p")
    assert web.asked.count("older initialize") == 2
