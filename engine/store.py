"""Conversations that wait for an answer, kept so that any process can list and resume them.

A store is in memory, or in a file where a transport opens one. What is stored is what
``Conversation.dump`` makes, under seal where there are keys. Specification: basic/patterns/mrtr.
"""

from __future__ import annotations

import math
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Unpack, final

import trio
from attrs import frozen

from .call_errors import UnreadableDump
from .client import Client
from .driver import Conversation
from .errors import UsageError
from .jsonrpc import DEFAULT_LIMITS
from .limits import Limits
from .request_options import LoadOptions
from .store_errors import AnswerUncertain, ConversationGone
from .store_keeping import Keeper
from .store_memory import MemoryShelf
from .store_sealing import wrapping
from .store_shelf import Lease, Record, Shelf
from .stored_about import About, AskedBrief, about

LEASE: Final = 60.0
"""Seconds after which a conversation can be taken over from a process that does not show up."""

_ID_BYTES: Final = 6
_ID: Final = re.compile(r"[0-9a-f]{12}")
_NOTHING: Final = About(server="", via="", method="", name="", begun=False, asked=())


@frozen(kw_only=True)
class StoredCall:
    """An entry of a store. Times are on the wall clock, in seconds since the epoch.

    Attributes:
        id: its name in the store.
        created: when it was put there.
        saved: when it was saved last.
        deadline: when its time is over; None for never.
        held_until: how long at least somebody is at it; None where it is free.
        uncertain: whether a request was on its way when it was left, or is now.
        server: how the server names itself.
        via: its target, as the program named it that stored it.
        method: tools/call, prompts/get or resources/read.
        name: what it calls.
        begun: whether anything was sent yet.
        asked: the questions that wait for an answer, in short.
        fault: why it cannot be read, where it cannot; all texts are empty then.
    """

    id: str
    created: float
    saved: float
    deadline: float | None
    held_until: float | None
    uncertain: bool
    server: str
    via: str
    method: str
    name: str
    begun: bool
    asked: tuple[AskedBrief, ...]
    fault: str | None


