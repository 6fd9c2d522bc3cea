"""Calls that wait for a person, on a connection of lines: turns, limits, ends, bad answers."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Incoming, Server
from antiphon.engine.handshake_session import HandshakeSession
from antiphon.engine.jsonrpc import JsonObject
from antiphon.transports import line_server
from antiphon.transports.busy import BUSY
from tests.engine.peer import meta
from tests.older_server.asking import asks, done, form, low, make
from tests.older_server.desk import initialize
from tests.older_server.peer import (
    CANCEL,
    DECLINE,
    OlderPeer,
    accept,
    in_session,
    in_turn,
    text_of,
)
from tests.stdio.harness import call, line


def taken_back(peer: OlderPeer) -> list[Any]:
    """The ids of the questions that are not asked any more."""
    told = [note for note in peer.notes if note["method"] == "notifications/cancelled"]
    return [note["params"]["requestId"] for note in told]


async def rest(peer: OlderPeer) -> list[Any]:
    """All that still comes."""
    heard: list[Any] = []
    while (message := await peer.hear()) is not None:
        heard.append(message)
    return heard


# -- turns ------------------------------------------------------------------------------------


async def test_call_that_waits_for_an_answer_takes_nobodys_turn() -> None:
    async with in_session(make(concurrent_calls=1)) as peer:
        parked = [await peer.call("greet") for _ in range(5)]
        asked = [await peer.question() for _ in range(5)]
        assert text_of(await peer.tool("look", most=0)) == "seen"
        for question in asked:
            await peer.reply(question["id"], accept(name="Ada"))
        heard = [await peer.hear() for _ in range(5)]
    assert sorted(message["id"] for message in heard) == parked


async def test_rounds_of_all_eras_share_the_turns() -> None:
    running = most = 0
    go_on = trio.Event()

    async def handler(request: Incoming) -> JsonObject:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await go_on.wait()
        running -= 1
        return done()

    async with in_session(low(handler, concurrent_calls=2)) as peer:
        for id in range(100, 104):
            params: Any = {"name": "t", "_meta": meta()}
            await peer.line.say(
                {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
            )
            await peer.call("t")
        await trio.testing.wait_all_tasks_blocked()
        assert running == 2
        go_on.set()
        heard = [await peer.line.hear() for _ in range(8)]
    assert all("result" in message for message in heard)
    assert most == 2


async def test_call_that_is_cancelled_while_it_waits_for_a_turn_gives_its_place() -> None:
    go_on = trio.Event()
    served: list[str] = []

    async def handler(request: Incoming) -> JsonObject:
        served.append(str(request.params["name"]))
        await go_on.wait()
        return done()

    async with in_session(low(handler, concurrent_calls=1)) as peer:
        first = await peer.call("first")
        await trio.testing.wait_all_tasks_blocked()
        last = await peer.call("last")
        await trio.testing.wait_all_tasks_blocked()
        waits = await peer.call("waits")
        await trio.testing.wait_all_tasks_blocked()
        await peer.cancel(waits)
        await trio.testing.wait_all_tasks_blocked()
        assert served == ["first"]
        await peer.cancel(first)
        await trio.testing.wait_all_tasks_blocked()
        assert served == ["first", "last"]
        go_on.set()
        assert "result" in await peer.finish(last)
        await peer.hear_nothing()
        assert text_of(await peer.tool("next")) == "done"


async def test_calls_that_wait_for_answers_are_bounded_with_those_that_wait_for_a_turn() -> None:
    async with in_session(make(concurrent_calls=1, waiting_calls=3)) as peer:
        ids = [await peer.call("greet") for _ in range(3)]
        asked = [await peer.question() for _ in ids]
        refused = await peer.finish(await peer.call("greet"))
        assert refused["error"]["code"] == BUSY
        assert refused["error"]["data"] == {"limit": "waiting_calls", "value": 3}
        await peer.reply(asked[0]["id"], DECLINE)
        await peer.hear()
        assert text_of(await peer.tool("look", most=0)) == "seen"


async def test_bytes_of_parked_calls_count_until_they_end() -> None:
    async with in_session(make(pending_bytes=1000)) as peer:
        big: JsonObject = {
            "name": "greet",
            "arguments": {},
            "_meta": {"com.example/x": "y" * 700},
        }
        id = await peer.send("tools/call", big)
        await peer.question()
        refused = await peer.finish(await peer.send("tools/call", big))
        assert refused["error"]["data"]["limit"] == "pending_bytes"
        await peer.cancel(id)
        await trio.testing.wait_all_tasks_blocked()
        id = await peer.send("tools/call", big)
        reply = await peer.finish(id, lambda _: accept(name="Ada"))
        assert text_of(reply["result"]) == "Hello, Ada."


async def test_bytes_of_answers_count_until_their_round_is_served() -> None:
    long = "x" * 3000
    async with in_session(make(pending_bytes=4000)) as peer:
        first = await peer.call("two")
        asked = [(await peer.question())["id"] for _ in range(2)]
        await peer.reply(asked[0], accept(name=long))
        second = await peer.call("greet")
        reply = await peer.finish(second, lambda _: accept(name=long))
        assert text_of(reply["result"]) == "cancelled", "there was no room"
        await peer.reply(asked[1], accept(name="b"))
        assert long in text_of((await peer.finish(first))["result"])
        reply = await peer.finish(await peer.call("two"), in_turn(accept(name=long), CANCEL))
        assert text_of(reply["result"]) == "refused"
        reply = await peer.finish(await peer.call("greet"), lambda _: accept(name=long))
        assert text_of(reply["result"]) == f"Hello, {long}."


async def test_bytes_of_answers_do_not_add_up_from_round_to_round() -> None:
    seen: list[Any] = []

    async def handler(request: Incoming) -> JsonObject:
        seen.append(request.params.get("inputResponses"))
        return done() if len(seen) > 4 else asks(form())

    async with in_session(low(handler, pending_bytes=4000)) as peer:
        await peer.tool("t", lambda _: accept(name="x" * 3000))
    assert [each["q0"]["action"] for each in seen[1:]] == ["accept"] * 4


async def test_flood_of_calls_and_cancellations_leaves_nothing() -> None:
    async with in_session(make(waiting_calls=10, concurrent_calls=1)) as peer:
        for _ in range(300):
            id = await peer.call("greet")
            await peer.cancel(id)
        await trio.testing.wait_all_tasks_blocked()
        assert text_of(await peer.tool("greet", lambda _: accept(name="Ada"))) == "Hello, Ada."


# -- cancellation -----------------------------------------------------------------------------


async def test_cancelled_call_takes_its_question_back_and_is_not_answered() -> None:
    async with in_session(make()) as peer:
        id = await peer.call("two")
        asked = {(await peer.question())["id"] for _ in range(2)}
        await peer.cancel(id)
        assert {(await peer.hear())["params"]["requestId"] for _ in range(2)} == asked
        for question in asked:
            await peer.reply(question, accept(name="late"))
        await peer.hear_nothing()
        await peer.say(id, "ping")  # its id is free again
        assert (await peer.hear())["result"] == {}


async def test_cancellation_gets_through_while_nothing_is_read(autojump_clock: object) -> None:
    async with in_session(make(), tight=True) as peer:
        ids = [await peer.call("greet") for _ in range(50)]
        for id in ids:
            await peer.cancel(id)
        await trio.testing.wait_all_tasks_blocked()
        assert text_of(await peer.tool("look", lambda _: CANCEL, most=0)) == "seen"


# -- bad answers ------------------------------------------------------------------------------


async def test_unknown_ids_reach_nobody() -> None:
    async with in_session(make()) as peer:
        id = await peer.call("greet")
        question = await peer.question()
        for other in ("server-1", question["id"] + "0", "", question["id"].upper() + "x"):
            await peer.reply(other, accept(name="Eve"))
            await peer.fail(other, -1)
        await peer.line.say({"jsonrpc": "2.0", "id": 1, "result": accept(name="Eve")})
        await peer.hear_nothing()
        await peer.reply(question["id"], accept(name="Ada"))
        assert text_of((await peer.finish(id))["result"]) == "Hello, Ada."


async def test_only_the_first_answer_counts() -> None:
    async with in_session(make()) as peer:
        id = await peer.call("greet")
        question = await peer.question()
        for name in ("Ada", "Eve"):
            await peer.reply(question["id"], accept(name=name))
        await peer.fail(question["id"], -1)
        assert text_of((await peer.finish(id))["result"]) == "Hello, Ada."
        await peer.hear_nothing()


@pytest.mark.parametrize(
    "answer",
    [
        {"result": 5},
        {"result": []},
        {"result": None},
        {"error": "no"},
        {"error": {"code": "x", "message": 1}},
        {"result": {}, "error": {"code": 1, "message": "both"}},
    ],
)
async def test_answer_that_is_no_reply_counts_as_cancelled_at_once(answer: Any) -> None:
    async with in_session(make()) as peer:
        id = await peer.call("greet")
        question = await peer.question()
        await peer.line.say({"jsonrpc": "2.0", "id": question["id"], **answer})
        result = (await peer.finish(id))["result"]
    assert (text_of(result), result["isError"]) == ("cancelled", True)


@pytest.mark.parametrize("bad", ["too long", "NaN", "too deep", "cut"])
async def test_answer_that_cannot_be_read_counts_as_cancelled_at_once(bad: str) -> None:
    async with in_session(make(message_bytes=5000)) as peer:
        id = await peer.call("greet")
        named = json.dumps((await peer.question())["id"])
        value = {
            "too long": json.dumps({"x": "y" * 6000}),
            "NaN": '{"x": NaN}',
            "too deep": '{"x": ' + "[" * 200 + "]" * 200 + "}",
            "cut": '{"x": ',
        }[bad]
        await peer.raw(f'{{"jsonrpc": "2.0", "id": {named}, "result": {value}}}\n'.encode())
        result = (await peer.finish(id))["result"]
    assert (text_of(result), result["isError"]) == ("cancelled", True)


# -- the end ----------------------------------------------------------------------------------


async def test_end_of_input_ends_a_parked_call_at_once(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with in_session(make(), grace=1000) as peer:
        await peer.call("greet")
        question = await peer.question()
        before = trio.current_time()
        await peer.hang_up()
        await rest(peer)
        assert trio.current_time() == before
        assert taken_back(peer) == [question["id"]]
        assert peer.heard[-1] is peer.notes[-1]  # and no reply
    assert "not enough" not in caplog.text


async def test_running_rounds_keep_their_grace_and_end_where_they_would_ask(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handler(request: Incoming) -> JsonObject:
        await trio.sleep(10)
        return asks(form()) if request.params["name"] == "ask" else done()

    async with in_session(low(handler), grace=1000) as peer:
        await peer.call("ask")
        id = await peer.call("do")
        await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        await peer.hang_up()
        heard = await rest(peer)
        assert trio.current_time() == before + 10
    assert [message["id"] for message in heard if "result" in message] == [id]
    assert not [message for message in heard if "id" in message and "method" in message]


async def test_round_after_an_answer_keeps_its_grace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handler(request: Incoming) -> JsonObject:
        if "inputResponses" not in request.params:
            return asks(form())
        await trio.sleep(10)
        return done()

    async with in_session(low(handler), grace=1000) as peer:
        id = await peer.call("t")
        await peer.reply((await peer.question())["id"], accept(name="Ada"))
        await trio.testing.wait_all_tasks_blocked()
        await peer.hang_up()
        assert text_of((await peer.finish(id))["result"]) == "done"


async def test_polls_keep_their_grace(autojump_clock: trio.testing.MockClock) -> None:
    async with in_session(make(), grace=1000) as peer:
        id = await peer.call("look", most=1)
        await trio.testing.wait_all_tasks_blocked()
        await peer.hang_up()
        assert text_of((await peer.finish(id))["result"]) == "seen"
        assert await peer.hear() is None


async def test_peer_that_goes_away_ends_everything_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    before = trio.current_time()
    async with in_session(make(), grace=1000) as peer:
        await peer.call("look", most=500)
        for _ in range(3):
            await peer.call("greet")
            await peer.question()
        await peer.leave()
    assert trio.current_time() - before < 10


# -- floods -----------------------------------------------------------------------------------


async def test_handshakes_that_nobody_reads_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_server, "UNREAD", 100_000)
    begun = 0

    class Counting(Server):
        def open_session(self, params: JsonObject) -> HandshakeSession:
            nonlocal begun
            begun += 1
            return super().open_session(params)

    server = Counting("Verbose", instructions="x" * 50_000)
    async with in_session(server, tight=True) as peer, trio.open_nursery() as nursery:
        nursery.start_soon(peer.raw, line(call(1, "initialize", **initialize())) * 1000)
        await trio.testing.wait_all_tasks_blocked()
        assert 1 < begun < 20
        for _ in range(1000):  # they wait, and are served when they are read
            assert "result" in await peer.line.hear()


async def test_no_answer_and_no_state_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with in_session(make()) as peer:
        id = await peer.call("greet")
        question = await peer.question()
        await peer.reply(question["id"], accept(name="SECRET-ANSWER"))
        await peer.finish(id)
        id = await peer.call("greet")
        question = await peer.question()
        await peer.fail(question["id"], -32000, "SECRET-ERROR")
        await peer.finish(id)
    assert "SECRET" not in caplog.text
    assert "-32000" in caplog.text
