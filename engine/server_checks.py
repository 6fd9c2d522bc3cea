"""What is wrong with the arguments of a server, found when it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast, get_args

from .checks import choice_faults, count_faults, is_async, kind_of, present, text_faults
from .display import icon_faults
from .errors import UsageError
from .limits import Limits
from .protocol import CacheScope


def server_faults(
    *,
    texts: Mapping[str, object],
    optional: Mapping[str, object],
    icons: object,
    capabilities: object,
    middleware: object,
    lifespan: object,
    limits: object,
    list_ttl_ms: object,
    list_scope: object,
    handshake: object,
) -> Iterator[str]:
    """A sentence for each argument that is of the wrong kind.

    Args:
        texts: what must be text, by name.
        optional: what must be text where it is given.
        icons: and the others: see :class:`~.lowlevel.LowLevelServer`.
    """
    yield from text_faults(**texts, **present(**optional))
    yield from icon_faults(icons)
    yield from count_faults(list_ttl_ms=list_ttl_ms)
    yield from choice_faults(get_args(CacheScope), list_scope=list_scope)
    if not isinstance(capabilities, Mapping | None):
        yield f"capabilities must be a dict, not {kind_of(capabilities)}"
    layers = cast("Sequence[object]", middleware) if isinstance(middleware, Sequence) else [None]
    if not all(map(callable, layers)):
        yield "middleware must be a list of async functions, such as [log_requests]"
    if not (lifespan is None or callable(lifespan)):
        yield f"lifespan must be an async context manager function, not {kind_of(lifespan)}"
    if not isinstance(limits, Limits | None):
        yield f"limits must be Limits(...), not {kind_of(limits)}"
    if not isinstance(handshake, bool):
        yield f"handshake must be True or False, not {kind_of(handshake)}"


def check_method_name(name: object) -> None:
    """Refuse what names no method; raises UsageError."""
    if not (isinstance(name, str) and name):
        raise UsageError(
            "server.method takes the name of a method: write @server.method('tools/call')"
        )


def check_handler(name: str, handler: object) -> None:
    """Refuse what cannot serve a method; raises UsageError."""
    if not is_async(handler):
        raise UsageError(f"The handler of {name} must be an `async def` function")
