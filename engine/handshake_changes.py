"""What a session of an earlier revision hears of changes, without asking for each.

List changes are told to every session; updates of resources to those that subscribed to their
uri. Specification: 2025-11-25, server/resources, "Subscriptions"; server/tools and
server/prompts, "List Changed Notification".
"""

from __future__ import annotations

from typing import Final

from .errors import INVALID_PARAMS, ProtocolError
from .jsonrpc import JsonObject
from .limits import Limits, raising
from .subscription_filter import PROMPTS, RESOURCES, TOOLS, UPDATED, Change

_LISTS: Final[tuple[Change, ...]] = ((TOOLS, None), (PROMPTS, None), (RESOURCES, None))


class Watching:
    """The changes that one session wants to hear of; it grows and shrinks while it is heard."""

    def __init__(self, limits: Limits) -> None:
        self._limits: Final = limits
        self._wanted: Final = set(_LISTS)
        self._size = 0

    def __contains__(self, change: object) -> bool:
        return change in self._wanted

    def add(self, params: JsonObject) -> None:
        """Hear of a resource (resources/subscribe).

        Raises:
            ProtocolError: -32602, there is no uri, or those of this session are too many.
        """
        uri = _uri(params)
        if (UPDATED, uri) in self._wanted:
            return
        size = len(uri.encode())
        if self._size + size > self._limits.subscription_bytes:
            raise ProtocolError(
                INVALID_PARAMS,
                f"Invalid params: the uris of this session pass limit subscription_bytes, which is "
                f"{self._limits.subscription_bytes} {raising('subscription_bytes')}; unsubscribe "
                "from some first",
            )
        self._size += size
        self._wanted.add((UPDATED, uri))

    def remove(self, params: JsonObject) -> None:
        """Hear no more of a resource (resources/unsubscribe); of an unknown one there is nothing
        to do.

        Raises:
            ProtocolError: -32602, there is no uri.
        """
        uri = _uri(params)
        if (UPDATED, uri) in self._wanted:
            self._wanted.remove((UPDATED, uri))
            self._size -= len(uri.encode())


def _uri(params: JsonObject) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri:
        raise ProtocolError(INVALID_PARAMS, 'Invalid params: "uri" must be text')
    return uri
