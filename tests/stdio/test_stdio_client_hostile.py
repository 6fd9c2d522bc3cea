"""The client's end of a stream of lines: what is no reply, and the connection's end."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.errors import InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Success
from antiphon.engine.limits import Limits
from antiphon.transports.line_client import LINGER, WARNINGS, open_lines
from tests.stdio.client_side import Asker, connected, result
from tests.stdio.harness import Peer, ignored, line, request, stream_pair

# -- lines that are no replies ----------------------------------------------------------------


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert {record.name for record in records} <= {"antiphon.stdio"}
    return [record.getMessage() for record in records]


@pytest.mark.parametrize(
    "garbage",
    [
        b"Server listening on stdin",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"42",
        b"{}",
        b"\xff\xfe\x00",
        b'{"level":"info","msg":"started"}',
        b'{"jsonrpc":"2.0","result":{}}',
    ],
)
async def test_garbage_is_skipped_with_a_warning(
    garbage: bytes, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1))
        await peer.raw(garbage + b"\n" + line(result(1)))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes == {1: Success(1, {})}
    (warning,) = warnings(caplog)
    assert warning.startswith("the peer sent a line that is no message")


async def test_a_warning_shows_little_and_the_many_are_not_all_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with connected() as (_, peer):
        await peer.raw(b"garbage\x1b[2J" + b"g" * 10_000 + b"\n")
        await peer.raw(b"more\n" * 1000)
        await trio.testing.wait_all_tasks_blocked()
    shown = warnings(caplog)
    assert len(shown) == WARNINGS
    assert len(shown[0]) < 300
    assert "\x1b" not in shown[0]


async def test_a_request_of_the_server_is_ignored_with_a_warning(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1))
        await peer.hear()
        await peer.say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        await peer.hear_nothing()
        await peer.say(result(1))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes == {1: Success(1, {})}
    assert "sent a request" in warnings(caplog)[0]


async def test_a_reply_that_nobody_waits_for_is_dropped_quietly(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1))
        await peer.say(result(2), result("1"), result(1))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes == {1: Success(1, {})}
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    "bad",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}',
        b'{"result":{"n":1e999},"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":7}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 100 + b"1" + b"}" * 101,
    ],
)
async def test_a_malformed_reply_ends_its_own_request_alone(
    bad: bytes, nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1), request(2))
        await peer.raw(bad + b"\n" + line(result(2)))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes[2] == Success(2, {})
    assert isinstance(asker.outcomes[1], InvalidReply)
    assert "the peer sent an invalid reply" in str(asker.outcomes[1])
    assert warnings(caplog) == []


LONG = b"x" * 2000
SMALL = Limits(message_bytes=1000)


@pytest.mark.parametrize(
    "long",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"t":"' + LONG + b'"}}',
        b'{"result":{"t":"' + LONG + b'"},"jsonrpc":"2.0","id":1}',
    ],
)
async def test_a_reply_that_is_too_long_ends_its_own_request_alone(
    long: bytes, nursery: trio.Nursery
) -> None:
    async with connected(limits=SMALL) as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1), request(2))
        await peer.raw(long + b"\n" + line(result(2)))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes[2] == Success(2, {})
    assert isinstance(asker.outcomes[1], InvalidReply)
    assert "message_bytes is 1000" in str(asker.outcomes[1])


async def test_a_line_that_is_too_long_and_may_be_anybodys_reply_ends_every_request(
    nursery: trio.Nursery,
) -> None:
    async with connected(limits=SMALL) as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1), request(2))
        await peer.raw(b'{"jsonrpc":"2.0","result":{"t":"' + LONG + b'"}}\n')
        await trio.testing.wait_all_tasks_blocked()
        await asker.ask(request(3))
        await peer.say(result(3))
        await trio.testing.wait_all_tasks_blocked()
    assert isinstance(asker.outcomes[1], InvalidReply)
    assert isinstance(asker.outcomes[2], InvalidReply)
    assert asker.outcomes[3] == Success(3, {})


@pytest.mark.parametrize(
    "long",
    [
        b"printed " + LONG,
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + LONG + b'"}}',
        b'{"jsonrpc":"2.0","id":99,"result":{"t":"' + LONG + b'"}}',
    ],
)
async def test_a_long_line_that_answers_nobody_is_skipped(
    long: bytes, nursery: trio.Nursery
) -> None:
    async with connected(limits=SMALL) as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1))
        await peer.raw(long + b"\n" + line(result(1)))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes == {1: Success(1, {})}


async def test_an_error_without_id_ends_the_request_that_alone_can_be_meant(
    nursery: trio.Nursery,
) -> None:
    error: Any = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}}
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1), request(2))
        await peer.say(error, result(2))
        await trio.testing.wait_all_tasks_blocked()
        assert asker.outcomes == {2: Success(2, {})}
        await peer.say({**error, "id": None})
        await trio.testing.wait_all_tasks_blocked()
    assert isinstance(asker.outcomes[1], InvalidReply)
    assert "-32700" in str(asker.outcomes[1])


# -- the connection's end ---------------------------------------------------------------------


async def test_a_server_that_leaves_ends_every_exchange(nursery: trio.Nursery) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1), request(2))
        await peer.leave()
        await trio.testing.wait_all_tasks_blocked()
        for outcome in asker.outcomes.values():
            assert isinstance(outcome, TransportLost)
            assert outcome.sent
            assert (
                str(outcome)
                == "The connection to the peer is over; the server may have the request"
            )
        with pytest.raises(TransportLost) as caught:
            await transport.exchange(request(3), ignored)
        assert not caught.value.sent
    assert set(asker.outcomes) == {1, 2}


async def test_what_was_not_yet_handed_over_was_not_sent(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    class Broken(trio.abc.SendStream):
        go_on = trio.Event()

        async def send_all(self, data: bytes | bytearray | memoryview) -> None:
            await self.go_on.wait()
            raise trio.BrokenResourceError

        async def wait_send_all_might_not_block(self) -> None: ...

        async def aclose(self) -> None: ...

    send, receive = Broken(), trio.testing.memory_stream_one_way_pair()[1]
    start = trio.current_time()
    async with open_lines(receive, send) as transport:
        asker = Asker(transport, nursery)
        await asker.ask(request(1, text="x" * 300_000))
        await asker.ask(request(2))
        send.go_on.set()
        await trio.sleep(LINGER * 2)
        first, second = asker.outcomes[1], asker.outcomes[2]
        assert isinstance(first, TransportLost)
        assert isinstance(second, TransportLost)
        assert (first.sent, second.sent) == (True, False)
        assert "the request was not sent" in str(second)
    assert trio.current_time() - start <= LINGER * 2 + 1


async def test_replies_under_way_are_taken_though_nothing_can_be_written(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    ours, theirs = stream_pair()
    async with open_lines(ours, ours) as transport:
        asker = Asker(transport, nursery)
        await asker.ask(request(1))
        await theirs.receive_stream.aclose()
        await asker.ask(request(2))
        await theirs.send_all(line(result(1)))
        await trio.sleep(LINGER * 2)
    assert asker.outcomes[1] == Success(1, {})
    assert isinstance(asker.outcomes[2], TransportLost)


async def test_closing_ends_exchanges_that_others_still_wait_for(nursery: trio.Nursery) -> None:
    async with connected() as (transport, _):
        asker = Asker(transport, nursery)
        await asker.ask(request(1))
    await trio.testing.wait_all_tasks_blocked()
    assert isinstance(asker.outcomes[1], TransportLost)


async def test_streams_are_closed_at_the_end_and_the_bodys_error_comes_out_as_it_is() -> None:
    ours, theirs = stream_pair()
    error = TransportLost("of the body", sent=False)
    error.__cause__ = ZeroDivisionError()
    with pytest.raises(TransportLost) as caught:
        async with open_lines(ours, ours):
            raise error
    assert caught.value is error
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert await theirs.receive_some() == b""


async def test_a_group_raised_by_the_body_stays_a_group() -> None:
    ours, _ = stream_pair()
    group = ExceptionGroup("several", [ValueError(), TypeError()])
    with pytest.raises(ExceptionGroup) as caught:
        async with open_lines(ours, ours):
            raise group
    assert caught.value.exceptions == group.exceptions


async def test_cancelling_the_block_is_a_cancellation(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ours, theirs = stream_pair()
    with trio.move_on_after(1) as scope:
        async with open_lines(ours, ours) as transport:
            await transport.exchange(request(1), ignored)
    assert scope.cancelled_caught
    peer = Peer(theirs)
    assert [(await peer.hear())["method"] for _ in range(2)] == ["echo", "notifications/cancelled"]
    assert await peer.hear() is None
