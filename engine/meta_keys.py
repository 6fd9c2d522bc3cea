"""The names that keys of ``_meta``, and extensions, may have.

Specification: basic/index, "_meta", "Key name format".
"""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX: Final = rf"{_LABEL}(?:\.{_LABEL})*/"
_NAME: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_PREFIXED: Final = re.compile(_PREFIX + _NAME, re.ASCII)


def is_prefixed(key: str) -> bool:
    """Whether a key is well formed and has a prefix, such as ``com.example/name``."""
    return _PREFIXED.fullmatch(key) is not None
