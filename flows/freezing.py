"""States as bytes: structured by cattrs, packed with msgpack, restored exactly or refused.

What cannot be carried is refused when the class statement runs or when the state is sealed,
by name; never when the token comes back.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar, cast
from uuid import UUID

import attrs
from cattrs.errors import StructureHandlerNotFoundError
from cattrs.preconf.msgpack import MsgpackConverter, make_converter

from ..engine.errors import SealingError
from ..engine.machine import Frozen
from ..engine.sealing import Reason, TokenRefused, pack, unpack
from .states import Acting, Asking, Polling, State

T = TypeVar("T")
_AnyMapping: TypeAlias = Mapping[object, object]


def _moment(value: datetime.datetime) -> object:
    """ISO text where that says all; otherwise the wall time, its zone and its fold apart."""
    if key := _zone_key(value.tzinfo):
        return [value.replace(tzinfo=None).isoformat(), key, value.fold]
    if value.fold:
        return [_iso(value), "", value.fold]
    return _iso(value)


def _zone_key(zone: datetime.tzinfo | None) -> str | None:
    if zone is None or type(zone) is datetime.timezone:
        return None
    # Imported here, with Python's whole configuration, for the few states that hold such a zone.
    from zoneinfo import ZoneInfo

    return zone.key if isinstance(zone, ZoneInfo) else None


def _time_of_day(value: datetime.time) -> object:
    return [_iso(value), value.fold] if value.fold else _iso(value)


def _iso(value: datetime.datetime | datetime.time) -> str:
    # Of any other zone ISO text would keep the offset of the moment, or nothing at all.
    if value.tzinfo is not None and type(value.tzinfo) is not datetime.timezone:
        raise SealingError(f"a time zone of type {type(value.tzinfo).__name__}")
    return value.isoformat()


def _from_moment(value: str | list[Any]) -> datetime.datetime:
    if isinstance(value, str):
        return datetime.datetime.fromisoformat(value)
    text, key, fold = value
    moment = datetime.datetime.fromisoformat(text).replace(fold=fold)
    if not key:
        return moment
    from zoneinfo import ZoneInfo

    return moment.replace(tzinfo=ZoneInfo(key))


def _from_time_of_day(value: str | list[Any]) -> datetime.time:
    text, fold = (value, 0) if isinstance(value, str) else value
    return datetime.time.fromisoformat(text).replace(fold=fold)


def _timedelta_parts(value: datetime.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _timedelta(value: list[int]) -> datetime.timedelta:
    return datetime.timedelta(*value)


# What msgpack cannot say, or cattrs says with a loss: both ways of each.
_EXACT: Final[tuple[tuple[type, Callable[[Any], object], Callable[[Any], object]], ...]] = (
    (datetime.datetime, _moment, _from_moment),
    (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    (datetime.time, _time_of_day, _from_time_of_day),
    (datetime.timedelta, _timedelta_parts, _timedelta),
    (Decimal, str, Decimal),
    (UUID, str, UUID),
)


class _TextEnum(ABC):  # noqa: B024  # never made, only looked up
    """Every enum of text or bytes: a virtual base, since to cattrs it is a ``str`` first."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return issubclass(kind, Enum) and issubclass(kind, str | bytes)


def _enum_value(member: Enum) -> object:
    return member.value


def _converter() -> MsgpackConverter:
    converter = make_converter(forbid_extra_keys=True, detailed_validation=False)
    # An IntEnum is an int to cattrs, and none to a packing that keeps types.
    converter.register_unstructure_hook(Enum, _enum_value)
    converter.register_unstructure_hook(_TextEnum, _enum_value)
    for kind, unstructure, structure in _EXACT:
        converter.register_unstructure_hook(kind, unstructure)
        converter.register_structure_hook(kind, _ignoring_type(structure))
    return converter


def _ignoring_type(structure: Callable[[Any], T]) -> Callable[[Any, object], T]:
    return lambda value, _: structure(value)


def _fields(cls: type) -> Iterable[attrs.Attribute[Any]]:
    return cast("Iterable[attrs.Attribute[Any]]", attrs.fields(cast(Any, cls)))


def tag_of(state: type[State]) -> str:
    """The state's name in tokens."""
    return state.tag or state.__name__


