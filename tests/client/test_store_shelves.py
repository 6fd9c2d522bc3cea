"""Both shelves do what a plain model does, whatever is done to them in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import trio
from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from antiphon.engine.store_errors import (
    ConversationClaimed,
    ConversationGone,
    EntryError,
    LeaseLost,
)
from antiphon.engine.store_memory import MemoryShelf
from antiphon.engine.store_shelf import Lease, Record, Shelf
from antiphon.transports.sqlite_file import open_file
from antiphon.transports.store_sqlite import SqliteShelf

IDS = st.sampled_from(["a", "b", "c"])
HOLDERS = st.sampled_from(["one", "two"])
SECONDS = st.integers(0, 20).map(float)


@define
class Entry:
    record: Record
    holder: str | None


class Shelves(RuleBasedStateMachine):
    """The same is done to memory, to two connections to one file by turns, and to a model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        path = str(self.folder / "calls.db")
        self.connections = [open_file(path), open_file(path)]
        self.memory = MemoryShelf()
        self.files = [
            SqliteShelf(connection, path, trio.CapacityLimiter(1))
            for connection in self.connections
        ]
        self.model: dict[str, Entry] = {}
        self.now = 100.0

    def teardown(self) -> None:
        for connection in self.connections:
            connection.close()
        shutil.rmtree(self.folder)

    def both(self, do: Callable[[Shelf], Awaitable[Any]]) -> Any:
        """Do it to both; the one outcome, an error's type included."""
        self.files.reverse()

        async def outcome(shelf: Shelf) -> Any:
            try:
                return await do(shelf)
            except EntryError as error:
                return type(error)

        shelves: Sequence[Shelf] = (self.memory, self.files[0])
        in_memory, in_file = (trio.run(outcome, shelf) for shelf in shelves)
        if isinstance(in_memory, Record):
            in_memory, in_file = in_memory.body, in_file.body
        assert in_memory == in_file
        return in_memory

    def permitted(self, id: str, holder: str) -> type[EntryError] | None:
        entry = self.model.get(id)
        if entry is None:
            return ConversationGone
        return None if entry.holder == holder else LeaseLost

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(id=IDS, holder=HOLDERS | st.none(), body=st.binary(max_size=9), left=SECONDS | st.none())
    def add(self, id: str, holder: str | None, body: bytes, left: float | None) -> None:
        if id in self.model:
            return
        record = Record(
            id=id,
            created=self.now,
            saved=self.now,
            deadline=None if left is None else self.now + left,
            held_until=None if holder is None else self.now + 10,
            body=body,
        )
        assert self.both(lambda shelf: shelf.add(record, holder)) is None
        self.model[id] = Entry(record, holder)

    @rule(id=IDS, holder=HOLDERS)
    def claim(self, id: str, holder: str) -> None:
        until = self.now + 10
        lease = Lease(id, holder)
        outcome = self.both(lambda shelf: shelf.claim(lease, now=self.now, until=until))
        entry = self.model.get(id)
        if entry is None:
            assert outcome is ConversationGone
        elif (entry.record.held_until or 0) > self.now:
            assert outcome is ConversationClaimed
        else:
            assert outcome == entry.record.body
            entry.record = attrs.evolve(entry.record, held_until=until)
            entry.holder = holder

    @rule(id=IDS, holder=HOLDERS)
    def renew(self, id: str, holder: str) -> None:
        lease = Lease(id, holder)
        outcome = self.both(lambda shelf: shelf.renew(lease, until=self.now + 10))
        assert outcome is self.permitted(id, holder)
        if outcome is None:
            entry = self.model[id]
            entry.record = attrs.evolve(entry.record, held_until=self.now + 10)

    @rule(
        id=IDS,
        holder=HOLDERS,
        body=st.binary(max_size=9),
        held=st.booleans(),
        sending=st.booleans(),
    )
    def write(self, id: str, holder: str, body: bytes, held: bool, sending: bool) -> None:
        until = self.now + 10 if held else None
        lease = Lease(id, holder)
        outcome = self.both(
            lambda shelf: shelf.write(lease, body, now=self.now, until=until, sending=sending)
        )
        assert outcome is self.permitted(id, holder)
        if outcome is None:
            changed = attrs.evolve(
                self.model[id].record,
                body=body,
                saved=self.now,
                held_until=until,
                sending=sending,
            )
            self.model[id] = Entry(changed, holder if held else None)

    @rule(id=IDS, holder=HOLDERS | st.none())
    def remove(self, id: str, holder: str | None) -> None:
        outcome = self.both(lambda shelf: shelf.remove(id, holder))
        entry = self.model.get(id)
        assert outcome is (entry is not None and holder in (None, entry.holder))
        if outcome:
            del self.model[id]

    @rule(idle=SECONDS | st.none())
    def expire(self, idle: float | None) -> None:
        before = None if idle is None else self.now - idle
        over = [
            id
            for id, entry in self.model.items()
            if (entry.record.held_until or 0) <= self.now
            and (
                (entry.record.deadline is not None and entry.record.deadline <= self.now)
                or (before is not None and entry.record.saved <= before)
            )
        ]
        assert self.both(lambda shelf: shelf.expire(self.now, before)) == len(over)
        for id in over:
            del self.model[id]

    @invariant()
    def both_hold_what_the_model_holds(self) -> None:
        expected = sorted((entry.record for entry in self.model.values()), key=lambda r: r.id)
        shelves: list[Shelf] = [self.memory, *self.files]
        for shelf in shelves:
            records = trio.run(shelf.all)
            assert sorted(records, key=lambda r: r.id) == expected
            assert [r.created for r in records] == sorted(r.created for r in records)


TestShelves = Shelves.TestCase
TestShelves.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
