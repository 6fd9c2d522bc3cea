"""Plain functions as tools, prompts and resources: machines that end in their first step, or
that ask by hand and begin anew.

The input schema is derived from the signature, the output schema from the return type, the
description is the docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

from ..engine import by_hand
from ..engine.by_hand import InputRequired, Returned
from ..engine.call import Call
from ..engine.content import BLOCKS
from ..engine.errors import DefinitionError, UsageError
from ..engine.jsonrpc import JsonObject
from ..engine.machine import End, Frozen, Reruns, Wants
from ..engine.outcomes import Done, Event, EventKind, Failed
from ..engine.schema import derive
from ..engine.sealing import Reason, TokenRefused
from .hints import Unreadable, hints_of, members, spoken

Function: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]

_BLOCKS: Final = frozenset[object](BLOCKS)
_NO_RESULT: Final = frozenset[object]((Failed, InputRequired))
_UNSTRUCTURED: Final = frozenset[object]((str, type(None), Any, object, *BLOCKS))


@frozen
class FunctionMachine:
    """A machine that calls a function and is done, or asks what the function asks by hand.

    Attributes:
        name: what clients call.
        function: what it calls.
        parameters: the arguments that the function takes.
        call_parameter: the parameter that takes the call, if there is one.
        may_ask: whether the function may return InputRequired.
    """

    name: str
    function: Function
    parameters: tuple[str, ...]
    call_parameter: str | None
    may_ask: bool = True

    async def begin(self, call: Call[Any]) -> object:
        """Call the function with the arguments' fields."""
        given = {name: getattr(call.args, name) for name in self.parameters}
        if self.call_parameter is not None:
            given[self.call_parameter] = call
        result: object = await self.function(**given)
        if isinstance(result, Done | Failed):
            return cast("End", result)
        if not isinstance(result, InputRequired):
            return Done(result)
        if not self.may_ask:
            raise UsageError(f"{self.name!r} cannot ask; make it a resource template")
        return result

    async def resume(self, state: object, call: Call[Any]) -> object:
        """Give the call what the function left behind."""
        call.request_state = cast("Returned", state).state
        return state

    def wants(self, state: object) -> Wants:
        """To be called again with the answers."""
        return Reruns(state.requests if isinstance(state, InputRequired) else {})

    def handles(self, state: object, kind: EventKind) -> bool:
        """Whatever comes back, the function is called again."""
        del state
        return kind == "polled"

    async def move(self, state: object, event: Event, call: Call[Any]) -> object:
        """Call the function again."""
        del state, event
        return await self.begin(call)

    def freeze(self, state: object) -> Frozen:
        """Pack what the function left behind."""
        return by_hand.freeze(cast("InputRequired", state))

    def thaw(self, frozen: Frozen) -> object:
        """Restore it."""
        if not self.may_ask:
            raise TokenRefused(Reason.STATE_TAG)
        return by_hand.thaw(frozen)


@frozen
class Signature:
    """What a function's signature says of a tool, a prompt or a resource.

    Attributes:
        args: an attrs class with a field for each argument.
        parameters: the arguments' names.
        call_parameter: the parameter that takes the call, if there is one.
        returns: the return hint, or None where there is none.
    """

    args: type
    parameters: tuple[str, ...]
    call_parameter: str | None
    returns: object


def read_signature(function: Function, subject: str) -> Signature:
    """Read a function that is to be a tool, a prompt or a resource.

    Raises:
        DefinitionError: all that is wrong with it, at once.
    """
    if not inspect.iscoroutinefunction(function):
        raise DefinitionError(subject, ["it must be `async def`"])
    try:
        hints = hints_of(function, getattr(function, "__name__", "it"))
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
    return Signature(args, tuple(fields), call_parameter, hints.get("return"))


def _is_call(parameter: inspect.Parameter, hint: object) -> bool:
    return (get_origin(hint) or hint) is Call or (parameter.name == "call" and hint is None)


def _field(parameter: inspect.Parameter, hint: Any) -> Any:  # noqa: ANN401  # attrs'
    if parameter.default is parameter.empty:
        return attrs.field(type=hint)
    return attrs.field(type=hint, default=parameter.default)


def output_schema(hint: object, subject: str) -> JsonObject | None:
    """The output schema; None for text, content blocks and what has no type."""
    results = [_result(member) for member in members(hint) if member not in _NO_RESULT]
    if not results or any(_is_unstructured(result) for result in results):
        return None
    try:
        return derive(Union[tuple(results)], subject=subject)  # noqa: UP007  # made at run time
    except DefinitionError:
        raise DefinitionError(subject, [f"its result {spoken(hint)} has no JSON Schema"]) from None


def _result(hint: Any) -> Any:  # noqa: ANN401  # a hint may be anything
    """What ``Done[...]`` carries, or the hint itself."""
    if (get_origin(hint) or hint) is not Done:
        return hint
    return next(iter(get_args(hint)), Any)


def _is_unstructured(hint: object) -> bool:
    if get_origin(hint) in (list, tuple):
        return any(part in _BLOCKS for arg in get_args(hint) for part in members(arg))
    return hint in _UNSTRUCTURED or isinstance(hint, TypeVar)
