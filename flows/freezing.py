"""States as bytes: structured by cattrs, packed with msgpack, restored exactly or refused.

What cannot be carried is refused when the class statement runs or when the state is sealed,
by name; never when the token comes back.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final, TypeVar, cast
from uuid import UUID

import attrs
from cattrs.errors import StructureHandlerNotFoundError
from cattrs.preconf.msgpack import MsgpackConverter, make_converter

from ..engine.errors import SealingError
from ..engine.machine import Frozen
from ..engine.sealing import Reason, TokenRefused, pack, unpack
from .states import State

T = TypeVar("T")


def _timedelta_text(value: datetime.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _timedelta(value: list[int]) -> datetime.timedelta:
    return datetime.timedelta(*value)


# What msgpack cannot say, or cattrs says with a loss: both ways of each.
_EXACT: Final[tuple[tuple[type, Callable[[Any], object], Callable[[Any], object]], ...]] = (
    (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    (datetime.timedelta, _timedelta_text, _timedelta),
    (Decimal, str, Decimal),
    (UUID, str, UUID),
)


def _converter() -> MsgpackConverter:
    converter = make_converter(forbid_extra_keys=True, detailed_validation=False)
    for kind, unstructure, structure in _EXACT:
        converter.register_unstructure_hook(kind, unstructure)
        converter.register_structure_hook(kind, _ignoring_type(structure))
    return converter


def _ignoring_type(structure: Callable[[Any], T]) -> Callable[[Any, object], T]:
    return lambda value, _: structure(value)


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
        faults: list[str] = []
        try:
            attrs.resolve_types(state)
        except NameError as error:
            return [f"state {name}: its fields cannot be read ({error})"]
        for field in attrs.fields(state):
            try:
                self._converter.get_structure_hook(field.type)
            except (StructureHandlerNotFoundError, TypeError) as error:
                faults.append(f"state {name}: field {field.name!r} cannot be sealed: {error}")
        return faults

    def freeze(self, state: object) -> Frozen:
        """Pack a state, and prove that it comes back as it is.

        Raises:
            SealingError: it would not; the message names the field.
        """
        name = type(state).__name__
        if not isinstance(state, State) or self._states.get(tag_of(type(state))) is not type(state):
            raise SealingError(f"{name} is no state of this flow")
        cls = type(state)
        try:
            data = pack(self._converter.unstructure(state))
            back = self._converter.structure(cast(Any, unpack(data)), cls)
        except SealingError as error:
            raise SealingError(f"State {name} cannot be sealed: {error}") from None
        except Exception as error:  # any hook of any field type may fail
            raise SealingError(f"State {name} cannot be sealed: {type(error).__name__}") from error
        if back != state and pack(self._converter.unstructure(back)) != data:
            raise SealingError(
                f"State {name} cannot be sealed: {_changed(state, back)} would come back "
                "different; its value does not have the type that the field declares"
            )
        return Frozen(tag_of(cls), cls.version, data)

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


def _changed(state: object, back: object) -> str:
    fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(state)))
    changed = [f.name for f in fields if getattr(state, f.name) != getattr(back, f.name)]
    return f"field {', '.join(map(repr, changed))}" if changed else "it"
