"""Stores of both kinds, whose wall clock is ours, and a client with something to store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define

from antiphon.engine.client import Client
from antiphon.engine.driver import Conversation
from antiphon.engine.store import ConversationStore
from antiphon.engine.store_memory import MemoryShelf
from antiphon.transports.store_sqlite import open_store
from tests.client.scripted import Answer, ScriptedTransport, asks, client_of, form

DEV: dict[str, Any] = {"region": {"name": "dev"}}
Opened = AbstractAsyncContextManager[ConversationStore]
KEYS = ["k" * 32]


@define
class Wall:
    """A wall clock that stands still unless it is set."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@define
class Shelves:
    """One place; every ``open`` is another process's store on it, on one clock.

    The lease is long on trio's clock, where nothing renews it unless a test wants that.
    """

    make: Callable[..., Opened]
    wall: Wall

    def open(self, **options: Any) -> Opened:
        return self.make(**{"lease": 60.0, "clock": self.wall, **options})

    def client(self, *answers: Answer, **options: Any) -> tuple[Client, ScriptedTransport]:
        return client_of(*answers, clock=self.wall, **options)


def in_memory() -> Callable[..., Opened]:
    shelf = MemoryShelf()

    @asynccontextmanager
    async def make(**options: Any) -> AsyncGenerator[ConversationStore]:
        yield ConversationStore(shelf, **options)

    return make


def in_file(path: Path) -> Callable[..., Opened]:
    def make(**options: Any) -> Opened:
        return open_store(path, **options)

    return make


async def asked(shelves: Shelves, store: ConversationStore, **options: Any) -> str:
    """A call that was left with its question in the store; the id."""
    client, _ = shelves.client(asks({"region": form()}, "s1"))
    conversation = client.conversation("provision", {"password": "hunter2"}, **options)
    async with store.keeping(conversation) as id:
        await conversation.advance()
    return id


async def result_of(conversation: Conversation[Any], answers: Any = None) -> Any:
    """Move it by the step that finishes it."""
    result = await conversation.advance(answers)
    assert conversation.done
    return result
