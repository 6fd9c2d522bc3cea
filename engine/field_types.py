"""What msgspec says of a field's type, without what is wrapped around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast, get_args, get_origin

from msgspec import inspect

from .jsonrpc import JsonObject


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
