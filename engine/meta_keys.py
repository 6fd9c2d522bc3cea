"""The names that keys of ``_meta``, and extensions, may have.

Specification: basic/index, "_meta", "Key name format".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from .checks import kind_of
from .errors import UsageError
from .jsonrpc import JsonObject, dumps

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX: Final = rf"{_LABEL}(?:\.{_LABEL})*/"
_NAME: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_PREFIXED: Final = re.compile(_PREFIX + _NAME, re.ASCII)
_KEY: Final = re.compile(f"(?:{_PREFIX})?{_NAME}", re.ASCII)


def is_prefixed(key: str) -> bool:
    """Whether a key is well formed and has a prefix, such as ``com.example/name``."""
    return _PREFIXED.fullmatch(key) is not None


def meta_faults(meta: object) -> list[str]:
    """What is wrong with the ``_meta`` of something that is listed.

    A prefix is wise, and not needed: extensions of the protocol have keys without one.
    """
    if not isinstance(meta, Mapping):
        return [f"meta must be a dict, such as {{'com.example/team': 'red'}}, not {kind_of(meta)}"]
    return [
        f"meta has the key {key!r}, which is no key of _meta; such is 'com.example/team'"
        for key in cast("Mapping[object, object]", meta)
        if not (isinstance(key, str) and key and _KEY.fullmatch(key))
    ]


def check_extensions(extensions: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The extensions that one side supports, with their settings.

    Raises:
        UsageError: an identifier has no prefix, or settings are no JSON object.
    """
    if not isinstance(cast(object, extensions), Mapping):
        raise UsageError(
            "extensions must be a dict of settings by identifier, such as "
            f"{{'com.example/name': {{}}}}, not {kind_of(extensions)}"
        )
    for name, settings in extensions.items():
        if not (isinstance(cast(object, name), str) and is_prefixed(name)):
            raise UsageError(
                f"Extension {name!r} needs an identifier with a prefix, such as 'com.example/name'"
            )
        if not isinstance(cast(object, settings), dict):
            raise UsageError(
                f"The settings of extension {name!r} must be an object, if an empty one"
            )
        dumps(settings)
    return dict(extensions)
