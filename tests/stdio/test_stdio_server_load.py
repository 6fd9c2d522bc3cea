"""Serving a stream of lines: many calls at once, slow peers, the end of the connection."""

from __future__ import annotations

import contextvars
import json
import logging
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Notification, Reply, Request, Success
from antiphon.engine.limits import Limits
from antiphon.transports import line_server
from antiphon.transports.stdio import serve_lines
from tests.stdio.harness import Peer, call, cancel, line, served, stream_pair
from tests.stdio.scripted import Scripted


def ids(handler: Scripted) -> list[Any]:
    return [request.id for request in handler.asked]


# -- concurrency and back-pressure ------------------------------------------------------------


async def test_a_slow_call_holds_up_neither_others_nor_cancellation() -> None:
    handler = Scripted()
    async with served(handler, tight=True) as peer:
        await peer.say(call(1, "park"), call(2))
        assert (await peer.hear())["id"] == 2
        await peer.say(cancel(1))
        await trio.testing.wait_all_tasks_blocked()
        assert handler.cancelled == [1]


async def test_no_more_calls_run_than_the_limit() -> None:
    handler = Scripted(Limits(concurrent_calls=3))
    async with served(handler) as peer:
        await peer.say(*(call(i, "park") for i in range(10)))
        await trio.testing.wait_all_tasks_blocked()
        assert handler.running == 3
        handler.go_on.set()
        assert set(await peer.hear_all(10)) == set(range(10))
    assert handler.most_running == 3


async def test_calls_that_wait_have_their_turn_in_the_order_in_which_they_came() -> None:
    handler = Scripted(Limits(concurrent_calls=1))
    async with served(handler) as peer:
        await peer.say(*(call(i) for i in range(10)))
        await peer.hear_all(10)
    assert ids(handler) == list(range(10))


async def test_cancelling_gets_through_while_every_slot_is_taken() -> None:
    handler = Scripted(Limits(concurrent_calls=2))
    async with served(handler) as peer:
        await peer.say(*(call(i, "park") for i in range(5)))
        await peer.say(cancel(3))  # waits
        await peer.say(cancel(0))  # runs, and makes room for the next
        await trio.testing.wait_all_tasks_blocked()
        assert handler.cancelled == [0]
        assert sorted(ids(handler)) == [0, 1, 2]
        handler.go_on.set()
        assert set(await peer.hear_all(3)) == {1, 2, 4}
        await peer.hear_nothing()
    assert sorted(ids(handler)) == [0, 1, 2, 4]


async def test_a_live_id_cannot_be_used_twice_and_its_first_call_is_unharmed() -> None:
    handler = Scripted(Limits(concurrent_calls=2))
    async with served(handler) as peer:
        await peer.say(call(1, "park"), call(2, "park"), call(3, "park"))
        await peer.say(call(1), call(3))  # one runs, one waits
        first, second = await peer.hear(), await peer.hear()
        assert [(r["id"], r["error"]["code"]) for r in (first, second)] == [
            (1, -32600),
            (3, -32600),
        ]
        handler.go_on.set()
        replies = await peer.hear_all(3)
        assert all("result" in replies[id] for id in (1, 2, 3))
        await peer.say(call(1))
        assert (await peer.hear())["result"] == {"params": {}}


async def test_a_thousand_calls_at_once_are_all_answered() -> None:
    handler = Scripted(Limits(concurrent_calls=1000))
    async with served(handler) as peer:
        await peer.say(*(call(i, "park") for i in range(1000)))
        await trio.testing.wait_all_tasks_blocked()
        assert handler.running == 1000
        handler.go_on.set()
        assert set(await peer.hear_all(1000)) == set(range(1000))


@pytest.mark.parametrize("method", ["echo", "big"])
async def test_a_client_that_writes_everything_before_it_reads_is_not_locked_out(
    method: str,
) -> None:
    # Its replies pass every buffer between us long before the first is read.
    async with served(Scripted(), tight=True) as peer:
        for i in range(2000):
            await peer.say(call(i, method, size=1000))
        assert set(await peer.hear_all(2000)) == set(range(2000))


