"""Where changes wait for whoever takes them: bounded, however slowly that goes.

What waits already is not put in twice: after a change is taken, reading shows at least that change.
"""

from __future__ import annotations

from typing import Final

import trio
from attrs import define, field

from .changes import Change, Reconnected, ResourceUpdated, Watched
from .errors import UsageError

_PARTS: Final = 256
"""Resources below watched ones that may wait. Further ones count as the watched one."""


@define(eq=False)
class ChangeBox:
    """Changes in the order in which they came, each once.

    Attributes:
        ended: no change will come any more, for the server said so.
        failure: no change will come any more, for this happened.
        closed: nobody wants any more.
    """

    _watched: Watched
    _uri_length: int
    ended: bool = False
    failure: Exception | None = None
    closed: bool = False
    _waiting: dict[Change | type[Reconnected], Change] = field(
        factory=dict["Change | type[Reconnected]", Change]
    )
    _takers: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot)

    def put(self, change: Change) -> None:
        """Let a change be taken."""
        if isinstance(change, ResourceUpdated):
            change = self._bounded(change)
        # Where two losses wait to be told of, the last one tells the reason.
        self._waiting[Reconnected if isinstance(change, Reconnected) else change] = change
        self._takers.unpark_all()

    def end(self) -> None:
        """What waits can still be taken, and then there is no more."""
        self.ended = True
        self._takers.unpark_all()

    def fail(self, error: Exception) -> None:
        """What waits can still be taken, and then this is raised."""
        self.failure = error
        self._takers.unpark_all()

    def close(self) -> None:
        """Give nothing more."""
        self.closed = True
        self._waiting.clear()
        self._takers.unpark_all()

    async def take(self) -> Change | None:
        """The next change, or None after the end. Cancelled, it takes nothing.

        Raises:
            UsageError: the box is closed.
            Exception: what it failed with.
        """
        await trio.lowlevel.checkpoint()
        while not self._waiting:
            if self.closed:
                raise UsageError("This subscription is over: its block has ended")
            if self.failure is not None:
                raise self.failure
            if self.ended:
                return None
            await self._takers.park()
        return self._waiting.pop(next(iter(self._waiting)))

    def _bounded(self, update: ResourceUpdated) -> ResourceUpdated:
        room = len(self._watched.uris) + _PARTS
        if update in self._waiting or (
            len(self._waiting) < room and len(update.uri) <= self._uri_length
        ):
            return update
        return ResourceUpdated(self._watched.covering(update.uri) or update.uri)
