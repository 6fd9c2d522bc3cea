"""Progress: only where it was asked for, and only upwards. What else a call tells a handler."""

import logging
import math

import pytest
import trio
import trio.testing
from attrs import frozen

from antiphon import Acting, Call, Done, Flow, Limits, Polling, Progress, Server, UsageError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Notification, Request, Success
from antiphon.engine.protocol import Implementation
from tests.engine.peer import KEY, Peer, call_params, meta, text_of, told
from tests.engine.tools import Bake, Nothing, serving


def working(*steps: tuple[float, float | None, str | None]) -> Peer:
    """A peer of a tool that tells these steps."""
    server = Server("Work", keys=[KEY])

    @server.tool
    async def work(call: Call[Nothing]) -> str:
        for step in steps:
            await call.progress(*step)
        return "worked"

    return Peer(server)


async def told_by(peer: Peer, name: str, token: str | int | None, **more: str) -> list[JsonObject]:
    peer.notifications.clear()
    with_token = meta(progressToken=token) if token is not None else meta()
    params = call_params(name, None, more.get("state"), None, _meta=with_token)
    await peer.exchange("tools/call", params)
    return peer.notifications


@pytest.mark.parametrize("token", ["t", "", 0, 7, 2**70])
async def test_progress_carries_the_token_of_its_request(token: str | int) -> None:
    peer = working((1, 3, "one"), (2.5, None, None))
    assert await told_by(peer, "work", token) == [
        {
            "method": "notifications/progress",
            "progressToken": token,
            "progress": 1,
            "total": 3,
            "message": "one",
        },
        {"method": "notifications/progress", "progressToken": token, "progress": 2.5},
    ]


async def test_without_a_token_nothing_is_told() -> None:
    assert await told_by(working((1, 3, "one")), "work", None) == []


async def test_progress_only_rises() -> None:
    peer = working(*((value, None, None) for value in (0, 1, 1, 0.5, -1, 1.5, 1.5, 2)))
    sent = await told_by(peer, "work", "t")
    assert [one["progress"] for one in sent] == [0, 1, 1.5, 2]


@pytest.mark.parametrize(
    "step",
    [
        (math.nan, None, None),
        (math.inf, None, None),
        (1.0, math.nan, None),
        (1.0, math.inf, None),
        (10**400, None, None),
        (1.0, 10**400, None),
    ],
)
@pytest.mark.parametrize("token", ["t", None])
async def test_progress_that_is_no_number_is_the_tools_fault(
    step: tuple[float, float | None, None], token: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert await told_by(working(step), "work", token) == []
    assert "Progress is told in finite numbers" in caplog.text


async def test_a_poll_tells_its_progress() -> None:
    peer = serving(Bake())
    sent: list[JsonObject] = []
    state = ""
    for round in range(3):
        peer.notifications.clear()
        with_token = meta(progressToken=f"token of round {round}")
        params = call_params("bake", None, state or None, None, _meta=with_token)
        reply = await peer.exchange("tools/call", params)
        assert isinstance(reply, Success)
        state = str(reply.result["requestState"])
        sent.extend(peer.notifications)
    assert [
        (one["progressToken"], one["progress"], one["total"], one["message"]) for one in sent
    ] == [(f"token of round {n}", n, 3, f"{n} of 3") for n in range(3)]


@frozen
class Waiting(Polling):
    again_in: float

    def progress(self) -> Progress:
        return Progress(again_in=self.again_in)


@frozen
class Wait(Flow[Nothing]):
    again_in: float

    async def begin(self, args: Nothing) -> Waiting:
        return Waiting(self.again_in)

    @Waiting.polled
    async def over(self, at: Waiting) -> Done[str]:
        return Done("over")


@pytest.mark.parametrize(
    ("seconds", "hint"), [(0.0, 0), (0.0004, 0), (0.25, 250), (3, 3000), (-1.0, 0)]
)
async def test_when_to_come_back_is_told_in_milliseconds(seconds: float, hint: int) -> None:
    result = await serving(Wait(seconds)).call("wait")
    assert result["_meta"]["antiphon/retryAfterMs"] == hint


@pytest.mark.parametrize("seconds", [math.nan, math.inf])
async def test_a_time_that_is_none_is_the_flows_fault(seconds: float) -> None:
    assert "error in the server" in told(await serving(Wait(seconds)).call("wait"))


async def test_a_peer_that_does_not_read_holds_up_its_own_call_only() -> None:
    peer = working((1, None, None))
    reads = trio.Event()
    order: list[str] = []

    async def notify(_: Notification) -> None:
        order.append("told")
        await reads.wait()
        order.append("read")

    async def slow() -> None:
        params = call_params("work", None, None, None, _meta=meta(progressToken=1))
        await peer.server.handle(Request(1, "tools/call", params), Exchange(notify=notify))
        order.append("slow")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow)
        await trio.testing.wait_all_tasks_blocked()
        assert text_of(await peer.call("work")) == "worked"
        order.append("other")
        reads.set()
    assert order == ["told", "other", "read", "slow"]


