"""Arguments that arrive as texts: those of prompts, and the variables of resource templates.

They are the fields of an attrs class. A field is text, a choice (a ``Literal`` or an enum of
texts), a number, or yes or no; it may be optional. Specification: server/prompts, "Getting a
Prompt"; server/resources, "Resource Templates".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, nan
from typing import Any, Final, cast

import attrs
import msgspec
from attrs import frozen
from msgspec import inspect

from .errors import DefinitionError, UsageError, printable
from .field_types import literals, read_fields, unwrapped
from .jsonrpc import DEFAULT_LIMITS, JsonObject, JsonValue
from .limits import Limits, raising
from .schema import Validator, builder, check_defaults, derive

_MOST: Final = 5
"""Wrong names that are told: who sends a thousand need not read them all."""

_READ_AS: Final[dict[type[inspect.Type], tuple[type[bool | int | float], str]]] = {
    inspect.BoolType: (bool, "true or false"),
    inspect.IntType: (int, "a whole number"),
    inspect.FloatType: (float, "a number"),
}


@frozen
class _Argument:
    name: str
    required: bool
    blank: bool
    """Whether None stands for it where it is not given."""
    kind: type[inspect.Type]
    options: list[str] | None
    told: JsonObject
    """Title and description."""

    def read(self, text: str, limits: Limits) -> JsonValue:
        """The JSON value that the text says; raises ValueError with what it must be."""
        if self.kind not in _READ_AS:
            return text
        read_as, words = _READ_AS[self.kind]
        if len(text.lstrip("-")) > limits.digits:
            raise ValueError(f"is longer than limit digits {limits.digits} {raising('digits')}")
        try:
            value = msgspec.convert(text, read_as, strict=False)
        except msgspec.ValidationError:
            value = nan
        # Of integers all are finite, and the largest are no floats.
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"must be {words}")
        return value


class TextArguments:
    """How texts become the fields of an attrs class.

    Args:
        kind: the class.
        subject: what takes the arguments, for messages: ``"Prompt review"``.
        limits: bounds the digits of a number.

    Raises:
        DefinitionError: all fields that no text can fill.
    """

    def __init__(self, kind: type, *, subject: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._arguments = {a.name: a for a in _arguments(kind, subject)}
        schema = derive(kind, subject=subject)
        check_defaults(schema, subject)
        # What is missing is told in our own words.
        schema.pop("required", None)
        self._validator = Validator(schema, subject=subject)
        self._build = builder(cast("type[object]", kind), subject=subject)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(self._arguments)

    def described(self) -> list[JsonObject]:
        """The arguments as the protocol's ``PromptArgument`` objects."""
        return [
            {"name": argument.name, **argument.told, "required": argument.required}
            for argument in self._arguments.values()
        ]

    def options(self, name: str) -> list[str] | None:
        """What an argument may be; None where that is no choice, or there is no such argument."""
        argument = self._arguments.get(name)
        return None if argument is None or argument.options is None else [*argument.options]

    def read(self, given: Mapping[str, JsonValue]) -> Any:  # noqa: ANN401  # the class is given
        """Make the object of what a client sent.

        Raises:
            ValueError: all that is wrong with it, in words for whoever chose the values.
        """
        faults = list(self._misnamed(given))
        values: JsonObject = {}
        for name, argument in self._arguments.items():
            text = given.get(name)
            if isinstance(text, str):
                try:
                    values[name] = argument.read(text, self._limits)
                except ValueError as fault:
                    faults.append(f"{name}: {fault}")
            elif name in given:
                faults.append(f"{name}: must be sent as text")
            elif argument.required:
                faults.append(f"{name}: is missing")
            elif argument.blank:
                values[name] = None
        faults += self._validator.faults(values)
        if faults:
            raise ValueError("; ".join(faults))
        return self._build(values)

    def _misnamed(self, given: Mapping[str, JsonValue]) -> Iterator[str]:
        unknown = [name for name in given if name not in self._arguments]
        known = f"there are {', '.join(self.names)}" if self.names else "there are none"
        for name in unknown[:_MOST]:
            yield f"{printable(name[:100])}: is no argument; {known}"
        if more := unknown[_MOST:]:
            yield f"and {len(more)} more that are no arguments"


# -- the fields -------------------------------------------------------------------------------


def _arguments(kind: type, subject: str) -> list[_Argument]:
    if not attrs.has(kind):
        raise DefinitionError(subject, ["its arguments are the fields of an attrs class"])
    return [argument for _, argument in read_fields(kind, subject, "argument", _argument)]


def _argument(field: inspect.Field, hint: object) -> _Argument:
    kind, extras = unwrapped(field.type)
    optional = isinstance(kind, inspect.LiteralType) and None in kind.values
    if isinstance(kind, inspect.UnionType):
        kinds = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        optional = len(kinds) < len(kind.types)
        if len(kinds) != 1:
            raise UsageError("may be one of several types; a text does not say which")
        kind, inner = unwrapped(kinds[0])
        extras = {**inner, **extras}
    options = _options(kind, hint, extras)
    if options is None and not isinstance(kind, inspect.StrType) and type(kind) not in _READ_AS:
        raise UsageError(
            "is nothing that a text says; use str, a Literal or enum of texts, int, float or bool"
        )
    return _Argument(
        field.name,
        required=field.required and not optional,
        blank=field.required and optional,
        kind=type(kind),
        options=options,
        told={word: extras[word] for word in ("title", "description") if word in extras},
    )


def _options(kind: inspect.Type, hint: object, extras: JsonObject) -> list[str] | None:
    """What a choice offers, in its author's order; None for what is no choice."""
    if isinstance(kind, inspect.LiteralType):
        written = list(literals(hint)) or kind.values  # none are seen behind a `type` alias
        options = [option for option in written if option is not None]
    elif isinstance(kind, inspect.EnumType):
        options = [member.value for member in kind.cls]
    elif isinstance(offered := extras.get("oneOf"), list):
        options = [option["const"] for option in cast("list[JsonObject]", offered)]
    else:
        return None
    if not all(isinstance(option, str) for option in options):
        raise UsageError("offers a choice that is not text")
    return cast("list[str]", options)
