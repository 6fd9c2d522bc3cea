"""Patterns of the other side, run by an engine that never goes back, and few enough of them.

The usual engine of the validator stops after a million steps back, but steps within look-around
are not counted: a pattern of twenty characters keeps it busy for hours. Only to compile a right
pattern takes it a tenth of a second, which a form can ask for a thousand times. So what cannot be
said without look-around and references back is not run at all, nor what is large once compiled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, cast

import jsonschema_rs

from .jsonrpc import JsonObject, JsonValue

LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=16 * 1024, dfa_size_limit=256 * 1024)
"""Bytes of a compiled pattern: its time is as its size times the length of the text."""

MOST_CHARACTERS: Final = 16 * 1024
"""Characters of the patterns of one schema, all taken together. Each is read before its size is
known; the worst take 20 microseconds and 5 KB a character (``(?i:\\pL)``, again and again)."""


@lru_cache(maxsize=256)
def is_linear(pattern: str) -> bool:
    """Whether a pattern, of no more characters than allowed, can be run: it is right, small once
    compiled, and looks neither around nor back."""
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=LINEAR)
    except (ValueError, jsonschema_rs.ValidationError):
        return False
    return True


def pattern_characters(schema: JsonObject) -> int:
    """The characters of all that may be a pattern in a schema, wherever it stands."""
    total = 0
    layer: list[JsonValue] = [schema]
    while layer:
        node = layer.pop()
        if isinstance(node, list):
            layer.extend(node)
        elif isinstance(node, dict):
            layer.extend(node.values())
            total += sum(map(len, _patterns(node)))
    return total


def _patterns(schema: JsonObject) -> list[str]:
    single, by_name = schema.get("pattern"), schema.get("patternProperties")
    found = list(by_name) if isinstance(by_name, dict) else cast("list[str]", [])
    return [*found, single] if isinstance(single, str) else found
