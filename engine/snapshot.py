"""What a caller hands over, copied into plain JSON before it is checked or sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from .errors import UsageError
from .jsonrpc import JsonObject, dumps
from .schema import plain


def snapshot(value: Mapping[str, object], what: str) -> JsonObject:
    """A copy that later changes of the original cannot reach.

    Raises:
        UsageError: it cannot be said in JSON: a foreign type, NaN, an infinity.
    """
    members = dict(value)
    try:
        text = dumps(members)
        # The encoder writes what is not finite as null: only where it did, look for the cause.
        if b"null" in text:
            plain(members)
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None
    return cast(JsonObject, msgspec.json.decode(text))
