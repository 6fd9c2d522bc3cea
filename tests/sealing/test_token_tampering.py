"""What was not minted here, character for character, does not open."""

from __future__ import annotations

import string

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import INVALID_PARAMS, PeerError
from antiphon.engine.sealing import INVALID_STATE, Reason, StateSealer, TokenRefused
from tests.sealing.making import (
    CLAIMS,
    NEW,
    OLD,
    ORIGIN,
    Clock,
    raw,
    reasons,
    refusal,
    sealer,
    text,
)

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
SEALER = sealer(keys=[NEW, OLD])
TOKEN = SEALER.seal(ORIGIN, CLAIMS)


def test_the_token_as_it_was_minted_opens() -> None:
    assert SEALER.open(TOKEN, ORIGIN) == CLAIMS


def test_two_seals_of_one_state_share_nothing_but_prefix_and_key_id() -> None:
    one, other = raw(TOKEN), raw(SEALER.seal(ORIGIN, CLAIMS))
    assert one[:4] == other[:4]
    assert one[4:28] != other[4:28]
    assert one[28:] != other[28:]


@pytest.mark.parametrize("bit", [0x01, 0x80])
def test_each_byte_flipped_is_refused(bit: int) -> None:
    whole = raw(TOKEN)
    for index in range(len(whole)):
        flipped = bytearray(whole)
        flipped[index] ^= bit
        expected = Reason.UNKNOWN_KEY if index < 4 else Reason.FORGED
        assert reasons(SEALER, text(bytes(flipped))) == (expected,), index


def test_each_character_replaced_is_refused() -> None:
    for index, character in enumerate(TOKEN):
        for other in {"A", "_", "z", "="} - {character}:
            assert reasons(SEALER, TOKEN[:index] + other + TOKEN[index + 1 :])


def test_a_token_cut_at_any_length_is_refused() -> None:
    for length in range(len(TOKEN)):
        assert reasons(SEALER, TOKEN[:length])
        assert reasons(SEALER, TOKEN[length + 1 :])


def test_bytes_cut_from_or_added_to_the_box_are_refused() -> None:
    whole = raw(TOKEN)
    assert reasons(SEALER, text(whole[:-1])) == (Reason.FORGED,)
    assert reasons(SEALER, text(whole + b"\0")) == (Reason.FORGED,)
    assert reasons(SEALER, text(whole[:28] + b"\0" + whole[28:])) == (Reason.FORGED,)
    assert reasons(SEALER, text(b"\0" + whole)) == (Reason.UNKNOWN_KEY,)


@pytest.mark.parametrize("addition", ["A", "AA", "AAAA", "=", "==", " ", "\n", "\0", ".", TOKEN])
def test_an_extended_token_is_refused(addition: str) -> None:
    assert reasons(SEALER, TOKEN + addition)
    assert reasons(SEALER, addition + TOKEN)


@pytest.mark.parametrize("prefix", ["", "a1", "a2.", "A1.", "b1.", "a1..", "a1.a1.", " a1."])
def test_another_prefix_is_malformed(prefix: str) -> None:
    assert reasons(SEALER, prefix + TOKEN.removeprefix("a1.")) == (Reason.MALFORMED,)


@pytest.mark.parametrize(("over", "spare_bits"), [(1, 4), (2, 2)])
def test_spare_bits_in_the_last_character_are_malformed(over: int, spare_bits: int) -> None:
    token = _token_with_bytes_over(over)
    last = ALPHABET.index(token[-1])
    for bits in range(1, 2**spare_bits):
        changed = token[:-1] + ALPHABET[last + bits]
        assert raw(changed) == raw(token)
        assert reasons(SEALER, changed) == (Reason.MALFORMED,)


def _token_with_bytes_over(over: int) -> str:
    """A token whose bytes do not fill the last group of three."""
    states = (b"x" * length for length in range(3))
    tokens = (SEALER.seal(ORIGIN, attrs.evolve(CLAIMS, state=state)) for state in states)
    return next(token for token in tokens if len(raw(token)) % 3 == over)


def test_padding_whitespace_and_the_other_alphabet_are_malformed() -> None:
    token = next(t for t in iter(lambda: SEALER.seal(ORIGIN, CLAIMS), "") if "-" in t and "_" in t)
    for changed in (
        token + "=",
        token + "==",
        token.replace("-", "+"),
        token.replace("_", "/"),
        token[:20] + " " + token[20:],
        token[:20] + "\r\n" + token[20:],
        token + "\n",
    ):
        assert reasons(SEALER, changed) == (Reason.MALFORMED,)


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "a",
        "a1.",
        "null",
        "1",
        '{"state": 1}',
        "a1." + "A" * 58,
        "é" * 100,
        "a1.é",
        "名前",
        "\ud800",
        "a1.\udcff" + "A" * 100,
        "\0" * 100,
        "A" * 65_536,
    ],
)
def test_what_is_no_token_is_malformed(hostile: str) -> None:
    assert reasons(SEALER, hostile) == (Reason.MALFORMED,)


def test_the_shortest_box_of_rubbish_names_no_key() -> None:
    assert reasons(SEALER, text(bytes(44))) == (Reason.UNKNOWN_KEY,)


def test_a_megabyte_is_refused_for_its_size() -> None:
    assert reasons(SEALER, "A" * 1024 * 1024) == (Reason.TOO_LARGE,)


def test_the_id_of_another_known_key_does_not_open_the_box() -> None:
    other = raw(sealer(keys=[OLD]).seal(ORIGIN, CLAIMS))
    assert reasons(SEALER, text(other[:4] + raw(TOKEN)[4:])) == (Reason.FORGED,)


@given(st.text())
def test_any_text_is_refused(hostile: str) -> None:
    assert reasons(SEALER, hostile)
    assert reasons(SEALER, "a1." + hostile)


@given(st.binary(min_size=44, max_size=400))
def test_any_bytes_under_a_known_key_id_are_forged(rubbish: bytes) -> None:
    assert reasons(SEALER, text(raw(TOKEN)[:4] + rubbish)) == (Reason.FORGED,)


def _every_refusal() -> list[TokenRefused]:
    late = Clock()
    expiring = sealer(keys=[NEW, OLD], clock=late)
    late.now += 601
    return [
        refusal(SEALER, "A" * 65_537),
        refusal(SEALER, ""),
        refusal(SEALER, "a1." + "A" * 100),
        refusal(SEALER, TOKEN[:-6] + "AAAAAA"),
        refusal(expiring, TOKEN),
        refusal(sealer(audience="Other"), TOKEN),
    ]


def test_every_refusal_has_one_face_on_the_wire() -> None:
    refusals = _every_refusal()
    assert len({one.reason for one in refusals}) == len(refusals)
    for one in refusals:
        answer = one.answer()
        assert (answer.code, answer.message, answer.data) == (INVALID_PARAMS, INVALID_STATE, None)
        assert isinstance(one, PeerError)


def test_no_check_is_left_out_for_a_token_that_does_not_open() -> None:
    clock = Clock()
    watched = StateSealer(keys=[NEW, OLD], audience="Provisioner", clock=clock)
    for hostile in ("", TOKEN[:-6] + "AAAAAA", "a1." + "A" * 100, TOKEN + "=", "é"):
        before = clock.readings
        assert reasons(watched, hostile)
        assert clock.readings == before + 1
