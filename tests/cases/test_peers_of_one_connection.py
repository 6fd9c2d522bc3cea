"""What one connection remembers of its requests: nothing."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from tests.cases.flows import Echo, serving
from tests.engine.peer import EVERYTHING, accept, meta
from tests.stdio.harness import served


def call(id: int, capabilities: Any = EVERYTHING, **params: Any) -> Any:
    members = {"name": "echo", "arguments": {}, "_meta": meta(capabilities), **params}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": members}


async def test_what_one_request_declares_counts_for_no_other() -> None:
    async with served(serving(Echo())) as peer:
        await peer.say(call(1), call(2, {}), call(3))
        replies = await peer.hear_all(3)
        assert replies[1]["result"]["resultType"] == "input_required"
        assert replies[2]["error"]["code"] == -32021
        assert replies[2]["error"]["data"] == {
            "requiredCapabilities": {"elicitation": {"form": {}}}
        }
        # The retry is judged by its own words, too: it declares nothing and needs nothing more.
        state = replies[1]["result"]["requestState"]
        answers = {"asking_word": accept(word="hi")}
        await peer.say(call(4, {}, requestState=state, inputResponses=answers))
        await peer.say(call(5, {}, requestState=state))
        replies = await peer.hear_all(2)
        assert replies[4]["result"]["content"] == [{"type": "text", "text": "hi"}]
        assert replies[5]["error"]["code"] == -32021


async def test_client_that_never_comes_back_leaves_nothing_waiting() -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with served(serving(Echo()), grace=1e9) as peer:
        await trio.testing.wait_all_tasks_blocked()
        idle = trio.lowlevel.current_statistics().tasks_living
        await peer.say(*(call(number) for number in range(300)))
        replies = await peer.hear_all(300)
        assert {reply["result"]["resultType"] for reply in replies.values()} == {"input_required"}
        await trio.testing.wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().tasks_living == idle
        with trio.fail_after(30):  # the grace is for calls, and there are none
            await peer.hang_up()
            assert await peer.hear() is None
    assert trio.lowlevel.current_statistics().tasks_living == before


async def test_client_that_comes_back_with_nothing_is_asked_again() -> None:
    async with served(serving(Echo())) as peer:
        await peer.say(call(1))
        first = (await peer.hear())["result"]
        await peer.say(call(2, requestState=first["requestState"]))
        again = (await peer.hear())["result"]
        assert again["inputRequests"] == first["inputRequests"]
        await peer.say(
            call(
                3,
                requestState=again["requestState"],
                inputResponses={"asking_word": accept(word="x")},
            )
        )
        assert (await peer.hear())["result"]["content"] == [{"type": "text", "text": "x"}]


async def test_notification_is_never_answered_whatever_is_wrong_with_it() -> None:
    async with served(serving(Echo())) as peer:
        for params in (b"[]", b"[1]", b"7", b'"x"', b"true", b'{"requestId":[1]}', b'{"_meta":7}'):
            for method in (b"notifications/cancelled", b"notifications/x", b"tools/call"):
                await peer.raw(b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method, params))
        await peer.say(call(1))
        assert (await peer.hear())["id"] == 1
        await peer.hear_nothing()
