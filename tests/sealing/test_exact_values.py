"""Values come back as they were, type for type, or are refused by name before they leave."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import struct
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, cast

import msgpack  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.errors import SealingError, UsageError
from antiphon.engine.sealing import pack, unpack

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary()
    | st.integers(min_value=-(2**70), max_value=2**70)
)  # fmt: skip
KEYS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner),
    max_leaves=30,
)


def same(one: object, other: object) -> bool:
    """Equal, and of equal types all the way down; not-a-number equals itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, list | tuple):
        return _all_same(cast("list[object]", one), cast("list[object]", other))
    if isinstance(one, dict):
        return _all_same(_pairs(cast("object", one)), _pairs(other))
    return one == other


def _pairs(mapping: object) -> list[object]:
    return list(cast("dict[object, object]", mapping).items())


def _all_same(ones: Sequence[object], others: Sequence[object]) -> bool:
    return len(ones) == len(others) and all(map(same, ones, others))


@given(VALUES)
def test_any_value_comes_back_as_it_was(value: object) -> None:
    assert same(unpack(pack(value)), value)


@pytest.mark.parametrize(
    "number",
    [
        0,
        -1,
        2**63 - 1,
        2**63,
        2**64 - 1,
        2**64,
        2**64 + 1,
        -(2**63),
        -(2**63) - 1,
        -(2**64),
        2**71 - 1,
        2**71,
        -(2**71),
        -(2**71) - 1,
        10**30,
        -(10**400),
        1 << 20_000,
    ],
    ids=lambda number: f"{number.bit_length()} bits",
)
def test_integers_of_any_size_are_exact(number: int) -> None:
    back = unpack(pack({"n": [number], number: number}))
    assert back == {"n": [number], number: number}


DISTINCT: list[object] = [
    True,
    1,
    1.0,
    -0.0,
    math.inf,
    math.nan,
    b"",
    "",
    b"\xff\xfe",
    (),
    [],
    ((), [()], ([],)),
    {},
    {1: "a", "1": "b", b"1": "c", None: "d", (1, "1"): "e", 2.5: "f"},
    {"z": 1, "a": 2},
    {(): ()},
    "\0",
    "\U0010ffff",
]


@pytest.mark.parametrize("value", DISTINCT)
def test_types_do_not_run_together(value: object) -> None:
    assert same(unpack(pack(value)), value)


def test_packed_values_stay_what_they_are() -> None:
    """They stand in tokens: a worker of the next release must read the same ones."""
    value = {"n": [2**64, -1], "t": ("a", b"\xff"), 1: {"one": 1.5}, "none": None}
    packed = (
        "84a16e92c70901010000000000000000ffa17493c70002a161c401ff0181a36f6e65cb3ff8000000000000"
        "a46e6f6e65c0"
    )
    assert pack(value).hex() == packed
    assert same(unpack(bytes.fromhex(packed)), value)


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 1


class Name(str):
    __slots__ = ()


class Point(NamedTuple):
    x: int
    y: int


FOREIGN: list[tuple[object, str]] = [
    (datetime.datetime(2026, 7, 28, tzinfo=datetime.UTC), "datetime"),
    (datetime.date(2026, 7, 28), "date"),
    (decimal.Decimal("1.10"), "Decimal"),
    (uuid.UUID(int=1), "UUID"),
    ({1, 2}, "set"),
    (frozenset({1}), "frozenset"),
    (Colour.RED, "Colour"),
    (Level.HIGH, "Level"),
    (Name("x"), "Name"),
    (Point(1, 2), "Point"),
    (bytearray(b"x"), "bytearray"),
    (memoryview(b"x"), "memoryview"),
    (OrderedDict(a=1), "OrderedDict"),
    (1j, "complex"),
    (object(), "object"),
    (int, "type"),
    (range(3), "range"),
    (msgpack.ExtType(5, b"x"), "ExtType"),
    (msgpack.ExtType(2, b""), "ExtType"),
    (msgpack.Timestamp(1), "Timestamp"),
]


@pytest.mark.parametrize(("value", "kind"), FOREIGN)
def test_what_cannot_be_carried_is_refused_by_name_and_place(value: object, kind: str) -> None:
    for where, holder in (
        ("ChoosingRegion", value),
        ("ChoosingRegion['when']", {"name": "orders", "when": value}),
        ("ChoosingRegion['rows'][1][0]", {"rows": [1, (value,)]}),
    ):
        with pytest.raises(SealingError) as caught:
            pack(holder, "ChoosingRegion")
        assert str(caught.value) == f"{where} is a {kind}: a token cannot carry that exactly"


@pytest.mark.parametrize("key", [Name("x"), Colour.RED, frozenset({1}), (Colour.RED,)])
def test_a_key_that_cannot_be_carried_is_refused(key: object) -> None:
    with pytest.raises(SealingError, match="a key of state"):
        pack({"rows": 1, key: 2}, "state")


def test_text_with_a_lone_surrogate_is_refused_by_place() -> None:
    with pytest.raises(SealingError, match=r"state\['a'\]\[1\] is text with a lone surrogate"):
        pack({"a": ["fine", "\ud800"]}, "state")
    with pytest.raises(SealingError, match="a key of state is text with a lone surrogate"):
        pack({"\udfff": 1}, "state")


def test_the_value_itself_is_not_told() -> None:
    with pytest.raises(SealingError) as caught:
        pack({"password": Name("hunter2")})
    assert "hunter2" not in str(caught.value)


def _nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_is_bounded() -> None:
    assert same(unpack(pack(_nested(200))), _nested(200))
    with pytest.raises(SealingError, match="nested deeper than 200 levels"):
        pack(_nested(201))
    with pytest.raises(SealingError, match="nested deeper than 200 levels"):
        pack(_nested(100_000))


def test_tuples_nest_as_deeply_as_lists() -> None:
    value: object = ()
    for _ in range(199):
        value = (value, {"k": 2**80})[:1]
    assert same(unpack(pack(value)), value)


def test_what_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop += [loop, loop]
    with pytest.raises(SealingError, match="or in itself"):
        pack({"loop": loop})


def test_a_refusal_is_the_mistake_of_our_caller() -> None:
    assert issubclass(SealingError, UsageError)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x01\x01",
        b"\x92\x01",
        b"\xa2\xff\xff",
        b"\xa3\xed\xa0\x80",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\x91" * 201 + b"\xc0",
        b"\x91" * 100_000,
        b"\xd6\xff\x00\x00\x00\x01",
        b"\xd4\x05\x00",
        b"\xd4\x02\x00",
        b"\x91\xd4\x02\x00",
        b"\xc7\x00\x02",
        b"\x92\x01\xc7\x00\x02",
        b"\x81\x90\x01",
        b"\x81\x80\x01",
    ],
)
def test_bytes_that_were_never_packed_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the kind of fault does not matter here
        unpack(data)


@given(st.binary())
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = unpack(data)
    except ValueError:
        return
    assert same(unpack(pack(value)), value)


@given(VALUES, st.data())
def test_cut_bytes_are_refused(value: object, data: st.DataObject) -> None:
    packed = pack(value)
    with pytest.raises(ValueError):  # noqa: PT011 - the kind of fault does not matter here
        unpack(packed[: data.draw(st.integers(0, len(packed) - 1))])
    with pytest.raises(ValueError):  # noqa: PT011 - the kind of fault does not matter here
        unpack(packed + b"\xc0")
