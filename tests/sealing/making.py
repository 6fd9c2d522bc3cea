"""Sealers, origins and claims for the tests of sealed states."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

import pytest
from attrs import define

from antiphon.engine.sealing import Claims, Codec, Origin, Reason, StateSealer, TokenRefused

OLD = "an-old-key-that-nobody-would-ever-guess"
NEW = "a-new-key-that-nobody-would-ever-guess!"
NOW = 1_800_000_000.0

ORIGIN = Origin("tools/call", "provision", {"name": "orders", "size": 3}, "alice")
CLAIMS = Claims(
    flow_id="f-0123456789",
    round=2,
    started=NOW - 60.0,
    tag="ChoosingRegion",
    version=1,
    state=b"\x81\xa8database\xa6orders",
    questions={"answer": b"0123456789abcdef"},
    kept={"other": {"action": "accept", "content": {"sure": True}}},
    asked=1,
    unusable=1,
)


@define
class Clock:
    """A wall clock that stands still until it is moved."""

    now: float = NOW
    readings: int = 0

    def __call__(self) -> float:
        self.readings += 1
        return self.now


def sealer(
    *,
    keys: Sequence[bytes | str] | None = (NEW,),
    codec: Codec | None = None,
    ttl: float = 600.0,
    audience: str = "Provisioner",
    clock: Clock | None = None,
) -> StateSealer:
    return StateSealer(
        keys=None if codec is not None else keys,
        codec=codec,
        ttl=ttl,
        audience=audience,
        clock=clock or Clock(),
    )


def refusal(at: StateSealer, token: str, origin: Origin = ORIGIN) -> TokenRefused:
    with pytest.raises(TokenRefused) as caught:
        at.open(token, origin)
    return caught.value


def reasons(at: StateSealer, token: str, origin: Origin = ORIGIN) -> tuple[Reason, ...]:
    return refusal(at, token, origin).reasons


def raw(token: str) -> bytes:
    return urlsafe_b64decode(token.removeprefix("a1.") + "==")


def text(data: bytes) -> str:
    return "a1." + urlsafe_b64encode(data).rstrip(b"=").decode()
