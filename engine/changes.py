"""What a client can hear of a server that changes, as values.

Specification: basic/patterns/subscriptions, "Notification Filter".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Final, Literal, TypeAlias, cast

from attrs import field, frozen

from .errors import UsageError
from .jsonrpc import JsonObject, JsonValue, Notification
from .subscription_filter import PROMPTS, RESOURCES, TOOLS, UPDATED

ListName: TypeAlias = Literal["tools", "prompts", "resources"]

_METHODS: Final[dict[str, ListName]] = {TOOLS: "tools", PROMPTS: "prompts", RESOURCES: "resources"}
_MEMBERS: Final[dict[ListName, str]] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
_URIS: Final = "resourceSubscriptions"


@frozen
class ListChanged:
    """A list may give other items now.

    Attributes:
        which: tools, prompts or resources; the last covers templates too.
    """

    which: ListName


@frozen
class ResourceUpdated:
    """Reading a resource may give something else now.

    Attributes:
        uri: a watched one, or one that lies below it (``file:///src/main.rs`` below
            ``file:///src``).
    """

    uri: str


@frozen
class Reconnected:
    """The stream was lost and is there again; whatever changed in between was not told.

    Attributes:
        after: seconds from the loss until the server acknowledged the subscription again.
        reason: how the stream was lost, in words that can be shown.
    """

    after: float
    reason: str


Change: TypeAlias = ListChanged | ResourceUpdated | Reconnected
"""What a subscription brings."""

OnChange: TypeAlias = Callable[[Change], None]
"""Called with each change as it arrives; a plain function that returns at once."""


@frozen(kw_only=True)
class Watched:
    """The lists and the resources that a subscription is about.

    Attributes:
        tools, prompts, resources: whether changes of the list are told.
        uris: the resources whose updates are told, each once.
    """

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    uris: tuple[str, ...] = field(default=(), repr=lambda uris: f"<{len(uris)}>")

    def wire(self) -> JsonObject:
        """The filter's JSON form, without what is not wanted."""
        filter: JsonObject = {_MEMBERS[which]: True for which in _MEMBERS if self._has(which)}
        if self.uris:
            filter[_URIS] = [*self.uris]
        return filter

    def within(self, acknowledged: JsonValue) -> Watched:
        """The part of it that a server acknowledges; what was never asked for does not count.

        Raises:
            ValueError: the acknowledged filter is malformed.
        """
        if not isinstance(acknowledged, dict):
            raise ValueError('"notifications" is no object')  # noqa: TRY004  # what the peer sent
        lists = {
            which: _flag(acknowledged, member) and self._has(which)
            for which, member in _MEMBERS.items()
        }
        granted = _texts(acknowledged, _URIS)
        return Watched(**lists, uris=tuple(uri for uri in self.uris if uri in granted))

    def change(self, notification: Notification) -> ListChanged | ResourceUpdated | None:
        """What a notification tells; None where this subscription did not ask for that."""
        if notification.method == UPDATED:
            uri = notification.params.get("uri")
            told = isinstance(uri, str) and self.covering(uri) is not None
            return ResourceUpdated(cast(str, uri)) if told else None
        which = _METHODS.get(notification.method)
        return ListChanged(which) if which is not None and self._has(which) else None

    def covering(self, uri: str) -> str | None:
        """The watched resource that this one is or lies below, if there is one."""
        if uri in self._known:
            return uri
        if not uri.startswith(self._above):
            return None
        return next((above for above in self.uris if uri.startswith(_below(above))), None)

    def _has(self, which: ListName) -> bool:
        return cast(bool, getattr(self, which))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.uris)

    @cached_property
    def _above(self) -> tuple[str, ...]:
        return tuple(beginning for uri in self.uris for beginning in _below(uri))


def _below(uri: str) -> tuple[str, ...]:
    """How the parts of a resource begin; the schema leaves open what a part is."""
    return (uri,) if uri.endswith("/") else (f"{uri}/", f"{uri}#")


def _flag(filter: JsonObject, member: str) -> bool:
    value = filter.get(member, False)
    if not isinstance(value, bool):
        raise ValueError(f'"{member}" is no boolean')  # noqa: TRY004  # what the peer sent
    return value


def _texts(filter: JsonObject, member: str) -> frozenset[str]:
    value = filter.get(member, [])
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(texts) != len(value):
        raise ValueError(f'"{member}" is no array of texts')
    return frozenset(texts)


def watched(
    *, tools: bool = False, prompts: bool = False, resources: bool = False, uris: Collection[str]
) -> Watched:
    """What a caller wants to hear.

    Raises:
        UsageError: it is nothing, or the uris are no collection of texts.
    """
    given = cast("Collection[object]", uris)
    if isinstance(given, str) or not all(isinstance(uri, str) for uri in given):
        raise UsageError("uris takes a collection of texts, such as ['file:///notes.txt']")
    asked = Watched(
        tools=tools, prompts=prompts, resources=resources, uris=tuple(dict.fromkeys(uris))
    )
    if not asked.wire():
        raise UsageError("A subscription needs something to hear of: tools, prompts, ... or uris")
    return asked
