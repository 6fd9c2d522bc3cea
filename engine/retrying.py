"""Sending a request again after a failure that has done no harm, and only then.

Whatever one request of a caller takes, all of its tries come out of one budget
(:class:`Attempts`). When is computed by a value that never waits (:class:`RetryPolicy`).
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio
from attrs import define, field, frozen

from .errors import CallError, UsageError
from .exchange import TransportLost

T = TypeVar("T")

_log = logging.getLogger(__name__)


@frozen
class RetryPolicy:
    """How often and when a request is sent again; the default of a client.

    The wait before a try is anything up to a bound that grows from ``initial`` to ``maximum``
    ("full jitter", so that many clients do not come back together). Where the server says how
    long it wants no request, that time comes first.

    Attributes:
        attempts: tries of one request, the first one included.
        initial: the longest wait before the second try, in seconds.
        maximum: the longest wait before any, in seconds.
        factor: what each bound is multiplied with for the next.
        max_retry_after: for how many seconds a server may put the client off. One that wants
            longer is not asked again: the error says for how long.
        chance: gives numbers from 0 up to 1.

    Raises:
        UsageError: the numbers contradict each other.
    """

    attempts: int = 4
    initial: float = 0.25
    maximum: float = 8.0
    factor: float = 2.0
    max_retry_after: float = 30.0
    chance: Callable[[], float] = field(default=random.random, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        if not (0 < self.initial <= self.maximum < math.inf and self.factor >= 1):
            raise UsageError("RetryPolicy needs 0 < initial <= maximum and factor >= 1")
        if not (self.attempts >= 1 and 0 <= self.max_retry_after < math.inf):
            raise UsageError("RetryPolicy needs attempts >= 1 and max_retry_after >= 0")

    def wait(self, failures: int, asked: float | None = None) -> float | None:
        """The seconds until the next try, or None where there is to be none.

        Args:
            failures: tries that have failed; 1 after the first.
            asked: for how many seconds the server wants no request, where it said so.
        """
        told = asked or 0.0
        if failures >= self.attempts or told > self.max_retry_after:
            return None
        return told + self._bound(failures) * self.chance()

    def _bound(self, failures: int) -> float:
        try:
            return min(self.initial * self.factor ** (failures - 1), self.maximum)
        except OverflowError:
            return self.maximum


def may_repeat(error: CallError, *, reads: bool) -> bool:
    """Whether a request that ended so may be sent again.

    Anything may that was certainly not served. What may have been served is sent again only
    where it ``reads``: where the server does the same as if it had been asked once.
    """
    if isinstance(error, TransportLost):
        return reads or not error.sent
    return error.deferral is not None and (reads or error.deferral.unserved)


@define
class Attempts:
    """The tries of one request of a caller, and of whatever is asked on its behalf."""

    policy: RetryPolicy | None
    _failures: int = 0

    async def run(self, send: Callable[[], Awaitable[T]], what: str, *, reads: bool) -> T:
        """Send until it succeeds, or must not be sent again.

        Raises:
            CallError: the last one; where it was not the first, a note says how many there were.
        """
        while True:
            try:
                return await send()
            except CallError as error:
                tries = self._failures + 1
                wait = self._wait(error, tries, reads=reads)
                if wait is None:
                    if tries > 1:
                        error.add_note(f"This was the last of {tries} tries.")
                    raise
                self._failures = tries
                _log.info("%s failed (%s); again in %.2f s", what, type(error).__name__, wait)
            await trio.sleep(wait)

    def _wait(self, error: CallError, tries: int, *, reads: bool) -> float | None:
        if self.policy is None or not may_repeat(error, reads=reads):
            return None
        asked = None if error.deferral is None else error.deferral.after
        wait = self.policy.wait(tries, asked)
        if wait is None or trio.current_time() + wait >= trio.current_effective_deadline():
            # Waiting for a deadline would only hide the cause behind it.
            return None
        return wait
