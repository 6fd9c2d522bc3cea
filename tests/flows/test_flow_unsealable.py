"""What a token cannot carry is refused by name before it leaves, never when it comes back."""

import datetime
import math
import re
import traceback
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import attrs
import pytest
from attrs import define, field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import DefinitionError, Done, Polling, SealingError, walk
from antiphon.flows.freezing import Freezer
from antiphon.flows.states import State
from tests.flows.carrying import FIELDS, Color, Level, Word, carried, holding
from tests.flows.declaring import Args, beginning, flow_class, moving
from tests.naming import shown

LOCAL: Final = ZoneInfo("Europe/Berlin")


@frozen
class Leaf:
    number: int
    when: datetime.datetime | None = None


@frozen
class Twig:
    length: float


# -- what is refused by the class statement ---------------------------------------------------


@frozen
class Alike:
    number: int


@frozen
class AlsoAlike:
    number: int


@frozen
class Deep:
    inner: dict[str, list[bytearray]]


@pytest.mark.parametrize(
    "kind",
    [
        bytearray,
        memoryview,
        object,
        complex,
        Fraction,
        type,
        Exception,
        Callable[[], int],
        list[bytearray],
        dict[str, object],
        dict[str, list[bytearray]],
        Deep,
        Alike | AlsoAlike,
        datetime.date | datetime.time,
        "Unheard",
    ],
    ids=shown,
)
def test_a_type_that_cannot_be_carried_is_refused_by_the_class_statement(kind: Any) -> None:
    state = holding(kind)
    with pytest.raises(DefinitionError) as caught:
        flow_class(begin=beginning(state), polled=moving(state, "polled", Done[str]))
    (fault,) = caught.value.faults
    assert fault.startswith("state Holding: ")


# -- what is refused when it is sealed --------------------------------------------------------

LONE = "\ud800"


class Zone(datetime.tzinfo):
    def utcoffset(self, _: object) -> datetime.timedelta:
        return datetime.timedelta(hours=1)

    def dst(self, _: object) -> None:
        return None

    def tzname(self, _: object) -> str:
        return "Own"


@define
class Lookalike:
    number: int
    when: datetime.datetime | None = None


@frozen
class Heir(Leaf):
    more: str = ""


DIFFERENT = "would come back different: declare the exact type of its value"
FORMLESS = "cannot be carried"


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (int, "5", DIFFERENT),
        (int, None, FORMLESS),
        (int, 1.5, DIFFERENT),
        (int, Level.LOW, "value is a Level"),
        (bool, 2, DIFFERENT),
        (str, 5, DIFFERENT),
        (str, None, DIFFERENT),
        (str, Word.YES, "value is a Word"),
        (str, LONE, "value is text with a lone surrogate"),
        (list[str], ["a", LONE], "value[1] is text with a lone surrogate"),
        (dict[str, int], {LONE: 1}, "a key of value is text with a lone surrogate"),
        (bytes, bytearray(b"x"), "value is a bytearray"),
        (bytes | None, bytearray(b"x"), "value is a bytearray"),
        (bytes, memoryview(b"x"), "value is a memoryview"),
        (bytes, "x", FORMLESS),
        (Any, {"a": (1,)}, DIFFERENT),
        (Any, {1, 2}, DIFFERENT),
        (Any, Decimal(1), DIFFERENT),
        (Any, Leaf(1), DIFFERENT),
        (Any, object(), "value is a object"),
        (Any, bytearray(b"x"), "value is a bytearray"),
        (datetime.datetime, datetime.date(2026, 1, 1), FORMLESS),
        (datetime.date, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), DIFFERENT),
        (datetime.datetime, datetime.datetime(2026, 1, 1, tzinfo=Zone()), "zone of type Zone"),
        (datetime.time, datetime.time(1, tzinfo=LOCAL), "zone of type ZoneInfo"),
        (datetime.timedelta, 5, FORMLESS),
        (Decimal, 0.1, DIFFERENT),
        (Decimal, Decimal("sNaN"), FORMLESS),
        (Color, "RED", FORMLESS),
        (Word, "yes", FORMLESS),
        (Word | str, Word.YES, DIFFERENT),
        (Level | int, Level.LOW, DIFFERENT),
        (str | datetime.date, datetime.date(2026, 1, 1), DIFFERENT),
        (Literal["a", "b"], "c", FORMLESS),
        (list[int], (1,), DIFFERENT),
        (tuple[int, ...], [1], DIFFERENT),
        (tuple[int, str], (1,), FORMLESS),
        (tuple[int, str], (1, "a", 2), DIFFERENT),
        (dict[int, str], {"1": "a"}, DIFFERENT),
        (set[float], {math.nan}, DIFFERENT),
        (Leaf, Lookalike(1), DIFFERENT),
        (Leaf, Heir(1), DIFFERENT),
        (Leaf, Leaf("5"), DIFFERENT),  # type: ignore[arg-type]
        (list[Leaf], [Heir(1)], DIFFERENT),
        (Leaf | Twig, Heir(1), FORMLESS),
        (list[Leaf], None, FORMLESS),
    ],
    ids=shown,
)
async def test_a_value_that_cannot_be_carried_is_refused_by_name(
    kind: Any, value: Any, told: str
) -> None:
    state = holding(kind)

    async def begin(self: Any, args: Args) -> Any:
        return state(value)

    begin.__annotations__["return"] = state
    flow = flow_class(begin=begin, polled=moving(state, "polled", Done[str]))
    with pytest.raises(SealingError) as caught:
        await walk(flow(), Args("a"))
    message = str(caught.value)
    assert message.startswith("State Holding cannot be sealed: field 'value' ")
    assert told in message


