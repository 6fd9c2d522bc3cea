"""Opening what a client sends back: every refusal is logged with its reason, and looks alike.

Specification: basic/patterns/mrtr, "Server Requirements" 4 and 5.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from .sealing import Claims, Origin, StateSealer, TokenRefused

T = TypeVar("T")
_log = logging.getLogger("antiphon.server")


def opened(sealer: StateSealer, token: str, origin: Origin, restore: Callable[[Claims], T]) -> T:
    """What ``restore`` makes of the claims of a token; it may raise TokenRefused, too.

    Raises:
        ProtocolError: the token is refused.
    """
    flow_id: str | None = None
    try:
        claims = sealer.open(token, origin)
        flow_id = claims.flow_id
        return restore(claims)
    except TokenRefused as refusal:
        extra = {"flow_id": flow_id or refusal.flow_id}
        _log.warning("A call of %.100r: %s", origin.target, refusal, extra=extra)
        raise refusal.answer() from None
