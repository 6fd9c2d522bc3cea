"""A token opens for the very request that it was sealed for."""

from __future__ import annotations

import attrs
import pytest

from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.sealing import Origin, Reason
from tests.sealing.making import CLAIMS, ORIGIN, Clock, reasons, refusal, sealer


def test_the_same_origin_made_afresh_opens() -> None:
    token = sealer().seal(ORIGIN, CLAIMS)
    again = Origin("tools/call", "provision", {"size": 3, "name": "orders"}, "alice")
    assert sealer().open(token, again) == CLAIMS


def test_a_token_opens_more_than_once() -> None:
    at = sealer()
    token = at.seal(ORIGIN, CLAIMS)
    assert at.open(token, ORIGIN) == at.open(token, ORIGIN) == CLAIMS


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (attrs.evolve(ORIGIN, method="prompts/get"), Reason.METHOD),
        (attrs.evolve(ORIGIN, method="tools/Call"), Reason.METHOD),
        (attrs.evolve(ORIGIN, target="deprovision"), Reason.TARGET),
        (attrs.evolve(ORIGIN, target=""), Reason.TARGET),
        (attrs.evolve(ORIGIN, arguments={"name": "orders"}), Reason.ARGUMENTS),
        (attrs.evolve(ORIGIN, arguments={}), Reason.ARGUMENTS),
        (attrs.evolve(ORIGIN, principal="bob"), Reason.PRINCIPAL),
    ],
)
def test_another_origin_is_refused_in_both_directions(other: Origin, reason: Reason) -> None:
    at = sealer()
    assert reasons(at, at.seal(ORIGIN, CLAIMS), other) == (reason,)
    assert reasons(at, at.seal(other, CLAIMS), ORIGIN) == (reason,)


WHO = [None, "alice", "bob", "", "Alice", "alice ", "\0alice", "\ud800", "=alice"]


@pytest.mark.parametrize("sealed_for", WHO)
def test_a_token_opens_for_its_principal_alone(sealed_for: str | None) -> None:
    at = sealer()
    token = at.seal(attrs.evolve(ORIGIN, principal=sealed_for), CLAIMS)
    for who in WHO:
        origin = attrs.evolve(ORIGIN, principal=who)
        if who == sealed_for:
            assert at.open(token, origin) == CLAIMS
        else:
            assert reasons(at, token, origin) == (Reason.PRINCIPAL,)


def test_a_server_of_another_name_refuses_though_it_shares_the_key() -> None:
    token = sealer(audience="Provisioner").seal(ORIGIN, CLAIMS)
    assert reasons(sealer(audience="Reports"), token) == (Reason.AUDIENCE,)
    assert reasons(sealer(audience="provisioner"), token) == (Reason.AUDIENCE,)


def test_all_drifts_are_told_at_once_with_the_flow() -> None:
    clock = Clock()
    token = sealer().seal(ORIGIN, CLAIMS)
    clock.now += 601
    stranger = Origin("prompts/get", "greet", {"name": "x"}, None)
    told = refusal(sealer(audience="Other", clock=clock), token, stranger)
    assert told.reasons == (
        Reason.PRINCIPAL,
        Reason.AUDIENCE,
        Reason.METHOD,
        Reason.TARGET,
        Reason.ARGUMENTS,
        Reason.EXPIRED,
    )
    assert told.flow_id == CLAIMS.flow_id
    assert all(reason in str(told) for reason in told.reasons)


SAME: list[tuple[JsonObject, JsonObject]] = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": 0}, {"a": -0.0}),
    ({"a": [{"y": 1, "x": 2}]}, {"a": [{"x": 2, "y": 1}]}),
    ({"a": 10**22}, {"a": 1e22}),
]
DIFFERENT: list[tuple[JsonObject, JsonObject]] = [
    ({"a": 1}, {"a": True}),
    ({"a": 0}, {"a": False}),
    ({"a": 1}, {"a": "1"}),
    ({"a": None}, {}),
    ({"a": [1, 2]}, {"a": [2, 1]}),
    ({"a": 2**64}, {"a": 2**64 + 1}),
    ({"a": 2**53}, {"a": 2**53 + 1}),
    ({"a": {}}, {"a": []}),
    ({"a": "é"}, {"a": "e\u0301"}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_arguments_that_are_equal_as_json_open(one: JsonObject, other: JsonObject) -> None:
    at = sealer()
    token = at.seal(attrs.evolve(ORIGIN, arguments=one), CLAIMS)
    assert at.open(token, attrs.evolve(ORIGIN, arguments=other)) == CLAIMS


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_arguments_that_differ_as_json_are_refused(one: JsonObject, other: JsonObject) -> None:
    at = sealer()
    token = at.seal(attrs.evolve(ORIGIN, arguments=one), CLAIMS)
    assert reasons(at, token, attrs.evolve(ORIGIN, arguments=other)) == (Reason.ARGUMENTS,)


def test_arguments_that_a_handler_changes_later_change_nothing() -> None:
    at = sealer()
    arguments: JsonObject = {"name": "orders"}
    origin = Origin("tools/call", "provision", arguments, None)
    arguments["name"] = "changed by a handler"
    token = at.seal(origin, CLAIMS)
    fresh = Origin("tools/call", "provision", {"name": "orders"}, None)
    assert at.open(token, fresh) == CLAIMS
