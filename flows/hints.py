"""What a flow's type hints say, read once when its class statement runs."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from ..engine.call import Call
from ..engine.deprecated_questions import Root, Sampled
from ..engine.errors import DefinitionError
from ..engine.forms import form_schema
from ..engine.jsonrpc import JsonObject
from ..engine.outcomes import Done, Failed
from ..engine.questions import FORM_NEEDS, URL_NEEDS, Consent, Question, merged
from .states import Acting, Asking, Polling, State


class Unreadable(Exception):
    """A hint that a flow cannot be read from; its text is one fault of the definition."""


def hints_of(function: Callable[..., object], what: str) -> dict[str, Any]:
    """The resolved hints of a function; raises Unreadable where a name is not there."""
    try:
        return get_type_hints(function)
    except NameError as error:
        raise Unreadable(
            f"{what}: its type hints cannot be read ({error}); the classes that it names must be "
            "importable at run time, from the module's top level and not under TYPE_CHECKING"
        ) from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise Unreadable(f"{what}: its type hints cannot be read ({error})") from None


def unaliased(hint: Any) -> Any:  # noqa: ANN401  # a hint may be anything
    """What stands behind an alias of the ``type`` statement, or the hint itself."""
    while type(hint).__name__ == "TypeAliasType":
        hint = hint.__value__
    return hint


def members(hint: object) -> Iterator[object]:
    """The members of a union, or the hint itself; ``type`` aliases are looked through."""
    hint = unaliased(hint)
    if get_origin(hint) in (Union, types.UnionType):
        for part in get_args(hint):
            yield from members(part)
    else:
        yield hint


def spoken(hint: object) -> str:
    """A hint as its author wrote it."""
    if get_origin(hint) is None and isinstance(hint, type):
        return hint.__name__
    return re.sub(r"\b[\w<>]+\.", "", str(hint)).replace("<locals>.", "")


def argument_of(cls: type, base: type) -> Any:  # noqa: ANN401  # a hint may be anything
    """What ``cls`` was derived from ``base[...]`` with, through generic bases in between.

    A TypeVar where one of them leaves it open, None where ``base`` stands without an argument.
    """
    for written in vars(cls).get("__orig_bases__", cls.__bases__):
        origin: Any = get_origin(written) or written
        if origin is base:
            return get_args(written)[0] if get_args(written) else None
        if isinstance(origin, type) and issubclass(origin, base):
            return _filled(argument_of(origin, base), origin, get_args(written))
    return None


def _filled(argument: Any, origin: Any, given: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """``argument`` with the parameters of the generic ``origin`` replaced by those given."""
    parameters: tuple[TypeVar, ...] = getattr(origin, "__parameters__", ())
    known: dict[object, Any] = dict(zip(parameters, given, strict=False))
    if isinstance(argument, TypeVar):
        return known.get(argument, argument)
    inner: tuple[TypeVar, ...] = getattr(argument, "__parameters__", ())
    return argument[tuple(known.get(part, part) for part in inner)] if inner else argument


# -- what a handler takes and gives -----------------------------------------------------------


def takes_call(function: Callable[..., object], before: int, what: str) -> bool:
    """Whether a handler takes a trailing ``call`` after its first ``before`` parameters."""
    if not inspect.iscoroutinefunction(function):
        raise Unreadable(f"{what}: must be `async def`")
    parameters = list(inspect.signature(function).parameters.values())
    fixed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(parameter.kind not in fixed for parameter in parameters):
        raise Unreadable(f"{what}: takes only plain positional parameters")
    if len(parameters) not in (before, before + 1):
        raise Unreadable(
            f"{what}: takes {len(parameters)} parameters; it gets {before}, or {before + 1} with "
            "a trailing `call`"
        )
    return len(parameters) > before


def targets_of(hints: dict[str, Any], what: str) -> tuple[tuple[type, ...], tuple[object, ...]]:
    """Where a handler's return hint leads: the classes, and the result types of its ``Done``."""
    if "return" not in hints:
        raise Unreadable(f"{what}: has no return type; name each state and end that it may return")
    targets: list[type] = []
    results: list[object] = []
    for member in members(hints["return"]):
        if get_origin(member) is Done or member is Done:
            results.extend(get_args(member) or (Any,))
            targets.append(Done)
        elif member is Failed or _is_concrete(member):
            targets.append(cast(type, member))
        else:
            raise Unreadable(
                f"{what}: its return type {spoken(member)} is too vague; name each state, "
                "Done[...] or Failed that it may return"
            )
    return tuple(dict.fromkeys(targets)), tuple(results)


