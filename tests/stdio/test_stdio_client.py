"""The client's end of a stream of lines, the server spoken by hand."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.exchange import ClientTransport, TransportLost
from antiphon.engine.jsonrpc import Failure, Notification, Reply, Request, Success
from antiphon.engine.limits import Limits
from antiphon.transports.line_client import LINGER, WARNINGS, LineTransport, open_lines
from antiphon.transports.stdio import serve_lines
from tests.stdio.harness import Peer, ignored, line, request, stream_pair
from tests.stdio.scripted import Scripted

OUTCOME = dict[Any, "Reply | Exception"]


@asynccontextmanager
async def connected(
    *, tight: bool = False, limits: Limits | None = None
) -> AsyncGenerator[tuple[LineTransport, Peer], None]:
    """A transport, and the server's end of it."""
    ours, theirs = stream_pair(tight=tight)
    async with open_lines(ours, ours, name="the peer", limits=limits) as transport:
        yield transport, Peer(theirs)


class Asker:
    """Starts exchanges and keeps what comes of them."""

    def __init__(self, transport: ClientTransport, nursery: trio.Nursery) -> None:
        self._transport = transport
        self._nursery = nursery
        self.outcomes: OUTCOME = {}
        self.heard: dict[Any, list[Notification]] = {}

    async def ask(self, *requests: Request) -> None:
        for each in requests:
            self._nursery.start_soon(self._ask, each)
        await trio.testing.wait_all_tasks_blocked()

    async def _ask(self, each: Request) -> None:
        heard = self.heard.setdefault(each.id, [])
        try:
            self.outcomes[each.id] = await self._transport.exchange(each, heard.append)
        except Exception as error:  # noqa: BLE001  # whatever it is, the test looks at it
            self.outcomes[each.id] = error


def result(id: object, **members: Any) -> Any:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def progress(token: object, step: int) -> Any:
    params = {"progressToken": token, "progress": step}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


async def test_a_reply_finds_its_request_by_id_and_type(nursery: trio.Nursery) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1), request("1"), request(2))
        sent = [await peer.hear() for _ in range(3)]
        assert {type(message["id"]) for message in sent} == {int, str}
        error = {"jsonrpc": "2.0", "id": 2, "error": {"code": -5, "message": "no", "data": [1]}}
        await peer.say(result("1", text="b"), result(1, text="a"), error)
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes == {
        1: Success(1, {"text": "a"}),
        "1": Success("1", {"text": "b"}),
        2: Failure(2, -5, "no", [1]),
    }


async def test_a_request_is_one_line_of_json() -> None:
    ours, theirs = stream_pair()
    async with open_lines(ours, ours) as transport, trio.open_nursery() as nursery:
        await Asker(transport, nursery).ask(request("x", "echo", text="a\nb\u2028"))
        data = await theirs.receive_some()
        nursery.cancel_scope.cancel()
    assert data == line(
        {"jsonrpc": "2.0", "id": "x", "method": "echo", "params": {"text": "a\nb\u2028"}}
    ).replace(b'": ', b'":').replace(b", ", b",")


async def test_replies_come_in_any_order_and_a_thousand_at_once() -> None:
    ours, theirs = stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, Scripted(), theirs, theirs)
        async with open_lines(ours, ours) as transport, trio.open_nursery() as askers:
            asker = Asker(transport, askers)
            await asker.ask(*(request(i, "echo", n=i) for i in range(1000)))
    assert len(asker.outcomes) == 1000
    for id, outcome in asker.outcomes.items():
        assert outcome == Success(id, {"params": {"n": id}})


async def test_it_works_over_a_socket() -> None:
    a, b = socket.socketpair()
    ours = trio.SocketStream(trio.socket.from_stdlib_socket(a))
    theirs = trio.SocketStream(trio.socket.from_stdlib_socket(b))
    async with theirs, trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, Scripted(), theirs, theirs)
        async with open_lines(ours, ours) as transport:
            reply = await transport.exchange(request(1, "big", size=3_000_000), ignored)
    assert isinstance(reply, Success)


# -- notifications ----------------------------------------------------------------------------


async def test_progress_goes_to_the_request_with_its_token(nursery: trio.Nursery) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(
            request(1, _meta={"progressToken": 1}),
            request(2, _meta={"progressToken": "1"}),
            request(3),
        )
        await peer.say(progress(1, 10), progress("1", 20), progress(2, 30), progress(True, 40))
        await peer.say(progress(1.0, 50), progress(None, 60), progress([1], 70))
        await peer.say(result(1), progress(1, 80), result(2), result(3))
        await trio.testing.wait_all_tasks_blocked()
    heard = {id: [n.params["progress"] for n in each] for id, each in asker.heard.items()}
    assert heard == {1: [10], 2: [20], 3: []}
    assert len(asker.outcomes) == 3


