"""Sessions over HTTP: how they begin and end, whose they are, and how many there may be."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Limits, Server
from antiphon.engine.errors import BUSY, INVALID_PARAMS, INVALID_REQUEST, UsageError
from antiphon.engine.jsonrpc import Failure, Notification, Request, Success
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import Visit, post, post_body
from tests.http_server.scripted import listing as modern_listing
from tests.older_http.visiting import (
    Guest,
    Here,
    begin,
    hosting,
    older_head,
    opening,
    send,
    settled,
    tool,
    verify,
)
from tests.older_server.asking import make
from tests.older_server.peer import LATEST, VERSIONS

PING = Request(7, "ping", {})
UNSUPPORTED = -32022


def stolen(guest: Guest, here: Here, bearer: str | None) -> Guest:
    """Somebody else who has got hold of the id."""
    return Guest(here.app, here.nursery, guest.id, guest.version, bearer)


# -- the beginning ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_initialize_begins_a_session_in_the_revision_that_is_asked_for(version: str) -> None:
    async with hosting(make()) as here:
        answer = await send(here.app, opening(version))
        assert answer.status == 200
        result: Any = answer.json["result"]
        assert result["protocolVersion"] == version
        assert result["serverInfo"]["name"] == "Older"
        assert re.fullmatch(rb"[A-Za-z0-9_-]{43}", answer.headers[b"mcp-session-id"])


async def test_each_session_has_an_id_of_its_own_after_the_prefix() -> None:
    async with hosting(make(), session_prefix="eu-1/") as here:
        guests = [await here.guest() for _ in range(20)]
        assert len({guest.id for guest in guests}) == 20
        assert all(re.fullmatch(r"eu-1/[A-Za-z0-9_-]{43}", guest.id) for guest in guests)
        assert (await guests[3].send(PING)).json["result"] == {}


@pytest.mark.parametrize("prefix", ["a b", "ü", "a\n", "\x00"])
def test_prefix_that_no_header_can_carry_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match="visible ASCII"):
        http_app(make(), session_prefix=prefix)


async def test_id_that_a_client_brings_along_is_never_taken() -> None:
    async with hosting(make()) as here:
        victim = await here.guest()
        for brought in ("mine", victim.id):
            answer = await send(here.app, opening(), mcp_session_id=brought)
            assert answer.headers[b"mcp-session-id"] not in (brought.encode(), victim.id.encode())
        assert (await send(here.app, PING, mcp_session_id="mine")).status == 404


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1}, {"protocolVersion": LATEST}])
async def test_malformed_initialize_begins_nothing(params: dict[str, Any]) -> None:
    async with hosting(make()) as here:
        answer = await send(here.app, Request(5, "initialize", params))
        assert (answer.status, answer.code, answer.json["id"]) == (400, INVALID_PARAMS, 5)
        assert b"mcp-session-id" not in answer.headers


async def test_whatever_comes_without_a_session_is_told_to_initialize() -> None:
    async with hosting(make()) as here:
        answer = await send(here.app, PING)
        assert (answer.status, answer.code, answer.json["id"]) == (400, INVALID_REQUEST, 7)
        assert "initialize" in answer.message
        assert (await send(here.app, Success("server-1", {}))).status == 400
        assert (await send(here.app, Notification("notifications/initialized", {}))).status == 202


# -- the end ----------------------------------------------------------------------------------


async def test_deleted_session_is_gone() -> None:
    async with hosting(make()) as here:
        guest, other = await here.guest(), await here.guest()
        answer = await guest.leave()
        assert (answer.status, answer.body) == (204, b"")
        gone = await send(here.app, PING, mcp_session_id=guest.id)
        assert (gone.status, gone.json["id"]) == (404, 7)
        assert (await guest.leave()).status == 404
        assert (await guest.listen()).answer.status == 404
        assert (await other.send(PING)).status == 200


async def test_guessed_ids_are_unknown() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        for guess in ("", "x", guest.id[:-1], guest.id + "A", guest.id.swapcase(), "a" * 5000):
            assert (await send(here.app, PING, mcp_session_id=guess)).status == 404
        twice = older_head(**guest.headers())
        twice.append((b"mcp-session-id", guest.id.encode()))
        answer = await Visit(twice, [b'{"jsonrpc":"2.0","id":1,"method":"ping"}']).run(here.app)
        assert answer.status == 400


async def test_session_belongs_to_the_principal_who_began_it() -> None:
    async with hosting(make(), authenticate=verify) as here:
        guest = await here.guest(bearer="alice")
        thief = stolen(guest, here, "mallory")
        unknown = Guest(here.app, here.nursery, "x" * 43, LATEST, "mallory")
        for message in (PING, Notification("notifications/cancelled", {"requestId": 1})):
            answer = await thief.send_raw(message)
            assert answer.status == 404
            assert answer.body == (await unknown.send_raw(message)).body
        assert (await thief.listen()).answer.status == 404
        assert (await thief.leave()).status == 404
        assert (await stolen(guest, here, None).send_raw(PING)).status == 401
        assert (await stolen(guest, here, "alice").send(PING)).status == 200


async def test_idle_session_expires(autojump_clock: trio.testing.MockClock) -> None:
    async with hosting(make(session_seconds=60)) as here:
        guest = await here.guest()
        for _ in range(3):
            await trio.sleep(59)
            assert (await guest.send(PING)).status == 200
        await trio.sleep(61)
        assert (await send(here.app, PING, mcp_session_id=guest.id)).status == 404


@pytest.mark.parametrize("by", ["stream", "call"])
async def test_session_with_something_open_is_not_idle(
    by: str, autojump_clock: trio.testing.MockClock
) -> None:
    async with hosting(make(session_seconds=60, question_seconds=1e6, open_seconds=1e6)) as here:
        guest = await here.guest()
        visit = await (guest.listen() if by == "stream" else guest.start(tool("greet")))
        await trio.sleep(600)
        assert (await guest.send(PING)).status == 200
        await trio.sleep(600)
        visit.left.set()
        await settled()
        await trio.sleep(59)
        assert (await guest.send(PING)).status == 200
        await trio.sleep(61)
        assert (await send(here.app, PING, mcp_session_id=guest.id)).status == 404


async def test_idle_session_gives_way_to_one_that_would_be_too_many(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with hosting(make(sessions=3)) as here:
        guests: list[Guest] = []
        for _ in range(3):
            guests.append(await here.guest())
            await trio.sleep(1)
        assert (await guests[0].send(PING)).status == 200
        await trio.sleep(1)
        further = await here.guest()
        statuses = [(await guest.send_raw(PING)).status for guest in (*guests, further)]
    assert statuses == [200, 404, 200, 200], "the one that was silent for longest"


async def test_session_with_something_open_gives_way_to_none() -> None:
    async with hosting(make(sessions=2)) as here:
        listener, caller = await here.guest(), await here.guest()
        await listener.listen()
        await caller.start(tool("greet"))
        answer = await send(here.app, opening())
        assert (answer.status, answer.code) == (503, BUSY)
        assert answer.headers[b"retry-after"] == b"1"
        assert "sessions" in answer.message
        await caller.leave()
        await here.guest()
        assert (await listener.send(PING)).status == 200


async def test_sessions_of_whoever_has_most_give_way_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with hosting(make(sessions=4), authenticate=verify) as here:
        quiet = await here.guest(bearer="ada")
        await trio.sleep(100)
        for _ in range(20):
            await here.guest(bearer="eve")
        assert (await quiet.send(PING)).status == 200


async def test_what_clients_say_of_themselves_is_bounded_in_all() -> None:
    async with hosting(Server("Small", limits=Limits(pending_bytes=2000))) as here:
        large = opening()
        large.params["clientInfo"] = {"name": "n" * 1750, "version": "1"}
        first = await begin(here.app, here.nursery)
        assert (await send(here.app, large)).status == 200, "the first gave way"
        assert (await first.send_raw(PING)).status == 404
        guest = await here.guest()
        await guest.listen()
        answer = await send(here.app, large)
        assert (answer.status, answer.code) == (503, BUSY)
        assert "pending_bytes" in answer.message


async def test_sessions_are_forgotten_at_the_end_of_the_lifespan() -> None:
    async with trio.open_nursery() as nursery:
        app = http_app(make())
        async with app.running():
            guest = await begin(app, nursery)
            assert (await guest.send(PING)).status == 200
        assert (await send(app, PING, mcp_session_id=guest.id)).status == 404


# -- the head ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*VERSIONS, None])
async def test_every_earlier_revision_may_be_named_in_the_head(version: str | None) -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        assert (await guest.send(PING, mcp_protocol_version=version)).status == 200


@pytest.mark.parametrize("version", ["2024-01-01", "", "latest", "2030-01-01"])
async def test_unknown_revision_in_the_head_is_refused_with_those_that_are_served(
    version: str,
) -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        answer = await guest.send_raw(PING, mcp_protocol_version=version)
        assert (answer.status, answer.code) == (400, UNSUPPORTED)
        data: Any = answer.error["data"]
        assert data["supported"] == ["2026-07-28", *VERSIONS]
        assert (await guest.listen(mcp_protocol_version=version)).answer.status == 400


async def test_request_that_forgot_its_meta_under_this_revision_is_told_so() -> None:
    async with hosting(make()) as here:
        for session in (None, (await here.guest()).id):
            answer = await send(
                here.app, PING, mcp_session_id=session, mcp_protocol_version="2026-07-28"
            )
            assert (answer.status, answer.code) == (400, INVALID_PARAMS)
            assert "_meta" in answer.message


async def test_request_of_this_revision_ignores_a_stray_session() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        for id in (guest.id, "nothing"):
            answer = await post(here.app, modern_listing(), mcp_session_id=id)
            assert answer.status == 200
            result: Any = answer.json["result"]
            assert result["resultType"] == "complete"
            assert b"mcp-session-id" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_get_and_delete_want_a_session(method: str) -> None:
    async with hosting(make()) as here:
        answer = await Visit(older_head(), method=method).run(here.app)
        assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")


async def test_other_methods_are_405_and_allow_what_a_session_may() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        answer = await Visit(older_head(**guest.headers()), method="PUT").run(here.app)
        assert (answer.status, answer.headers[b"allow"]) == (405, b"POST, GET, DELETE")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"authorization": "Bearer nobody"}, 401),
        ({"authorization": None}, 401),
    ],
    ids=["host", "origin", "nobody", "no bearer"],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_guards_stand_before_sessions(
    method: str, change: dict[str, str | None], status: int
) -> None:
    async with hosting(make(), authenticate=verify) as here:
        guest = await here.guest(bearer="alice")
        headers = older_head(**guest.headers(**change))
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}' if method == "POST" else b""
        assert (await Visit(headers, [body], method=method).run(here.app)).status == status
        assert (await guest.send(PING)).status == 200, "nothing was ended"


@pytest.mark.parametrize(
    ("change", "status"),
    [({"content_type": "text/plain"}, 415), ({"accept": "application/json"}, 406)],
    ids=["content type", "accept"],
)
async def test_media_types_are_held_to_in_sessions_too(change: dict[str, str], status: int) -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        assert (await guest.send_raw(PING, **change)).status == status


async def test_mirrored_headers_are_nothing_to_earlier_revisions() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        assert (await guest.send(PING, mcp_method="tools/call", mcp_name="else")).status == 200


# -- errors -----------------------------------------------------------------------------------


async def test_unknown_method_is_no_404_which_would_end_the_session() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        answer = await guest.send(Request(1, "no/such", {}))
        assert (answer.status, answer.code) == (200, -32601)
        answer = await guest.send(Request(2, "server/discover", {}))
        assert (answer.status, answer.code) == (200, -32601)


async def test_answers_that_nobody_waits_for_are_taken_and_dropped() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        assert (await guest.send(Success("server-99", {}))).status == 202
        assert (await guest.send(Failure("server-99", -1, "no"))).status == 202


async def test_broken_bodies_leave_the_session_as_it_was() -> None:
    async with hosting(make()) as here:
        guest = await here.guest()
        for body in (b"", b"{", b"[]", b"[" * 1000, b'{"jsonrpc":"2.0"}'):
            answer = await post_body(here.app, body, older_head(**guest.headers()))
            assert answer.status == 400
        assert (await guest.send(PING)).status == 200


# -- without sessions -------------------------------------------------------------------------


async def test_without_sessions_every_request_stands_alone() -> None:
    async with hosting(make(), sessions=False) as here:
        answer = await send(here.app, opening())
        assert answer.status == 200
        assert b"mcp-session-id" not in answer.headers
        result: Any = answer.json["result"]
        # There is no stream on which a change could be told.
        assert result["capabilities"] == {"logging": {}, "tools": {}}
        for version in (None, *VERSIONS):
            answer = await send(
                here.app, Request(1, "tools/list", {}), mcp_protocol_version=version
            )
            result = answer.json["result"]
            assert [each["name"] for each in result["tools"]] == ["greet", "two", "twice", "look"]
            assert "resultType" not in result
        answer = await send(here.app, PING, mcp_protocol_version="1999-01-01")
        assert (answer.status, answer.code) == (400, UNSUPPORTED)
        for method in ("GET", "DELETE"):
            answer = await Visit(older_head(mcp_session_id="x"), method=method).run(here.app)
            assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")


async def test_without_sessions_nobody_is_asked_and_the_model_is_told_why() -> None:
    async with hosting(make(), sessions=False) as here:
        await send(here.app, opening())
        answer = await send(here.app, tool("greet"))
        result: Any = answer.json["result"]
        assert result["isError"]
        assert "sessions" in result["content"][0]["text"]
        assert (await send(here.app, Success("server-1", {}))).status == 400
        assert (await send(here.app, Notification("notifications/cancelled", {}))).status == 202


async def test_server_without_handshake_is_as_it_was() -> None:
    async with hosting(Server("Modern", handshake=False)) as here:
        answer = await send(here.app, opening())
        assert (answer.status, answer.code) == (400, UNSUPPORTED)
        data: Any = answer.error["data"]
        assert data["supported"] == ["2026-07-28"]
        for method in ("GET", "DELETE"):
            answer = await Visit(older_head(mcp_session_id="x"), method=method).run(here.app)
            assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")
        assert (await send(here.app, Success(1, {}))).status == 400
