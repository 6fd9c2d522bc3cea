"""A state with a field of every type that can be sealed, and strategies for its values."""

import datetime
import zoneinfo
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType, TypedDict
from uuid import UUID

import attrs
from attrs import Factory, field, frozen
from hypothesis import strategies as st

from antiphon import Meta, Polling
from antiphon.flows.freezing import Freezer
from antiphon.flows.states import State


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
    below: "list[Tree]" = Factory(list["Tree"])


class Typed(TypedDict):
    a: int
    b: str


UserId = NewType("UserId", int)


@frozen
class Everything(Polling):
    """A state with a field of every type that can be sealed."""

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
    literal: Literal["a", 1] | None
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
MINUTES = st.integers(-1439, 1439).map(lambda minutes: datetime.timedelta(minutes=minutes))
ZONES = st.one_of(
    st.none(),
    MINUTES.map(datetime.timezone),
    st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]).map(zoneinfo.ZoneInfo),
)
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
    "time": st.times(timezones=st.none() | MINUTES.map(datetime.timezone)),
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

EVERYTHING = st.builds(Everything, **FIELDS)


def carried(state: State) -> State:
    """The state as the next round gets it."""
    freezer = Freezer([type(state)])
    assert freezer.faults(type(state)) == []
    return freezer.thaw(freezer.freeze(state))


def holding(kind: Any) -> Any:
    """The state class ``Holding`` with one field of that type, ``value``."""
    fields = {"value": field(type=kind)}
    return attrs.make_class("Holding", fields, bases=(Polling,), frozen=True, slots=True)
