"""``Ask`` parameters read from the signature of their function, and what is wrong with them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, Union, cast, get_args, get_origin

import attrs
from attrs import define

from ..engine.call import Call
from ..engine.checks import unwrapped_partial
from ..engine.errors import DefinitionError
from ..engine.questions import Form, Given, Refusal
from .ask_parameters import Answerable, Ask, AskParameter, answerable
from .hints import Unreadable, answer_to, hints_of, members, spoken, unaliased


def asks_of(hint: object) -> list[Ask]:
    """The ``Ask`` that a hint is annotated with."""
    hint = unaliased(hint)
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return [mark for mark in marks if isinstance(mark, Ask)]


def hides_ask(hint: object) -> bool:
    """Whether an ``Ask`` stands anywhere in a hint."""
    parts = get_args(unaliased(hint))
    return any(isinstance(part, Ask) or hides_ask(part) for part in parts)


def bare(hint: object) -> object:
    """A hint without what it is annotated with, be it by an alias."""
    while get_origin(hint := unaliased(hint)) is Annotated:
        hint = get_args(hint)[0]
    return hint


def is_call(parameter: inspect.Parameter, hint: object) -> bool:
    """Whether a parameter takes the call; it may say that it would do without."""
    kinds = {get_origin(kind) or kind for kind in members(hint)} - {NoneType}
    return kinds == {Call} or (parameter.name == "call" and hint is None)


_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@define
class AskReader:
    """Reads the ``Ask`` parameters of one function; what is wrong is added to ``faults``.

    Attributes:
        arguments: the function's own arguments, and their types.
        parameters: its ``Ask`` parameters, and their types.
        call_parameter: its parameter that takes the call, if there is one.
    """

    arguments: Mapping[str, object]
    parameters: Mapping[str, object]
    call_parameter: str | None
    faults: list[str]

    def read(self, name: str, ask: Ask) -> AskParameter:
        """Read one parameter; one that is faulty is told, and is there for those that take it."""
        whole, held = self._held(name)
        if isinstance(ask.source, str):
            return self._of_message(name, ask.source, held, whole=whole)
        if not callable(ask.source) or inspect.isclass(ask.source):
            self._tell(name, f"Ask takes a function or a message, not {ask.source!r}")
            return AskParameter(name, _nothing)
        try:
            hints = hints_of(hinted(ask.source), f"parameter {name!r}: its function")
        except Unreadable as fault:
            self.faults.append(str(fault))
            return AskParameter(name, ask.source)
        takes, call_as = self._takes(name, ask.source, hints)
        asked, gives = _returned(hints.get("return", Any))
        answers = self._answers(name, held, asked)
        asks = bool(answers if asked is None else asked)
        return AskParameter(
            name, ask.source, takes, call_as, answers, whole, asks, gives or not asks
        )

    def _tell(self, name: str, fault: str) -> None:
        self.faults.append(f"parameter {name!r}: {fault}")

    def _held(self, name: str) -> tuple[bool, object]:
        """Whether a parameter takes the whole outcome, and what it holds of an answer."""
        hint = self.parameters[name]
        parts = list(members(hint))
        given = [part for part in parts if (get_origin(part) or part) is Given]
        if not given and Refusal not in parts:
            return False, hint
        if not given or Refusal not in parts:
            self._tell(name, f"{spoken(hint)} is no whole outcome; write Given[...] | Refusal")
        inner = [next(iter(get_args(part)), Any) for part in given]
        others = [part for part in parts if part is not Refusal]
        return True, Union[tuple(inner or others or [Any])]  # noqa: UP007  # made at run time

    def _of_message(self, name: str, message: str, held: object, *, whole: bool) -> AskParameter:
        told = len(self.faults)
        answers = self._answers(name, held, list(members(held)))
        forms = [one.sample.answer for one in answers if isinstance(one.sample, Form)]
        if len(forms) == 1:
            function = partial(Form[Any], message, forms[0])
            return AskParameter(name, function, answers=answers, whole=whole, gives=False)
        if len(self.faults) == told:
            self._tell(name, f"Ask({message!r}) asks by a form, and {spoken(held)} is none")
        return AskParameter(name, _nothing)

    # -- what the function takes --------------------------------------------------------------

    def _takes(
        self, name: str, function: Callable[..., object], hints: Mapping[str, object]
    ) -> tuple[tuple[str, ...], str | None]:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            self._tell(name, "its function does not say what it takes; wrap it into one that does")
            return (), None
        takes: list[str] = []
        call_as: str | None = None
        for parameter in parameters:
            hint = hints.get(parameter.name)
            by_name = parameter.kind in _BY_NAME
            if by_name and parameter.name in self._types:
                self._check_type(name, parameter.name, hint)
                takes.append(parameter.name)
            elif by_name and self._is_call(parameter, hint):
                call_as = parameter.name
            elif fault := self._not_given(parameter):
                self._tell(name, f"its function takes {fault}")
        return tuple(takes), call_as

    @property
    def _types(self) -> Mapping[str, object]:
        return {**self.arguments, **self.parameters}

    def _is_call(self, parameter: inspect.Parameter, hint: object) -> bool:
        named = parameter.name in ("call", self.call_parameter)
        return is_call(parameter, hint) or (named and hint in (None, Any, object))

    def _not_given(self, parameter: inspect.Parameter) -> str | None:
        """What is wrong with a parameter to which nothing is given."""
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return f"whatever comes as {parameter.name!r}; name what it needs"
        if parameter.kind is parameter.POSITIONAL_ONLY:
            return f"{parameter.name!r} by position; it is given what it takes by name"
        if parameter.default is not parameter.empty:
            return None
        known = ", ".join(self._types)
        return (
            f"{parameter.name!r}, which is no argument, no Ask parameter and no call; there are "
            f"{known}"
        )

    def _check_type(self, name: str, taken: str, hint: object) -> None:
        given, takes = list(members(self._types[taken])), list(members(hint))
        # Of other types a checker that knows the caller would say more than can be said here.
        if all(map(_is_attrs, [*given, *takes])) and not any(
            issubclass(cast(type, kind), cast(type, one)) for kind in given for one in takes
        ):
            wanted, gets = spoken(hint), spoken(self._types[taken])
            self._tell(name, f"its function takes {taken}: {wanted}, but it gets {gets}")

    # -- what may answer it -------------------------------------------------------------------

    def _answers(
        self, name: str, held: object, asked: list[object] | None
    ) -> tuple[Answerable, ...]:
        """What may answer the questions; ``asked`` is what they say of it, where they say it."""
        vague = held is Any or held is object or isinstance(held, TypeVar)
        kinds = [] if vague else list(members(held))
        if asked is None:
            if vague:
                self._tell(name, f"neither {spoken(held)} nor its function says what it may hold")
            return tuple(filter(None, map(_if_flat, kinds)))
        if Any in asked:
            flat = [kind for kind in kinds if _if_flat(kind) is not None]
            asked = [kind for kind in asked if kind is not Any] + (flat or kinds)
        for kind in asked:
            if not vague and kind not in kinds:
                self._tell(name, f"it holds {spoken(held)}, and is asked for {spoken(kind)}")
        return tuple(filter(None, (self._answer(name, kind) for kind in dict.fromkeys(asked))))

    def _answer(self, name: str, kind: object) -> Answerable | None:
        try:
            answer = answerable(kind)
        except DefinitionError as error:
            self._tell(name, f"its form {spoken(kind)} is not flat: {'; '.join(error.faults)}")
            return None
        if answer is None and get_origin(kind) is tuple:
            self._tell(name, "it asks several questions; give each a parameter of its own")
        return answer


def _nothing() -> None:
    """Stands where a faulty definition has no function; it never runs."""


def hinted(function: Callable[..., object]) -> Callable[..., object]:
    """The function that carries the hints."""
    called = cast("Callable[..., object]", unwrapped_partial(function))
    return called if inspect.isroutine(called) else type(called).__call__


def _returned(hint: object) -> tuple[list[object] | None, bool]:
    """What the returned questions are answered by, None where nothing is said of it; and
    whether anything but a question may be returned."""
    if get_origin(hint) in (Awaitable, Coroutine):
        hint = get_args(hint)[-1]
    if hint is Any or hint is object:
        return None, True
    answers = [answer_to(member) for member in members(hint)]
    return [answer for answer in answers if answer is not None], None in answers


def _if_flat(kind: object) -> Answerable | None:
    # What cannot be a form may still be a value.
    try:
        return answerable(kind)
    except DefinitionError:
        return None


def _is_attrs(hint: object) -> bool:
    return isinstance(hint, type) and attrs.has(hint)
