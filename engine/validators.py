"""What attrs runs when a content block is made: a wrong value is refused there, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Attribute

from .checks import count_faults, kind_of, text_faults
from .display import Annotations, icon_faults, mime_type_faults
from .errors import UsageError

# Most blocks are made right, and some in each call: each asks `isinstance` first.


def _refuse(made: object, faults: list[str]) -> None:
    if faults:
        raise UsageError(f"{type(made).__name__}: {faults[0]}")


def text(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be text."""
    if not isinstance(value, str):
        _refuse(made, text_faults(**{attribute.name: value}))


def optional_text(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be text, if it is there."""
    if value is not None:
        text(made, attribute, value)


def octets(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be bytes."""
    if not isinstance(value, bytes | bytearray | memoryview):
        _refuse(made, [f"{attribute.name} must be bytes, not {kind_of(value)}"])


def text_or_octets(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be text or bytes."""
    if not isinstance(value, str | bytes | bytearray | memoryview):
        _refuse(made, [f"{attribute.name} must be text or bytes, not {kind_of(value)}"])


def mime_type(made: object, _: Attribute[Any], value: str | None) -> None:
    """It must be a MIME type, if it is there."""
    _refuse(made, mime_type_faults(value))


def size(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be a whole number and not negative, if it is there."""
    if value is not None:
        _refuse(made, count_faults(**{attribute.name: value}))


def hints(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be :class:`Annotations`, if it is there."""
    if value is not None and not isinstance(value, Annotations):
        _refuse(made, [f"{attribute.name} must be Annotations(...), not {kind_of(value)}"])


def icons(made: object, _: Attribute[Any], value: object) -> None:
    """It must be a list of icons."""
    _refuse(made, icon_faults(value))


def mapping(made: object, attribute: Attribute[Any], value: object) -> None:
    """It must be an object of JSON, if it is there."""
    if value is not None and not isinstance(value, Mapping):
        _refuse(made, [f"{attribute.name} must be a dict, not {kind_of(value)}"])