async def test_a_flood_of_progress_waits_for_a_reader_that_stalls() -> None:
    handler = Scripted()
    async with served(handler, tight=True) as peer:
        await peer.say(call(1, "flood", count=20_000))
        await trio.testing.wait_all_tasks_blocked()
        assert handler.running == 1  # it waits
        await peer.say(call(2, "park"), cancel(2), call(3))
        await trio.testing.wait_all_tasks_blocked()
        assert handler.cancelled == [2]  # and nobody waits for it
        messages = [await peer.hear() for _ in range(20_002)]
        steps = [m["params"]["progress"] for m in messages if "method" in m]
        assert steps == list(range(20_000))
        assert {m["id"] for m in messages if "id" in m} == {1, 3}


async def test_a_call_that_waits_for_the_reader_can_be_cancelled() -> None:
    handler = Scripted()
    async with served(handler, tight=True) as peer:
        await peer.say(call(1, "flood", count=10**9))
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(cancel(1), call(2))
        await trio.testing.wait_all_tasks_blocked()
        assert handler.cancelled == [1]
        while (message := await peer.hear()).get("id") != 2:
            assert message["method"] == "notifications/progress"


async def test_progress_comes_before_the_reply() -> None:
    async with served(Scripted()) as peer:
        await peer.say(call("t", "flood", count=3))
        messages = [await peer.hear() for _ in range(4)]
        assert [m.get("params", {}).get("progress") for m in messages] == [0, 1, 2, None]
        assert messages[0]["params"]["progressToken"] == "t"


async def test_what_is_said_for_a_finished_call_is_dropped() -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.say(call(1))
        await peer.hear()
        await handler.exchanges[0].notify(Notification("notifications/progress", {"progress": 9}))
        await peer.hear_nothing()


async def test_refusals_that_nobody_reads_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_server, "UNREAD", 1_000_000)
    sent = 0
    async with served(Scripted(), tight=True) as peer, trio.open_nursery() as nursery:

        async def stop_when_stuck() -> None:
            await trio.testing.wait_all_tasks_blocked(0.05)
            nursery.cancel_scope.cancel()

        nursery.start_soon(stop_when_stuck)
        while sent < 1000:
            await peer.raw(b"{\n" * 1000)
            sent += 1
    assert 2 < sent < 100  # each is answered by some 100,000 bytes


async def test_calls_do_not_see_each_others_context() -> None:
    variable = contextvars.ContextVar[str]("variable", default="unset")

    class Leaky(Scripted):
        async def do_leak(self, request: Request, exchange: Exchange) -> JsonObject:
            found = variable.get()
            variable.set("leaked")
            await trio.lowlevel.checkpoint()
            return {"found": found}

    async with served(Leaky(Limits(concurrent_calls=1))) as peer:
        await peer.say(*(call(i, "leak") for i in range(3)))
        replies = await peer.hear_all(3)
        assert {reply["result"]["found"] for reply in replies.values()} == {"unset"}


async def test_a_reply_that_json_cannot_carry_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served(Scripted()) as peer:
        await peer.say(call(1, "unsendable"), call(2))
        replies = await peer.hear_all(2)
        assert replies[1]["error"]["code"] == -32603
        assert replies[2]["result"] == {"params": {}}
    (record,) = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert record.name == "antiphon.stdio"
    assert "request 1 cannot be sent" in record.getMessage()


# -- the end of the input ---------------------------------------------------------------------


async def test_requests_already_taken_are_answered_after_the_end_of_the_input(
    autojump_clock: trio.testing.MockClock,
) -> None:
    handler = Scripted(Limits(concurrent_calls=2))
    async with served(handler, grace=2.0) as peer:
        await peer.say(*(call(i, "sleep", seconds=0.2) for i in range(6)))
        await peer.raw(line(call("unended")).rstrip())
        await peer.hang_up()
        assert len(await peer.hear_all(7)) == 7
        assert await peer.hear() is None
    assert trio.current_time() < 1.0


