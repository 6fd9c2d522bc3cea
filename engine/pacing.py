"""How long a client waits before it asks again: a pure schedule, which only computes.

Specification: basic/patterns/mrtr. A round that brings a state and no questions says "not ready
yet"; the client may ask again at once, and a polite one does not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Protocol

from attrs import field, frozen

from .errors import UsageError
from .jsonrpc import JsonObject
from .protocol import META_RETRY_MS


class Schedule(Protocol):
    """When to ask again, after a round without questions."""

    def after(self, polls: int, hint: float | None) -> float:
        """The seconds to wait.

        Args:
            polls: rounds without questions since the last one that had some; 1 for the first.
            hint: the seconds that the server asked for, or None.
        """
        ...


@frozen
class Backoff:
    """A delay that grows from ``initial`` to ``maximum``; the default of a client.

    The server's hint takes the delay's place, but no less than ``initial`` and no more than
    ``max_hint``. Jitter only ever lengthens a wait, so that nobody asks earlier than told.

    Attributes:
        initial: the first delay, in seconds.
        maximum: the longest delay without a hint, before jitter, in seconds.
        factor: what each delay is multiplied with for the next.
        jitter: the largest share of a delay that chance adds to it.
        max_hint: the longest wait that a server can ask for, in seconds.
        chance: gives numbers from 0 up to 1.

    Raises:
        UsageError: the numbers contradict each other.
    """

    initial: float = 0.05
    maximum: float = 0.25
    factor: float = 2.0
    jitter: float = 0.2
    max_hint: float = 30.0
    chance: Callable[[], float] = field(default=random.random, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        if not (0 < self.initial <= self.maximum < math.inf and self.factor >= 1):
            raise UsageError("Backoff needs 0 < initial <= maximum and factor >= 1")
        if not (0 <= self.jitter <= 1 and self.initial <= self.max_hint < math.inf):
            raise UsageError("Backoff needs 0 <= jitter <= 1 and max_hint >= initial")

    def after(self, polls: int, hint: float | None) -> float:
        """The seconds to wait; see :class:`Schedule`."""
        spread = 1 + self.jitter * self.chance()
        if hint is not None:
            return min(max(hint, self.initial) * spread, self.max_hint)
        return self._grown(polls) * spread

    def _grown(self, polls: int) -> float:
        try:
            return min(self.initial * self.factor ** (polls - 1), self.maximum)
        except OverflowError:
            return self.maximum


def retry_hint(meta: JsonObject) -> float | None:
    """The server's hint in the ``_meta`` of an interim result, in seconds; None if unreadable."""
    hint = meta.get(META_RETRY_MS)
    if isinstance(hint, bool) or not isinstance(hint, int | float) or hint < 0:
        return None
    return min(hint, 10**9) / 1000
