"""Calls of a session that ask: questions on their stream, answers by another request."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Call, Server
from antiphon.engine.errors import BUSY, INTERNAL_ERROR, INVALID_REQUEST
from antiphon.engine.exchange import Principal
from antiphon.engine.jsonrpc import Notification, Request
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import Visit, call, post, post_body
from tests.older_http.visiting import (
    Guest,
    begin,
    hosting,
    older_head,
    send,
    settled,
    tool,
    verify,
)
from tests.older_server.asking import make
from tests.older_server.peer import LATEST
from tests.wire import older

PING = Request(7, "ping", {})
COMMENT = b": keep-alive\n\n"


def question(visit: Visit) -> Any:
    """The one question that was put so far."""
    assert visit.answer.headers[b"content-type"] == b"text/event-stream"
    (event,) = visit.answer.events
    assert event["method"] == "elicitation/create"
    assert older.faults(None, event, LATEST) == []
    return event


def cancelled(id: Any) -> Notification:
    return Notification("notifications/cancelled", {"requestId": id})


def text(reply: Any) -> str:
    said: str = reply["result"]["content"][0]["text"]
    return said


# -- questions --------------------------------------------------------------------------------


async def test_question_turns_the_reply_into_a_stream_and_is_answered_by_another_request() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        visit = await guest.start(tool("greet", id=3))
        asked = question(visit)
        answer = await guest.reply(asked, action="accept", content={"name": "Ada"})
        assert (answer.status, answer.body) == (202, b"")
        await settled()
        assert visit.answer.ended
        last = visit.answer.events[-1]
        assert (last["id"], text(last)) == (3, "Hello, Ada.")
        assert older.faults("tools/call", last, LATEST) == []


async def test_call_that_says_nothing_is_answered_as_json() -> None:
    async with hosting(make()) as here:
        answer = await (await here.guest()).send(Request(1, "tools/list", {}))
        assert answer.headers[b"content-type"] == b"application/json"


async def test_answers_of_another_session_are_not_taken() -> None:
    async with hosting(make(), authenticate=verify) as here:
        guest, other = await here.guest(bearer="alice"), await here.guest(bearer="mallory")
        visit = await guest.start(tool("greet"))
        asked = question(visit)
        assert (await other.reply(asked, action="accept", content={"name": "M"})).status == 202
        thief = Guest(here.app, here.nursery, guest.id, LATEST, "mallory")
        assert (await thief.reply(asked, action="accept", content={"name": "M"})).status == 404
        await settled()
        assert not visit.answer.ended
        await guest.reply(asked, action="decline")
        await settled()
        assert text(visit.answer.events[-1]) == "declined"


async def test_parked_call_is_kept_alive(autojump_clock: trio.testing.MockClock) -> None:
    async with hosting(make(), keepalive=15) as here:
        guest = await here.guest()
        visit = await guest.start(tool("greet"))
        await trio.sleep(16)
        assert visit.answer.chunks[1:] == [COMMENT]
        await guest.reply(question(visit), action="cancel")
        await settled()
        assert text(visit.answer.events[-1]) == "cancelled"


async def test_principal_reaches_the_tool() -> None:
    server, seen = Server("Who"), list[Principal | None]()

    @server.tool
    async def who(call: Call[Any]) -> None:
        """Say who calls."""
        seen.append(call.principal)

    async with hosting(server, authenticate=verify) as here:
        await (await here.guest(bearer="alice")).send(tool("who"))
    assert seen == [Principal("app", "https://issuer.example", "alice")]


# -- ends -------------------------------------------------------------------------------------


async def test_client_that_leaves_cancels_its_parked_call() -> None:
    async with hosting(make(waiting_calls=1)) as here:
        guest = await here.guest()
        for _ in range(3):
            visit = await guest.start(tool("greet", id=1))
            asked = question(visit)
            visit.left.set()
            await settled()
            assert not visit.answer.ended
            assert (await guest.reply(asked, action="decline")).status == 202


async def test_cancelled_call_ends_without_a_reply() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        visit, other = await guest.start(tool("greet", id=1)), await guest.start(tool("look", id=2))
        for id in (True, "1", None, [1], 5):
            assert (await guest.send(cancelled(id))).status == 202
        await settled()
        assert not visit.answer.ended
        assert (await guest.send(cancelled(1))).status == 202
        await settled()
        assert visit.answer.ended
        asked, taken_back = visit.answer.events
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"] == {"requestId": asked["id"]}
        assert not other.answer.ended
        await guest.send(cancelled(2))
        await settled()
        assert (other.answer.status, other.answer.events) == (200, [])


async def test_second_request_with_an_open_id_is_refused() -> None:
    async with hosting(make()) as here:
        guest, other = await here.guest(), await here.guest()
        visit = await guest.start(tool("greet", id=1))
        answer = await guest.send(Request(1, "ping", {}))
        assert (answer.status, answer.code) == (400, INVALID_REQUEST)
        assert (await other.send(Request(1, "ping", {}))).status == 200
        await guest.reply(question(visit), action="decline")
        await settled()
        assert (await guest.send(Request(1, "ping", {}))).status == 200


async def test_deleting_the_session_ends_its_parked_calls_at_once() -> None:
    async with hosting(make()) as here:
        guest, other = await here.guest(), await here.guest()
        visit, bystander = await guest.start(tool("greet", id=4)), await other.start(tool("greet"))
        assert (await guest.leave()).status == 204
        await settled()
        assert visit.answer.ended
        last: Any = visit.answer.events[-1]
        assert (last["id"], last["error"]["code"]) == (4, INVALID_REQUEST)
        assert not bystander.answer.ended


async def test_shutting_down_ends_what_only_waits_for_answers_and_lets_handlers_end() -> None:
    server, go_on = make(), trio.Event()

    @server.tool
    async def work() -> str:
        """Work on."""
        await go_on.wait()
        return "worked"

    async with hosting(server) as here:
        guest = await here.guest()
        parked, working = await guest.start(tool("greet", id=1)), await guest.start(tool("work"))
        here.app.shut_down()
        await settled()
        assert parked.answer.ended
        last: Any = parked.answer.events[-1]
        assert (last["id"], last["error"]["code"]) == (1, INTERNAL_ERROR)
        late = await guest.start(tool("greet"))
        assert late.answer.ended, "nobody could answer any more"
        assert not working.answer.ended
        go_on.set()
        await settled()
        assert text(working.answer.json) == "worked"


async def test_lifespan_ends_after_all_calls_of_sessions(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = make()
    async with trio.open_nursery() as nursery:
        app = http_app(server)
        async with app.running():
            guest = await begin(app, nursery)
            visits = [await guest.start(tool("greet")) for _ in range(3)]
            stream = await guest.listen()
        await settled()
        assert all(visit.answer.ended for visit in visits)
        assert stream.answer.ended


# -- turns ------------------------------------------------------------------------------------


async def test_parked_call_takes_nobodys_turn() -> None:
    async with hosting(make(concurrent_calls=1)) as here:
        guest = await here.guest()
        visits = [await guest.start(tool("greet")) for _ in range(5)]
        assert (await post(here.app, call("unknown"))).status == 400
        for visit in reversed(visits):
            await guest.reply(question(visit), action="accept", content={"name": "Ada"})
            await settled()
            assert text(visit.answer.events[-1]) == "Hello, Ada."


async def test_open_calls_are_bounded_and_the_bound_is_no_other_clients() -> None:
    async with hosting(make(waiting_calls=2)) as here:
        guest = await here.guest()
        visits = [await guest.start(tool("greet")) for _ in range(2)]
        answer = await guest.send(tool("greet"))
        assert (answer.status, answer.code) == (503, BUSY)
        assert answer.headers[b"retry-after"] == b"1"
        assert (await post(here.app, call("unknown"))).status == 400, "it was served"
        await guest.reply(question(visits[0]), action="decline")
        await settled()
        assert question(await guest.start(tool("greet")))


async def test_bytes_of_parked_calls_are_bounded() -> None:
    async with hosting(make(pending_bytes=4000)) as here:
        guest = await here.guest()
        large = tool("greet")
        large.params["_meta"] = {"x": "x" * 3000}
        await guest.start(large)
        answer = await guest.send(Request(99, "tools/call", large.params))
        assert (answer.status, answer.code) == (503, BUSY)


async def test_bytes_of_parked_calls_are_no_other_clients() -> None:
    async with hosting(make(pending_bytes=4000)) as here:
        guest = await here.guest()
        large = tool("greet")
        large.params["_meta"] = {"x": "x" * 3800}
        await guest.start(large)
        assert (await post(here.app, call("unknown"))).status == 400, "it was served"


async def test_bytes_of_answers_count_until_their_round_is_served() -> None:
    long = "x" * 3000
    async with hosting(make(pending_bytes=4000)) as here:
        guests = [await here.guest() for _ in range(2)]
        first = await guests[0].start(tool("two"))
        one, other = first.answer.events
        await guests[0].reply(one, action="accept", content={"name": long})
        second = await guests[1].start(tool("greet"))
        await guests[1].reply(question(second), action="accept", content={"name": long})
        await settled()
        assert text(second.answer.events[-1]) == "cancelled", "there was no room"
        await guests[0].reply(other, action="accept", content={"name": "b"})
        await settled()
        assert long in text(first.answer.events[-1])
        third = await guests[1].start(tool("greet"))
        await guests[1].reply(question(third), action="accept", content={"name": long})
        await settled()
        assert text(third.answer.events[-1]) == f"Hello, {long}."


@pytest.mark.parametrize(
    "answer",
    ['"result": null', '"result": 5', '"error": "no"', '"result": {"x": NaN}', '"result": {'],
)
async def test_answer_that_is_none_counts_as_cancelled_at_once(answer: str) -> None:
    async with hosting(make()) as here:
        guest, other = await here.guest(), await here.guest()
        visit = await guest.start(tool("greet"))
        id = question(visit)["id"]
        body = f'{{"jsonrpc": "2.0", "id": "{id}", {answer}}}'.encode()
        for sender, ends in ((other, False), (guest, True)):
            said = await post_body(here.app, body, older_head(**sender.headers()))
            assert said.status == 400
            await settled()
            assert (len(visit.answer.events) == 2) is ends
        assert text(visit.answer.events[-1]) == "cancelled"


async def test_hundreds_of_parked_calls_cost_little_and_all_end_at_the_end() -> None:
    app, number = http_app(make()), 600
    visits: list[Visit] = []
    async with trio.open_nursery() as nursery:
        guests = [await begin(app, nursery) for _ in range(20)]
        await guests[0].start(tool("greet"))  # what is made once is made
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for each in range(number):
            visit = await guests[each % 20].start(tool("greet"))
            visits.append(visit)
        cost = (tracemalloc.get_traced_memory()[0] - before) / number
        tracemalloc.stop()
        assert cost < 64 * 1024
        assert all(question(visit) for visit in visits)
        async with trio.open_nursery() as answering:
            for visit, guest in list(zip(visits, guests * 30, strict=True))[::2]:
                answering.start_soon(partial(guest.reply, question(visit), action="decline"))
        await settled()
        assert [visit.answer.ended for visit in visits[::2]] == [True] * (number // 2)
        assert not any(visit.answer.ended for visit in visits[1::2])
        app.shut_down()
        await settled()
        assert all(visit.answer.ended for visit in visits)
    assert {text(visit.answer.events[-1]) for visit in visits[::2]} == {"declined"}


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26"])
async def test_clients_of_earlier_revisions_are_asked_what_they_declare(version: str) -> None:
    async with hosting(make()) as here:
        guest = await here.guest(version)
        visit = await guest.start(tool("greet"))
        await guest.reply(visit.answer.events[0], action="decline")
        await settled()
        assert text(visit.answer.events[-1]) == "declined"


async def test_call_that_is_cancelled_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        visit = await guest.start(tool("greet"))
        visit.left.set()
        await settled()
        assert guest.id not in repr(here.app)
    assert caplog.text == ""


async def test_session_that_ends_while_its_call_is_parked_leaves_nothing_behind() -> None:
    async with hosting(make(waiting_calls=1)) as here:
        for _ in range(3):
            guest = await here.guest()
            visit = await guest.start(tool("greet"))
            await guest.leave()
            await settled()
            assert visit.answer.ended
            assert (await send(here.app, PING, mcp_session_id=guest.id)).status == 404