# -- what else a call tells -------------------------------------------------------------------


async def test_a_call_tells_who_asks_and_with_what() -> None:
    seen: list[Call[object]] = []
    server = Server("Work", keys=[KEY])

    @server.tool
    async def look(call: Call[object]) -> None:
        seen.append(call)

    await Peer(server, capabilities={"roots": {}}).ask(
        "tools/call", {"name": "look", "_meta": meta({"roots": {}}, traceparent="00-1")}
    )
    (call,) = seen
    assert call.client == Implementation("peer", "1")
    assert call.capabilities == {"roots": {}}
    assert call.meta["traceparent"] == "00-1"
    assert (call.round, call.event, call.principal) == (1, None, None)


async def test_a_calls_log_carries_its_flow(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server = Server("Work", keys=[KEY])

    @server.tool
    async def work(call: Call[object]) -> str:
        call.log.info("working on %s", "it")
        return call.flow_id

    result = await Peer(server).call("work")
    (record,) = caplog.records
    assert record.getMessage() == "working on it"
    assert record.name == "antiphon.call"
    assert (record.__dict__["flow_id"], record.__dict__["round"]) == (text_of(result), 1)


async def test_a_deadline_is_that_of_the_scope_around(
    autojump_clock: trio.testing.MockClock,
) -> None:
    seen: list[float] = []
    server = Server("Work", keys=[KEY])

    @server.tool
    async def work(call: Call[object]) -> None:
        seen.append(call.deadline)

    await Peer(server).call("work")
    with trio.CancelScope(deadline=trio.current_time() + 30) as scope:
        await Peer(server).call("work")
    assert seen == [trio.current_time() + Limits().handler_seconds, scope.deadline]


def test_a_call_outside_a_server_tells_nobody() -> None:
    async def main() -> None:
        await Call(None).progress(1)
        with pytest.raises(UsageError):
            await Call(None).progress(math.nan)

    trio.run(main)


@frozen
class Step(Acting):
    number: int


@frozen
class Steps(Flow[Nothing]):
    async def begin(self, args: Nothing, call: Call[Nothing]) -> Step:
        await call.progress(0)
        return Step(1)

    @Step.entered
    async def step(self, at: Step, call: Call[Nothing]) -> Step | Done[int]:
        await call.progress(at.number, 5)
        return Step(at.number + 1) if at.number < 5 else Done(at.number)


async def test_progress_rises_over_all_the_steps_of_a_round() -> None:
    sent = await told_by(serving(Steps()), "steps", "t")
    assert [one["progress"] for one in sent] == [0, 1, 2, 3, 4, 5]


async def test_a_call_shows_nothing_that_its_meta_holds() -> None:
    shown: list[str] = []
    server = Server("Work", keys=[KEY])

    @server.tool
    async def work(call: Call) -> str:
        shown.append(repr(call))
        return ""

    params = call_params("work", None, None, None, _meta=meta(baggage="user=alice"))
    await Peer(server).exchange("tools/call", params)
    assert "alice" not in shown[0]
    assert "flow_id" in shown[0]
