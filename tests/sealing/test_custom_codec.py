"""A codec owes integrity only, and whatever it does, nothing opens that should not."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b85decode, b85encode
from collections.abc import Callable
from typing import cast

import attrs
import pytest
from attrs import frozen
from msgspec.msgpack import decode, encode

from antiphon.engine.errors import SealingError, UsageError
from antiphon.engine.sealing import Codec, Reason, SecretBoxCodec, StateSealer, TokenRefused
from tests.sealing.making import CLAIMS, NEW, ORIGIN, Clock, reasons, refusal, sealer


@frozen
class HmacCodec:
    """Integrity without secrecy, in an alphabet of its own."""

    key: bytes = b"k" * 32

    def seal(self, payload: bytes) -> str:
        return b85encode(self._tag(payload) + payload).decode()

    def unseal(self, token: str) -> bytes:
        data = b85decode(token)
        tag, payload = data[:32], data[32:]
        if not hmac.compare_digest(tag, self._tag(payload)):
            raise ValueError(f"bad signature on {token}")
        return payload

    def _tag(self, payload: bytes) -> bytes:
        return hmac.digest(self.key, payload, hashlib.sha256)


@frozen
class Fake:
    """A codec of two functions."""

    sealing: Callable[[bytes], object] = lambda payload: HmacCodec().seal(payload)
    unsealing: Callable[[str], object] = lambda token: HmacCodec().unseal(token)

    def seal(self, payload: bytes) -> str:
        return cast(str, self.sealing(payload))

    def unseal(self, token: str) -> bytes:
        return cast(bytes, self.unsealing(token))


def _raising(error: BaseException) -> Callable[[object], object]:
    def fail(_: object) -> object:
        raise error

    return fail


def _returning(value: object) -> Callable[[object], object]:
    return lambda _: value


def test_a_codec_without_secrecy_round_trips() -> None:
    at = sealer(codec=HmacCodec())
    assert not at.ephemeral
    assert at.open(at.seal(ORIGIN, CLAIMS), ORIGIN) == CLAIMS


def test_every_claim_is_checked_outside_the_codec() -> None:
    clock = Clock()
    at = sealer(codec=HmacCodec(), clock=clock)
    token = at.seal(ORIGIN, CLAIMS)
    for other, reason in (
        (attrs.evolve(ORIGIN, principal=None), Reason.PRINCIPAL),
        (attrs.evolve(ORIGIN, method="prompts/get"), Reason.METHOD),
        (attrs.evolve(ORIGIN, target="other"), Reason.TARGET),
        (attrs.evolve(ORIGIN, arguments={}), Reason.ARGUMENTS),
    ):
        assert reasons(at, token, other) == (reason,)
    assert reasons(sealer(codec=HmacCodec(), audience="Other"), token) == (Reason.AUDIENCE,)
    clock.now -= 11.0
    assert reasons(at, token) == (Reason.FUTURE,)
    clock.now += 700.0
    assert reasons(at, token) == (Reason.EXPIRED,)


def test_the_principal_cannot_be_read_in_a_token_without_secrecy() -> None:
    token = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    again = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    payload, other = HmacCodec().unseal(token), HmacCodec().unseal(again)
    assert b"alice" not in payload
    assert payload != other


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("kid"),
        OSError("the key service is away"),
        AssertionError(),
        RecursionError(),
    ],
)
def test_a_codec_that_raises_opens_nothing(error: Exception) -> None:
    told = refusal(sealer(codec=Fake(unsealing=_raising(error))), "token")
    assert told.reasons == (Reason.CODEC,)
    assert told.detail == f"it raised {type(error).__name__}"


def test_a_codec_that_raises_seals_nothing() -> None:
    at = sealer(codec=Fake(sealing=_raising(OSError("secret"))))
    with pytest.raises(SealingError, match="raised OSError") as caught:
        at.seal(ORIGIN, CLAIMS)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("leaving", [KeyboardInterrupt(), SystemExit()])
def test_what_ends_the_program_is_not_taken_for_a_refusal(leaving: BaseException) -> None:
    at = sealer(codec=Fake(unsealing=_raising(leaving)))
    with pytest.raises(type(leaving)):
        at.open("token", ORIGIN)


@pytest.mark.parametrize("payload", [None, "text", bytearray(b"x"), 1, [], memoryview(b"x")])
def test_a_codec_that_returns_no_bytes_opens_nothing(payload: object) -> None:
    told = refusal(sealer(codec=Fake(unsealing=_returning(payload))), "token")
    assert told.reasons == (Reason.CODEC,)
    assert type(payload).__name__ in told.detail


@pytest.mark.parametrize("token", [None, b"bytes", 1, "", "é", "\ud800"])
def test_a_codec_that_returns_no_ascii_text_seals_nothing(token: object) -> None:
    at = sealer(codec=Fake(sealing=_returning(token)))
    with pytest.raises(SealingError, match="seal must return"):
        at.seal(ORIGIN, CLAIMS)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", Reason.MALFORMED),
        (b"\xc1", Reason.MALFORMED),
        (b"not msgpack at all", Reason.MALFORMED),
        (b"\xff" * 10, Reason.MALFORMED),
        (b"\x91" * 5000, Reason.MALFORMED),
        (b"\xdd\xff\xff\xff\xff", Reason.MALFORMED),
        (encode({"format": 1}), Reason.MALFORMED),
        (encode([]), Reason.MALFORMED),
        (encode([1]), Reason.MALFORMED),
        (encode(["1", 2]), Reason.MALFORMED),
        (encode([1, *["x"] * 18]), Reason.MALFORMED),
        (encode([2]), Reason.FORMAT),
        (encode([2, {"all": "new"}]), Reason.FORMAT),
    ],
)
def test_a_payload_that_was_never_sealed_here_is_refused(payload: bytes, reason: Reason) -> None:
    assert reasons(sealer(codec=Fake(unsealing=_returning(payload))), "token") == (reason,)


def _field(index: int, value: object) -> Callable[[str], object]:
    """An opened payload with one of its fields changed."""

    def unseal(token: str) -> object:
        fields = decode(HmacCodec().unseal(token), type=list[object])
        fields[index] = value
        return encode(fields)

    return unseal


@pytest.mark.parametrize("index", range(19))
def test_a_field_of_a_wrong_type_is_refused(index: int) -> None:
    token = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    at = sealer(codec=Fake(unsealing=_field(index, [])))
    assert reasons(at, token) == (Reason.MALFORMED,)


def test_a_field_too_many_or_too_few_is_refused() -> None:
    token = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    fields = decode(HmacCodec().unseal(token), type=list[object])
    for changed in ([*fields, 0], fields[:-1]):
        at = sealer(codec=Fake(unsealing=_returning(encode(changed))))
        assert reasons(at, token) == (Reason.MALFORMED,)


def test_a_payload_of_a_newer_format_in_the_old_shape_is_refused() -> None:
    token = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    at = sealer(codec=Fake(unsealing=_field(0, 2)))
    assert reasons(at, token) == (Reason.FORMAT,)


@pytest.mark.parametrize("kept", [b"\xc1", b"\x90", b"\xc0", b"\x80\x80", b"\x81\x01"])
def test_kept_answers_that_are_no_object_are_refused(kept: bytes) -> None:
    token = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    at = sealer(codec=Fake(unsealing=_field(16, kept)))
    assert reasons(at, token) == (Reason.MALFORMED,)


def test_a_codec_that_wraps_ours_keeps_the_true_reasons() -> None:
    inner = SecretBoxCodec([NEW])
    at = sealer(codec=Fake(lambda p: "x" + inner.seal(p), lambda t: inner.unseal(t[1:])))
    token = at.seal(ORIGIN, CLAIMS)
    assert at.open(token, ORIGIN) == CLAIMS
    assert reasons(at, "x") == (Reason.MALFORMED,)
    assert reasons(at, token[:-4] + "AAAA") == (Reason.FORGED,)


def test_our_codec_seals_any_bytes() -> None:
    codec = SecretBoxCodec([NEW])
    for payload in (b"", b"\0", bytes(range(256)) * 100):
        assert codec.unseal(codec.seal(payload)) == payload


def test_a_token_of_another_codec_does_not_open() -> None:
    token = sealer().seal(ORIGIN, CLAIMS)
    with pytest.raises(TokenRefused):
        sealer(codec=HmacCodec()).open(token, ORIGIN)


def test_keys_and_a_codec_together_are_refused() -> None:
    with pytest.raises(UsageError, match="keys or a codec, not both"):
        StateSealer(keys=[NEW], codec=HmacCodec(), audience="Provisioner")


@pytest.mark.parametrize("thing", [object(), "codec", HmacCodec().seal])
def test_what_is_no_codec_is_refused(thing: object) -> None:
    with pytest.raises(UsageError, match="has no method seal"):
        sealer(codec=cast(Codec, thing))


@pytest.mark.parametrize("size", [0, 15, 17, 65, 1000])
def test_a_salt_of_another_size_is_refused(size: int) -> None:
    token = sealer(codec=HmacCodec()).seal(ORIGIN, CLAIMS)
    at = sealer(codec=Fake(unsealing=_field(7, bytes(size))))
    assert reasons(at, token) == (Reason.MALFORMED,)
