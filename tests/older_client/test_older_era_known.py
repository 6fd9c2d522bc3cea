"""What a client has found out of a server's revision, and when it finds out anew."""

from __future__ import annotations

import pytest
import trio

from antiphon.engine.exchange import OnNotification, TransportLost
from antiphon.engine.handshake_link import RefusedBy
from antiphon.engine.jsonrpc import Reply, Request, Success
from tests.older_client.older_server import text
from tests.older_client.web import (
    DISCOVERED,
    Outcome,
    Status,
    Web,
    answering,
    browsing,
    speaks_both,
)


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
