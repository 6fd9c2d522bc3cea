"""A state comes back from its token exactly as it was, whatever its fields hold."""

import datetime
import enum
import math
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Literal, NamedTuple, cast
from zoneinfo import ZoneInfo

import attrs
import pytest
from attrs import field, frozen
from hypothesis import given, settings

from antiphon import Done, Flow, Limits, Polling
from antiphon.flows.freezing import Freezer
from tests.engine.tools import serving
from tests.flows.carrying import (
    EVERYTHING,
    FIELDS,
    Color,
    Everything,
    Level,
    Word,
    carried,
    holding,
)
from tests.flows.declaring import Args
from tests.naming import shown


def written(state: object) -> str:
    """All of a state in text: types, time zones and NaN count; the order of a set does not."""
    members: Any = attrs.asdict(cast("attrs.AttrsInstance", state), recurse=False)
    return repr({name: _ordered(value) for name, value in members.items()})


def _ordered(value: Any) -> object:
    if isinstance(value, set | frozenset):
        return sorted(map(repr, cast("set[object]", value)))
    return value


# -- every type -------------------------------------------------------------------------------


def test_every_field_has_a_strategy() -> None:
    assert [each.name for each in attrs.fields(Everything)] == list(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_comes_back_as_it_was(name: str) -> None:
    made = holding(attrs.fields_dict(Everything)[name].type)
    freezer = Freezer([made])
    assert freezer.faults(made) == []

    @settings(max_examples=30)
    @given(FIELDS[name])
    def check(value: object) -> None:
        state = made(value)
        assert written(freezer.thaw(freezer.freeze(state))) == written(state)

    check()


@settings(max_examples=15)
@given(EVERYTHING)
def test_all_fields_together_come_back_as_they_were(state: Everything) -> None:
    freezer = Freezer([Everything])
    sealed = freezer.freeze(state)
    back = freezer.thaw(sealed)
    assert type(back) is Everything
    assert written(back) == written(state)
    assert freezer.freeze(state) == sealed


@frozen
class KeepEverything(Flow[Args]):
    made: Everything
    came: list[Everything]

    name = "keep"

    async def begin(self, args: Args) -> Everything:
        return self.made

    @Everything.polled
    async def back(self, at: Everything) -> Done[str]:
        self.came.append(at)
        return Done("kept")


@settings(max_examples=15)
@given(EVERYTHING)
async def test_a_state_comes_back_out_of_a_real_token(state: Everything) -> None:
    came: list[Everything] = []
    peer = serving(KeepEverything(state, came), limits=Limits(token_bytes=10**6))
    first = await peer.call("keep", {"name": "a"})
    last = await peer.call("keep", {"name": "a"}, state=first["requestState"])
    assert last["resultType"] == "complete"
    assert [written(back) for back in came] == [written(state)]


# -- chosen values ----------------------------------------------------------------------------


@frozen
class Twig:
    length: float


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (float, math.nan),
        (float | None, math.nan),
        (float, math.inf),
        (float, -0.0),
        (list[float], [math.nan, 1.0]),
        (tuple[float, ...], (math.nan,)),
        (dict[str, list[float]], {"a": [math.nan]}),
        (Decimal, Decimal("NaN")),
        (Decimal, Decimal("-0")),
        (Decimal, Decimal("1.00")),
        (Decimal, Decimal("1E+5")),
        (list[list[Decimal]], [[Decimal("NaN")]]),
        (Any, [math.nan]),
        (list[Twig], [Twig(math.nan)]),
        (dict[str, Twig], {"a": Twig(math.nan)}),
    ],
    ids=shown,
)
def test_numbers_keep_their_digits_and_not_a_number_is_carried(kind: Any, value: Any) -> None:
    back: Any = carried(holding(kind)(value))
    assert repr(back.value) == repr(value)


@pytest.mark.parametrize("fold", [0, 1])
@pytest.mark.parametrize("zone", [None, datetime.UTC, ZoneInfo("Europe/Berlin")], ids=str)
def test_an_hour_that_comes_twice_keeps_its_side(zone: datetime.tzinfo | None, fold: int) -> None:
    moment = datetime.datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=fold)
    back: Any = carried(holding(datetime.datetime)(moment))
    assert (back.value, back.value.fold, back.value.tzinfo) == (moment, fold, zone)
    time: Any = carried(holding(datetime.time)(moment.time()))
    assert (time.value, time.value.fold) == (moment.time(), fold)


class Legacy(str, enum.Enum):  # noqa: UP042  # how text enums were written before StrEnum
    OLD = "old"


class Octets(bytes, enum.Enum):
    ONE = b"\x01"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Word, Word.YES),
        (Legacy, Legacy.OLD),
        (Octets, Octets.ONE),
        (Word | None, Word.NO),
        (list[Legacy], [Legacy.OLD]),
        (dict[Word, Level], {Word.YES: Level.LOW}),
        (frozenset[Color], frozenset(Color)),
        (Literal[Word.NO], Word.NO),
    ],
    ids=shown,
)
def test_enums_of_every_kind_are_carried(kind: Any, value: Any) -> None:
    back: Any = carried(holding(kind)(value))
    assert back.value == value
    assert repr(_ordered(back.value)) == repr(_ordered(value))


@frozen(eq=False)
class Unequal(Polling):
    number: int
    unseen: str = field(eq=False)
    made: int = field(init=False, default=5)
    _private: bytes = field(kw_only=True, converter=bytes, alias="private")


def test_fields_of_every_make_are_carried() -> None:
    state = Unequal(3, "u", private=b"p")
    back: Any = carried(state)
    assert repr(back) == repr(state)


class Words(list[str]):
    pass


class Pair(NamedTuple):
    number: int
    text: str


@pytest.mark.parametrize(
    ("kind", "value", "back"),
    [
        (int, True, 1),
        (float, 1, 1.0),
        (bool, 1, True),
        (set[int], frozenset({1}), {1}),
        (AbstractSet[int], {1}, frozenset({1})),
        (list[str], Words(["a"]), ["a"]),
        (tuple[int, str], Pair(1, "a"), (1, "a")),
    ],
    ids=shown,
)
def test_what_is_equal_comes_back_as_the_field_declares_it(
    kind: Any, value: Any, back: Any
) -> None:
    came: Any = carried(holding(kind)(value))
    assert came.value == value == back
    assert type(came.value) is type(back)


def test_a_frozen_state_shows_nothing_of_what_is_in_it() -> None:
    made = holding(str)
    sealed = Freezer([made]).freeze(made("hidden in here"))
    assert b"hidden in here" in sealed.data
    assert "hidden" not in repr(sealed)
