"""No key, no token, no answer and no principal in anything that may reach a log."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import attrs
import pytest

from antiphon.engine.sealing import Origin, SecretBoxCodec, StateSealer
from antiphon.engine.sealing.claims import read
from antiphon.engine.sealing.keys import KeyRing
from tests.sealing.making import CLAIMS, NEW, OLD, ORIGIN, Clock, refusal, sealer, text

SEALER = sealer(keys=[NEW, OLD])
TOKEN = SEALER.seal(ORIGIN, CLAIMS)
CODEC = SecretBoxCodec([NEW, OLD])
RING = KeyRing([NEW, OLD])
ENVELOPE = read(CODEC.unseal(TOKEN))

SECRETS = [
    NEW,
    OLD,
    RING.sealing.secret.hex(),
    repr(RING.sealing.secret)[2:-1],
    TOKEN,
    TOKEN[3:40],
    "alice",
    "orders",
    "accept",
    repr(ENVELOPE.principal)[2:-1],
]


def _told(thing: object) -> str:
    return f"{thing!r} {thing!s} {thing}"


@pytest.mark.parametrize(
    "thing", [SEALER, CODEC, RING, RING.sealing, ORIGIN, CLAIMS, ENVELOPE, sealer(keys=[NEW])]
)
def test_objects_show_no_secret(thing: object) -> None:
    told = _told(thing)
    assert type(thing).__name__ in told
    assert not [secret for secret in SECRETS if secret in told]


def _opens_nothing(codec_error: bool) -> list[Callable[[], object]]:
    class Leaking:
        def seal(self, payload: bytes) -> str:
            raise ValueError(f"cannot seal {payload!r}")

        def unseal(self, token: str) -> bytes:
            raise ValueError(f"cannot open {token}")

    late = Clock()
    late.now += 1e6
    leaking = sealer(codec=Leaking())
    if codec_error:
        return [
            lambda: leaking.open(TOKEN, ORIGIN),
            lambda: leaking.seal(ORIGIN, CLAIMS),
        ]
    return [
        lambda: SEALER.open(TOKEN + "=", ORIGIN),
        lambda: SEALER.open(TOKEN[:-8] + "AAAAAAAA", ORIGIN),
        lambda: SEALER.open(text(bytes(100)), ORIGIN),
        lambda: SEALER.open(TOKEN, attrs.evolve(ORIGIN, principal="bob")),
        lambda: SEALER.open(TOKEN * 200, ORIGIN),
        lambda: sealer(audience="Other", clock=late).open(
            TOKEN, Origin("prompts/get", "orders?", {"name": "orders"}, "alice")
        ),
        lambda: SEALER.seal(ORIGIN, attrs.evolve(CLAIMS, state=b"orders" * 20_000)),
        lambda: SEALER.seal(ORIGIN, attrs.evolve(CLAIMS, flow_id="\ud800alice")),
        lambda: StateSealer(keys=[NEW, NEW[:20]], audience="Provisioner"),
        lambda: StateSealer(keys=NEW, audience="Provisioner"),
    ]


@pytest.mark.parametrize("codec_error", [False, True])
def test_errors_and_their_tracebacks_show_no_secret(codec_error: bool) -> None:
    for failing in _opens_nothing(codec_error):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - each has a test of its own
            failing()
        # Lines of source are left out: this file's own would show what it tries to find.
        told = _told(caught.value) + "".join(
            traceback.TracebackException(type(caught.value), caught.value, None).format()
        )
        assert not [secret for secret in SECRETS if secret in told]


def test_a_reason_has_words_for_the_log() -> None:
    told = refusal(sealer(audience="Other"), TOKEN)
    assert str(told) == "The requestState is refused: sealed for another audience"
    assert str(told.reason) == "sealed for another audience"
