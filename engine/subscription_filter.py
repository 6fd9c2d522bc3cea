"""What a subscription is to hear: the filter on the wire, and as a set of changes.

Specification: basic/patterns/subscriptions, "Notification Filter".
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, TypeAlias

from attrs import frozen

from .errors import INVALID_PARAMS, ProtocolError
from .jsonrpc import JsonObject, JsonValue
from .uri_syntax import is_uri

TOOLS: Final = "notifications/tools/list_changed"
PROMPTS: Final = "notifications/prompts/list_changed"
RESOURCES: Final = "notifications/resources/list_changed"
UPDATED: Final = "notifications/resources/updated"

Change: TypeAlias = tuple[str, str | None]
"""The method of a notification, and the URI that it is about."""

WantedChanges: TypeAlias = Container[Change]
"""What somebody wants to hear of; it may be asked at each change anew."""

_LISTS: Final = {
    "toolsListChanged": TOOLS,
    "promptsListChanged": PROMPTS,
    "resourcesListChanged": RESOURCES,
}
_URIS: Final = "resourceSubscriptions"


@frozen(kw_only=True)
class Honoured:
    """What a server has to tell: which lists may change, and whether resources can be watched.

    Each has its capability: ``listChanged`` of tools, prompts and resources, and ``subscribe``
    of resources for ``updates``.
    """

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    updates: bool = False

    def methods(self) -> frozenset[str]:
        """The methods of the notifications that there may be."""
        told = {
            TOOLS: self.tools,
            PROMPTS: self.prompts,
            RESOURCES: self.resources,
            UPDATED: self.updates,
        }
        return frozenset(method for method, may_be in told.items() if may_be)


@frozen
class Filter:
    """The lists and the resources of one subscription.

    Attributes:
        lists: the filter's members that are true.
        uris: each once, in the order in which they were sent.
    """

    lists: tuple[str, ...]
    uris: tuple[str, ...]

    @classmethod
    def read(cls, asked: JsonObject) -> Filter:
        """Read the filter of a request; members that this revision does not know are ignored.

        Raises:
            ProtocolError: -32602 that names the malformed member; a resource that is to be
                watched is named by an absolute URI.
        """
        lists = tuple(member for member in _LISTS if _flag(asked, member))
        return cls(lists, tuple(dict.fromkeys(_uris(asked))))

    def granted(self, honoured: Honoured) -> Filter:
        """The part of it that a server honours."""
        methods = honoured.methods()
        lists = tuple(member for member in self.lists if _LISTS[member] in methods)
        return Filter(lists, self.uris if UPDATED in methods else ())

    def wire(self) -> JsonObject:
        """The JSON form, without what is not wanted."""
        members: JsonObject = dict.fromkeys(self.lists, True)
        if self.uris:
            members[_URIS] = [*self.uris]
        return members

    def changes(self) -> frozenset[Change]:
        """All that a subscription with this filter may hear of."""
        lists: set[Change] = {(_LISTS[member], None) for member in self.lists}
        return frozenset(lists | {(UPDATED, uri) for uri in self.uris})


def _flag(asked: JsonObject, member: str) -> bool:
    value = asked.get(member, False)
    if not isinstance(value, bool):
        raise _malformed(member, "a boolean")
    return value


def _uris(asked: JsonObject) -> list[str]:
    uris: JsonValue = asked.get(_URIS, [])
    if isinstance(uris, list):
        texts = [uri for uri in uris if isinstance(uri, str)]
        if len(texts) == len(uris) and all(map(is_uri, texts)):
            return texts
    raise _malformed(_URIS, "an array of absolute URIs")


def _malformed(member: str, kind: str) -> ProtocolError:
    text = f'Invalid params: "notifications.{member}" must be {kind}'
    return ProtocolError(INVALID_PARAMS, text)