def _is_concrete(hint: object) -> bool:
    abstract = (State, Asking, Polling, Acting)
    return isinstance(hint, type) and issubclass(hint, State) and hint not in abstract


def check_parameters(
    function: Callable[..., object], hints: dict[str, Any], expected: tuple[Any, ...], what: str
) -> None:
    """Compare the hints of a handler's parameters with what it will be given."""
    names = list(inspect.signature(function).parameters)[1:]
    for name, kind in zip(names, expected, strict=False):
        if name not in hints:
            raise Unreadable(f"{what}: its parameter {name!r} has no type; it gets {spoken(kind)}")
        if not any(_accepts(hint, kind) for hint in members(hints[name])):
            raise Unreadable(
                f"{what}: takes {name}: {spoken(hints[name])}, but it gets {spoken(kind)}"
            )
    for name in names[len(expected) :]:
        hint = hints.get(name, Call)
        if (get_origin(hint) or hint) is not Call:
            raise Unreadable(f"{what}: its last parameter {name!r} must be a Call[...]")


def _accepts(hint: object, kind: object) -> bool:
    if hint in (kind, Any, object) or isinstance(hint, TypeVar):
        return True
    return isinstance(hint, type) and isinstance(kind, type) and issubclass(kind, hint)


# -- what a state asks ------------------------------------------------------------------------


def answer_to(hint: object) -> Any | None:  # noqa: ANN401  # a hint may be anything
    """What answers a question of this type; Any where it does not say, None for no question."""
    origin: Any = get_origin(hint) or hint
    if origin is Question:
        answer = next(iter(get_args(hint)), None)
    elif isinstance(origin, type) and issubclass(origin, Question):
        asking = cast(type, origin)
        answer = _filled(argument_of(asking, Question), asking, get_args(hint))
    else:
        return None
    return Any if answer is None or isinstance(answer, TypeVar) else unaliased(answer)


def asked_by(state: type[Asking[Any]]) -> Iterator[object]:
    """The answer types of the questions that ``ask`` says it makes, as far as it says so."""
    try:
        hint = get_type_hints(state.ask).get("return")
    except (NameError, TypeError, SyntaxError, AttributeError):
        return  # it is not needed to run the flow
    for member in members(hint):
        answer = answer_to(member)
        if answer is not None and answer is not Any:
            yield answer


def needs_of(answer: object, state: str) -> JsonObject:
    """The client capabilities behind an answer type; checks that its forms are flat."""
    if answer is Consent:
        return URL_NEEDS
    if answer is Sampled:
        return {"sampling": {}}
    parts = get_args(answer) if get_origin(answer) is tuple else ()
    if parts == (Root, ...):
        return {"roots": {}}
    if len(parts) > 1:
        return merged([needs_of(part, state) for part in parts])
    if isinstance(answer, type) and attrs.has(answer) and Question not in answer.__mro__:
        try:
            form_schema(answer)
        except DefinitionError as error:
            faults = "; ".join(error.faults)
            raise Unreadable(
                f"state {state}: its form {answer.__name__} is not flat: {faults}"
            ) from None
        return FORM_NEEDS
    if answer is None or isinstance(answer, TypeVar):
        raise Unreadable(f"state {state} does not say what answers it: derive it from Asking[...]")
    raise Unreadable(
        f"state {state}: nothing that can be asked is answered by {spoken(answer)}; use an attrs "
        "class for a form, Consent for a link, Sampled, tuple[Root, ...], or a tuple of these"
    )
