"""The client's end of a stream of lines: replies, notifications, cancellation."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import ClientTransport
from antiphon.engine.jsonrpc import Failure, Notification, Request, Success
from antiphon.transports.line_client import LineTransport, open_lines
from antiphon.transports.stdio import serve_lines
from tests.stdio.client_side import Asker, connected, progress, result
from tests.stdio.harness import Peer, cancelled_at, ignored, line, request, stream_pair
from tests.stdio.scripted import Scripted


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


async def _one_exchange(stream: trio.abc.HalfCloseableStream) -> None:
    async with open_lines(stream, stream) as transport:
        assert await transport.exchange(request(1), ignored) == Success(1, {"params": {}})


@pytest.mark.parametrize("late", [False, True])
async def test_cancelling_at_any_await_closes_the_stream_and_leaves_no_task(late: bool) -> None:
    tasks = trio.lowlevel.current_statistics().tasks_living
    for step in range(1, 50):
        ours, theirs = stream_pair()
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(serve_lines, Scripted(), theirs, theirs)
                over = await cancelled_at(step, partial(_one_exchange, ours), late=late)
                # The server stays until its client has left.
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        if over:
            break
    else:
        pytest.fail("the exchange never came to its end")
    assert step > 2


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
