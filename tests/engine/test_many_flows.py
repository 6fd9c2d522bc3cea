"""Thousands of flows at once in one process lose nothing and mix nothing up."""

from collections import Counter
from typing import Any

import trio
from attrs import define, field, frozen

from antiphon import Asking, Call, Done, Flow, Form, Principal
from tests.engine.peer import Peer, accept, asked, text_of
from tests.engine.tools import serving

FLOWS = 2000


@frozen
class Number:
    number: int


@frozen
class Added:
    by: int


@frozen
class Adding(Asking[Added]):
    total: int
    left: int

    def ask(self) -> Form[Added]:
        return Form(f"{self.total}, and {self.left} to go", Added)


@define
class Ledger:
    rounds: Counter[str] = field(factory=Counter[str])


@frozen
class Add(Flow[Number]):
    ledger: Ledger

    async def begin(self, args: Number, call: Call[Number]) -> Adding:
        return await self._next(args.number, 3, call)

    @Adding.answered
    async def added(self, at: Adding, answer: Added, call: Call[Number]) -> Adding | Done[str]:
        total = at.total + answer.by
        if at.left == 0:
            return Done(f"{call.args.number}: {total} by {call.principal}")
        return await self._next(total, at.left - 1, call)

    async def _next(self, total: int, left: int, call: Call[Number]) -> Adding:
        self.ledger.rounds[call.flow_id] += 1
        # Every other task of this moment runs in between.
        await trio.lowlevel.checkpoint()
        return Adding(total, left)


async def one_flow(peer: Peer, number: int, results: dict[int, str]) -> None:
    alone = Peer(peer.server, principal=Principal(f"client {number % 7}"))
    arguments = {"number": number}
    step: dict[str, Any] = await alone.call("add", arguments)
    while step["resultType"] == "input_required":
        assert asked(step) == ["adding"]
        responses = {"adding": accept(by=number)}
        step = await alone.call("add", arguments, state=step["requestState"], responses=responses)
    results[number] = text_of(step)


async def test_each_flow_ends_with_its_own_result() -> None:
    ledger = Ledger()
    peer = serving(Add(ledger))
    results: dict[int, str] = {}
    async with trio.open_nursery() as nursery:
        for number in range(FLOWS):
            nursery.start_soon(one_flow, peer, number, results)
    assert results == {
        number: f"{number}: {5 * number} by {Principal(f'client {number % 7}')}"
        for number in range(FLOWS)
    }
    assert len(ledger.rounds) == FLOWS
    assert set(ledger.rounds.values()) == {4}


async def test_a_cancelled_flow_leaves_the_others_alone() -> None:
    peer = serving(Add(Ledger()))
    results: dict[int, str] = {}
    async with trio.open_nursery() as nursery:
        for number in range(200):
            if number % 3:
                nursery.start_soon(one_flow, peer, number, results)
        async with trio.open_nursery() as doomed:
            for number in range(0, 200, 3):
                doomed.start_soon(one_flow, peer, number, results)
            doomed.cancel_scope.cancel()
    assert {number for number in range(200) if number % 3} <= set(results)
