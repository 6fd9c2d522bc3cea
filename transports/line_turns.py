"""The turns of one connection's calls: so many run at a time, and the others wait in a row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import trio

from ..engine.limits import Limits
from .busy import passed_limit


class LineTurns:
    """What runs and what waits, within ``concurrent_calls``, ``waiting_calls``, ``pending_bytes``.

    A call counts from :meth:`admit` to :meth:`leave`. Whenever it wants to run it asks for a
    turn, once or round by round; while it has none, it is one that waits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits: Final = limits
        self._row: Final[OrderedDict[object, Callable[[], object]]] = OrderedDict()
        self._calls = 0
        self._running = 0
        self._held = 0

    def passed(self, size: int) -> str | None:
        """The limit that one more call, of so many bytes, would pass."""
        return passed_limit(self._limits, size, self._held, self._calls - self._running)

    def admit(self, size: int) -> None:
        """Count a call."""
        self._calls += 1
        self._held += size

    def leave(self, size: int) -> None:
        """Count it no more."""
        self._calls -= 1
        self._held -= size

    def take(self, size: int) -> bool:
        """Keep so many bytes of a call's answers, if that passes no limit."""
        fits = passed_limit(self._limits, size, self._held, 0) is None
        self._held += size if fits else 0
        return fits

    def give_back(self, size: int) -> None:
        """Keep so many no more."""
        self._held -= size

    def ask(self, who: object, begin: Callable[[], object]) -> None:
        """Have ``begin`` called when it is the turn of ``who``; at once, where one is free.

        It is called in the task that gives the turn, and must not raise. Whoever has a turn
        passes it on.
        """
        if self._running < self._limits.concurrent_calls:
            self._running += 1
            begin()
        else:
            self._row[who] = begin

    def withdraw(self, who: object) -> bool:
        """Leave the row; whether ``who`` stood in it."""
        return self._row.pop(who, None) is not None

    def pass_on(self) -> None:
        """Give a turn to the first of the row."""
        if self._row:
            _, begin = self._row.popitem(last=False)
            begin()
        else:
            self._running -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None, None]:
        """Wait for a turn, and have it for the length of a block."""
        given = trio.Event()
        self.ask(given, given.set)
        try:
            await given.wait()
            yield
        finally:
            if not self.withdraw(given):
                self.pass_on()
