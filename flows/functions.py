"""Plain functions as tools: machines that end in their first step.

The input schema is derived from the signature, the output schema from the return type, the
description is the docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import attrs
from attrs import field, frozen

from ..engine.call import Call
from ..engine.content import BLOCKS
from ..engine.errors import DefinitionError, SealingError
from ..engine.jsonrpc import JsonObject
from ..engine.machine import Frozen, MovesOn, Wants
from ..engine.outcomes import Done, Event, EventKind
from ..engine.schema import derive
from ..engine.sealing import Reason, TokenRefused
from .hints import Unreadable, hints_of, members, spoken

ToolFunction: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]

_BLOCKS: Final = frozenset[object](BLOCKS)
_UNSTRUCTURED: Final = frozenset[object]((str, type(None), Any, object, *BLOCKS))


@frozen
class FunctionMachine:
    """A machine that calls a function and is done."""

    name: str
    function: ToolFunction
    parameters: tuple[str, ...]
    call_parameter: str | None

    async def begin(self, call: Call[Any]) -> object:
        """Call the function with the arguments' fields."""
        given = {name: getattr(call.args, name) for name in self.parameters}
        if self.call_parameter is not None:
            given[self.call_parameter] = call
        return Done(await self.function(**given))

    def wants(self, state: object) -> Wants:
        """Nothing: it has no states."""
        del state
        return MovesOn()

    def handles(self, state: object, kind: EventKind) -> bool:
        """It has no edges."""
        del state, kind
        return False

    async def move(self, state: object, event: Event, call: Call[Any]) -> object:
        """It never rests, so it is never moved."""
        del event, call
        return state

    def freeze(self, state: object) -> Frozen:
        """It has no states to pack."""
        raise SealingError(f"Tool {self.name!r} has no states ({type(state).__name__})")

    def thaw(self, frozen: Frozen) -> object:
        """No token was ever sealed for it."""
        del frozen
        raise TokenRefused(Reason.STATE_TAG)


@frozen
class Signature:
    """What a function's signature says of a tool."""

    args: type
    parameters: tuple[str, ...]
    call_parameter: str | None
    output: JsonObject | None = field(repr=False)


def read_signature(function: ToolFunction, name: str) -> Signature:
    """Read a function that is to be a tool.

    Raises:
        DefinitionError: all that is wrong with it, at once.
    """
    subject = f"Tool {name}"
    if not inspect.iscoroutinefunction(function):
        raise DefinitionError(subject, ["it must be `async def`"])
    try:
        hints = hints_of(function, name)
    except Unreadable as fault:
        raise DefinitionError(subject, [str(fault)]) from None
    faults: list[str] = []
    # With extras: Annotated says what the schema shows.
    written = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    call_parameter: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if _is_call(parameter, hint):
            if call_parameter is not None:
                both = f"{call_parameter!r} and {parameter.name!r}"
                faults.append(f"parameters {both} are both a Call; one is enough")
            call_parameter = parameter.name
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            faults.append(f"parameter {parameter.name!r} takes whatever comes; name each argument")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            faults.append(f"parameter {parameter.name!r} is positional-only; arguments have names")
        elif hint is None:
            faults.append(f"parameter {parameter.name!r} has no type")
        else:
            fields[parameter.name] = _field(parameter, written[parameter.name])
    if faults:
        raise DefinitionError(subject, faults)
    # A tool's name need not be one that a class can have.
    args = attrs.make_class("Arguments", fields, frozen=True, kw_only=True)
    return Signature(
        args, tuple(fields), call_parameter, output_schema(hints.get("return"), subject)
    )


def _is_call(parameter: inspect.Parameter, hint: object) -> bool:
    return (get_origin(hint) or hint) is Call or (parameter.name == "call" and hint is None)


def _field(parameter: inspect.Parameter, hint: Any) -> Any:  # noqa: ANN401  # attrs'
    if parameter.default is parameter.empty:
        return attrs.field(type=hint)
    return attrs.field(type=hint, default=parameter.default)


def output_schema(hint: object, subject: str) -> JsonObject | None:
    """The output schema; None for text, content blocks and what has no type."""
    if hint is None or any(_is_unstructured(member) for member in members(hint)):
        return None
    try:
        return derive(hint, subject=subject)
    except DefinitionError:
        raise DefinitionError(subject, [f"its result {spoken(hint)} has no JSON Schema"]) from None


def _is_unstructured(hint: object) -> bool:
    if get_origin(hint) in (list, tuple):
        return any(part in _BLOCKS for arg in get_args(hint) for part in members(arg))
    return hint in _UNSTRUCTURED or isinstance(hint, TypeVar)
