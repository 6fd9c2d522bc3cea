"""A store of conversations in an SQLite file, which several processes may use at once.

The file is made readable for its owner alone. It is in WAL mode, so it belongs on a disk of this
machine, not on a network.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar, final

import trio

from ..engine.jsonrpc import DEFAULT_LIMITS
from ..engine.limits import Limits
from ..engine.store import LEASE, ConversationStore
from ..engine.store_errors import ConversationClaimed, ConversationGone, LeaseLost
from ..engine.store_shelf import Lease, Record
from .sqlite_file import open_file, told, transaction

T = TypeVar("T")
Row = tuple[Any, ...]


@asynccontextmanager
async def open_store(
    path: str | os.PathLike[str],
    *,
    keys: Sequence[bytes | str] | None = None,
    lease: float = LEASE,
    clock: Callable[[], float] = time.time,
    limits: Limits = DEFAULT_LIMITS,
) -> AsyncGenerator[ConversationStore]:
    """A store in a file, which is made where there is none, for the length of a block.

    Args:
        path: of the file; its folder must exist, and let this process make files.
        keys, lease, clock, limits: see :class:`~antiphon.engine.store.ConversationStore`.

    Raises:
        StoreUnusable: the file cannot be opened, is damaged, something else, or of a newer
            version.
        UsageError: the keys or the lease make no sense.
    """
    named = os.fspath(path)
    ConversationStore(keys=keys, lease=lease)  # told before anything is made
    limiter = trio.CapacityLimiter(1)
    connection = await trio.to_thread.run_sync(open_file, named, limiter=limiter)
    try:
        shelf = SqliteShelf(connection, named, limiter)
        yield ConversationStore(shelf, keys=keys, lease=lease, clock=clock, limits=limits)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(connection.close, limiter=limiter)


@final
class SqliteShelf:
    """Records in a table; see :class:`~antiphon.engine.store_shelf.Shelf`.

    Each method is a transaction in a thread, one at a time. Once there it is not cancelled.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: str, limiter: trio.CapacityLimiter
    ) -> None:
        self._connection = connection
        self._path = path
        self._limiter = limiter

    async def add(self, record: Record, holder: str | None) -> None:
        """See :meth:`.Shelf.add`."""
        row = (
            record.id,
            record.created,
            record.saved,
            record.deadline,
            holder,
            record.held_until,
            record.sending,
            record.body,
        )
        await self._do("INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    async def all(self) -> Sequence[Record]:
        """See :meth:`.Shelf.all`."""

        def work(db: sqlite3.Connection) -> Sequence[Record]:
            return [_record(row) for row in db.execute(f"{_SELECT} ORDER BY created, id")]

        return await self._run(work)

    async def claim(self, lease: Lease, *, now: float, until: float) -> Record:
        """See :meth:`.Shelf.claim`."""

        def work(db: sqlite3.Connection) -> Record:
            row: Row | None = db.execute(f"{_SELECT} WHERE id = ?", (lease.id,)).fetchone()
            if row is None:
                raise ConversationGone(lease.id)
            record = _record(row)
            if record.held_until is not None and record.held_until > now:
                raise ConversationClaimed(lease.id, record.held_until, now)
            change = "UPDATE conversations SET holder = ?, held_until = ? WHERE id = ?"
            db.execute(change, (lease.holder, until, lease.id))
            return record

        return await self._run(work)

    async def renew(self, lease: Lease, *, until: float) -> None:
        """See :meth:`.Shelf.renew`."""
        await self._held(lease, "UPDATE conversations SET held_until = ?", (until,))

    async def write(
        self, lease: Lease, body: bytes, *, now: float, until: float | None, sending: bool
    ) -> None:
        """See :meth:`.Shelf.write`."""
        holder = None if until is None else lease.holder
        change = (
            "UPDATE conversations SET holder = ?, held_until = ?, saved = ?, sending = ?, body = ?"
        )
        await self._held(lease, change, (holder, until, now, sending, body))

    async def _held(self, lease: Lease, change: str, values: Row) -> None:
        """Change the record of a lease, if it is still that one's."""

        def work(db: sqlite3.Connection) -> None:
            mine = f"{change} WHERE id = ? AND holder = ?"
            if db.execute(mine, (*values, lease.id, lease.holder)).rowcount:
                return
            there = db.execute("SELECT 1 FROM conversations WHERE id = ?", (lease.id,)).fetchone()
            raise ConversationGone(lease.id) if there is None else LeaseLost(lease.id)

        await self._run(work)

    async def remove(self, id: str, holder: str | None = None) -> bool:
        """See :meth:`.Shelf.remove`."""
        return bool(await self._do(_REMOVE, (id, holder)))

    async def expire(self, now: float, saved_before: float | None) -> int:
        """See :meth:`.Shelf.expire`."""
        return await self._do(_EXPIRE, (now, saved_before))

    # -- transactions -------------------------------------------------------------------------

    async def _do(self, change: str, values: Row) -> int:
        """Make a change; of how many records."""
        return await self._run(lambda db: db.execute(change, values).rowcount)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        whole = partial(self._transaction, work)
        return await trio.to_thread.run_sync(whole, limiter=self._limiter)

    def _transaction(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with told(self._path), transaction(self._connection):
            return work(self._connection)


# By casts, whatever stands in a file that somebody else has changed is of the right type.
_SELECT: Final = (
    "SELECT ifnull(CAST(id AS TEXT), ''), "
    "ifnull(CAST(created AS REAL), 0), ifnull(CAST(saved AS REAL), 0), "
    "CAST(deadline AS REAL), CAST(held_until AS REAL), CAST(sending AS INTEGER), "
    "ifnull(CAST(body AS BLOB), x'') FROM conversations"
)

_REMOVE: Final = "DELETE FROM conversations WHERE id = ?1 AND (?2 IS NULL OR holder = ?2)"
_EXPIRE: Final = (
    "DELETE FROM conversations "
    "WHERE (held_until IS NULL OR CAST(held_until AS REAL) <= ?1) "
    "AND (CAST(deadline AS REAL) <= ?1 OR CAST(saved AS REAL) <= ?2)"
)


def _record(row: Row) -> Record:
    id, created, saved, deadline, held_until, sending, body = row
    return Record(
        id=id,
        created=created,
        saved=saved,
        deadline=deadline,
        held_until=held_until,
        sending=bool(sending),
        body=body,
    )
