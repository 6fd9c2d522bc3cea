"""Thousands of flows at once in one process lose nothing and mix nothing up."""

from collections import Counter
from typing import Any

import trio
from attrs import define, field, frozen

from antiphon import Asking, Call, Done, Flow, Form, Principal
from tests.engine.peer import Peer, accept, asked, text_of
from tests.engine.tools import serving

FLOWS = 3000


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
    """Who was here, and how many at the same time."""

    rounds: Counter[str] = field(factory=Counter[str])
    inside: int = 0
    most: int = 0

    async def note(self, flow_id: str) -> None:
        """Let every other task of this moment run in between."""
        self.rounds[flow_id] += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        await trio.lowlevel.checkpoint()
        self.inside -= 1


@frozen
class Add(Flow[Number]):
    ledger: Ledger

    async def begin(self, args: Number, call: Call[Number]) -> Adding:
        return await self._next(args.number, 3, call)

    @Adding.answered
    async def added(self, at: Adding, answer: Added, call: Call[Number]) -> Adding | Done[str]:
        total = at.total + answer.by
        assert call.round == 5 - at.left
        if at.left == 0:
            return Done(f"{call.args.number}: {total} by {call.principal}")
        return await self._next(total, at.left - 1, call)

    async def _next(self, total: int, left: int, call: Call[Number]) -> Adding:
        await self.ledger.note(call.flow_id)
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
    assert ledger.most == FLOWS


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
