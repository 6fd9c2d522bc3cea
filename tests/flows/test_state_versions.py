"""What a deploy does to the states that are under way."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import attrs
import pytest
from attrs import field, frozen

from antiphon import Asking, DefinitionError, Form, Polling, SealingError
from antiphon.engine.jsonrpc import JsonValue
from antiphon.engine.machine import Frozen
from antiphon.engine.sealing import Reason, TokenRefused, pack
from antiphon.flows.freezing import Freezer
from tests.flows.declaring import beginning, flow_class, moving


@frozen
class Name:
    name: str


@frozen
class First(Asking[Name]):
    """The state as it was at first."""

    tag: ClassVar[str] = "naming"
    database: str

    def ask(self) -> Form[Name]:
        return Form("Which name?", Name)


@frozen
class Second(First):
    """A field is new, and older states know what it must have been."""

    version: ClassVar[int] = 2
    region: str

    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        if version != 1:
            return None
        return {**fields, "region": f"that of {fields['database']}"}


@frozen
class Third(Second):
    """One more, and what stood in the first version is given up."""

    version: ClassVar[int] = 3
    size: int = 1

    @classmethod
    def upgrade(cls, version: int, fields: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        return fields if version == 2 else None


def refused(freezer: Freezer, sealed: Frozen) -> Reason:
    with pytest.raises(TokenRefused) as caught:
        freezer.thaw(sealed)
    return caught.value.reason


FIRST = Freezer([First]).freeze(First("orders"))
SECOND = Freezer([Second]).freeze(Second("orders", "eu"))
THIRD = Freezer([Third]).freeze(Third("orders", "eu", 3))


def test_a_state_of_the_same_version_opens() -> None:
    assert (FIRST.tag, FIRST.version, SECOND.version) == ("naming", 1, 2)
    assert Freezer([First]).thaw(FIRST) == First("orders")
    assert Freezer([Second]).thaw(SECOND) == Second("orders", "eu")


def test_an_older_state_is_upgraded() -> None:
    assert Freezer([Second]).thaw(FIRST) == Second("orders", "that of orders")
    assert Freezer([Third]).thaw(SECOND) == Third("orders", "eu", 1)


def test_an_upgrade_may_refuse() -> None:
    assert refused(Freezer([Third]), FIRST) is Reason.STATE_VERSION


@pytest.mark.parametrize(("cls", "sealed"), [(First, SECOND), (First, THIRD), (Second, THIRD)])
def test_a_newer_state_is_refused(cls: Any, sealed: Frozen) -> None:
    assert refused(Freezer([cls]), sealed) is Reason.STATE_VERSION


def test_without_an_upgrade_an_older_state_is_refused() -> None:
    @frozen
    class Raised(Polling):
        version: ClassVar[int] = 2
        number: int

    older = attrs.evolve(Freezer([Raised]).freeze(Raised(1)), version=1)
    assert refused(Freezer([Raised]), older) is Reason.STATE_VERSION


@pytest.mark.parametrize("tag", ["", "Naming", "naming ", "First", "other", "\0"])
def test_an_unknown_tag_is_refused(tag: str) -> None:
    assert refused(Freezer([First]), attrs.evolve(FIRST, tag=tag)) is Reason.STATE_TAG


def test_a_state_that_the_flow_no_longer_has_is_refused() -> None:
    assert refused(Freezer([]), FIRST) is Reason.STATE_TAG


# -- upgrades that go wrong -------------------------------------------------------------------


Upgrade: TypeAlias = Callable[[int, dict[str, Any]], Any]


def upgrading(upgrade_: Upgrade) -> Freezer:
    """A flow whose state of today upgrades so."""

    @frozen
    class Upgraded(First):
        version: ClassVar[int] = 2

        @classmethod
        def upgrade(cls, version: int, fields: dict[str, Any]) -> Any:
            return upgrade_(version, fields)

    return Freezer([Upgraded])


def _raises(_: int, fields: dict[str, Any]) -> Any:
    raise LookupError(f"nothing known of {fields['database']}")


UPGRADES: dict[str, Upgrade] = {
    "raises": _raises,
    "misses": lambda _, fields: fields["nothing"],
    "empties": lambda _, fields: {},
    "renames": lambda _, fields: {"name": fields["database"]},
    "adds": lambda _, fields: {**fields, "extra": 1},
    "a list": lambda _, fields: [fields],
    "a text": lambda _, fields: "orders",
}


@pytest.mark.parametrize("upgrade", UPGRADES.values(), ids=UPGRADES)
def test_an_upgrade_that_fails_refuses_the_state(upgrade: Upgrade) -> None:
    with pytest.raises(TokenRefused) as caught:
        upgrading(upgrade).thaw(FIRST)
    assert caught.value.reason is Reason.STATE_DATA
    assert caught.value.detail
    assert "orders" not in str(caught.value)


def test_an_upgrade_gets_the_version_and_the_fields_as_they_were_packed() -> None:
    seen: list[object] = []

    def upgrade(version: int, fields: dict[str, Any]) -> dict[str, Any]:
        seen.append((version, dict(fields)))
        return fields

    upgrading(upgrade).thaw(FIRST)
    assert seen == [(1, {"database": "orders"})]


# -- fields that change without a version -----------------------------------------------------


def changed(**fields: Any) -> Freezer:
    """The first state with other fields, and the same tag and version."""
    made: Any = attrs.make_class("Changed", fields, bases=(Polling,), frozen=True)
    made.tag = "naming"
    return Freezer([made])


def test_a_new_field_with_a_default_needs_no_version() -> None:
    freezer = changed(database=field(type=str), size=field(type=int, default=5))
    state: Any = freezer.thaw(FIRST)
    assert (state.database, state.size) == ("orders", 5)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"database": field(type=str), "size": field(type=int)},
        {"name": field(type=str)},
        {"database": field(type=Name)},
        {"database": field(type=int)},
        {"database": field(type=dict[str, str])},
    ],
    ids=["removed", "added", "renamed", "an object", "a number", "a dict"],
)
def test_any_other_change_refuses_the_states_under_way(fields: dict[str, Any]) -> None:
    assert refused(changed(**fields), FIRST) is Reason.STATE_DATA


# -- data that is none ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xff" * 40,
        pack([]),
        pack("orders"),
        pack({}),
        pack({1: "orders"}),
        pack({"database": None, "extra": 1}),
        FIRST.data + b"\0",
        FIRST.data[:-1],
    ],
)
def test_data_that_is_no_state_is_refused(data: bytes) -> None:
    assert refused(Freezer([First]), Frozen("naming", 1, data)) is Reason.STATE_DATA


# -- the flow's own mistakes ------------------------------------------------------------------


def test_a_version_or_tag_that_is_none_is_told_when_the_flow_is_declared() -> None:
    @frozen
    class Versioned(Polling):
        version: ClassVar[int] = 0

    with pytest.raises(DefinitionError, match="its version is not 1, 2, 3"):
        flow_class(begin=beginning(Versioned), polled=moving(Versioned, "polled", Versioned))


def test_a_state_of_another_class_with_the_same_tag_is_not_sealed() -> None:
    with pytest.raises(SealingError, match="Second is no state of this flow"):
        Freezer([First]).freeze(Second("orders", "eu"))


def test_a_frozen_state_shows_nothing_of_what_is_in_it() -> None:
    assert b"orders" in FIRST.data
    assert "orders" not in repr(FIRST)
