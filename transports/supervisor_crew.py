"""The workers of a supervisor: started, replaced when they die, renewed one after the other.

Nothing here knows what a process is: a worker is whatever can be gone, and be stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

import trio
from attrs import define, field

from ..engine.background import background
from ..engine.errors import WorldError
from .supervisor_delays import Delays

ATTEMPTS: Final = 5
"""Starts of one worker that fail in a row, with no other left that serves, until all is over."""

logger: Final = logging.getLogger("antiphon.supervisor")


class StartFailed(WorldError):
    """A worker could not begin to serve.

    Attributes:
        status: the exit status that it stands for.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Worker(Protocol):
    """One that serves.

    Attributes:
        gone: set when it serves no more, however that came.
    """

    gone: trio.Event

    @property
    def lived(self) -> float:
        """Seconds from its start until it was gone, or until now."""
        ...

    @property
    def obituary(self) -> str:
        """Who it was and how it ended."""
        ...

    async def stop(self) -> None:
        """Ask it to end, see that it does, and return when it is gone."""
        ...


Hire: TypeAlias = Callable[[int], Awaitable[Worker]]
"""Starts the worker of a place and returns when it serves; raises :class:`StartFailed`."""


@define(eq=False)
class _Place:
    number: int
    worker: Worker
    delays: Delays = field(factory=Delays)
    failures: int = 0
    starting: trio.Lock = field(factory=trio.Lock)

    @property
    def serves(self) -> bool:
        return not self.worker.gone.is_set()


class Crew:
    """So many workers side by side, from their start until they are cancelled."""

    def __init__(self, size: int, hire: Hire) -> None:
        self._size = size
        self._hire = hire
        self._places: list[_Place] = []
        self._wanted = trio.Event()

    def renew(self) -> None:
        """Ask for new workers in the place of all; see :meth:`serve`."""
        self._wanted.set()

    async def serve(self, on_full: Callable[[bool], None]) -> None:
        """Keep all places filled, until cancelled; stopping the workers is left to the caller.

        The first worker starts alone, so that what is wrong with all is told once. A renewal
        goes from place to place: an old worker is stopped when its successor serves. Where
        that cannot start, the renewal ends there and the old ones go on.

        Args:
            on_full: called when every worker serves at the start, with False, and when all
                were renewed, with True.

        Raises:
            StartFailed: a worker cannot start, at the beginning or :data:`ATTEMPTS` times in a
                row while none serves.
        """
        await self._fill(0)
        async with background() as nursery:
            for number in range(1, self._size):
                nursery.start_soon(self._fill, number)
        on_full(False)
        async with background() as nursery:
            for place in self._places:
                nursery.start_soon(self._keep, place)
            nursery.start_soon(self._renew_when_asked, on_full)

    async def _fill(self, number: int) -> None:
        self._places.append(_Place(number, await self._hire(number)))

    # -- deaths -------------------------------------------------------------------------------

    async def _keep(self, place: _Place) -> None:
        while True:
            worker = place.worker
            await worker.gone.wait()
            if place.worker is worker:
                await self._replace(place, worker)

    async def _replace(self, place: _Place, dead: Worker) -> None:
        delay = place.delays.after(dead.lived)
        logger.warning("%s; another one starts %s", dead.obituary, _when(delay))
        while place.worker is dead:
            await trio.sleep(delay)
            try:
                await self._succeed(place, dead)
            except StartFailed as failure:
                self._give_up_or_not(place, failure)
                delay = place.delays.after(0.0)
                logger.error("A worker cannot start: %s; once more %s", failure, _when(delay))

    def _give_up_or_not(self, place: _Place, failure: StartFailed) -> None:
        place.failures += 1
        if place.failures >= ATTEMPTS and not any(other.serves for other in self._places):
            raise failure

    async def _succeed(self, place: _Place, former: Worker) -> None:
        """Put a new worker into the place, unless somebody else has done so meanwhile."""
        async with place.starting:
            if place.worker is former:
                place.worker = await self._hire(place.number)
                place.failures = 0

    # -- renewal ------------------------------------------------------------------------------

    async def _renew_when_asked(self, on_full: Callable[[bool], None]) -> None:
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            try:
                for place in self._places:
                    await self._renew(place)
            except StartFailed as failure:
                logger.error("The renewal has ended, as a new worker cannot start: %s", failure)
            else:
                on_full(True)

    async def _renew(self, place: _Place) -> None:
        async with place.starting:
            former = place.worker
            place.worker = await self._hire(place.number)
            place.failures = 0
        await former.stop()


def _when(delay: float) -> str:
    return f"in {delay:g} seconds" if delay else "now"