@final
class ConversationStore:
    """A store of unfinished conversations; used by any number of tasks at the same time.

    Every method raises StoreUnusable where what lies underneath fails.

    Args:
        shelf: where the entries are kept; in memory unless another is given.
        keys: at least 32 bytes each. The first seals every entry, all open them; what is not
            sealed is not read any more.
        lease: after how many seconds a conversation can be taken over from a process that has
            ended, or does not show up. One that runs renews it by itself.
        clock: the wall clock, in seconds since the epoch, common to all who use the shelf.
        limits: of the JSON in an entry.

    Raises:
        UsageError: the keys cannot be used, or the lease is no time.
    """

    def __init__(
        self,
        shelf: Shelf | None = None,
        *,
        keys: Sequence[bytes | str] | None = None,
        lease: float = LEASE,
        clock: Callable[[], float] = time.time,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if not 0 < lease < math.inf:
            raise UsageError(f"lease must be a number of seconds, not {lease}")
        self._shelf: Final[Shelf] = MemoryShelf() if shelf is None else shelf
        self._wrapping: Final = wrapping(keys)
        self._lease: Final = lease
        self._clock: Final = clock
        self._limits: Final = limits

    # -- putting there ------------------------------------------------------------------------

    async def save(self, conversation: Conversation[Any]) -> str:
        """Put a conversation there as it stands, for anybody to resume; the id of its entry.

        Whoever saves it gives it away: to go on with it here, resume it or use :meth:`keeping`.

        Raises:
            UsageError: it is finished, in a store already, or a task moves it.
        """
        if conversation.kept:
            raise UsageError("The conversation is in a store already, which saves every step of it")
        record = self._record(conversation, None)
        await self._shelf.add(record, None)
        return record.id

    @asynccontextmanager
    async def keeping(self, conversation: Conversation[Any]) -> AsyncGenerator[str]:
        """Keep a conversation in the store while this block moves it; gives the id of its entry.

        It is saved at once, before every leg and after it. When the call is finished, its entry
        is removed. When the block is left before, the entry stays, free for anybody.

        Raises:
            UsageError: it is finished, in a store already, or a task moves it.
            ConversationGone: it was cancelled meanwhile, and the block with it.
            LeaseLost: it was taken over, since the lease could not be renewed in time.
        """
        record = self._record(conversation, self._clock() + self._lease)
        keeper = self._keeper(_lease(record.id), conversation, sending=False)
        async with keeper.keep(record):
            yield record.id

    def _record(self, conversation: Conversation[Any], held_until: float | None) -> Record:
        if conversation.moving:
            # A request may be on its way of which its entry would know nothing.
            raise UsageError("A task moves the conversation; store it when its step has come")
        now, id = self._clock(), secrets.token_hex(_ID_BYTES)
        return Record(
            id=id,
            created=now,
            saved=now,
            deadline=conversation.deadline,
            held_until=held_until,
            body=self._wrapping.wrap(id, conversation.dump()),
        )

    def _keeper(self, lease: Lease, conversation: Conversation[Any], *, sending: bool) -> Keeper:
        return Keeper(
            shelf=self._shelf,
            wrapping=self._wrapping,
            lease=lease,
            conversation=conversation,
            seconds=self._lease,
            clock=self._clock,
            sending=sending,
        )

    # -- going on -----------------------------------------------------------------------------

    @asynccontextmanager
    async def resume(
        self,
        id: str,
        client: Client,
        *,
        again: bool = False,
        moved: bool = False,
        **options: Unpack[LoadOptions],
    ) -> AsyncGenerator[Conversation[Any]]:
        """Go on with a conversation that nobody else is at, for the length of a block.

        It is claimed first, so that no question is answered twice, and then kept as by
        :meth:`keeping`. An entry that cannot be resumed stays as it is.

        Args:
            id: of the entry.
            client: of the server that the conversation began with.
            again: whether a request may be repeated that may have been served; see
                AnswerUncertain.
            moved, options: as for :meth:`Client.load`.

        Raises:
            ConversationGone: there is no such entry, or it was cancelled meanwhile.
            ConversationClaimed: somebody else is at it.
            AnswerUncertain: it was left while a request was on its way.
            LeaseLost: as for :meth:`keeping`.
            UsageError, UnreadableDump, QuestionRefused: as for :meth:`Client.load`.
        """
        lease = _lease(id)
        record = await self._claim(lease)
        try:
            if record.sending and not again:
                raise AnswerUncertain(id)
            blob = self._wrapping.unwrap(id, record.body)
            conversation = client.load(blob, moved=moved, **options)
        except BaseException:
            await self._put_back(lease, record)
            raise
        async with self._keeper(lease, conversation, sending=record.sending).keep():
            yield conversation

    async def _claim(self, lease: Lease) -> Record:
        if not _ID.fullmatch(lease.id):
            raise ConversationGone(lease.id)
        now = self._clock()
        return await self._shelf.claim(lease, now=now, until=now + self._lease)

    async def _put_back(self, lease: Lease, record: Record) -> None:
        with trio.CancelScope(shield=True):
            await self._shelf.write(
                lease, record.body, now=record.saved, until=None, sending=record.sending
            )

    # -- looking after ------------------------------------------------------------------------

    async def cancel(self, id: str) -> bool:
        """Forget a conversation, whoever is at it; whether there was one.

        A block that keeps it ends with ConversationGone before it sends another request. The
        server is not told, since it keeps nothing between two rounds. To let it know, resume
        the conversation and answer ``Cancel()``.
        """
        if not _ID.fullmatch(id):
            await trio.lowlevel.checkpoint()
            return False
        return await self._shelf.remove(id)

    async def expire(self, now: float | None = None, *, idle: float | None = None) -> int:
        """Forget conversations that nobody is at and whose time is over; how many there were.

        Args:
            now: on the wall clock; by default the store's own.
            idle: forget also those that were saved last so many seconds ago or earlier.
        """
        at = self._clock() if now is None else now
        return await self._shelf.expire(at, None if idle is None else at - idle)

    async def list(self) -> Sequence[StoredCall]:
        """All conversations, the oldest first; no arguments, no answers, no state."""
        now = self._clock()
        return [self._told(record, now) for record in await self._shelf.all()]

    def _told(self, record: Record, now: float) -> StoredCall:
        what, fault = _NOTHING, None
        try:
            what = about(self._wrapping.unwrap(record.id, record.body), self._limits)
        except UnreadableDump as error:
            fault = str(error)
        held = record.held_until is not None and record.held_until > now
        return StoredCall(
            id=record.id,
            created=record.created,
            saved=record.saved,
            deadline=record.deadline,
            held_until=record.held_until if held else None,
            uncertain=record.sending,
            server=what.server,
            via=what.via,
            method=what.method,
            name=what.name,
            begun=what.begun,
            asked=what.asked,
            fault=fault,
        )


def _lease(id: str) -> Lease:
    return Lease(id, secrets.token_hex(16))
