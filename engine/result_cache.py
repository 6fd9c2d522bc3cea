"""A store of results that stay fresh for a while, bounded in entries and in bytes.

Specification: server/utilities/caching.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, TypeAlias

import trio
from attrs import define, field, frozen

from .errors import UsageError

_OVERHEAD: Final = 500
"""Bytes that an entry takes beside its result."""

_DAY: Final = 24 * 60 * 60.0


@frozen
class Asked:
    """What a result answers.

    Attributes:
        home: the server.
        method: the JSON-RPC method.
        params: a digest of the parameters.
        uri: the resource, where one is read.
    """

    home: Hashable
    method: str
    params: bytes
    uri: str | None = field(default=None, eq=False)


@frozen
class _Entry:
    result: bytes = field(repr=False)
    until: float

    @property
    def size(self) -> int:
        return len(self.result) + _OVERHEAD


_Key: TypeAlias = tuple[Asked, Hashable]


@define(eq=False)
class ResultCache:
    """Keeps results for as long as their servers call them fresh; in memory, and nowhere else.

    Several clients, in one run of trio, may have one cache: they share what a server at one URL
    calls ``public``. What is ``private`` serves the client that was given it, and only while its
    credentials are the same.

    Attributes:
        entries: how many results are kept; those used longest ago make room.
        size: about how many bytes are kept.
        max_ttl: seconds that a result is fresh at the most, whatever its server says.

    Raises:
        UsageError: a bound makes no sense.
    """

    entries: int = 1000
    size: int = 16 * 1024 * 1024
    max_ttl: float = _DAY
    _kept: OrderedDict[_Key, _Entry] = field(
        init=False, factory=OrderedDict[_Key, _Entry], repr=False
    )
    _bytes: int = field(init=False, default=0)
    _forgotten: int = field(init=False, default=0, repr=False)
    _clock: object = field(init=False, default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.entries < 1 or self.size < 1 or not 0 < self.max_ttl < float("inf"):
            raise UsageError("A ResultCache needs bounds above zero, and max_ttl in seconds")

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._bytes = 0
        self._forgotten += 1

    # -- for a client -------------------------------------------------------------------------

    @property
    def forgotten(self) -> int:
        """Goes up with each time that results were given up before their time."""
        return self._forgotten

    def take(self, asked: Asked, whose: Hashable) -> bytes | None:
        """A fresh result: ``whose`` is who may have private ones, None for what is public."""
        self._same_clock()
        key = (asked, whose)
        entry = self._kept.get(key)
        if entry is None:
            return None
        if trio.current_time() >= entry.until:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return entry.result

    def keep(self, asked: Asked, whose: Hashable, result: bytes, until: float) -> None:
        """Keep a result until then, on trio's clock, where it fits."""
        self._same_clock()
        key = (asked, whose)
        self._drop(key)
        now = trio.current_time()
        entry = _Entry(result, min(until, now + self.max_ttl))
        if until <= now or entry.size > self.size:
            return
        self._kept[key] = entry
        self._bytes += entry.size
        while len(self._kept) > self.entries or self._bytes > self.size:
            self._drop(next(iter(self._kept)))

    def drop(self, asked: Asked, whose: Hashable) -> None:
        """Forget what is kept for one request."""
        self._drop((asked, whose))

    def forget(self, concerns: Callable[[Asked], bool]) -> bool:
        """Give up the results that answer these requests; whether there were any.

        What is still on its way is not kept either: it may be older than the change.
        """
        self._forgotten += 1
        gone = [key for key in self._kept if concerns(key[0])]
        for key in gone:
            self._drop(key)
        return bool(gone)

    def forget_owner(self, owns: Callable[[Hashable], bool]) -> None:
        """Forget what is private to somebody, who will not ask again."""
        self._forgotten += 1
        for key in [key for key in self._kept if owns(key[1])]:
            self._drop(key)

    def _drop(self, key: _Key) -> None:
        entry = self._kept.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size

    def _same_clock(self) -> None:
        # Times of another run of trio mean nothing in this one.
        clock = trio.lowlevel.current_clock()
        if clock is not self._clock:
            self.clear()
            self._clock = clock
