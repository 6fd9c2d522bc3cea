"""What msgspec says of a field's type, without what is wrapped around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from msgspec import inspect

from .errors import DefinitionError, UsageError
from .jsonrpc import JsonObject
from .schema import refuse_unfilled

T = TypeVar("T")


def read_fields(
    kind: type, subject: str, noun: str, read: Callable[[inspect.Field, object], T]
) -> list[tuple[inspect.Field, T]]:
    """The fields of an attrs class, with what ``read`` makes of each and its hint.

    Raises:
        DefinitionError: the class cannot be read; or all UsageErrors of ``read``, which each begin
            a sentence after the name of the field.
    """
    refuse_unfilled(kind, subject)
    fields, hints = _resolved(kind, subject, noun)
    made: list[tuple[inspect.Field, T]] = []
    faults: list[str] = []
    for field in fields:
        try:
            made.append((field, read(field, hints[field.name])))
        except UsageError as fault:
            faults.append(f"{noun} {field.name!r} {fault}")
    if faults:
        raise DefinitionError(subject, faults)
    return made


def _resolved(
    kind: type, subject: str, noun: str
) -> tuple[tuple[inspect.Field, ...], dict[str, Any]]:
    try:
        fields = cast(inspect.DataclassType, inspect.type_info(kind)).fields
        return fields, get_type_hints(kind)
    except (TypeError, NameError, NotImplementedError) as error:
        raise DefinitionError(subject, [f"its {noun}s cannot be read: {error}"]) from None


def unwrapped(kind: inspect.Type) -> tuple[inspect.Type, JsonObject]:
    """The type inside ``Annotated``, and what that adds to its schema; the outer word wins."""
    extras: JsonObject = {}
    while isinstance(kind, inspect.Metadata):
        more: object = cast(Any, kind).extra_json_schema
        extras = {**cast(JsonObject, more or {}), **extras}
        kind = kind.type
    return kind, extras


def literals(hint: object) -> Iterator[object]:
    """The options of a hint's ``Literal`` as its author ordered them; msgspec sorts them."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
        return
    for part in get_args(hint):
        yield from literals(part)