async def test_other_notifications_go_to_every_open_request(nursery: trio.Nursery) -> None:
    message: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}}
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await peer.say(message)
        await trio.testing.wait_all_tasks_blocked()
        await asker.ask(request(1), request(2))
        await peer.say(message, result(1), message, result(2))
        await trio.testing.wait_all_tasks_blocked()
    assert [len(asker.heard[1]), len(asker.heard[2])] == [1, 2]
    assert asker.heard[1][0] == Notification("notifications/message", {"data": "x"})


async def test_what_a_callback_raises_is_raised_by_its_exchange_alone(
    nursery: trio.Nursery,
) -> None:
    def fail(_: Notification) -> None:
        raise ZeroDivisionError

    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(2, _meta={"progressToken": 2}))
        await peer.say(progress(1, 1))
        with pytest.raises(ZeroDivisionError):
            await transport.exchange(request(1, _meta={"progressToken": 1}), fail)
        await peer.say(result(2))
        await trio.testing.wait_all_tasks_blocked()
        heard = [await peer.hear() for _ in range(3)]
    assert heard[-1]["params"] == {"requestId": 1}  # nobody waits for it any more
    assert asker.outcomes == {2: Success(2, {})}


# -- cancellation -----------------------------------------------------------------------------


async def test_a_cancelled_exchange_tells_the_server_and_drops_its_reply(
    nursery: trio.Nursery,
) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(2))
        async with trio.open_nursery() as cancelled:
            await Asker(transport, cancelled).ask(request(1))
            cancelled.cancel_scope.cancel()
        assert [(await peer.hear())["id"] for _ in range(2)] == [2, 1]
        assert await peer.hear() == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1},
        }
        await peer.say(result(1), result(2))
        await trio.testing.wait_all_tasks_blocked()
        assert asker.outcomes == {2: Success(2, {})}
        await asker.ask(request(1))  # the id is free
        await peer.say(result(1, second=True))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes[1] == Success(1, {"second": True})


async def test_an_answered_exchange_is_not_cancelled_afterwards(nursery: trio.Nursery) -> None:
    async with connected() as (transport, peer):
        await Asker(transport, nursery).ask(request(1))
        await peer.hear()
        await peer.say(result(1))
        await peer.hear_nothing()


async def test_cancelling_never_waits_for_a_server_that_does_not_read() -> None:
    ours, _theirs = stream_pair(tight=True)
    async with trio.open_nursery() as nursery:
        transport = LineTransport(ours, ours)
        nursery.start_soon(transport.run)
        async with trio.open_nursery() as askers:
            asker = Asker(transport, askers)
            # The first is being sent, the next fill the box, the last waits for room.
            await asker.ask(*(request(i, text="x" * 200_000) for i in range(5)))
            askers.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
    assert asker.outcomes == {}


async def test_a_request_that_was_never_said_is_not_cancelled_either() -> None:
    async with connected(tight=True) as (transport, peer):
        async with trio.open_nursery() as nursery:
            asker = Asker(transport, nursery)
            await asker.ask(request(1, text="x" * 300_000))
            await asker.ask(request(2))
            nursery.cancel_scope.cancel()
        assert (await peer.hear())["id"] == 1
        assert (await peer.hear())["params"] == {"requestId": 1}


async def test_last_cancellations_are_said_before_the_connection_closes() -> None:
    ours, theirs = stream_pair()
    async with open_lines(ours, ours) as transport:
        with trio.move_on_after(0):
            await transport.exchange(request(1), ignored)
    peer = Peer(theirs)
    assert [(await peer.hear())["method"] for _ in range(2)] == ["echo", "notifications/cancelled"]
    assert await peer.hear() is None


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


# -- our caller's mistakes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "match"),
    [
        (request(1), "id 1 is open"),
        (request(2, _meta={"progressToken": "t"}), "'t' belongs to an open request"),
    ],
)
async def test_an_id_or_token_that_is_in_use_is_refused(
    second: Request, match: str, nursery: trio.Nursery
) -> None:
    async with connected() as (transport, peer):
        asker = Asker(transport, nursery)
        await asker.ask(request(1, _meta={"progressToken": "t"}))
        with pytest.raises(UsageError, match=match):
            await transport.exchange(second, ignored)
        await peer.say(progress("t", 1), result(1))
        await trio.testing.wait_all_tasks_blocked()
    assert asker.outcomes == {1: Success(1, {})}
    assert len(asker.heard[1]) == 1


async def test_a_request_that_json_cannot_say_is_refused_and_leaves_nothing_open() -> None:
    async with connected() as (transport, peer):
        with pytest.raises(UsageError, match="lone surrogate"):
            await transport.exchange(request(1, text="\ud800"), ignored)
        await peer.hear_nothing()


def test_it_is_a_client_transport() -> None:
    make: Callable[..., ClientTransport] = LineTransport
    ours, _ = stream_pair()
    assert make(ours, ours, name="n").name == "n"
