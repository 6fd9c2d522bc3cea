"""Plain functions as tools, prompts and resources: machines that end in their first step, or
that ask by hand and begin anew.

The input schema is derived from the signature, the output schema from the return type, the
description is the docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs
from attrs import define, field, frozen

from ..engine import by_hand
from ..engine.by_hand import InputRequired, Returned
from ..engine.call import Call
from ..engine.checks import is_async
from ..engine.content import BLOCKS, Structured
from ..engine.errors import DefinitionError, UsageError
from ..engine.jsonrpc import JsonObject
from ..engine.machine import End, Frozen, Reruns, Wants
from ..engine.outcomes import Done, Event, EventKind, Failed
from ..engine.schema import derive
from ..engine.sealing import Reason, TokenRefused
from .ask_graph import cycles, linked, waiting
from .ask_parameters import Ask, AskParameter
from .ask_reading import AskReader, asks_of, bare, hides_ask, hinted, is_call
from .hints import Unreadable, hints_of, members, spoken
from .result_faults import result_of

Function: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]

_BLOCKS: Final = frozenset[object](BLOCKS)
_NO_RESULT: Final = frozenset[object]((Failed, InputRequired))
_ANYTHING: Final = frozenset[object]((Any, object))
_UNSTRUCTURED: Final = frozenset[object]((str, type(None), *_ANYTHING, *BLOCKS))


@frozen
class FunctionMachine:
    """A machine that calls a function and is done, or asks what the function asks by hand.

    Attributes:
        name: what clients call.
        function: what it calls.
        parameters: the arguments that the function takes.
        call_parameter: the parameter that takes the call, if there is one.
        may_ask: whether the function may return InputRequired.
        state_version: the version of what it puts into InputRequired(state=...).
    """

    name: str
    function: Function
    parameters: tuple[str, ...]
    call_parameter: str | None
    may_ask: bool = True
    state_version: int = 1

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
        return by_hand.freeze(cast("InputRequired", state), self.state_version)

    def thaw(self, frozen: Frozen) -> object:
        """Restore it."""
        if not self.may_ask:
            raise TokenRefused(Reason.STATE_TAG)
        return by_hand.thaw(frozen, self.state_version)


@frozen
class Signature:
    """What a function's signature says of a tool, a prompt or a resource.

    Attributes:
        args: an attrs class with a field for each argument.
        parameters: the arguments' names.
        call_parameter: the parameter that takes the call, if there is one.
        returns: the return hint, or None where there is none.
        asks: the parameters that are asked for.
    """

    args: type
    parameters: tuple[str, ...]
    call_parameter: str | None
    returns: object
    asks: Mapping[str, AskParameter] = field(factory=dict[str, AskParameter])


def read_signature(function: Function, subject: str, *, may_ask: bool = True) -> Signature:
    """Read a function that is to be a tool, a prompt or a resource.

    It may be a ``functools.partial``, whose arguments no client sees, or an object that is called.

    Raises:
        DefinitionError: all that is wrong with it, at once.
    """
    if not is_async(function):
        raise DefinitionError(subject, ["it must be `async def`"])
    written = hinted(function)
    try:
        hints = hints_of(written, getattr(function, "__name__", "it"))
        parameters = _left_to_fill(function)
    except Unreadable as fault:
        raise DefinitionError(subject, [str(fault)]) from None
    # With extras: Annotated says what the schema shows.
    reader = _Reader(hints, get_type_hints(written, include_extras=True))
    for parameter in parameters:
        reader.take(parameter)
    return reader.read(subject, may_ask=may_ask)


def _left_to_fill(function: Function) -> list[inspect.Parameter]:
    """The parameters that are no business of a ``functools.partial``: a client fills no other."""
    given: object = function
    filled = cast("partial[object]", given).keywords if isinstance(given, partial) else {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # what it says may hold what was filled in
        raise Unreadable("its partial fills in what the function does not take") from None
    return [parameter for parameter in parameters if parameter.name not in filled]


@define
class _Reader:
    hints: Mapping[str, Any]
    written: Mapping[str, Any]
    faults: list[str] = field(factory=list[str])
    fields: dict[str, Any] = field(factory=dict[str, Any])
    asks: dict[str, Ask] = field(factory=dict[str, Ask])
    call_parameter: str | None = None

    def take(self, parameter: inspect.Parameter) -> None:
        """Sort one parameter in."""
        name, hint = parameter.name, self.hints.get(parameter.name)
        if is_call(parameter, hint):
            if self.call_parameter is not None:
                both = f"{self.call_parameter!r} and {name!r}"
                self.faults.append(f"parameters {both} are both a Call; one is enough")
            self.call_parameter = name
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            self.faults.append(f"parameter {name!r} takes whatever comes; name each argument")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            self.faults.append(f"parameter {name!r} is positional-only; arguments have names")
        elif hint is None:
            self.faults.append(f"parameter {name!r} has no type")
        elif hides_ask(self.written[name]):
            self._take_asked(parameter)
        else:
            self.fields[name] = _field(parameter, self.written[name])

    def _take_asked(self, parameter: inspect.Parameter) -> None:
        name, marks = parameter.name, asks_of(self.written[parameter.name])
        if not marks:
            self.faults.append(f"parameter {name!r}: Ask stands inside its type, not around it")
            return
        if len(marks) > 1:
            self.faults.append(f"parameter {name!r} has {len(marks)} Ask; one fills it")
        if parameter.default is not parameter.empty:
            self.faults.append(f"parameter {name!r} has a default, which Ask would never use")
        self.asks[name] = marks[0]

    def read(self, subject: str, *, may_ask: bool) -> Signature:
        """The signature; raises DefinitionError."""
        asks = self._asks(may_ask=may_ask)
        if self.faults:
            raise DefinitionError(subject, self.faults)
        # A tool's name need not be one that a class can have.
        # Nobody compares or shows them, and each method that attrs writes costs start-up time.
        args = attrs.make_class(
            "Arguments", self.fields, frozen=True, kw_only=True, eq=False, repr=False
        )
        returns = self.hints.get("return")
        return Signature(args, tuple(self.fields), self.call_parameter, returns, asks)

    def _asks(self, *, may_ask: bool) -> Mapping[str, AskParameter]:
        if not self.asks:
            return {}
        if not may_ask:
            names = ", ".join(map(repr, self.asks))
            self.faults.append(f"Ask fills {names}, and only a resource template can ask")
        if InputRequired in members(self.hints.get("return")):
            self.faults.append(
                "it has Ask parameters and returns InputRequired: ask in one way or in the other"
            )
        arguments = {name: self.hints[name] for name in self.fields}
        asked = {name: bare(self.hints[name]) for name in self.asks}
        reader = AskReader(arguments, asked, self.call_parameter, self.faults)
        parameters = [reader.read(name, ask) for name, ask in self.asks.items()]
        rings = [" -> ".join(ring) for ring in cycles(waiting(parameters))]
        self.faults.extend(f"Ask parameters wait for each other: {ring}" for ring in rings)
        return {} if rings else linked(parameters)


def _field(parameter: inspect.Parameter, hint: Any) -> Any:  # noqa: ANN401  # attrs'
    if parameter.default is parameter.empty:
        return attrs.field(type=hint)
    return attrs.field(type=hint, default=parameter.default)


def output_schema(hint: object, subject: str) -> JsonObject | None:
    """The output schema; None for text, content blocks and what has no type."""
    results = [result_of(member) for member in members(hint) if member not in _NO_RESULT]
    if not results or any(_is_unstructured(result) for result in results):
        return None
    values = tuple(map(_value, results))
    try:
        return derive(Union[values], subject=subject)  # noqa: UP007  # made at run time
    except DefinitionError:
        raise DefinitionError(subject, [f"its result {spoken(hint)} has no JSON Schema"]) from None


def _value(hint: Any) -> Any:  # noqa: ANN401  # a hint may be anything
    """What ``Structured[...]`` carries, or the hint itself."""
    if (get_origin(hint) or hint) is not Structured:
        return hint
    return next(iter(get_args(hint)), Any)


def _is_unstructured(hint: object) -> bool:
    if (value := _value(hint)) is not hint:  # it says so itself, whatever the type
        return value in _ANYTHING or isinstance(value, TypeVar)
    if get_origin(hint) in (list, tuple):
        return any(part in _BLOCKS for arg in get_args(hint) for part in members(arg))
    return hint in _UNSTRUCTURED or isinstance(hint, TypeVar)
