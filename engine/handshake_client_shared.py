"""Work that several tasks wait for, and that none of them takes down with it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar, cast

import trio
from attrs import define, field

from .errors import AntiphonError
from .exchange import TransportLost

T = TypeVar("T")
E = TypeVar("E", bound=AntiphonError)

PATIENCE: Final = 30.0
"""Seconds for which work goes on that nobody waits for: who comes back may find it done."""


@define(eq=False)
class _Attempt(Generic[T]):
    patience: float
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    over: trio.Event = field(factory=trio.Event)
    waiting: int = 0
    value: T | None = None
    failure: Exception | None = None

    @contextmanager
    def waited_for(self) -> Generator[None]:
        self.waiting += 1
        self.scope.deadline = math.inf
        try:
            yield
        finally:
            self.waiting -= 1
            if not self.waiting:
                self.scope.deadline = trio.current_time() + self.patience


@define(eq=False)
class Shared(Generic[T]):
    """Something that is worked out once, in the background, for all who want it meanwhile.

    Whoever is cancelled leaves the others waiting. What has failed is tried again for who comes
    next.

    Attributes:
        nursery: runs it.
        what: names it, for errors.
        patience: see :data:`PATIENCE`.
    """

    nursery: trio.Nursery
    what: str
    patience: float = PATIENCE
    _attempt: _Attempt[T] | None = field(default=None, init=False)

    async def get(self, work: Callable[[], Awaitable[T]]) -> T:
        """Wait for what is under way, or begin it with ``work``.

        Raises:
            AntiphonError: it failed. Each who waits is given an error of its own.
        """
        attempt = self._attempt
        if attempt is None:
            attempt = self._attempt = _Attempt(self.patience)
            self.nursery.start_soon(self._work, attempt, work)
        with attempt.waited_for():
            await attempt.over.wait()
        if isinstance(attempt.failure, AntiphonError):
            raise twin(attempt.failure) from None
        if attempt.failure is not None:
            raise attempt.failure
        return cast(T, attempt.value)

    async def _work(self, attempt: _Attempt[T], work: Callable[[], Awaitable[T]]) -> None:
        attempt.failure = TransportLost(f"{self.what} was cut short", sent=False)
        try:
            with attempt.scope:
                attempt.value = await work()
                attempt.failure = None
        except Exception as error:  # noqa: BLE001  # it is for those who wait
            attempt.failure = error
        finally:
            self._attempt = None
            attempt.over.set()


def twin(error: E) -> E:
    """An error like this one, for somebody else to raise and add to."""
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    if "__notes__" in copy.__dict__:
        copy.__notes__ = [*error.__notes__]
    return copy
