"""Why a token was refused: one face for the peer, the true reason for the log.

Specification: basic/patterns/mrtr, "Server Requirements" 4 and 5.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ..errors import INVALID_PARAMS, PeerError, ProtocolError

INVALID_STATE: Final = "Invalid or expired requestState"
"""What a peer is told, whatever the reason."""


class Reason(StrEnum):
    """The true reason of a refusal, in words for a log; its ``name`` suits a metric."""

    TOO_LARGE = "longer than limit token_bytes"
    MALFORMED = "not a token as this server writes them"
    UNKNOWN_KEY = "sealed under a key that this server does not hold"
    FORGED = "forged, or changed since it was sealed"
    CODEC = "the codec failed"
    FORMAT = "sealed in a format that this version does not read"
    EXPIRED = "expired"
    FUTURE = "issued in the future"
    AUDIENCE = "sealed for another audience"
    METHOD = "sealed for another method"
    TARGET = "sealed for another tool, prompt or resource"
    ARGUMENTS = "sealed for other arguments"
    PRINCIPAL = "sealed for another principal"
    STATE_TAG = "the flow has no state of this tag"
    STATE_VERSION = "the state is of a version that the flow does not read"
    STATE_DATA = "the state's data does not fit the state"


class TokenRefused(PeerError):
    """A ``requestState`` that does not open here. Its text holds no part of the token.

    Attributes:
        reasons: every check that failed, the most telling first.
        detail: what helps an operator further; empty where the reasons say all.
        flow_id: the flow that the token belongs to, where the token could be read.
    """

    def __init__(
        self, reason: Reason, *further: Reason, detail: str = "", flow_id: str | None = None
    ) -> None:
        self.reasons: tuple[Reason, ...] = (reason, *further)
        self.detail = detail
        self.flow_id = flow_id
        text = ", ".join(self.reasons)
        super().__init__(f"The requestState is refused: {text}" + (detail and f" ({detail})"))

    @property
    def reason(self) -> Reason:
        """The first of the reasons."""
        return self.reasons[0]

    def answer(self) -> ProtocolError:
        """The one error that answers every refusal; it tells no reason."""
        return ProtocolError(INVALID_PARAMS, INVALID_STATE)
