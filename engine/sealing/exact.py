"""Values as msgpack, exactly: what comes back is what was given, type for type.

Carried: None, booleans, integers of any size, floats, text, bytes, lists, tuples, and dicts
whose keys are any of these that can be keys. Everything else is refused by name when it is
packed, never when it is unpacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, cast

import msgpack as _untyped  # type: ignore[import-untyped]  # it ships no types

from ..errors import SealingError

msgpack: Any = _untyped

DEPTH: Final = 200
"""How deeply containers may be nested; msgpack itself bears 511."""

# The numbers of msgpack's extension types. They stand in tokens: never give one anew.
_INTEGER: Final = 1
_TUPLE: Final = 2

# A tuple is a list that begins with this mark. Nesting tuples costs no call within a call.
_MARK: Final = msgpack.ExtType(_TUPLE, b"")
_UNMARKED: Final = object()

_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})
_CONTAINERS: Final = frozenset({list, tuple, dict})


def pack(value: object, name: str = "value") -> bytes:
    """Pack a value.

    Raises:
        SealingError: it cannot be carried exactly; the message says where in ``name`` and why.
    """
    if _fits(value, DEPTH):
        try:
            return _packb(value)
        except UnicodeEncodeError:
            pass
    raise SealingError(f"{next(_faults(value, name, DEPTH))}: a token cannot carry that exactly")


def unpack(data: bytes) -> object:
    """The value that :func:`pack` packed.

    Raises:
        ValueError: the bytes are not one value of the types that are carried.
    """
    try:
        value = msgpack.unpackb(
            data, strict_map_key=False, ext_hook=_extension, list_hook=_list_or_tuple
        )
    except TypeError:
        raise ValueError("a list or an object stands as a key") from None
    if not _fits(value, DEPTH):
        raise ValueError("a foreign type, or nested too deeply")
    return value


def _packb(value: object) -> bytes:
    # Strict types: a subclass goes to _extended, and would not come back as itself.
    return cast("bytes", msgpack.packb(value, strict_types=True, default=_extended))


def _extended(value: tuple[object, ...] | int) -> object:
    """What msgpack has no type for: tuples and long integers; all else has been refused."""
    if isinstance(value, tuple):
        return [_MARK, *value]
    size = value.bit_length() // 8 + 1
    return msgpack.ExtType(_INTEGER, value.to_bytes(size, "big", signed=True))


def _extension(code: int, data: bytes) -> object:
    if code == _INTEGER:
        return int.from_bytes(data, "big", signed=True)
    if code == _TUPLE and not data:
        return _UNMARKED
    raise ValueError(f"unknown extension type {code}")


def _list_or_tuple(items: list[object]) -> object:
    return tuple(items[1:]) if items and items[0] is _UNMARKED else items


def _fits(value: object, depth: int) -> bool:
    """Whether every type in the value is carried; msgpack alone takes bytearrays for bytes."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if depth == 0 or kind not in _CONTAINERS:
        return False
    # Scalars are looked at here, and not by a call each: states are mostly made of them.
    for part in _parts(value):
        if type(part) not in _SCALARS and not _fits(part, depth - 1):
            return False
    return True


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        members = cast("dict[object, object]", value)
        return chain(members, members.values())
    return cast("Iterable[object]", value)


def _faults(value: object, path: str, depth: int) -> Iterator[str]:
    """Every fault of a value that cannot be carried, slowly, with its place."""
    kind = type(value)
    if kind in _CONTAINERS:
        if depth == 0:
            yield f"{path} is nested deeper than {DEPTH} levels, or in itself"
        else:
            for place, part in _places(value, path):
                yield from _faults(part, place, depth - 1)
    elif kind not in _SCALARS:
        yield f"{path} is a {kind.__qualname__}"
    elif isinstance(value, str) and not _is_unicode(value):
        yield f"{path} is text with a lone surrogate"


def _places(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            yield f"a key of {path}", key
            yield f"{path}[{key!r}]", item
    else:
        for index, item in enumerate(_parts(value)):
            yield f"{path}[{index}]", item


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
