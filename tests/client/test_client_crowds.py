"""Thousands of conversations at once on one client: each keeps its own state and answers."""

from __future__ import annotations

import random
from typing import Any

import trio

from antiphon.engine.asked import Accept, Decline, FormRequest, InputRequest
from antiphon.engine.client import Client
from antiphon.engine.exchange import Exchange, OnNotification
from antiphon.engine.jsonrpc import JsonObject, Reply, Request, Success
from antiphon.engine.limits import Limits
from antiphon.transports.memory import MemoryTransport
from tests.client.scripted import asks, done, form, poll

FLOWS = 2000
NUMBER: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}


class Adder:
    """Three rounds: a question, a poll, a question; every leg must fit to its own call."""

    name = "adder"
    limits = Limits()

    def __init__(self) -> None:
        self.chance = random.Random(4)
        self.ids: set[object] = set()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        assert request.id not in self.ids
        self.ids.add(request.id)
        for _ in range(self.chance.randrange(4)):
            await trio.lowlevel.checkpoint()
        return Success(request.id, self._round(request.params))

    def _round(self, params: Any) -> JsonObject:
        me, state = params["arguments"]["me"], params.get("requestState", "")
        assert state in ("", f"{me}/one", f"{me}/two", f"{me}/three")
        if not state:
            return asks({"first": form(str(me), NUMBER)}, f"{me}/one")
        if state.endswith("one"):
            assert params["inputResponses"]["first"]["content"] == {"n": me}
            return poll(f"{me}/two", retry_ms=1)
        if state.endswith("two"):
            assert "inputResponses" not in params
            return asks({"second": form(str(me), NUMBER)}, f"{me}/three")
        assert params["inputResponses"]["second"]["content"] == {"n": me}
        return done(str(me))


async def own_number(question: object) -> Accept:
    assert isinstance(question, FormRequest)
    assert question.message == question.target
    await trio.lowlevel.checkpoint()
    return Accept({"n": int(question.message)})


async def test_thousands_of_calls_on_one_client_stay_apart(autojump_clock: object) -> None:
    server, results = Adder(), {}
    client = Client(MemoryTransport(server), elicitation=own_number)

    async def call(me: int) -> None:
        results[me] = (await client.call_tool(str(me), {"me": me})).text

    async with trio.open_nursery() as nursery:
        for me in range(FLOWS):
            nursery.start_soon(call, me)
    assert results == {me: str(me) for me in range(FLOWS)}
    assert len(server.ids) == 4 * FLOWS


async def test_thousands_of_conversations_can_be_open_and_stored_at_once(
    autojump_clock: object,
) -> None:
    client = Client(MemoryTransport(Adder()), elicitation=own_number)
    open_ones = [client.conversation(str(me), {"me": me}) for me in range(FLOWS)]
    for conversation in open_ones:
        await conversation.advance()
    stored = [conversation.dump() for conversation in open_ones]
    random.Random(5).shuffle(stored)
    results = {(await client.load(blob).run()).text for blob in stored}
    assert results == set(map(str, range(FLOWS)))


async def test_questions_of_one_round_are_answered_at_the_same_time() -> None:
    together = 16
    arrived, all_there = 0, trio.Event()

    async def meet(_: object) -> Decline:
        nonlocal arrived
        arrived += 1
        if arrived == together:
            all_there.set()
        await all_there.wait()
        return Decline()

    questions: JsonObject = {f"q{n}": form() for n in range(together)}

    class Once:
        name = "once"

        async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
            answered = "inputResponses" in request.params
            return Success(request.id, done() if answered else asks(questions))

    with trio.fail_after(5):
        await Client(Once(), elicitation=meet).call_tool("t")


async def test_answers_come_back_in_the_order_of_the_questions() -> None:
    keys = ["z", "a", "m", "b"]
    sent: list[list[str]] = []

    async def last_first(question: InputRequest) -> Decline:
        for _ in range(len(keys) - keys.index(question.key)):
            await trio.lowlevel.checkpoint()
        return Decline()

    class Once:
        name = "once"

        async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
            answers = request.params.get("inputResponses")
            if isinstance(answers, dict):
                sent.append(list(answers))
                return Success(request.id, done())
            return Success(request.id, asks({key: form() for key in keys}))

    await Client(Once(), elicitation=last_first).call_tool("t")
    assert sent == [keys]
