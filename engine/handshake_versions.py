"""The revisions that begin with ``initialize``, and which of them a peer is served in.

Specification: 2025-11-25, basic/lifecycle, "Version Negotiation".
"""

from __future__ import annotations

from typing import Final

from .jsonrpc import JsonObject
from .protocol import META_VERSION

HANDSHAKE_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The newest first. They are dates, so that the later one is the greater text."""

INITIALIZE: Final = "initialize"


def negotiated(requested: object) -> str:
    """The revision for a client that asks for one: that very one where it is served."""
    known = isinstance(requested, str) and requested in HANDSHAKE_VERSIONS
    return str(requested) if known else HANDSHAKE_VERSIONS[0]


def names_its_revision(params: JsonObject) -> bool:
    """Whether a request says in its ``_meta`` which revision it follows, so that it needs no
    handshake."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and META_VERSION in meta
