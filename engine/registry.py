"""What a server offers of one kind, by name or uri, in the order of registration."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from .errors import INVALID_PARAMS, ProtocolError, UsageError
from .jsonrpc import JsonObject, JsonValue


class Entry(Protocol):
    """Something that is registered and listed."""

    @property
    def key(self) -> str:
        """The name or the uri that clients say."""
        ...

    @property
    def description(self) -> JsonObject:
        """How it is listed."""
        ...


E = TypeVar("E", bound=Entry)


def _nobody() -> None:
    pass


class Registry(Generic[E]):
    """Entries by key, listed in the order in which they were registered.

    Args:
        noun: what an entry is, for messages.
        longest: characters of the longest key.
        changed: is called after an entry came or went.
    """

    def __init__(
        self, noun: str, *, longest: int = 128, changed: Callable[[], None] = _nobody
    ) -> None:
        self._noun = noun
        self._longest = longest
        self._changed = changed
        self._entries: dict[str, E] = {}
        self.used = False
        """Whether anything was ever registered: what a server declares does not come and go."""

    def __iter__(self) -> Iterator[E]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: E) -> None:
        """Register an entry.

        Raises:
            UsageError: the key is taken, or no client could send it.
        """
        key = entry.key
        if not 1 <= len(key) <= self._longest or not key.isprintable():
            raise UsageError(
                f"{self._noun.capitalize()} name {key!r} needs 1 to {self._longest} printable "
                "characters"
            )
        if key in self._entries:
            raise UsageError(f"A {self._noun} named {key!r} is registered already")
        self._entries[key] = entry
        self.used = True
        self._changed()

    def remove(self, key: str) -> None:
        """Take an entry out; calls that have begun go on.

        Raises:
            UsageError: there is none of that key.
        """
        if self._entries.pop(key, None) is None:
            raise UsageError(f"No {self._noun} named {key!r} is registered")
        self._changed()

    def get(self, key: str) -> E | None:
        """The entry of that key, if there is one."""
        return self._entries.get(key)

    def find(self, key: str) -> E:
        """The entry of that key.

        Raises:
            ProtocolError: -32602, there is none.
        """
        entry = self._entries.get(key)
        if entry is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown {self._noun}: {key[:128]}")
        return entry

    def page(self, cursor: str | None, size: int) -> tuple[list[JsonValue], str | None]:
        """The descriptions behind a cursor, and the cursor of the next page if there is one.

        A cursor names the last entry of its page, so entries that come or go elsewhere neither
        repeat nor hide the rest.

        Raises:
            ProtocolError: -32602, the cursor is none of ours.
        """
        keys = list(self._entries)
        start = 0 if cursor is None else keys.index(self._read_cursor(cursor)) + 1
        listed = keys[start : start + size]
        more = start + size < len(keys)
        descriptions: list[JsonValue] = [self._entries[key].description for key in listed]
        return descriptions, _cursor(listed[-1]) if more else None

    def _read_cursor(self, cursor: str) -> str:
        try:
            key = base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            key = ""
        if key not in self._entries:
            raise ProtocolError(INVALID_PARAMS, "Invalid cursor: list again from the first page")
        return key


def _cursor(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode("ascii")
