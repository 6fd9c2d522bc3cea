"""The stream for what belongs to no call."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from antiphon.engine.jsonrpc import Notification
from antiphon.engine.limits import Limits
from tests.http_client.scripted import Peer, Received, answer, event, failure, stream, success
from tests.http_older.scripted import (
    SESSION,
    VERSION,
    Heard,
    Play,
    asked,
    attended,
    begin,
    breaking,
    call,
    in_session,
    initialized,
    linked,
    numbered,
    serves,
    shake,
    silence,
    streaming,
    told,
    watched,
)


async def test_what_belongs_to_no_call_is_heard() -> None:
    server = serves(GET=streaming(event(told()), event(asked("ping-1", "ping"))))
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(2)
    assert heard.names == ["notifications/message", "ping"]
    assert server.names.count("GET") == 1


async def test_it_may_be_attended_to_before_the_handshake() -> None:
    server = serves(GET=streaming(event(told())))
    async with linked(server) as (link, _):
        heard = Heard()
        async with attended(link, heard):
            await wait_all_tasks_blocked(0.05)
            assert not server.received
            await shake(link, heard)
            await heard.until(1)
    assert server.names[:1] == ["initialize"]


async def test_the_first_call_waits_for_it() -> None:
    """Else the server would send what it asks for to nobody."""
    asked_for = trio.Event()

    async def late(peer: Peer, received: Received) -> None:
        await asked_for.wait()
        await streaming()(peer, received)

    server = serves(GET=late, tools_call=answer(success()))
    async with in_session(server) as (link, heard), attended(link, heard) as nursery:
        nursery.start_soon(link.exchange, call(), heard.notification, heard.request)
        await server.until("GET")
        await wait_all_tasks_blocked(0.05)
        assert "tools/call" not in server.names
        asked_for.set()
        await server.until("tools/call")


async def test_the_server_may_ask_no_sooner_than_it_can() -> None:
    """Many ask for roots at once, and lose the question where there is no stream yet."""
    asked_for = trio.Event()

    async def late(peer: Peer, received: Received) -> None:
        await asked_for.wait()
        await streaming(event(asked(1, "roots/list")))(peer, received)

    server = serves(GET=late)
    async with linked(server) as (link, _):
        heard = Heard()
        await link.exchange(begin(), heard.notification, heard.request)
        link.begun(VERSION)
        async with attended(link, heard) as nursery:
            nursery.start_soon(link.say, Notification("notifications/initialized", {}))
            await server.until("GET")
            await wait_all_tasks_blocked(0.05)
            assert server.names == ["initialize", "GET"]
            asked_for.set()
            await server.until("notifications/initialized")
            await heard.until(1)


async def test_the_first_call_waits_for_a_second_at_most(patient_clock: MockClock) -> None:
    server = serves(GET=silence, tools_call=answer(success()))
    async with in_session(server) as (link, heard), attended(link, heard):
        began = trio.current_time()
        await link.exchange(call(), heard.notification, heard.request)
        assert trio.current_time() - began == pytest.approx(1.0, abs=0.1)
        await link.exchange(call(), heard.notification, heard.request)
        assert trio.current_time() - began == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("end", [stream, breaking])
async def test_it_is_taken_up_again(patient_clock: MockClock, end: type) -> None:
    first = end(numbered("e1", retry=2000), numbered("e2", told("one")), event(told("two")))
    server = serves(GET=[first, streaming(event(told("three")))])
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(3)
    assert heard.names == ["one", "two", "three"]
    first_get, second_get = server.of("GET")
    assert "last-event-id" not in first_get.headers
    assert second_get["last-event-id"] == "e2"
    first_time, second_time = server.times_of("GET")
    assert second_time - first_time == pytest.approx(2.0, abs=0.2)


async def test_without_ids_it_begins_anew(patient_clock: MockClock) -> None:
    server = serves(GET=[stream(event(told("one"))), streaming(event(told("two")))])
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(2)
    assert "last-event-id" not in server.of("GET")[1].headers


async def test_streams_that_bring_something_are_asked_for_when_told(
    patient_clock: MockClock,
) -> None:
    brief = stream(b"retry: 2000\n" + event(told()))
    server = serves(GET=brief)
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(8)
    times = server.times_of("GET")
    assert [later - sooner for sooner, later in pairwise(times)] == pytest.approx(
        [2.0] * (len(times) - 1), abs=0.2
    )


@pytest.mark.parametrize(
    "refusal",
    [
        answer(status=405),
        answer(failure(None), status=405),
        answer(failure(None), status=404),
        answer(status=401),
        answer(status=302),
        answer(status=204, kind=None),
        answer(success(None)),
        answer(b"<html>", kind="text/html"),
    ],
    ids=["405", "405 that says why", "404", "401", "302", "204", "JSON", "HTML"],
)
async def test_a_server_without_one_is_not_asked_again(
    patient_clock: MockClock, refusal: bytes
) -> None:
    server = serves(GET=refusal)
    async with in_session(server) as (link, heard), attended(link, heard):
        await trio.sleep(10_000)
    assert server.names.count("GET") == 1


@pytest.mark.parametrize("session", [None, SESSION], ids=["no session", "session"])
@pytest.mark.parametrize("status", [400, 404, 405, 401])
async def test_where_none_is_to_be_expected_there_is_no_warning(
    status: int, session: str | None, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "antiphon")
    server = serves(initialize=initialized(session), GET=answer(status=status))
    async with in_session(server) as (link, heard), attended(link, heard):
        await trio.sleep(10)
    (record,) = (record for record in caplog.records if "gives no stream" in record.message)
    loud = status == 401 or (status == 400 and session is not None)
    assert record.levelno == (logging.WARNING if loud else logging.DEBUG)


@pytest.mark.parametrize("play", [answer(status=500), answer(status=409), breaking(), stream()])
async def test_a_server_in_trouble_is_asked_again_in_peace(
    patient_clock: MockClock, play: Play
) -> None:
    server = serves(GET=[*[play] * 30, streaming(event(told()))])
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(1)
    times = server.times_of("GET")
    assert len(times) == 31
    assert times[-1] - times[0] > 60  # by chance less, once in 10**12 times
    assert all(later - sooner < 61 for sooner, later in pairwise(times))


async def test_a_time_to_come_back_at_is_kept(patient_clock: MockClock) -> None:
    busy = answer(b"", "Retry-After: 400", status=503)
    server = serves(GET=[busy, streaming(event(told()))])
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(1)
    sooner, later = server.times_of("GET")
    assert later - sooner == pytest.approx(400, abs=1)


async def test_replies_and_noise_on_it_are_passed_over(patient_clock: MockClock) -> None:
    noise = [event(success(1)), event(b"ping"), event(failure(None)), b": comment\n\n"]
    server = serves(GET=[stream(*noise, event(told("one"))), streaming(event(told("two")))])
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(2)
    assert heard.names == ["one", "two"]


async def test_an_event_beyond_the_limit_ends_it(
    patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    server = serves(GET=streaming(event(told("x" * 2000))))
    async with (
        in_session(server, limits=Limits(message_bytes=1000)) as (link, heard),
        attended(link, heard),
    ):
        await trio.sleep(10_000)
    assert server.names.count("GET") == 1
    assert "gives no stream for what belongs to no request: InvalidReply" in caplog.text


async def test_a_token_that_cannot_be_had_is_asked_for_again(patient_clock: MockClock) -> None:
    failures = [False, False, True, True, False]

    async def token() -> str:
        if failures.pop(0):
            raise OSError("no token now")
        return "token"

    server = serves(GET=streaming(event(told())))
    async with in_session(server, token=token) as (link, heard), attended(link, heard):
        await heard.until(1)
    assert not failures


async def test_it_ends_with_the_session(patient_clock: MockClock) -> None:
    server = serves(GET=[streaming(event(told())), answer(status=500)])
    async with in_session(server) as (link, heard), attended(link, heard):
        await heard.until(1)
        await link.end()
        await trio.sleep(10_000)
    assert server.names.count("GET") == 1


async def test_cancelling_it_closes_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "antiphon")
    server, closed = watched(silence, "GET")
    async with linked(server) as (link, _):
        heard = Heard()
        await shake(link, heard)
        async with attended(link, heard):
            await server.until("GET")
        await closed.wait()
    assert not caplog.records
