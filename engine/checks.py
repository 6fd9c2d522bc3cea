"""Whether what a program gives is of the right type: not every program runs a type checker.

A fault is told where the value is given, and not when a peer stumbles over it. It says what kind
of thing a value is and does not repeat it: it may be a secret.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeGuard, cast

from .errors import DefinitionError

_LARGEST: Final = 2**53 - 1
"""So far every JSON parser reads whole numbers exactly."""


def kind_of(value: object) -> str:
    """What a value is, for a fault."""
    return "None" if value is None else type(value).__name__


def refuse(subject: str, faults: Iterable[str]) -> None:
    """Raise a DefinitionError with all faults, where there is one."""
    if told := list(faults):
        raise DefinitionError(subject, told)


def present(**given: object) -> dict[str, object]:
    """What is given at all: None stands for what is left out."""
    return {name: value for name, value in given.items() if value is not None}


def text_faults(**given: object) -> list[str]:
    """A sentence for each that is no text."""
    return [
        f"{name} must be text, not {kind_of(value)}"
        for name, value in given.items()
        if not isinstance(value, str)
    ]


def count_faults(**given: object) -> list[str]:
    """A sentence for each that is no whole number, or less than 0."""
    return [fault for name, value in given.items() for fault in _count_faults(name, value)]


def _count_faults(name: str, value: object) -> Iterator[str]:
    if not is_whole(value):
        yield f"{name} must be a whole number, not {value if is_number(value) else kind_of(value)}"
    elif value < 0:
        yield f"{name} must not be negative"
    elif value > _LARGEST:
        yield f"{name} must not be more than {_LARGEST}"


def choice_faults(choices: Iterable[str], **given: object) -> list[str]:
    """A sentence for each that is none of these."""
    known = list(choices)
    return [
        f"{name} {value!r} is neither {' nor '.join(map(repr, known))}"
        for name, value in given.items()
        if value not in known
    ]


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a number that JSON says and everybody reads: finite, no boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def unwrapped_partial(function: object) -> object:
    """The function that a ``functools.partial`` calls in the end, or what is given itself."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return function


def is_async(function: object) -> bool:
    """Whether it is an ``async def`` function, a partial of one, or an object that is called so."""
    called = unwrapped_partial(function)
    # A function's type has a `__call__` too, which is not async.
    return callable(called) and any(
        map(inspect.iscoroutinefunction, (called, type(called).__call__))
    )
