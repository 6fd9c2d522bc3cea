"""A shelf in memory, for one process and for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import attrs
import trio
from attrs import define, field

from .store_errors import ConversationClaimed, ConversationGone, LeaseLost
from .store_shelf import Lease, Record


@define
class _Slot:
    record: Record
    holder: str | None


@final
@define
class MemoryShelf:
    """Records in a dictionary; see :class:`~.store_shelf.Shelf`."""

    _slots: dict[str, _Slot] = field(factory=dict[str, _Slot], repr=False)

    async def add(self, record: Record, holder: str | None) -> None:
        """See :meth:`.Shelf.add`."""
        await trio.lowlevel.checkpoint()
        self._slots[record.id] = _Slot(record, holder)

    async def all(self) -> Sequence[Record]:
        """See :meth:`.Shelf.all`."""
        await trio.lowlevel.checkpoint()
        return sorted((slot.record for slot in self._slots.values()), key=lambda r: r.created)

    async def claim(self, lease: Lease, *, now: float, until: float) -> Record:
        """See :meth:`.Shelf.claim`."""
        await trio.lowlevel.checkpoint()
        slot = self._slots.get(lease.id)
        if slot is None:
            raise ConversationGone(lease.id)
        held_until = slot.record.held_until
        if held_until is not None and held_until > now:
            raise ConversationClaimed(lease.id, held_until, now)
        slot.holder = lease.holder
        slot.record = attrs.evolve(slot.record, held_until=until)
        return slot.record

    async def renew(self, lease: Lease, *, until: float) -> None:
        """See :meth:`.Shelf.renew`."""
        await trio.lowlevel.checkpoint()
        slot = self._held(lease)
        slot.record = attrs.evolve(slot.record, held_until=until)

    async def write(
        self, lease: Lease, body: bytes, *, now: float, until: float | None, sending: bool
    ) -> None:
        """See :meth:`.Shelf.write`."""
        await trio.lowlevel.checkpoint()
        slot = self._held(lease)
        slot.record = attrs.evolve(
            slot.record, body=body, saved=now, held_until=until, sending=sending
        )
        if until is None:
            slot.holder = None

    def _held(self, lease: Lease) -> _Slot:
        slot = self._slots.get(lease.id)
        if slot is None:
            raise ConversationGone(lease.id)
        if slot.holder != lease.holder:
            raise LeaseLost(lease.id)
        return slot

    async def remove(self, id: str, holder: str | None = None) -> bool:
        """See :meth:`.Shelf.remove`."""
        await trio.lowlevel.checkpoint()
        slot = self._slots.get(id)
        if slot is None or holder not in (None, slot.holder):
            return False
        del self._slots[id]
        return True

    async def expire(self, now: float, saved_before: float | None) -> int:
        """See :meth:`.Shelf.expire`."""
        await trio.lowlevel.checkpoint()
        over = [id for id, slot in self._slots.items() if _is_over(slot.record, now, saved_before)]
        for id in over:
            del self._slots[id]
        return len(over)


def _is_over(record: Record, now: float, saved_before: float | None) -> bool:
    if record.held_until is not None and record.held_until > now:
        return False
    late = record.deadline is not None and record.deadline <= now
    return late or (saved_before is not None and record.saved <= saved_before)
