"""How a client finds out by its first request which revision a server speaks, as HTTP does."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import InvalidReply, ServerError, UsageError, open_client
from antiphon.engine.exchange import TransportLost
from antiphon.engine.handshake_era import EraTransport, Mode
from antiphon.engine.handshake_link import RefusedBy
from antiphon.engine.jsonrpc import Failure, Request, Success
from tests.older_client.web import DISCOVERED, Outcome, Status, Web, answering, browsing, refused


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
    web = Web(lambda _: Status(405), greets=False)
    async with browsing(web) as client:
        with pytest.raises(Status, match="405") as caught:
            await client.call_tool("t")
    assert "Nor does it take the handshake" in caught.value.__notes__[0]
    assert web.asked == ["tools/call", "server/discover", "older initialize"]


async def test_where_everything_is_refused_alike_it_is_told_once() -> None:
    web = Web(lambda _: Status(404), greets=False)
    async with browsing(web) as client:
        with pytest.raises(Status, match="404") as caught:
            await client.call_tool("t")
    assert not hasattr(caught.value, "__notes__")


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