class Freezer:
    """Packs and restores the states of one flow."""

    def __init__(self, states: Iterable[type[State]]) -> None:
        self._converter = _converter()
        self._states = {tag_of(state): state for state in states}

    def faults(self, state: type[State]) -> list[str]:
        """Why a state class cannot be sealed; empty where it can."""
        name = state.__name__
        if not attrs.has(state):
            return [f"state {name} is no attrs class; decorate it with @frozen"]
        if not attrs.inspect(state).is_frozen:
            return [f"state {name} can be changed; decorate it with @frozen"]
        try:
            attrs.resolve_types(state)
        except NameError as error:
            return [f"state {name}: its fields cannot be read ({error})"]
        return list(self._faults(cast("type[State]", state)))

    def _faults(self, state: type[State]) -> Iterator[str]:
        name = state.__name__
        hidden = {word for base in state.__mro__ if base in _BASES for word in vars(base)}
        names = {field.name for field in _fields(state)}
        if "tag" not in names and not isinstance(cast(object, state.tag), str):
            yield f"state {name}: its tag is no text"
        if "version" not in names and not _is_version(state.version):
            yield f"state {name}: its version is not 1, 2, 3, ..."
        for field in _fields(state):
            if field.name in hidden:
                yield f"state {name}: a field named {field.name!r} hides {name}.{field.name}"
                continue
            try:
                self._converter.get_structure_hook(field.type)
            except (StructureHandlerNotFoundError, TypeError, NameError) as error:
                yield f"state {name}: field {field.name!r} cannot be sealed: {error}"

    def freeze(self, state: object) -> Frozen:
        """Pack a state, and prove that it comes back as it is.

        Raises:
            SealingError: it would not; the message names the field.
        """
        cls = type(state)
        if not isinstance(state, State) or self._states.get(tag_of(type(state))) is not cls:
            raise SealingError(f"{cls.__name__} is no state of this flow")
        try:
            data = pack(self._converter.unstructure(state))
            back = self._converter.structure(cast(Any, unpack(data)), cls)
            same = _same(state, back)
        except Exception as error:  # noqa: BLE001  # any hook of any field type may fail
            # The error's own text may hold what the field holds, and errors are logged.
            raise SealingError(self._told(state, error)) from None
        if not same:
            raise SealingError(self._told(state, None))
        return Frozen(tag_of(type(state)), type(state).version, data)

    def thaw(self, frozen: Frozen) -> State:
        """Restore a state.

        Raises:
            TokenRefused: no such state, a newer version, or an older one without an upgrade.
        """
        cls = self._states.get(frozen.tag)
        if cls is None:
            raise TokenRefused(Reason.STATE_TAG)
        if frozen.version > cls.version:
            raise TokenRefused(Reason.STATE_VERSION)
        try:
            fields: Any = unpack(frozen.data)
            if frozen.version < cls.version:
                fields = cls.upgrade(frozen.version, fields)
            state = None if fields is None else self._converter.structure(fields, cls)
        # Any hook of any field type may fail, and so may an author's upgrade.
        except Exception as error:
            raise TokenRefused(Reason.STATE_DATA, detail=type(error).__name__) from error
        if state is None:
            raise TokenRefused(Reason.STATE_VERSION)
        return state

    def _told(self, state: object, error: Exception | None) -> str:
        """Why a state cannot be sealed, its fields looked at one by one."""
        faults = [
            f"field {field.name!r} {fault}"
            for field in _fields(type(state))
            if (fault := self._misfit(getattr(state, field.name), field.type))
        ]
        if not faults:
            faults = [_whole(error)]
        return f"State {type(state).__name__} cannot be sealed: {'; '.join(faults)}"

    def _misfit(self, value: object, kind: Any) -> str:  # noqa: ANN401  # a field's type
        try:
            back = unpack(pack(self._converter.unstructure(value, kind)))
            if _same(value, self._converter.structure(back, kind)):
                return ""
        except SealingError as error:
            return f"cannot be carried: {error}"
        except Exception as error:  # noqa: BLE001  # any hook of any field type may fail
            return f"cannot be carried ({type(error).__name__})"
        return "would come back different: declare the exact type of its value"


def _whole(error: Exception | None) -> str:
    """What is wrong with a state whose fields are all right one by one."""
    if error is None:
        return "it would come back different: __init__ does not make it again from its fields"
    return str(error) if isinstance(error, SealingError) else type(error).__name__


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_BASES: Final[tuple[type, ...]] = (State, Asking, Polling, Acting)


@lru_cache(maxsize=1024)
def _names(cls: type) -> tuple[str, ...] | None:
    """The fields of an attrs class; None for any other class."""
    return tuple(field.name for field in _fields(cls)) if attrs.has(cls) else None


def _same(one: object, other: object) -> bool:
    """Whether two values are equal; NaN is equal to itself, and no field is left out."""
    names = _names(cast(type, type(one)))
    if names is not None:
        return type(one) is type(other) and all(
            _same(getattr(one, name), getattr(other, name)) for name in names
        )
    if one == other:
        # A member of a StrEnum is equal to its text, but it is not that text.
        return not isinstance(one, Enum) or type(one) is type(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return _same_members(cast(_AnyMapping, one), cast(_AnyMapping, other))
    if isinstance(one, Sequence) and not isinstance(one, str | bytes):
        items, others = cast(Sequence[object], one), cast(Sequence[object], other)
        return len(items) == len(others) and all(map(_same, items, others))
    return _is_nan(one) and _is_nan(other)


def _same_members(one: _AnyMapping, other: _AnyMapping) -> bool:
    return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)


def _is_nan(value: object) -> bool:
    return isinstance(value, float | Decimal) and math.isnan(value)
