"""Every refusal names its limit and how it is raised; and the limits of arguments and of time."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Call, InputRequired, Limits, Server
from antiphon.engine.errors import ProtocolError
from antiphon.engine.jsonrpc import Failure, InvalidJson, JsonObject, loads
from antiphon.engine.subscriptions import check_room
from antiphon.transports.busy import busy
from tests.engine.hands import SURE, lone_tool
from tests.engine.peer import Peer, accept, asked, meta, text_of, told
from tests.engine.rounds import both
from tests.engine.tools import Bake, Both, Order, serving


def names(limit: str, text: str) -> bool:
    """Whether a text names a limit, and says how it is raised."""
    return f"limit {limit}" in text and f"Limits({limit}=...)" in text


# -- arguments --------------------------------------------------------------------------------


async def test_arguments_are_counted_as_json() -> None:
    async def measure(text: str) -> str:
        return str(len(text))

    room = len('{"text":""}')
    peer = lone_tool(measure, limits=Limits(arguments_bytes=room + 10))
    assert text_of(await peer.call("measure", {"text": "x" * 10})) == "10"
    assert text_of(await peer.call("measure", {"text": "ä" * 5})) == "5"
    for text in ("x" * 11, "ä" * 6):
        refusal = await peer.refused("measure", {"text": text})
        assert refusal.code == -32602
        assert names("arguments_bytes", refusal.message)
        assert text not in refusal.message


async def test_too_many_arguments_are_refused_before_anything_else() -> None:
    async def measure(text: str) -> str:
        raise AssertionError

    peer = lone_tool(measure, limits=Limits(arguments_bytes=10))
    for state in (None, "a1.AAAA"):
        refusal = await peer.refused("measure", {"unknown": "x" * 100}, state=state)
        assert names("arguments_bytes", refusal.message)


# -- time -------------------------------------------------------------------------------------


def slow(**limits: Any) -> Server:
    server = Server("Slow", limits=Limits(**limits))

    @server.tool
    async def sleep(seconds: float, call: Call[Any]) -> str:
        assert call.deadline == trio.current_time() + server.limits.handler_seconds
        await trio.sleep(seconds)
        return "rested"

    @server.prompt
    async def doze() -> str:
        await trio.sleep_forever()
        raise AssertionError

    @server.resource("sleep://long")
    async def snore() -> str:
        await trio.sleep_forever()
        raise AssertionError

    return server


async def test_a_handler_that_takes_too_long_is_cancelled(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer(slow(handler_seconds=30.0))
    began = trio.current_time()
    assert text_of(await peer.call("sleep", {"seconds": 29})) == "rested"
    result = await peer.call("sleep", {"seconds": 31})
    assert trio.current_time() - began == 29 + 30
    assert "sleep took longer than 30 seconds, which is limit handler_seconds" in told(result)
    assert names("handler_seconds", caplog.text)


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "doze"}), ("resources/read", {"uri": "sleep://long"})],
)
async def test_of_a_prompt_or_a_resource_that_is_an_error(
    method: str,
    params: JsonObject,
    autojump_clock: trio.testing.MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = Peer(slow(handler_seconds=30.0))
    reply = await peer.exchange(method, {"_meta": meta(), **params})
    assert isinstance(reply, Failure)
    assert reply.code == -32603
    assert "limit handler_seconds" in reply.message
    assert names("handler_seconds", caplog.text)


async def test_each_round_has_its_own_time(autojump_clock: trio.testing.MockClock) -> None:
    async def slowly(call: Call[Any]) -> str | InputRequired:
        await trio.sleep(20)
        return "done" if call.round == 3 else InputRequired(state=call.round)

    peer = lone_tool(slowly, limits=Limits(handler_seconds=30.0))
    result = await peer.call("slowly")
    while "requestState" in result:
        result = await peer.call("slowly", state=result["requestState"])
    assert text_of(result) == "done"


async def test_a_deadline_of_the_handlers_own_is_not_taken_for_the_limit(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def hasty() -> str:
        with trio.move_on_after(1):
            await trio.sleep_forever()
        return "moved on"

    assert text_of(await lone_tool(hasty).call("hasty")) == "moved on"


# -- texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "text"),
    [("message_bytes", b"[1,2,3,4,5,6,7,8,9,10]"), ("depth", b"[[[[]]]]"), ("digits", b"123456")],
)
def test_messages(limit: str, text: bytes) -> None:
    limits = Limits(message_bytes=20, depth=3, digits=5)
    with pytest.raises(InvalidJson) as refused:
        loads(text, limits)
    assert names(limit, str(refused.value))


@pytest.mark.parametrize("limit", ["waiting_calls", "pending_bytes"])
def test_busy(limit: str) -> None:
    refusal = busy(1, Limits(), limit)
    assert names(limit, refusal.message)
    assert refusal.data == {"limit": limit, "value": getattr(Limits(), limit)}


@pytest.mark.parametrize(
    ("limit", "open", "size"), [("subscriptions", 2, 1), ("subscription_bytes", 0, 101)]
)
def test_subscriptions(limit: str, open: int, size: int) -> None:
    limits = Limits(subscriptions=2, subscription_bytes=100)
    with pytest.raises(ProtocolError) as refused:
        check_room(limits, open, size)
    assert names(limit, refused.value.message)


async def test_uris() -> None:
    server = Server("Files", limits=Limits(uri_bytes=20))

    @server.resource_template("file:///{name}")
    async def file(name: str) -> str:
        return name

    reply = await Peer(server).exchange(
        "resources/read", {"_meta": meta(), "uri": "file:///" + "x" * 20}
    )
    assert isinstance(reply, Failure)
    assert names("uri_bytes", reply.message)


async def test_rounds() -> None:
    peer = serving(Bake(), limits=Limits(rounds=1))
    first = await peer.call("bake")
    assert names("rounds", told(await peer.call("bake", state=first["requestState"])))


async def test_repeats() -> None:
    async def deaf() -> str | InputRequired:
        return InputRequired({"sure": SURE})

    peer = lone_tool(deaf, limits=Limits(repeats=1))
    first = await peer.call("deaf")
    assert asked(first) == ["sure"]
    assert names("repeats", told(await peer.call("deaf", state=first["requestState"])))


async def test_unusable_answers() -> None:
    peer = serving(Order(), limits=Limits(unusable=1))
    bad: JsonObject = {"choosing_colour": accept(name="")}
    result = await peer.call("order", {"item": "ink"}, responses=bad)
    assert asked(result) == ["choosing_colour"]
    ended = await peer.call("order", {"item": "ink"}, state=result["requestState"], responses=bad)
    assert names("unusable", told(ended))


async def test_answers() -> None:
    peer = serving(Both(), limits=Limits(questions=2))
    first = await peer.call("both")
    flood: dict[str, Any] = {f"k{i}": accept() for i in range(9)}
    params: JsonObject = {"name": "both", "inputResponses": flood}
    reply = await peer.exchange(
        "tools/call", {"_meta": meta(), **params, "requestState": first["requestState"]}
    )
    assert isinstance(reply, Failure)
    assert names("questions", reply.message)
    assert asked(await both(peer, first["requestState"], {})) == ["a", "b"]


@pytest.mark.parametrize(
    ("limit", "required"),
    [
        ("questions", InputRequired({"a": SURE, "b": SURE, "c": SURE})),
        ("token_bytes", InputRequired(state="x" * 2000)),
    ],
)
async def test_authors_are_told_in_the_log(
    limit: str, required: InputRequired, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> str | InputRequired:
        return required

    peer = lone_tool(ask, limits=Limits(questions=2, token_bytes=2000))
    assert "error in the server" in told(await peer.call("ask"))
    assert names(limit, caplog.text)
