"""A registered resource, and a template of resources. Specification: server/resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from attrs import field, frozen

from .carrier import Carrier
from .completion import Complete
from .errors import INVALID_PARAMS, ProtocolError
from .jsonrpc import JsonObject, JsonValue
from .machine import Machine
from .outcomes import Done
from .protocol import CacheScope
from .resource_content import resource_contents
from .uri_syntax import RESERVED, UNRESERVED, normal
from .uri_templates import UriTemplate

_ABSOLUTE: Final = re.compile(
    f"[A-Za-z][A-Za-z0-9+.-]*:([{re.escape(RESERVED + UNRESERVED)}]|%[0-9A-Fa-f]{{2}})+"
)


def is_absolute(uri: str) -> bool:
    """Whether it has a scheme, and nothing in it that a URI has to encode."""
    return _ABSOLUTE.fullmatch(uri) is not None


@frozen
class Caching:
    """How long a client may keep what it has read, and whether for everybody."""

    ttl_ms: int = 0
    scope: CacheScope = "private"

    def wire(self) -> JsonObject:
        """The members of a cacheable result."""
        return {"ttlMs": self.ttl_ms, "cacheScope": self.scope}


NOT_KEPT = Caching()
"""For results that depend on answers, which are no part of a cache's key."""


class _Readable(Carrier):
    noun: ClassVar[str] = "Resource"
    method: ClassVar[str] = "resources/read"
    by_uri: ClassVar[bool] = True
    caching: Caching

    def result(self, done: Done[Any], target: str, *, resumed: bool) -> JsonObject:
        """The members of a ``ReadResourceResult``."""
        kind = self.description.get("mimeType")
        # What a careless client left plain is encoded: a result names proper URIs only.
        uri = target if is_absolute(target) else normal(target) or target
        contents = resource_contents(done.result, uri, kind if isinstance(kind, str) else None)
        caching = NOT_KEPT if resumed else self.caching
        return {"contents": [*contents], **caching.wire()}


@frozen
class ResourceEntry(_Readable):
    """A registered resource; reading it takes one round.

    Attributes:
        machine: what reading it runs.
        description: how it is listed, as the protocol's ``Resource`` object.
        caching: what a client may keep.
        needs: the capabilities that a client must have declared to read it.
    """

    machine: Machine
    description: JsonObject
    caching: Caching = NOT_KEPT
    needs: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def key(self) -> str:
        """The uri that clients read."""
        return str(self.description["uri"])

    def arguments(self, given: Mapping[str, JsonValue]) -> object:
        """It has none."""
        del given
        return None


@frozen
class TemplateEntry(_Readable):
    """A registered template of resources.

    Attributes:
        machine: what reading one of them runs.
        description: how it is listed, as the protocol's ``ResourceTemplate`` object.
        template: what its uris look like.
        read_arguments: takes the variables in, which are texts; raises ValueError.
        caching: what a client may keep.
        completers: what suggests values, by variable.
        needs: the capabilities that a client must have declared to read it.
    """

    machine: Machine
    description: JsonObject
    template: UriTemplate
    read_arguments: Callable[[Mapping[str, JsonValue]], object] = field(repr=False)
    caching: Caching = NOT_KEPT
    completers: Mapping[str, Complete] = field(factory=dict[str, Complete], repr=False)
    needs: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def key(self) -> str:
        """The template's text, which is its name in completion."""
        return str(self.description["uriTemplate"])

    def arguments(self, given: Mapping[str, JsonValue]) -> object:
        """Take the variables in."""
        return self.read_arguments(given)

    def invalid(self, message: str, target: str) -> JsonObject:
        """A uri whose variables do not fit has no resource behind it."""
        raise ProtocolError(INVALID_PARAMS, f"Resource not found: {message}", {"uri": target})
