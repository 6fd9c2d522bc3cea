"""What goes into a token comes out of it, and what cannot is told to its author."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import SealingError
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.limits import Limits
from antiphon.engine.sealing import Claims, Origin, Reason, StateSealer
from tests.sealing.making import CLAIMS, NEW, NOW, ORIGIN, Clock, raw, reasons, sealer

TEXT = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)
WORDS = st.integers(-(2**63), 2**64 - 1)
CLAIMS_OF_ALL_KINDS = st.builds(
    Claims,
    flow_id=TEXT,
    round=WORDS,
    started=st.floats(allow_nan=False),
    tag=TEXT,
    version=WORDS,
    state=st.binary(),
    questions=st.dictionaries(TEXT, st.binary()),
    kept=st.dictionaries(TEXT, JSON),
    asked=WORDS,
    unusable=WORDS,
    span=st.binary(),
)
ORIGINS = st.builds(
    Origin,
    method=TEXT,
    target=TEXT,
    arguments=st.dictionaries(TEXT, JSON),
    principal=st.none() | st.text(),
)
SEALER = sealer()


@given(ORIGINS, CLAIMS_OF_ALL_KINDS)
def test_any_claims_come_back_from_any_origin(origin: Origin, claims: Claims) -> None:
    assert SEALER.open(SEALER.seal(origin, claims), origin) == claims


def test_what_is_not_given_is_nothing() -> None:
    least = Claims(flow_id="f", round=1, started=NOW, tag="T", version=1, state=b"", questions={})
    back = SEALER.open(SEALER.seal(ORIGIN, least), ORIGIN)
    assert (back.kept, back.asked, back.unusable, back.span) == ({}, 0, 0, b"")


def test_only_a_span_that_is_there_takes_room() -> None:
    bare, traced = (attrs.evolve(CLAIMS, span=span) for span in (b"", b"s" * 25))
    sizes = [len(raw(SEALER.seal(ORIGIN, claims))) for claims in (bare, traced)]
    assert sizes[1] - sizes[0] == 2 + 25  # msgpack's head of a binary, and the span


def test_kept_answers_keep_their_long_integers() -> None:
    kept: JsonObject = {"answer": {"content": {"n": 2**64, "m": -(10**30)}}}
    claims = attrs.evolve(CLAIMS, kept=kept)
    assert SEALER.open(SEALER.seal(ORIGIN, claims), ORIGIN).kept == kept


def test_mappings_of_any_kind_are_taken() -> None:
    claims = attrs.evolve(
        CLAIMS,
        questions=MappingProxyType(dict(CLAIMS.questions)),
        kept=MappingProxyType(dict(CLAIMS.kept)),
    )
    assert SEALER.open(SEALER.seal(ORIGIN, claims), ORIGIN) == CLAIMS


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("flow_id", 7, "int"),
        ("flow_id", "\ud800", "str"),
        ("round", "2", "str"),
        ("round", True, "bool"),
        ("round", 2**64, "int"),
        ("started", "now", "str"),
        ("tag", None, "NoneType"),
        ("version", 1.5, "float"),
        ("state", "text", "str"),
        ("state", None, "NoneType"),
        ("questions", {"a": "digest"}, "dict"),
        ("questions", {1: b"digest"}, "dict"),
        ("asked", None, "NoneType"),
    ],
)
def test_a_claim_of_a_wrong_type_is_named_when_it_is_sealed(
    name: str, value: Any, kind: str
) -> None:
    wrong = attrs.evolve(CLAIMS, **{name: value})
    with pytest.raises(SealingError) as caught:
        SEALER.seal(ORIGIN, wrong)
    assert str(caught.value) == f"The claim {name!r} ({kind}) cannot be sealed"


def test_a_kept_answer_that_cannot_be_carried_is_named() -> None:
    wrong: Any = {"answer": {"content": {"when": {1, 2}}}}
    with pytest.raises(SealingError, match=r"kept\['answer'\]\['content'\]\['when'\] is a set"):
        SEALER.seal(ORIGIN, attrs.evolve(CLAIMS, kept=wrong))


def test_a_target_that_is_no_text_seals_nothing() -> None:
    with pytest.raises(SealingError, match="'target'"):
        SEALER.seal(attrs.evolve(ORIGIN, target="\ud800"), CLAIMS)


def test_an_audience_that_is_no_text_is_refused_at_construction() -> None:
    with pytest.raises(SealingError, match="'audience'"):
        StateSealer(audience="\ud800")


def _limited(token_bytes: int) -> StateSealer:
    return StateSealer(
        keys=[NEW],
        audience="Provisioner",
        clock=Clock(),
        limits=Limits(token_bytes=token_bytes),
    )


def test_a_token_may_fill_its_limit_and_not_pass_it() -> None:
    size = len(SEALER.seal(ORIGIN, CLAIMS))
    exactly = _limited(size)
    assert exactly.open(exactly.seal(ORIGIN, CLAIMS), ORIGIN) == CLAIMS
    with pytest.raises(SealingError) as caught:
        _limited(size - 1).seal(ORIGIN, CLAIMS)
    told = str(caught.value)
    assert f"'ChoosingRegion' has {size} characters; limit token_bytes is {size - 1}" in told


def test_a_received_token_past_the_limit_is_refused_though_it_is_genuine() -> None:
    token = SEALER.seal(ORIGIN, CLAIMS)
    assert reasons(_limited(len(token) - 1), token) == (Reason.TOO_LARGE,)


def test_states_up_to_the_limit_are_carried() -> None:
    claims = attrs.evolve(CLAIMS, state=b"s" * 48_000)
    assert SEALER.open(SEALER.seal(ORIGIN, claims), ORIGIN) == claims
    with pytest.raises(SealingError, match="limit token_bytes is 65536"):
        SEALER.seal(ORIGIN, attrs.evolve(CLAIMS, state=b"s" * 50_000))


def test_a_token_costs_little_more_than_its_state() -> None:
    small = attrs.evolve(CLAIMS, kept={}, state=b"s" * 300)
    assert len(SEALER.seal(ORIGIN, small)) < 400 + 340
