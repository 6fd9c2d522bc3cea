"""JSON Schema from types, values from JSON, and validation between the two.

Schemas are of draft 2020-12 and derived by msgspec from attrs classes; ``Annotated[T,
Meta(description=..., ge=...)]`` says more about a field. Validation is jsonschema-rs without
network access; structuring is cattrs. Specification: basic/index, "JSON Schema Usage".
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final, TypeVar, cast
from uuid import UUID

import attrs
import jsonschema_rs
import msgspec
from cattrs import BaseValidationError, transform_error
from cattrs.errors import StructureHandlerNotFoundError
from cattrs.preconf.msgspec import make_converter

from .errors import DefinitionError, UsageError
from .jsonrpc import JsonObject, JsonValue, is_finite

T = TypeVar("T")


def _from_text(parse: Callable[[str], T]) -> Callable[[object, object], T]:
    return lambda value, _: parse(str(value))


_converter: Final = make_converter()
for _kind, _parse in (
    (Decimal, Decimal),
    (UUID, UUID),
    (datetime.time, datetime.time.fromisoformat),
    (datetime.timedelta, partial(msgspec.convert, type=datetime.timedelta)),
):
    _converter.register_structure_hook(_kind, _from_text(cast(Callable[[str], object], _parse)))


def derive(kind: object, *, subject: str) -> JsonObject:
    """The JSON Schema of a type, its root spelled out in place of a reference.

    Raises:
        DefinitionError: the type cannot be said in JSON Schema; it names ``subject``.
    """
    refuse_unfilled(kind, subject)
    try:
        schema = msgspec.json.schema(kind)
    except (TypeError, NameError, NotImplementedError) as error:
        raise DefinitionError(subject, [f"its type has no JSON Schema: {error}"]) from None
    definitions = cast(dict[str, JsonObject], schema.pop("$defs", {}))
    for definition in definitions.values():
        definition.pop("title", None)  # the name of a Python class says nothing to a peer
    reference = schema.pop("$ref", None)
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        schema = {**definitions[name], **schema}
        if f'"#/$defs/{name}"' not in msgspec.json.encode(definitions).decode():
            del definitions[name]
    if definitions:
        schema["$defs"] = definitions
    return cast(JsonObject, _spell_enums(schema))


def refuse_unfilled(kind: object, subject: str) -> None:
    """Refuse an attrs class with fields that no value from outside can fill.

    Raises:
        DefinitionError: they would stand in the schema, and what was sent would be dropped.
    """
    if not isinstance(kind, type) or not attrs.has(kind):
        return
    if unfilled := [a.name for a in attrs.fields(kind) if not a.init]:
        raise DefinitionError(
            subject, [f"field {name!r} is not taken by __init__ (init=False)" for name in unfilled]
        )


def check_defaults(schema: JsonObject, subject: str) -> None:
    """Hold the defaults of an object's members against their own schemas.

    Raises:
        DefinitionError: one does not fit.
    """
    members = cast("dict[str, JsonObject]", schema.get("properties", {}))
    defaults = {name: member["default"] for name, member in members.items() if "default" in member}
    alone: JsonObject = {k: v for k, v in schema.items() if k in ("type", "properties", "$defs")}
    if faults := Validator(alone, subject=subject).faults(defaults):
        raise DefinitionError(subject, [f"a default does not fit: {fault}" for fault in faults])


def _spell_enums(node: JsonValue) -> JsonValue:
    """A ``Literal`` comes as ``enum`` without the ``type`` that hosts look for."""
    if isinstance(node, list):
        return [_spell_enums(item) for item in node]
    if not isinstance(node, dict):
        return node
    spelled: JsonObject = {name: _spell_enums(member) for name, member in node.items()}
    options = spelled.get("enum")
    if isinstance(options, list) and "type" not in spelled:
        kinds = {type(option) for option in options}
        if len(kinds) == 1 and (name := _TYPES.get(kinds.pop())) is not None:
            spelled = {"type": name, **spelled}
    return spelled


_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer"}


_MOST: Final = 5
_SMALL: Final = 16 * 1024
"""Bytes of JSON up to which all faults of a value are looked for, and not only the first."""


class Validator:
    """A compiled schema."""

    def __init__(
        self, schema: JsonObject, *, subject: str = "The schema", mask: str | None = None
    ) -> None:
        """Compile ``schema``; faults say ``mask``, where it is given, in place of a value.

        Raises:
            UsageError: it is no valid schema, or it refers to something outside itself.
        """
        try:
            self._validator = jsonschema_rs.validator_for(
                schema, validate_formats=True, offline=True, mask=mask
            )
        except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            raise UsageError(f"{subject} is not a valid JSON Schema: {error}") from None

    def faults(self, value: JsonValue) -> list[str]:
        """What is wrong with ``value``, a sentence each; empty where nothing is."""
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as first:
            return self._told(value, first)
        return []

    def _told(self, value: JsonValue, first: jsonschema_rs.ValidationError) -> list[str]:
        # Every error is made before the first can be taken: of a large value that takes minutes.
        if len(msgspec.json.encode(value)) > _SMALL:
            return [_say(first)]
        told = [_say(error) for error in self._validator.iter_errors(value)]
        return told if len(told) <= _MOST else [*told[:_MOST], "and more"]


def _say(error: jsonschema_rs.ValidationError) -> str:
    place = ".".join(str(part) for part in error.instance_path)
    text = error.message if len(error.message) <= 300 else error.message[:300] + "..."
    return f"{place}: {text}" if place else text


@lru_cache(maxsize=512)
def _compiled(text: bytes) -> Validator:
    return Validator(cast(JsonObject, msgspec.json.decode(text)), mask="the answer")


def validator_of(schema: JsonObject) -> Validator:
    """A validator for answers to a schema made at run time; equal schemas are compiled once.

    Its faults go to the model and into logs, so they tell nothing of what a person typed.
    """
    return _compiled(msgspec.json.encode(schema))


def build(value: JsonValue, kind: type[T]) -> T:
    """Make a ``kind`` of a value that its schema has already accepted.

    What a class says when it refuses a value may hold that value.

    Raises:
        ValueError: the class itself refuses it (an attrs validator, a format); the message
            says why.
    """
    try:
        return _converter.structure(value, kind)
    except BaseValidationError as error:
        told = transform_error(error, path="", format_exception=_words)
        raise ValueError("; ".join(map(_placed, told))) from None
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        raise ValueError(_words(error)) from None


def builder(kind: type[T], *, subject: str) -> Callable[[JsonValue], T]:
    """:func:`build` for one attrs class, whose fields are looked at before any value comes.

    Raises:
        DefinitionError: a field cannot be made of JSON; it names ``subject``.
    """
    try:
        attrs.resolve_types(cast(Any, kind))
        _converter.get_structure_hook(kind)
    except (StructureHandlerNotFoundError, NameError, TypeError) as error:
        raise DefinitionError(subject, [f"its arguments cannot be read: {error}"]) from None
    return partial(build, kind=kind)


def _words(error: BaseException, _: type | None = None) -> str:
    # attrs' validators hand on more than the message.
    return str(error.args[0]) if error.args else type(error).__name__


def _placed(told: str) -> str:
    """A fault in the order that schemas tell it: the place, then what is wrong there."""
    text, _, place = told.rpartition(" @ ")
    return f"{place.lstrip('.')}: {text}" if place else text


def never_plain(kind: type, why: str) -> None:
    """Let no value of this class become JSON, wherever it stands; ``why`` says what to do."""

    def refuse(_: object) -> None:
        raise TypeError(why)

    _converter.register_unstructure_hook(kind, refuse)


def plain(value: object) -> JsonValue:
    """The JSON value of an attrs value, or of what else msgspec can say in JSON.

    Raises:
        UsageError: there is none (a foreign type, NaN or an infinity).
    """
    try:
        made = cast(JsonValue, msgspec.to_builtins(_converter.unstructure(value), str_keys=True))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise UsageError(f"{type(value).__name__} has no JSON form: {error}") from None
    if not is_finite(made):
        raise UsageError("NaN and infinities have no JSON form")
    return made
