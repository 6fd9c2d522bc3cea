"""Resources by uri, whichever of its spellings a client uses.

A guard of a resource must hold for all of them: what passes it by would reach a template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias
from weakref import WeakKeyDictionary

from .errors import UsageError
from .registry import Registry
from .resources import ResourceEntry
from .uri_syntax import normal
from .uri_templates import UriTemplate

_Values: TypeAlias = frozenset[tuple[str, str]]


class ResourceRegistry(Registry[ResourceEntry]):
    """The resources of a server.

    Args:
        longest: characters of the longest uri.
        changed: is called after a resource came or went.
    """

    def __init__(self, *, longest: int, changed: Callable[[], None]) -> None:
        super().__init__("resource", longest=longest, changed=changed)
        self._spelled: dict[str, ResourceEntry] = {}
        self._read: WeakKeyDictionary[UriTemplate, dict[_Values, ResourceEntry]]
        self._read = WeakKeyDictionary()

    def add(self, entry: ResourceEntry) -> None:
        """Register a resource.

        Raises:
            UsageError: its uri is taken, or an equivalent one; or no client could send it.
        """
        spelled = _form(entry.key)
        taken = self._spelled.get(spelled)
        if taken is not None and taken.key != entry.key:
            raise UsageError(
                f"A resource named {taken.key!r} is registered already, which is {entry.key!r} in "
                "another spelling"
            )
        super().add(entry)
        self._spelled[spelled] = entry
        self._read.clear()

    def remove(self, key: str) -> None:
        """Take a resource out, by the uri as it was registered; reads that have begun go on.

        Raises:
            UsageError: there is none of that uri.
        """
        super().remove(key)
        del self._spelled[_form(key)]
        self._read.clear()

    def spelled(self, normal_uri: str) -> ResourceEntry | None:
        """The resource of a uri whose normal form this is."""
        return self._spelled.get(normal_uri)

    def valued(self, template: UriTemplate, values: Mapping[str, str]) -> ResourceEntry | None:
        """The resource whose uri gives a template these values.

        For the template its spellings are one: ``!'()*:@`` may be encoded, a query has any order.
        """
        if template not in self._read:
            spellings = self._spelled.items()
            matched = ((template.match_normal(uri), entry) for uri, entry in spellings)
            self._read[template] = {
                frozenset(found.items()): entry for found, entry in matched if found is not None
            }
        return self._read[template].get(frozenset(values.items()))


def _form(uri: str) -> str:
    return normal(uri) or uri
