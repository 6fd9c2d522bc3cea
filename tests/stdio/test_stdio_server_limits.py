"""Serving a stream of lines: more calls, or larger ones, than may be pending."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.limits import Limits
from antiphon.transports.busy import BUSY
from tests.stdio.harness import call, cancel, line, served
from tests.stdio.scripted import Scripted


def sized(id: int, size: int, method: str = "park") -> JsonObject:
    """A call of so many bytes, as they are counted: without the newline."""
    bare = len(line(call(id, method, text=""))) - 1
    return call(id, method, text="x" * (size - bare))


async def test_too_many_waiting_calls_are_refused_by_the_name_of_the_limit() -> None:
    handler = Scripted(Limits(concurrent_calls=1, waiting_calls=2))
    async with served(handler) as peer:
        await peer.say(*(call(i, "park") for i in range(4)))
        refused = await peer.hear()
        assert refused["id"] == 3
        assert refused["error"]["code"] == BUSY
        assert not -32768 <= BUSY <= -32000
        assert refused["error"]["data"] == {"limit": "waiting_calls", "value": 2}
        assert "waiting_calls is 2" in refused["error"]["message"]
        await peer.say(cancel(1), call(5, "park"))  # one place is free again
        handler.go_on.set()
        assert set(await peer.hear_all(3)) == {0, 2, 5}


@pytest.mark.parametrize("concurrent", [1, 2, 10])
async def test_calls_of_too_many_bytes_together_are_refused_by_the_name_of_the_limit(
    concurrent: int,
) -> None:
    handler = Scripted(Limits(concurrent_calls=concurrent, pending_bytes=1000))
    async with served(handler) as peer:
        await peer.say(sized(0, 400), sized(1, 300), sized(2, 300), sized(3, 100))
        refused = await peer.hear()
        assert refused["id"] == 3
        assert refused["error"]["code"] == BUSY
        assert refused["error"]["data"] == {"limit": "pending_bytes", "value": 1000}
        assert "pending_bytes is 1000" in refused["error"]["message"]
        assert handler.running == min(concurrent, 3)
        handler.go_on.set()
        assert set(await peer.hear_all(3)) == {0, 1, 2}


@pytest.mark.parametrize("concurrent", [1, 2, 10])
async def test_a_call_that_ended_in_whatever_way_gives_its_bytes_back(concurrent: int) -> None:
    handler = Scripted(Limits(concurrent_calls=concurrent, pending_bytes=1000))
    async with served(handler) as peer:
        await peer.say(sized(0, 500), sized(1, 500))
        await peer.say(sized(1, 100), cancel(1))  # the one is refused for its id
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(sized(2, 400, "none"), sized(3, 100), cancel(3), cancel(0))
        heard = await peer.hear_all(2)
        assert [heard[id]["error"]["code"] for id in (1, 2)] == [-32600, -32601]
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(sized(4, 900), sized(5, 100))
        await peer.hear_nothing()
        handler.go_on.set()
        assert all("result" in reply for reply in (await peer.hear_all(2)).values())


async def test_a_cancelled_call_counts_until_its_cleanup_is_over() -> None:
    handler = Scripted(Limits(pending_bytes=1000))
    async with served(handler) as peer:
        await peer.say(sized(0, 600, "tidy"))
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(cancel(0), sized(1, 600))
        assert (await peer.hear())["error"]["code"] == BUSY
        handler.go_on.set()
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(sized(1, 600))
        assert "result" in await peer.hear()


async def test_a_call_that_comes_alone_is_served_whatever_its_size() -> None:
    async with served(Scripted(Limits(pending_bytes=1))) as peer:
        await peer.say(sized(1, 100_000, "size"))
        assert (await peer.hear())["result"]["size"] > 99_000
