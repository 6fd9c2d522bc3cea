"""What a store of conversations keeps its entries on: records, and who may change which.

A record is held by at most one holder. A lease says for how long at least; when it has run out
the holder keeps the record until somebody else claims it, so that nothing is lost by being late
alone. Only who holds a record writes it: a holder that was superseded finds out before it acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import field, frozen


@frozen(kw_only=True)
class Record:
    """One entry; all times on the wall clock, in seconds since the epoch.

    Attributes:
        id: its name, from the store.
        created: when it was added.
        saved: when it was written last.
        deadline: when it becomes useless; None for never.
        held_until: when the lease of its holder runs out; None where nobody holds it.
        sending: whether a request is on its way that must not be repeated blindly.
        body: the conversation, as the store makes it.
    """

    id: str
    created: float
    saved: float
    deadline: float | None
    held_until: float | None = None
    sending: bool = False
    body: bytes = field(repr=False)


@frozen
class Lease:
    """The right to change a record: its id, and a text that no other holder has."""

    id: str
    holder: str = field(repr=False)


class Shelf(Protocol):
    """Where records are kept. Each method happens as a whole or not at all.

    When one is cancelled it has not happened: what has happened is returned. So they wait before
    they act, or in a way that cannot be cancelled, and never after.

    Every one of them raises StoreUnusable where what lies underneath fails.
    """

    async def add(self, record: Record, holder: str | None) -> None:
        """Put a new record there, held until ``held_until`` where there is a holder."""
        ...

    async def all(self) -> Sequence[Record]:
        """All records, the oldest first."""
        ...

    async def claim(self, lease: Lease, *, now: float, until: float) -> Record:
        """Become the holder of a record, which is returned.

        Raises:
            ConversationGone: there is none.
            ConversationClaimed: it is held until later than now.
        """
        ...

    async def renew(self, lease: Lease, *, until: float) -> None:
        """Hold it for longer.

        Raises:
            ConversationGone: there is no such record any more.
            LeaseLost: somebody else holds it.
        """
        ...

    async def write(
        self, lease: Lease, body: bytes, *, now: float, until: float | None, sending: bool
    ) -> None:
        """Change a record, and hold it for longer; with None let it go.

        Raises:
            ConversationGone, LeaseLost: as for :meth:`renew`.
        """
        ...

    async def remove(self, id: str, holder: str | None = None) -> bool:
        """Remove a record; with a holder only where it is that one's. Whether there was one."""
        ...

    async def expire(self, now: float, saved_before: float | None) -> int:
        """Remove what nobody holds and whose deadline is over, or was saved before; how many."""
        ...
