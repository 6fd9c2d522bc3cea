"""Cancelled at every await of a kept call: the store tells the truth, and nobody is locked out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from attrs import define, field

from antiphon.engine.asked import Accept
from antiphon.engine.client import Client
from antiphon.engine.jsonrpc import JsonObject, Request
from antiphon.engine.store import ConversationStore
from antiphon.engine.store_memory import MemoryShelf
from antiphon.engine.store_shelf import Shelf
from antiphon.transports.store_sqlite import open_store
from tests.client.scripted import asks, client_of, done, form

METHODS = ("add", "all", "claim", "renew", "write", "remove", "expire")


@define
class Steps:
    """The n-th place cancels; all are counted."""

    stop_at: int | None
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    passed: int = 0

    def mark(self) -> None:
        self.passed += 1
        if self.passed == self.stop_at:
            self.scope.cancel()


def marked(shelf: Shelf, steps: Steps) -> Any:
    """A shelf that may be cancelled before and after everything that it does."""
    methods = {name: _marked(getattr(shelf, name), steps) for name in METHODS}
    return SimpleNamespace(**methods)


def _marked(method: Any, steps: Steps) -> Any:
    async def call(*args: Any, **options: Any) -> Any:
        steps.mark()
        result = await method(*args, **options)
        steps.mark()
        return result

    return call


def server_that(steps: Steps, served: list[str]) -> Client:
    """Counts the answers that it has served, for each of which it does something."""

    def leg(result: JsonObject) -> Any:
        async def answer(request: Request) -> JsonObject:
            steps.mark()
            await trio.lowlevel.checkpoint()
            if answers := request.params.get("inputResponses"):
                served.extend(answers)  # type: ignore[arg-type]
            steps.mark()
            return result

        return answer

    async def person(_: object) -> Accept:
        steps.mark()
        await trio.lowlevel.checkpoint()
        return Accept({"name": "dev"})

    return client_of(
        leg(asks({"one": form()}, "s1")),
        leg(asks({"two": form()}, "s2")),
        leg(done("end")),
        elicitation=person,
    )[0]


async def until(steps: Steps, store: ConversationStore) -> tuple[list[str], bool]:
    """Run the call, begun and resumed, until it is cancelled; what was served, and the end."""
    served: list[str] = []
    client, finished = server_that(steps, served), False
    with steps.scope:
        conversation = client.conversation("t")
        async with store.keeping(conversation) as id:
            await conversation.advance()
        async with store.resume(id, client) as resumed:
            finished = (await resumed.run()).text == "end"
    return served, finished


async def judge(store: ConversationStore, served: list[str], finished: bool) -> None:
    """Nobody holds it; and what was served is not asked again, unless with a warning."""
    entries = await store.list()
    for entry in entries:
        assert entry.held_until is None
        assert entry.fault is None
        pending = [asked.key for asked in entry.asked]
        assert entry.uncertain or not set(pending) & set(served)
    if finished:
        assert entries == []
    if served == ["one", "two"]:
        assert not entries or entries[0].uncertain


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_cancelled_at_each_await_the_store_tells_the_truth(kind: str, tmp_path: Path) -> None:
    number, whole = 0, None
    while whole is None or number <= whole:
        steps = Steps(number or None)
        tasks = trio.lowlevel.current_statistics().tasks_living
        if kind == "memory":
            memory = MemoryShelf()
            served, finished = await until(steps, ConversationStore(marked(memory, steps)))
            await judge(ConversationStore(memory), served, finished)
        else:
            async with open_store(tmp_path / f"{number}.db") as store:
                shelf = marked(store._shelf, steps)  # pyright: ignore[reportPrivateUsage]
                served, finished = await until(steps, ConversationStore(shelf))
                await judge(store, served, finished)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        if whole is None:
            assert (served, finished) == (["one", "two"], True)
            whole = steps.passed
        number += 1
    assert whole > 25


async def test_a_store_that_is_being_opened_can_be_cancelled(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_store(tmp_path / "calls.db"):
            raise AssertionError
    assert scope.cancelled_caught
    async with open_store(tmp_path / "calls.db") as store:
        assert await store.list() == []
