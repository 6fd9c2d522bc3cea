"""Keeping one conversation in a store while it moves: before each leg, after it, and at the end.

A request that may do harm when it is repeated is announced before it is sent. So whoever takes
the conversation over knows whether one was on its way; and who has lost it sends nothing more.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import trio
from attrs import define, field

from .background import background
from .call_errors import ServerError
from .driver import Conversation
from .errors import CallError
from .retrying import may_repeat
from .store_errors import ConversationGone, EntryError, StoreUnusable
from .store_sealing import Wrapping
from .store_shelf import Lease, Record, Shelf

RENEWALS: Final = 3
"""How often a lease is renewed within its time."""


@define
class Keeper:
    """One conversation, one lease.

    Attributes:
        sending: whether a request is, or was, on its way whose fate nobody knows.
    """

    shelf: Shelf
    wrapping: Wrapping
    lease: Lease
    conversation: Conversation[Any]
    seconds: float
    clock: Callable[[], float]
    sending: bool
    _lost: EntryError | None = field(default=None, init=False)

    @asynccontextmanager
    async def keep(self, new: Record | None = None) -> AsyncGenerator[None]:
        """Keep it for the length of a block, and let it go.

        Args:
            new: its record, where it is to be added first.

        Raises:
            UsageError: it is kept already.
            ConversationGone, LeaseLost: it was cancelled or taken over, and the block too.
        """
        self.conversation.keep_by(self._leg)
        if new is not None:
            await self._add(new)
        try:
            async with background() as nursery:
                nursery.start_soon(self._renew, nursery.cancel_scope)
                yield
                nursery.cancel_scope.cancel()
        finally:
            self.conversation.keep_by(None)
            await self._let_go()
        if self._lost is not None:
            raise self._lost

    async def _add(self, record: Record) -> None:
        try:
            await self.shelf.add(record, self.lease.holder)
        except BaseException:
            self.conversation.keep_by(None)
            raise

    @asynccontextmanager
    async def _leg(self, repeatable: bool) -> AsyncGenerator[None]:
        known = self.sending
        await self._write(sending=known or not repeatable)
        try:
            yield
            self.sending = False
        except CallError as error:
            # Where the server refused, or certainly did nothing, all is as it was before.
            if isinstance(error, ServerError) or may_repeat(error, reads=False):
                self.sending = known
            raise
        finally:
            await self._settle()

    async def _settle(self) -> None:
        # What the server has done is on record even where the task is being cancelled.
        with trio.CancelScope(shield=True):
            if self.conversation.done:
                await self.shelf.remove(self.lease.id, self.lease.holder)
            elif not self.conversation.storable:
                await self.shelf.remove(self.lease.id, self.lease.holder)
                self.conversation.abandon()
                self.conversation.dump()  # which says why not
            else:
                await self._write(sending=self.sending)

    async def _let_go(self) -> None:
        over = self.conversation.done or not self.conversation.storable
        if over or self._lost is not None:
            return
        with trio.CancelScope(shield=True):
            try:
                await self._write(sending=self.sending, held=False)
            except ConversationGone:
                return  # cancelled while it stood still: there is nothing to let go

    async def _write(self, *, sending: bool, held: bool = True) -> None:
        now = self.clock()
        body = self.wrapping.wrap(self.lease.id, self.conversation.dump())
        until = now + self.seconds if held else None
        await self.shelf.write(self.lease, body, now=now, until=until, sending=sending)
        self.sending = sending

    async def _renew(self, block: trio.CancelScope) -> None:
        while True:
            await trio.sleep(self.seconds / RENEWALS)
            try:
                await self.shelf.renew(self.lease, until=self.clock() + self.seconds)
            except StoreUnusable:
                # Perhaps it can be used again next time. Nothing is sent before it can.
                continue
            except EntryError as error:
                if not self.conversation.done:
                    self._lost = error
                    block.cancel()
                return
