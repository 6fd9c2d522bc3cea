"""The names that keys of ``_meta``, and extensions, may have.

Specification: basic/index, "_meta", "Key name format".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from .errors import UsageError
from .jsonrpc import JsonObject, dumps

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX: Final = rf"{_LABEL}(?:\.{_LABEL})*/"
_NAME: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_PREFIXED: Final = re.compile(_PREFIX + _NAME, re.ASCII)


def is_prefixed(key: str) -> bool:
    """Whether a key is well formed and has a prefix, such as ``com.example/name``."""
    return _PREFIXED.fullmatch(key) is not None


def check_extensions(extensions: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The extensions that one side supports, with their settings.

    Raises:
        UsageError: an identifier has no prefix, or settings are no JSON object.
    """
    for name, settings in extensions.items():
        if not is_prefixed(name):
            raise UsageError(
                f"Extension {name!r} needs an identifier with a prefix, such as 'com.example/name'"
            )
        if not isinstance(cast(object, settings), dict):
            raise UsageError(
                f"The settings of extension {name!r} must be an object, if an empty one"
            )
        dumps(settings)
    return dict(extensions)