@frozen
class Two(Polling):
    good: int
    bad: str
    worse: bytes


def test_every_field_at_fault_is_named_and_no_other() -> None:
    wrong: Any = 5
    with pytest.raises(SealingError) as caught:
        carried(Two(1, wrong, wrong))
    assert re.findall(r"field '(\w+)'", str(caught.value)) == ["bad", "worse"]


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, SECRET + LONE),
        (int, SECRET),
        (Word, SECRET),
        (Literal["a"], SECRET),
        (datetime.date, SECRET),
        (Leaf, SECRET),
        (dict[int, str], {SECRET: "a"}),
        (list[bytes], [bytearray(SECRET.encode())]),
    ],
    ids=shown,
)
def test_a_refusal_does_not_tell_the_value(kind: Any, value: Any) -> None:
    with pytest.raises(SealingError) as caught:
        carried(holding(kind)(value))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


MAKING = count()


@frozen
class Numbered(Polling):
    text: str
    number: int = field(init=False, factory=lambda: next(MAKING))


def _louder(text: str) -> str:
    return f"{text}!"


@frozen
class Growing(Polling):
    text: str = field(converter=_louder)


@pytest.mark.parametrize("state", [Numbered("a"), Growing("a")], ids=shown)
def test_a_state_that_its_class_does_not_make_again_is_refused(state: State) -> None:
    with pytest.raises(SealingError) as caught:
        carried(state)
    assert str(caught.value) == (
        f"State {type(state).__name__} cannot be sealed: it would come back different: __init__ "
        "does not make it again from its fields"
    )


def _short(_: object, __: object, text: str) -> None:
    if len(text) > 3:
        raise ValueError(f"{text} is too long")


@frozen
class Strict(Polling):
    text: str = field(validator=_short)


def test_a_state_that_its_class_would_not_take_again_is_refused() -> None:
    with attrs.validators.disabled():
        state = Strict(SECRET)
    with pytest.raises(SealingError) as caught:
        carried(state)
    assert str(caught.value) == "State Strict cannot be sealed: ValueError"


def test_a_state_of_another_flow_is_refused() -> None:
    freezer = Freezer([Two])
    with pytest.raises(SealingError, match="Holding is no state of this flow"):
        freezer.freeze(holding(int)(1))
    with pytest.raises(SealingError, match="int is no state of this flow"):
        freezer.freeze(5)


def test_nesting_without_end_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SealingError, match="State Holding cannot be sealed"):
        carried(holding(list[Any])(deep))


# -- never later ------------------------------------------------------------------------------

KINDS: Final[list[Any]] = [
    *(int, bool, float, str, bytes, Any, Decimal, Color, Level, Word, Leaf),
    *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, Path),
    *(int | None, int | str, Leaf | Twig, Leaf | None, str | datetime.date, Literal["a", 1]),
    *(list[int], tuple[int, ...], tuple[int, str], set[str], frozenset[Any], dict[int, Any]),
    *(dict[Word, Leaf], list[Decimal], tuple[Any, ...], list[list[float]]),
]
VALUES: Final = st.recursive(
    st.one_of(*FIELDS.values(), st.floats(), st.just(LONE), st.just(Decimal("sNaN")))
    | st.binary(max_size=3).map(bytearray),
    lambda inner: st.lists(inner, max_size=2) | st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)


FREEZERS: Final = [(state, Freezer([state])) for state in map(holding, KINDS)]


@settings(max_examples=300)
@given(st.sampled_from(FREEZERS), VALUES)
def test_no_state_that_was_sealed_fails_to_open(made: tuple[Any, Freezer], value: Any) -> None:
    state, freezer = made
    assert freezer.faults(state) == []
    try:
        sealed = freezer.freeze(state(value))
    except SealingError:
        return
    back: Any = freezer.thaw(sealed)
    assert back.value == value or "nan" in repr(value).lower()
