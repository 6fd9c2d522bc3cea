"""A state comes back from its bytes exactly as it was, whatever its fields hold."""

import datetime
import math
import zoneinfo
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Literal, NewType, TypedDict
from uuid import UUID

import attrs
import pytest
from attrs import Factory, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Acting, Meta
from antiphon.engine.machine import Frozen
from antiphon.flows.freezing import Freezer, tag_of


class Color(Enum):
    RED = "red"
    PAIR = (1, "b")


class Level(IntEnum):
    LOW = 1
    HIGH = 2**70


class Word(StrEnum):
    YES = "yes"
    NO = "no"


class Mode(Flag):
    READ = 1
    WRITE = 2


@frozen
class Point:
    x: int
    label: str | None = None


@frozen
class Circle:
    radius: float
    centre: Point


@frozen
class Tree:
    value: int
    below: "list[Tree]" = Factory(list)


class Typed(TypedDict):
    a: int
    b: str


UserId = NewType("UserId", int)


@frozen
class Everything(Acting):
    """A state with a field of every type that is carried."""

    integer: int
    number: float
    yes: bool
    text: str
    data: bytes
    moment: datetime.datetime
    day: datetime.date
    time: datetime.time
    span: datetime.timedelta
    amount: Decimal
    id: UUID
    color: Color
    level: Level
    word: Word
    mode: Mode
    literal: Literal["a", 1, None]
    numbers: list[int]
    moments: list[datetime.datetime]
    texts: tuple[str, ...]
    pair: tuple[int, Decimal]
    ids: set[UUID]
    words: frozenset[str]
    colors: frozenset[Color]
    pairs: set[tuple[int, str]]
    by_text: dict[str, int]
    by_number: dict[int, str]
    by_day: dict[datetime.date, list[Decimal]]
    by_pair: dict[tuple[int, int], bytes]
    by_color: dict[Color, float]
    point: Point
    shape: Point | Circle
    shapes: list[Point | Circle | None]
    tree: Tree
    maybe: int | None
    maybe_moment: datetime.datetime | None
    maybe_points: tuple[Point, ...] | None
    either: int | str | bytes | float | bool | None
    typed: Typed
    user: UserId
    bounded: Annotated[int, Meta(ge=0)]
    mapping: Mapping[str, Point]
    anything: Any


INTEGERS = st.integers(-(2**200), 2**200) | st.sampled_from(
    [2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ZONES = st.none() | st.just(datetime.UTC) | st.builds(
    datetime.timezone, st.timedeltas(-datetime.timedelta(hours=23), datetime.timedelta(hours=23))
) | st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]).map(zoneinfo.ZoneInfo)
FIXED = st.none() | st.just(datetime.UTC)
MOMENTS = st.datetimes(timezones=ZONES)
POINTS = st.builds(Point, INTEGERS, st.none() | TEXT)
CIRCLES = st.builds(Circle, st.floats(), POINTS)
TREES = st.recursive(
    st.builds(Tree, INTEGERS, st.just([])),
    lambda below: st.builds(Tree, INTEGERS, st.lists(below, max_size=2)),
    max_leaves=5,
)
PLAIN = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats() | TEXT | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | INTEGERS, inner, max_size=3),
    max_leaves=8,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "integer": INTEGERS,
    "number": st.floats(),
    "yes": st.booleans(),
    "text": TEXT,
    "data": st.binary(),
    "moment": MOMENTS,
    "day": st.dates(),
    "time": st.times(timezones=FIXED),
    "span": st.timedeltas(),
    "amount": st.decimals(allow_nan=False) | st.just(Decimal("NaN")),
    "id": st.uuids(),
    "color": st.sampled_from(Color),
    "level": st.sampled_from(Level),
    "word": st.sampled_from(Word),
    "mode": st.sampled_from([Mode.READ, Mode.WRITE, Mode.READ | Mode.WRITE, Mode(0)]),
    "literal": st.sampled_from(["a", 1, None]),
    "numbers": st.lists(INTEGERS),
    "moments": st.lists(MOMENTS, max_size=2),
    "texts": st.lists(TEXT).map(tuple),
    "pair": st.tuples(INTEGERS, st.decimals(allow_nan=False)),
    "ids": st.sets(st.uuids()),
    "words": st.frozensets(TEXT),
    "colors": st.frozensets(st.sampled_from(Color)),
    "pairs": st.sets(st.tuples(INTEGERS, TEXT)),
    "by_text": st.dictionaries(TEXT, INTEGERS),
    "by_number": st.dictionaries(INTEGERS, TEXT),
    "by_day": st.dictionaries(st.dates(), st.lists(st.decimals(allow_nan=False))),
    "by_pair": st.dictionaries(st.tuples(INTEGERS, INTEGERS), st.binary()),
    "by_color": st.dictionaries(st.sampled_from(Color), st.floats()),
    "point": POINTS,
    "shape": POINTS | CIRCLES,
    "shapes": st.lists(st.none() | POINTS | CIRCLES),
    "tree": TREES,
    "maybe": st.none() | INTEGERS,
    "maybe_moment": st.none() | MOMENTS,
    "maybe_points": st.none() | st.lists(POINTS).map(tuple),
    "either": st.none() | st.booleans() | INTEGERS | TEXT | st.binary() | st.floats(),
    "typed": st.fixed_dictionaries({"a": INTEGERS, "b": TEXT}),
    "user": INTEGERS.map(UserId),
    "bounded": st.integers(0),
    "mapping": st.dictionaries(TEXT, POINTS),
    "anything": PLAIN,
}
FREEZER = Freezer([Everything])


