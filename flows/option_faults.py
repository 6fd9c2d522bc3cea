"""What is wrong with the values of the options that something is registered with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from ..engine.checks import choice_faults, count_faults, kind_of, present, text_faults
from ..engine.display import icon_faults, mime_type_faults
from ..engine.meta_keys import meta_faults
from ..engine.protocol import CacheScope


def option_faults(options: Mapping[str, Any], annotations: type) -> Iterator[str]:
    """A sentence for each value that is of the wrong kind; None stands for what is left out.

    Args:
        options: as they were given.
        annotations: the class of the annotations.
    """
    given = present(**options)
    yield from text_faults(**_some(given, "name", "title", "description"))
    yield from count_faults(**_some(given, "ttl_ms", "size"))
    yield from choice_faults(get_args(CacheScope), **_some(given, "cache_scope"))
    yield from mime_type_faults(given.get("mime_type"))
    yield from icon_faults(given.get("icons", ()))
    yield from meta_faults(given.get("meta", {}))
    if not isinstance(needs := given.get("needs", {}), dict):
        yield f"needs must be a dict, such as {{'sampling': {{}}}}, not {kind_of(needs)}"
    if not isinstance(hints := given.get("annotations"), annotations | None):
        yield f"annotations must be {annotations.__name__}(...), not {kind_of(hints)}"


def _some(given: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: given[name] for name in names if name in given}
