"""Many calls at a time, and calls that are cancelled while a function runs."""

from typing import Annotated, Any

import pytest
import trio
from attrs import define, field
from trio.testing import wait_all_tasks_blocked

from antiphon import Form
from antiphon.flows.asks import Ask
from tests.engine.peer import Peer, accept, asked, text_of
from tests.flows.asking import Size, Sure, with_tools


@define
class Gate:
    """Functions that wait until they are let through."""

    opened: trio.Event = field(factory=trio.Event)
    inside: list[str] = field(factory=list[str])

    async def size(self, name: str) -> Form[Size]:
        await self.wait(f"size {name}")
        return Form(f"How large is {name}?", Size)

    async def sure(self, name: str, size: Size) -> Form[Sure]:
        await self.wait(f"sure {name}")
        return Form(f"{size.rows} for {name}?", Sure)

    async def wait(self, what: str) -> None:
        self.inside.append(what)
        try:
            await self.opened.wait()
        except trio.Cancelled:
            self.inside.append(f"{what} cancelled")
            raise

    def peer(self) -> Peer:
        async def create(
            name: str, size: Annotated[Size, Ask(self.size)], sure: Annotated[Sure, Ask(self.sure)]
        ) -> str:
            await self.wait(f"create {name}")
            return f"{name} {size.rows} {sure.sure}"

        return with_tools(create)

    def reset(self) -> None:
        self.opened = trio.Event()
        self.inside.clear()


async def step_of(gate: Gate, rounds: int) -> dict[str, Any] | None:
    """A call of ``a`` that has got through some rounds."""
    step: dict[str, Any] | None = None
    gate.opened.set()
    for number in range(rounds):
        step = await next_of(gate.peer(), step, number)
    gate.reset()
    return step


ANSWERS: list[Any] = [None, {"size": accept(rows=5)}, {"sure": accept(sure="yes")}]


async def next_of(peer: Peer, step: dict[str, Any] | None, number: int) -> dict[str, Any]:
    state = step["requestState"] if step is not None else None
    return await peer.call("create", {"name": "a"}, state=state, responses=ANSWERS[number])


@pytest.mark.parametrize(
    ("rounds", "lets", "where"),
    [(0, 0, "size a"), (1, 0, "size a"), (1, 1, "sure a"), (2, 0, "sure a"), (2, 1, "create a")],
)
async def test_a_call_is_cancelled_wherever_it_waits(rounds: int, lets: int, where: str) -> None:
    gate = Gate()
    step = await step_of(gate, rounds)
    peer = gate.peer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(next_of, peer, step, rounds)
        await wait_all_tasks_blocked()
        for _ in range(lets):
            opened, gate.opened = gate.opened, trio.Event()
            opened.set()
            await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert gate.inside[-2:] == [where, f"{where} cancelled"]
    # The token is as good as it was: the same round is taken again.
    gate.reset()
    gate.opened.set()
    result = await next_of(peer, step, rounds)
    if rounds < 2:
        assert asked(result) == [["size"], ["sure"]][rounds]
    else:
        assert text_of(result) == "a 5 yes"


async def test_calls_do_not_meet() -> None:
    gate = Gate()
    peer = gate.peer()
    results: dict[str, str] = {}

    async def converse(number: int) -> None:
        name = f"call {number}"
        state, responses = None, None
        for answers in ({"size": accept(rows=number)}, {"sure": accept(sure="no")}):
            step = await peer.call("create", {"name": name}, state=state, responses=responses)
            (question,) = step["inputRequests"].values()
            assert name in question["params"]["message"]
            state, responses = step["requestState"], answers
            await trio.lowlevel.checkpoint()
        step = await peer.call("create", {"name": name}, state=state, responses=responses)
        results[name] = text_of(step)

    async with trio.open_nursery() as nursery:
        for number in range(200):
            nursery.start_soon(converse, number)
        await wait_all_tasks_blocked()
        assert len(gate.inside) == 200
        gate.opened.set()
    assert results == {f"call {number}": f"call {number} {number} no" for number in range(200)}
