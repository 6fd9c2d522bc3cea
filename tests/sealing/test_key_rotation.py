"""Keys: what is taken for one, how they are exchanged, and what a missing one looks like."""

from __future__ import annotations

import logging
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

import pytest

from antiphon.engine.errors import UsageError
from antiphon.engine.sealing import Reason, SecretBoxCodec, StateSealer, generate_key
from antiphon.engine.sealing.policy import warn_of_another_key
from tests.sealing.making import CLAIMS, NEW, OLD, ORIGIN, Clock, raw, reasons, sealer, text

ROTATION = ([OLD], [OLD, NEW], [NEW, OLD], [NEW])


def test_three_phases_lose_no_round() -> None:
    """Two neighbouring phases run side by side while a deploy goes through the workers."""
    for before, after in pairwise(ROTATION):
        stages = (sealer(keys=before), sealer(keys=after))
        for minting in stages:
            for opening in stages:
                assert opening.open(minting.seal(ORIGIN, CLAIMS), ORIGIN) == CLAIMS


def test_three_servers_at_three_stages_pass_one_conversation_around() -> None:
    adding, switched, adding_still = (sealer(keys=k) for k in ([OLD, NEW], [NEW, OLD], [OLD, NEW]))
    token = adding.seal(ORIGIN, CLAIMS)
    for worker in (switched, adding_still, adding, switched, switched, adding):
        token = worker.seal(ORIGIN, worker.open(token, ORIGIN))
    assert adding_still.open(token, ORIGIN) == CLAIMS


def test_the_first_key_seals() -> None:
    token = sealer(keys=[NEW, OLD]).seal(ORIGIN, CLAIMS)
    assert sealer(keys=[NEW]).open(token, ORIGIN) == CLAIMS
    assert reasons(sealer(keys=[OLD]), token) == (Reason.UNKNOWN_KEY,)


def test_a_key_that_was_dropped_opens_nothing() -> None:
    token = sealer(keys=[OLD]).seal(ORIGIN, CLAIMS)
    assert reasons(sealer(keys=[NEW]), token) == (Reason.UNKNOWN_KEY,)
    assert sealer(keys=[NEW, generate_key(), OLD]).open(token, ORIGIN) == CLAIMS


def test_the_key_id_is_of_the_derived_key_and_the_same_everywhere() -> None:
    assert (
        raw(sealer(keys=[NEW]).seal(ORIGIN, CLAIMS))[:4]
        == raw(StateSealer(keys=[NEW.encode()], audience="Other").seal(ORIGIN, CLAIMS))[:4]
    )
    assert raw(sealer(keys=[OLD]).seal(ORIGIN, CLAIMS))[:4] not in NEW.encode()


def test_text_and_its_bytes_are_one_key() -> None:
    token = sealer(keys=[NEW]).seal(ORIGIN, CLAIMS)
    assert sealer(keys=[NEW.encode()]).open(token, ORIGIN) == CLAIMS


def test_every_byte_of_a_long_key_counts() -> None:
    token = sealer(keys=[b"k" * 500 + b"1"]).seal(ORIGIN, CLAIMS)
    assert sealer(keys=[b"k" * 500 + b"1"]).open(token, ORIGIN) == CLAIMS
    for other in (b"k" * 500 + b"2", b"k" * 500, b"k" * 32, b"k" * 501):
        assert reasons(sealer(keys=[other]), token) == (Reason.UNKNOWN_KEY,)


def test_one_key_twice_is_harmless() -> None:
    token = sealer(keys=[NEW, NEW]).seal(ORIGIN, CLAIMS)
    assert sealer(keys=[NEW]).open(token, ORIGIN) == CLAIMS


def test_two_keys_with_one_id_are_refused() -> None:
    pair = [b"key number 00020908 of a colliding pair", b"key number 00057945 of a colliding pair"]
    for key in pair:
        assert raw(sealer(keys=[key]).seal(ORIGIN, CLAIMS))[:4].hex() == "2bc129f1"
    with pytest.raises(UsageError, match=r"keys\[1\] has the id of another key"):
        sealer(keys=pair)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ([], "keys is empty"),
        ([b""], r"keys\[0\] has 0 bytes"),
        (["x" * 31], r"keys\[0\] has 31 bytes"),
        ([NEW, b"x" * 31], r"keys\[1\] has 31 bytes"),
        ([NEW, OLD, ""], r"keys\[2\] has 0 bytes"),
        ([None], r"keys\[0\] must be bytes or str, not NoneType"),
        ([NEW, 7], r"keys\[1\] must be bytes or str, not int"),
        ([bytearray(32)], r"keys\[0\] must be bytes or str, not bytearray"),
        (["\ud800" * 32], r"keys\[0\] is no valid text"),
        (NEW, "must be a list of keys"),
        (NEW.encode(), "must be a list of keys"),
    ],
)
def test_a_key_that_cannot_be_used_is_named(keys: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        SecretBoxCodec(cast(Sequence[bytes], keys))


def test_letters_of_more_than_one_byte_count_as_bytes() -> None:
    assert sealer(keys=["é" * 16]).seal(ORIGIN, CLAIMS)


def test_a_generated_key_is_text_of_32_fresh_bytes() -> None:
    key = generate_key()
    assert len(urlsafe_b64decode(key + "=")) == 32
    assert key != generate_key()
    assert sealer(keys=[key]).open(sealer(keys=[key]).seal(ORIGIN, CLAIMS), ORIGIN) == CLAIMS


@pytest.fixture
def _first_time() -> Iterator[None]:
    warn_of_another_key.cache_clear()
    yield
    warn_of_another_key.cache_clear()


def _ephemeral() -> StateSealer:
    return StateSealer(audience="Provisioner", clock=Clock())


def test_a_key_is_made_at_start_where_none_is_given() -> None:
    at = _ephemeral()
    assert at.ephemeral
    assert not sealer(keys=[NEW]).ephemeral
    assert at.open(at.seal(ORIGIN, CLAIMS), ORIGIN) == CLAIMS


@pytest.mark.usefixtures("_first_time")
def test_workers_without_shared_keys_are_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    one, other = _ephemeral(), _ephemeral()
    token = one.seal(ORIGIN, CLAIMS)
    for _ in range(3):
        assert reasons(other, token) == (Reason.UNKNOWN_KEY,)
        assert reasons(_ephemeral(), token) == (Reason.UNKNOWN_KEY,)
    [record] = caplog.records
    assert (record.name, record.levelno) == ("antiphon.sealing", logging.WARNING)
    told = record.getMessage()
    assert "Server(..., keys=[...])" in told
    assert "antiphon keygen" in told
    assert token not in caplog.text


@pytest.mark.usefixtures("_first_time")
def test_nothing_else_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    at = _ephemeral()
    token = at.seal(ORIGIN, CLAIMS)
    forged = bytearray(raw(token))
    forged[-1] ^= 1
    for bad in ("", text(bytes(forged)), "é"):
        reasons(at, bad)
    assert reasons(sealer(keys=[NEW]), token) == (Reason.UNKNOWN_KEY,)
    assert not caplog.records


@pytest.mark.parametrize("audience", ["", " ", "\n", None])
def test_a_policy_without_an_audience_is_refused(audience: str) -> None:
    with pytest.raises(UsageError, match="give the server a name"):
        StateSealer(keys=[NEW], audience=audience)
