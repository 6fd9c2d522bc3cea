"""Servers of earlier revisions, which begin with ``initialize``: telling who refused what.

Specification: basic/versioning, "Backward Compatibility with Initialization-Based Versions".
"""

from __future__ import annotations

from typing import Final

from .errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from .protocol import SUPPORTED_VERSIONS

_SERVER_ERROR: Final = -32000
"""What servers of earlier revisions say over HTTP to a request without a session."""

_CODES: Final = frozenset({INVALID_REQUEST, _SERVER_ERROR})
_OLDER: Final = f"a revision of the protocol before {SUPPORTED_VERSIONS[-1]}"
_HOW: Final = 'open the client in mode="auto"'

HANDSHAKE_REFUSED: Final = f" (it refuses the handshake of earlier revisions: {_HOW})"
"""What it means that a server refuses a client, and names the revision that the client speaks."""


def advice(method: str, code: int) -> str:
    """What an error means that comes before anything by which a server shows its revision.

    Every server of this revision knows ``server/discover``; and no request of ours is malformed.
    """
    if method == "server/discover" and code == METHOD_NOT_FOUND:
        return f" (the server speaks {_OLDER}, for it does not know server/discover: {_HOW})"
    if code == METHOD_NOT_FOUND:
        return f" (it has nothing of that kind, or speaks only {_OLDER}: {_HOW})"
    # Of a call, the parameters can be wrong whichever revision the server speaks.
    of_us = code == INVALID_PARAMS and method.endswith(("/list", "/discover"))
    if of_us or code in _CODES:
        return f" (it may be that the server speaks only {_OLDER}: {_HOW})"
    return ""
