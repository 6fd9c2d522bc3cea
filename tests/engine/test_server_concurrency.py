"""A round that is cancelled, wherever it stands, leaves nothing behind and spoils nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from attrs import define, field, frozen

from antiphon import Acting, Asking, Call, Done, Flow, Form, Limits, Polling, Progress, Server
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, Notification, Reply, Request, Success
from tests.engine.peer import KEY, accept, call_params, members, meta, text_of
from tests.engine.tools import Nothing


@define
class Stops:
    """Checkpoints that are counted; at the chosen one the round is cancelled."""

    chosen: int = 0
    passed: int = 0
    scope: trio.CancelScope = field(factory=trio.CancelScope)

    async def here(self) -> None:
        self.passed += 1
        if self.passed == self.chosen:
            self.scope.cancel()
        await trio.lowlevel.checkpoint()


@define
class Kitchen:
    """What the handlers work with: the stops of this round, and an oven that must be closed."""

    stops: Stops = field(factory=Stops)
    open: int = 0

    @asynccontextmanager
    async def oven(self) -> AsyncGenerator[None]:
        self.open += 1
        try:
            await self.stops.here()
            yield
        finally:
            with trio.CancelScope(shield=True):
                await self.stops.here()
            self.open -= 1

    async def stir(self, times: int) -> None:
        for _ in range(times):
            await self.stops.here()


@frozen
class Flavour:
    name: str


@frozen
class Choosing(Asking[Flavour]):
    eggs: int

    def ask(self) -> Form[Flavour]:
        return Form(f"{self.eggs} eggs. Which flavour?", Flavour)


@frozen
class Mixing(Acting):
    flavour: str


@frozen
class Baking(Polling):
    flavour: str

    def progress(self) -> Progress:
        return Progress(8, 10)


@frozen
class Cake(Flow[Nothing]):
    """Each handler waits in another way."""

    kitchen: Kitchen

    async def begin(self, args: Nothing, call: Call[Nothing]) -> Choosing:
        await self.kitchen.stir(2)
        await call.progress(1, 10)
        return Choosing(3)

    @Choosing.answered
    async def chosen(self, at: Choosing, flavour: Flavour, call: Call[Nothing]) -> Mixing:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.kitchen.stir, 2)
            nursery.start_soon(self.kitchen.stir, 3)
            await call.progress(1, 10)
        return Mixing(flavour.name)

    @Mixing.entered
    async def mixed(self, at: Mixing, call: Call[Nothing]) -> Baking:
        async with self.kitchen.oven():
            await call.progress(2, 10)
        return Baking(at.flavour)

    @Baking.polled
    async def baked(self, at: Baking, call: Call[Nothing]) -> Done[str]:
        async with trio.open_nursery() as nursery, self.kitchen.oven():
            nursery.start_soon(trio.sleep_forever)
            await self.kitchen.stir(1)
            nursery.cancel_scope.cancel()
        await call.progress(9, 10)
        return Done(f"a {at.flavour} cake")


@define
class Bakery:
    """A server of cakes, and a client that can be told where to give up."""

    kitchen: Kitchen = field(factory=Kitchen)
    server: Server = field(factory=lambda: Server("Bakery", keys=[KEY]))

    def __attrs_post_init__(self) -> None:
        self.server.tool(Cake(self.kitchen))

    async def call(
        self, state: object = None, responses: object = None, *, cancelled_at: int = 0
    ) -> dict[str, Any] | None:
        """A result, or None where the round was cancelled before there was one."""
        stops = self.kitchen.stops = Stops(cancelled_at)
        replies: list[Reply] = []

        async def told(_: Notification) -> None:
            await stops.here()

        params = call_params("cake", None, state, responses)
        request = Request(1, "tools/call", {"_meta": meta(progressToken="p"), **params})
        with stops.scope:
            replies.append(await self.server.handle(request, Exchange(notify=told)))
        assert stops.scope.cancelled_caught == (not replies)
        if not replies:
            return None
        (reply,) = replies
        assert isinstance(reply, Success), reply
        return members(reply.result)

    async def rounds(self) -> list[dict[str, Any]]:
        """A whole conversation, round by round."""
        results: list[dict[str, Any]] = []
        for responses in ANSWERS:
            state = results[-1]["requestState"] if results else None
            result = await self.call(state, responses)
            assert result is not None
            results.append(result)
        return results


ANSWERS: list[JsonObject | None] = [None, {"choosing": accept(name="lemon")}, None]
STOPS = [3, 10, 4]
"""How many checkpoints each of the three rounds has, those of the client that is told included."""


def living() -> int:
    return trio.lowlevel.current_statistics().tasks_living


@pytest.mark.parametrize("number", range(3))
async def test_a_round_that_is_cancelled_at_any_await_leaves_no_task_and_may_be_taken_again(
    number: int,
) -> None:
    bakery = Bakery()
    rounds = await bakery.rounds()
    state = rounds[number - 1]["requestState"] if number else None
    before = living()
    for stop in range(1, STOPS[number] + 1):
        assert await bakery.call(state, ANSWERS[number], cancelled_at=stop) is None
        assert (living(), bakery.kitchen.open) == (before, 0), f"cancelled at {stop}"
        again = await bakery.call(state, ANSWERS[number])
        assert again is not None
        assert _shown(again) == _shown(rounds[number])
    assert bakery.kitchen.stops.passed == STOPS[number]


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    """A result without its token, which is never the same twice."""
    return {name: member for name, member in result.items() if name != "requestState"}


async def test_a_conversation_that_is_cancelled_in_each_round_ends_as_any_other() -> None:
    bakery = Bakery()
    state: object = None
    result: dict[str, Any] | None = None
    for responses, stops in zip(ANSWERS, STOPS, strict=True):
        assert await bakery.call(state, responses, cancelled_at=stops) is None
        result = await bakery.call(state, responses)
        assert result is not None
        state = result.get("requestState")
    assert result is not None
    assert text_of(result) == "a lemon cake"


async def test_other_calls_go_on_while_one_is_cancelled_at_any_await() -> None:
    bakery = Bakery()
    other = Bakery()
    served: list[dict[str, Any]] = []

    async def serve_others() -> None:
        for _ in range(20):
            served.extend(await other.rounds())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_others)
        for stop in range(1, STOPS[0] + 1):
            assert await bakery.call(cancelled_at=stop) is None
    cakes = [text_of(result) for result in served if result["resultType"] == "complete"]
    assert cakes == ["a lemon cake"] * 20


async def test_however_often_a_round_is_given_up_it_counts_for_nothing() -> None:
    bakery = Bakery()
    first = await bakery.call()
    assert first is not None
    for _ in range(Limits().repeats + 1):
        assert await bakery.call(first["requestState"], ANSWERS[1], cancelled_at=1) is None
    second = await bakery.call(first["requestState"], ANSWERS[1])
    assert second is not None
    assert second["resultType"] == "input_required"
    assert "inputRequests" not in second
