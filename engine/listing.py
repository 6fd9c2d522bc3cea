"""A list that a server gives in pages, taken one page at a time.

Specification: server/utilities/pagination.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Generic, TypeAlias, TypeVar

from attrs import define, field

from .call_errors import ServerError
from .errors import INVALID_PARAMS, InvalidReply
from .limits import Limits, raising

T = TypeVar("T")

Page: TypeAlias = tuple[list[T], str | None]
"""The items of a page, and the cursor of the next one if there is one."""

Fetch: TypeAlias = Callable[[str | None], Awaitable[Page[T]]]
"""Asks for the page behind a cursor; None for the first."""


class Listing(Generic[T]):
    """The items of a list: ``await`` it for all of them, or take them by ``async for``.

    A page is asked for when its first item is wanted. What changes at the server meanwhile may
    show or not. Each ``await`` and each ``async for`` goes through the list from its beginning.

    Raises, as it goes:
        InvalidReply: the pages lead back to each other, or hold more than limit ``listed``.
    """

    def __init__(
        self,
        fetch: Fetch[T],
        limits: Limits,
        what: str,
        forget: Callable[[], bool] = lambda: False,
    ) -> None:
        """Make a listing.

        Args:
            fetch: asks for the pages.
            limits: what is taken of them.
            what: names the list in errors.
            forget: gives up pages that were kept from earlier; whether there were any.
        """
        self._fetch = fetch
        self._most = limits.listed
        self._what = what
        self._forget = forget

    def __await__(self) -> Generator[None, None, list[T]]:
        """All items, in the server's order."""
        return self._all().__await__()

    async def _all(self) -> list[T]:
        items = self._from_the_beginning()
        try:
            return [item async for item in items]
        except ServerError:
            if not items.outdated:
                raise
        return [item async for item in self]

    def __aiter__(self) -> AsyncIterator[T]:
        return self._from_the_beginning()

    def _from_the_beginning(self) -> _Items[T]:
        return _Items(self._fetch, self._forget, self._what, self._most)


@define(eq=False)
class _Items(AsyncIterator[T]):
    """One way through a list.

    Attributes:
        outdated: whether the page that could not be had lay behind one that was kept.
    """

    _fetch: Fetch[T]
    _forget: Callable[[], bool]
    _what: str
    _left: int
    outdated: bool = field(default=False, init=False)
    _items: deque[T] = field(factory=deque[T], init=False)
    _cursor: str | None = field(default=None, init=False)
    _seen: set[bytes] = field(factory=set[bytes], init=False)
    _over: bool = field(default=False, init=False)

    async def __anext__(self) -> T:
        while not self._items:
            if self._over:
                raise StopAsyncIteration
            await self._turn()
        return self._items.popleft()

    async def _turn(self) -> None:
        items, following = await self._fetched()
        self._left -= max(len(items), 1)
        if following is None:
            self._over = True
        elif (mark := _mark(following)) in self._seen:
            raise InvalidReply(f"{self._what} leads back to an earlier page")
        elif self._left <= 0:
            raise InvalidReply(f"{self._what} passes limit listed {raising('listed')}")
        else:
            self._seen.add(mark)
        self._cursor = following
        self._items.extend(items)

    async def _fetched(self) -> Page[T]:
        try:
            return await self._fetch(self._cursor)
        except ServerError as refusal:
            # The cursor may come from a page that was kept for longer than it held (server/
            # utilities/caching, "Interaction with Pagination").
            if refusal.code == INVALID_PARAMS and self._cursor is not None:
                self.outdated = self._forget()
            raise


def _mark(cursor: str) -> bytes:
    """What a cursor is recognized by: it may be as long as a message, and there may be many."""
    return hashlib.blake2b(cursor.encode(), digest_size=16).digest()