async def test_what_takes_longer_than_the_grace_is_cancelled(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Scripted(Limits(concurrent_calls=2))
    start = trio.current_time()
    async with served(handler, grace=2.0) as peer:
        await peer.say(call(1, "park"), call(2, "park"), call(3), call(4, "sleep", seconds=9))
        await peer.hang_up()
        assert await peer.hear() is None
    assert trio.current_time() - start == pytest.approx(2.0)
    assert sorted(handler.cancelled) == [1, 2]
    # Those that waited have not even begun.
    assert sorted(ids(handler)) == [1, 2]
    assert "grace" not in caplog.text
    assert "not enough for every call" in caplog.text


async def test_a_peer_that_neither_writes_nor_reads_costs_no_more_than_the_grace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ours, theirs = stream_pair(tight=True)
    handler = Scripted()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve_lines(handler, theirs, theirs, grace=3.0))
        peer = Peer(ours)
        await peer.say(call(1, "big", size=1_000_000))
        await trio.testing.wait_all_tasks_blocked()
        await peer.hang_up()
        start = trio.current_time()
    assert trio.current_time() - start == pytest.approx(3.0)


async def test_a_quiet_connection_ends_at_once(autojump_clock: trio.testing.MockClock) -> None:
    start = trio.current_time()
    async with served(Scripted()) as peer:
        await peer.say(call(1))
        await peer.hear()
        await peer.hang_up()
        assert await peer.hear() is None
    assert trio.current_time() == start


# -- a peer that is gone ----------------------------------------------------------------------


class Breaking(trio.abc.Stream):
    """A stream whose writes fail, whose reads wait for ever."""

    def __init__(self, first: bytes) -> None:
        self._first = first

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        raise trio.BrokenResourceError

    async def wait_send_all_might_not_block(self) -> None: ...

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        if self._first:
            data, self._first = self._first, b""
            return data
        await trio.sleep_forever()
        raise AssertionError

    async def aclose(self) -> None: ...


async def test_a_reader_that_is_gone_ends_the_serving_quietly(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Scripted(Limits(concurrent_calls=2))
    start = trio.current_time()
    requests = [call(1, "park"), call(2, "flood", count=10**9), call(3), call(4)]
    stream = Breaking(b"".join(map(line, requests)))
    await serve_lines(handler, stream, stream)
    assert trio.current_time() == start
    assert sorted(handler.cancelled) == [1, 2]
    assert sorted(ids(handler)) == [1, 2]
    assert not [r for r in caplog.records if r.levelno > logging.INFO]


async def test_an_input_that_breaks_is_an_end_of_input(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Reset(Breaking):
        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            raise trio.BrokenResourceError

    stream = Reset(b"")
    await serve_lines(Scripted(), stream, stream)


async def test_serving_leaves_the_streams_to_their_owner() -> None:
    ours, theirs = stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, Scripted(), theirs, theirs)
        peer = Peer(ours)
        await peer.say(call(1))
        await peer.hear()
        await peer.hang_up()
    await theirs.send_all(b"still open")
    assert await ours.receive_some() == b"still open"


async def test_a_call_that_is_given_up_with_the_connection_is_not_answered() -> None:
    handler = Scripted()
    ours, theirs = stream_pair()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_lines, handler, theirs, theirs)
            await Peer(ours).say(call(1, "park"))
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert handler.cancelled == [1]
    await theirs.aclose()
    assert await ours.receive_some() == b""


async def test_small_requests_leave_in_few_sends() -> None:
    class Counting(trio.abc.SendStream):
        sends = 0

        async def send_all(self, data: bytes | bytearray | memoryview) -> None:
            await trio.lowlevel.checkpoint()
            self.sends += 1

        async def wait_send_all_might_not_block(self) -> None: ...

        async def aclose(self) -> None: ...

    send, receive = trio.testing.memory_stream_one_way_pair()
    counting = Counting()
    await send.send_all(b"".join(line(call(i)) for i in range(500)))
    await send.aclose()
    await serve_lines(Scripted(), receive, counting)
    assert counting.sends < 10


class Typed:
    """The least that can be served: the protocol has three members."""

    name = "typed"
    limits = Limits()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        return Success(request.id, {})


async def test_anything_with_three_members_can_be_served() -> None:
    async with served(Typed()) as peer:
        await peer.say(call(1))
        assert json.dumps(await peer.hear()) == '{"jsonrpc": "2.0", "id": 1, "result": {}}'
