"""A list that a server gives in pages, taken one page at a time.

Specification: server/utilities/pagination.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import Generic, TypeAlias, TypeVar

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
    show or not. A listing is used once.

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
        self._taken = False
        self._outdated = False
        self._rewind()

    def _rewind(self) -> None:
        self._left = self._most
        self._items: deque[T] = deque()
        self._cursor: str | None = None
        self._seen: set[bytes] = set()
        self._over = False

    def __await__(self) -> Generator[None, None, list[T]]:
        """All items, in the server's order."""
        return self._all().__await__()

    async def _all(self) -> list[T]:
        begun = self._taken
        try:
            return [item async for item in self]
        except ServerError:
            if begun or not self._outdated:
                raise
        self._rewind()
        return [item async for item in self]

    def __aiter__(self) -> Listing[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._over:
                raise StopAsyncIteration
            await self._turn()
        self._taken = True
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
                self._outdated = self._forget()
            raise


def _mark(cursor: str) -> bytes:
    """What a cursor is recognized by: it may be as long as a message, and there may be many."""
    return hashlib.blake2b(cursor.encode(), digest_size=16).digest()
