"""A server held open while a transport serves it, and the calls that have to end before it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import trio
from attrs import define, field

from ..engine.exchange import RequestHandler, held_open


@define(eq=False)
class Held:
    """One run of a server.

    Attributes:
        lifespan: what the server's lifespan gave.
        open: whether the lifespan has begun and not ended.
        endless: whether nobody ends it, as where there is no lifespan: its calls need not be kept.
    """

    lifespan: object = None
    open: bool = False
    endless: bool = True
    _calls: set[trio.CancelScope] = field(factory=set[trio.CancelScope], init=False)
    _idle: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)

    @contextmanager
    def call(self) -> Generator[trio.CancelScope, None, None]:
        """Around a call; where the run ends first, the call is cancelled and the block is left."""
        with trio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                yield scope
            finally:
                self._calls.remove(scope)
                self._idle.unpark_all()

    async def end(self) -> None:
        """Cancel the calls that are left, and wait until they have ended."""
        self.open = False
        for scope in self._calls:
            scope.cancel()
        # They are cancelled: it is for them to be quick, whoever else is cancelled too.
        with trio.CancelScope(shield=True):
            while self._calls:
                await self._idle.park()


@asynccontextmanager
async def holding(server: RequestHandler) -> AsyncGenerator[Held, None]:
    """Hold a server open for the length of a block; its lifespan ends after all its calls."""
    async with held_open(server) as lifespan:
        held = Held(lifespan, open=True, endless=False)
        try:
            yield held
        finally:
            await held.end()
