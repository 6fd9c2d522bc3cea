"""Patterns of the other side, run by an engine that never goes back.

The usual engine of the validator stops after a million steps back, but steps within look-around
are not counted: a pattern of twenty characters keeps it busy for hours. What cannot be said
without look-around and references back is not run at all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import jsonschema_rs

LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=16 * 1024, dfa_size_limit=256 * 1024)
"""Bytes of a compiled pattern: its time is as its size times the length of the text."""


@lru_cache(maxsize=256)
def only_backtracks(pattern: str) -> bool:
    """Whether a pattern is a right one, and yet cannot be run here."""
    schema = {"pattern": pattern}
    try:
        jsonschema_rs.Draft202012Validator(schema, pattern_options=LINEAR)
    except (ValueError, jsonschema_rs.ValidationError):
        return _is_right(pattern)
    return False


def _is_right(pattern: str) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern})
    except (ValueError, jsonschema_rs.ValidationError):
        return False
    return True