def thawed(state: object, freezer: Freezer = FREEZER) -> Any:
    return freezer.thaw(freezer.freeze(state))


def written(state: object) -> str:
    """All of a state in text: types, time zones and NaN count; the order of a set does not."""
    return repr(attrs.asdict(state, value_serializer=_sorted))  # type: ignore[call-overload,no-any-return]  # an attrs object


def _sorted(_: object, __: object, value: Any) -> Any:
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else value


def test_every_field_has_a_strategy() -> None:
    assert [each.name for each in attrs.fields(Everything)] == list(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_comes_back_as_it_was(name: str) -> None:
    kind = attrs.fields_dict(Everything)[name].type
    made: Any = attrs.make_class(
        "Made", {name: field(type=kind)}, bases=(Acting,), frozen=True
    )
    freezer = Freezer([made])
    assert freezer.faults(made) == []

    @given(FIELDS[name])
    def check(value: object) -> None:
        assert written(thawed(made(value), freezer)) == written(made(value))

    check()


@given(st.builds(Everything, **FIELDS))
def test_all_fields_together_come_back_as_they_were(state: Everything) -> None:
    back = thawed(state)
    assert type(back) is Everything
    assert written(back) == written(state)


@given(st.builds(Everything, **FIELDS))
def test_freezing_twice_gives_the_same_bytes(state: Everything) -> None:
    assert FREEZER.freeze(state) == FREEZER.freeze(state)


@given(st.builds(Everything, **FIELDS))
def test_what_came_back_freezes_as_it_did(state: Everything) -> None:
    # A flow that comes back to where it was is known by that.
    first = FREEZER.freeze(state)
    assert len(FREEZER.freeze(FREEZER.thaw(first)).data) == len(first.data)


# -- chosen values ----------------------------------------------------------------------------


@frozen
class Holding(Acting):
    it: Any


def made(kind: Any, value: object) -> Any:
    """What comes back of a state with one field of this type."""
    cls: Any = attrs.make_class("Made", {"it": field(type=kind)}, bases=(Acting,), frozen=True)
    return thawed(cls(value), Freezer([cls])).it


def test_not_a_number_comes_back() -> None:
    assert math.isnan(made(float, math.nan))
    assert math.isnan(made(dict[str, list[float]], {"a": [math.nan]})["a"][0])
    assert made(float, math.inf) == math.inf


def test_minus_zero_keeps_its_sign() -> None:
    assert math.copysign(1, made(float, -0.0)) == -1


def test_an_hour_that_comes_twice_keeps_its_side() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    for fold in (0, 1):
        moment = datetime.datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold)
        back = made(datetime.datetime, moment)
        assert (back.tzinfo, back.fold, back.utcoffset()) == (berlin, fold, moment.utcoffset())
        naive = moment.replace(tzinfo=None)
        assert made(datetime.datetime, naive).fold == fold


def test_decimals_keep_their_digits() -> None:
    for text in ("1", "1.0", "1.00", "-0", "1E+5", "0.1" + "0" * 50, "Infinity"):
        assert str(made(Decimal, Decimal(text))) == text


def test_an_integer_where_a_float_is_declared_stays_equal() -> None:
    assert made(float, 3) == 3


def test_defaults_are_packed_like_anything_else() -> None:
    @frozen
    class Defaulted(Acting):
        a: int = 1
        b: list[int] = Factory(list[int])
        _c: str = "c"
        d: int = field(default=4, kw_only=True)
        e: int = field(init=False, default=5)

    state = Defaulted(2, [3], "private", d=6)
    assert thawed(state, Freezer([Defaulted])) == state


def test_a_state_without_fields_is_carried() -> None:
    @frozen
    class Bare(Acting):
        pass

    assert thawed(Bare(), Freezer([Bare])) == Bare()


def test_a_frozen_state_carries_its_tag_and_version_and_shows_nothing() -> None:
    @frozen
    class Named(Acting):
        tag: ClassVar[str] = "a-name"
        version: ClassVar[int] = 7
        secret: str

    frozen_state = Freezer([Named]).freeze(Named("hidden in here"))
    assert (frozen_state.tag, frozen_state.version) == ("a-name", 7)
    assert b"hidden in here" in frozen_state.data
    assert "hidden" not in repr(frozen_state)
    assert (tag_of(Named), tag_of(Holding)) == ("a-name", "Holding")


def test_a_sequence_comes_back_as_the_kind_that_it_was() -> None:
    assert made(Sequence[int], (1, 2)) == (1, 2)


def test_a_frozen_state_is_a_value() -> None:
    assert Frozen("a", 1, b"x") == Frozen("a", 1, b"x")
    assert Frozen("a", 1, b"x") != Frozen("a", 2, b"x")
