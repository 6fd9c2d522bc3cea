"""The ``requestedSchema`` of a form, derived from a flat attrs class.

A form is one object whose members are text, numbers, yes or no, or choices; anything else is
a definition error that names every faulty field. The schema carries no top-level ``title``,
no ``$schema`` and no reference, since hosts trip over them. Specification: client/elicitation,
"Requested Schema".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Final, TypeAlias, cast

import attrs
import msgspec
from msgspec import Meta, inspect

from .errors import DefinitionError, UsageError
from .field_types import literals, read_fields, unwrapped
from .jsonrpc import JsonObject, JsonValue
from .schema import Validator, plain

FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})
_KEPT: Final = ("type", "title", "description", "default", "minItems", "maxItems")
"""What a field keeps when its options are known only at run time."""

_KNOWN_EXTRAS: Final = frozenset({"title", "description", "format", "oneOf"})

Email: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "email"})]
"""Text that is an address of e-mail."""

Uri: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
"""Text that is a URI."""


def choice_of(titles: Mapping[str, str]) -> Meta:
    """A choice whose options have titles: ``Annotated[str, choice_of({"eu-west-1": "Ireland"})]``.

    For several choices annotate the items: ``list[Annotated[str, choice_of(...)]]``.

    Args:
        titles: from the value that the answer holds to the title that a person sees.

    Raises:
        UsageError: there is nothing to choose from.
    """
    return Meta(extra_json_schema={"oneOf": _titled(titles)})


def _titled(titles: Mapping[str, str]) -> list[JsonValue]:
    if not titles:
        raise UsageError("A choice needs at least one option")
    return [{"const": value, "title": title} for value, title in titles.items()]


@lru_cache(maxsize=512)
def form_schema(answer: type) -> JsonObject:
    """The flat schema of a form that is answered by ``answer``.

    Raises:
        DefinitionError: it is no attrs class, or a field does not fit into a form.
    """
    subject = f"Form {getattr(answer, '__name__', answer)!s}"
    if not attrs.has(answer):
        raise DefinitionError(subject, ["a form is answered by an attrs class"])
    fields = read_fields(answer, subject, "field", _property)
    properties: JsonObject = {field.name: made for field, made in fields}
    schema: JsonObject = {"type": "object", "properties": properties}
    if required := [field.name for field, _ in fields if field.required]:
        schema["required"] = cast(JsonValue, required)
    return schema


def with_choices(
    schema: JsonObject, choices: Mapping[str, Mapping[str, str] | list[str]]
) -> JsonObject:
    """``schema`` with the options of some fields replaced by ones known only at run time.

    Raises:
        UsageError: a field is not there, is no text, or has no options.
    """
    properties = dict(cast(JsonObject, schema["properties"]))
    required = list(cast("list[str]", schema.get("required", [])))
    for name, options in choices.items():
        field = properties.get(name)
        if not isinstance(field, dict) or field.get("type") not in ("string", "array"):
            raise UsageError(f"choices= names {name!r}, which is no text or choice of the form")
        properties[name] = offered = _offering(field, options)
        if "default" in field and "default" not in offered:
            # Left out it would be the class's own default, which is no option.
            required.append(name)
    whole: JsonObject = {**schema, "properties": properties}
    return {**whole, "required": cast(JsonValue, required)} if required else whole


def _offering(field: JsonObject, options: Mapping[str, str] | list[str]) -> JsonObject:
    if not options:
        raise UsageError("A choice needs at least one option")
    kept = {word: value for word, value in field.items() if word in _KEPT}
    many = field["type"] == "array"
    if not _all_offered(kept.get("default"), options):
        del kept["default"]
    offer: JsonObject
    if isinstance(options, Mapping):
        offer = {"anyOf" if many else "oneOf": _titled(options)}
    else:
        offer = {"type": "string", "enum": cast(JsonValue, list(options))}
    return {**kept, "items": offer} if many else {**kept, **offer}


def _all_offered(default: JsonValue, options: Mapping[str, str] | list[str]) -> bool:
    chosen = default if isinstance(default, list) else [default]
    return default is None or all(value in options for value in chosen)


# -- one field --------------------------------------------------------------------------------


def _property(field: inspect.Field, hint: object) -> JsonObject:
    kind, extras = unwrapped(field.type)
    if isinstance(kind, inspect.UnionType):
        kind, inner = unwrapped(_without_none(kind, field))
        extras = {**inner, **extras}
    _refuse_unknown(extras)
    schema = {**_as_written(_shape(kind, extras), hint), **_words(extras)}
    default = _default(field)
    if default is None:
        return schema
    if faults := Validator(schema).faults(default):
        raise UsageError(f"has a default that does not fit: {'; '.join(faults)}")
    return {**schema, "default": default}


def _refuse_unknown(extras: JsonObject) -> None:
    if unknown := sorted(extras.keys() - _KNOWN_EXTRAS):
        raise UsageError(f"has {', '.join(unknown)}, which a form cannot carry")


def _as_written(schema: JsonObject, hint: object) -> JsonObject:
    """Options in the author's own order; msgspec sorts those of a ``Literal``."""
    options = list(literals(hint))
    if "enum" in schema and options:
        return {**schema, "enum": cast(JsonValue, options)}
    items = schema.get("items")
    if isinstance(items, dict) and "enum" in items and options:
        return {**schema, "items": {**items, "enum": cast(JsonValue, options)}}
    return schema


def _without_none(union: inspect.UnionType, field: inspect.Field) -> inspect.Type:
    kinds = [kind for kind in union.types if not isinstance(kind, inspect.NoneType)]
    if len(kinds) != 1 or len(union.types) != 2:
        raise UsageError("may be one of several types; a field of a form has one")
    if field.required:
        raise UsageError("may be None, so it needs a default (`= None`): nobody can type null")
    return kinds[0]


def _words(extras: JsonObject) -> JsonObject:
    return {word: extras[word] for word in ("title", "description") if word in extras}


def _default(field: inspect.Field) -> JsonValue:
    if field.default is not msgspec.NODEFAULT:
        return plain(field.default)
    if field.default_factory is not msgspec.NODEFAULT:
        return plain(cast("type", field.default_factory)())
    return None


def _shape(kind: inspect.Type, extras: JsonObject) -> JsonObject:
    match kind:
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.StrType():
            return _text(kind, extras)
        case inspect.IntType() | inspect.FloatType():
            return _number(kind)
        case inspect.DateType():
            return {"type": "string", "format": "date"}
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case inspect.LiteralType() | inspect.EnumType():
            return {"type": "string", "enum": list(_options(kind))}
        case (
            inspect.ListType()
            | inspect.VarTupleType()
            | inspect.SetType()
            | inspect.FrozenSetType()
        ):
            return _several(kind)
        case _:
            raise UsageError(
                f"is {_name(kind)}; a form has text, numbers, booleans, dates and choices"
            )


def _name(kind: inspect.Type) -> str:
    cls = getattr(kind, "cls", None)
    return cls.__name__ if isinstance(cls, type) else type(kind).__name__.removesuffix("Type")


def _text(kind: inspect.StrType, extras: JsonObject) -> JsonObject:
    if kind.pattern is not None:
        raise UsageError(
            "has a pattern, which forms of this revision do not carry; "
            "use a format or a choice, or check it in the handler"
        )
    schema: JsonObject = {"type": "string"}
    if "oneOf" in extras:
        return {**schema, "oneOf": extras["oneOf"]}
    if kind.min_length is not None:
        schema["minLength"] = kind.min_length
    if kind.max_length is not None:
        schema["maxLength"] = kind.max_length
    if "format" in extras:
        if extras["format"] not in FORMATS:
            raise UsageError(f"has a format other than {', '.join(sorted(FORMATS))}")
        schema["format"] = extras["format"]
    return schema


def _number(kind: inspect.IntType | inspect.FloatType) -> JsonObject:
    whole = isinstance(kind, inspect.IntType)
    low, high = kind.ge, kind.le
    if kind.multiple_of is not None:
        raise UsageError("has multiple_of, which forms do not carry")
    if kind.gt is not None or kind.lt is not None:
        if not whole:
            raise UsageError("has gt or lt; a form has only inclusive bounds, ge and le")
        low = kind.gt + 1 if kind.gt is not None else low
        high = kind.lt - 1 if kind.lt is not None else high
    schema: JsonObject = {"type": "integer" if whole else "number"}
    if low is not None:
        schema["minimum"] = low
    if high is not None:
        schema["maximum"] = high
    return schema


def _options(kind: inspect.LiteralType | inspect.EnumType) -> Iterator[str]:
    values = (
        kind.values
        if isinstance(kind, inspect.LiteralType)
        else [member.value for member in kind.cls]
    )
    for value in values:
        if not isinstance(value, str):
            raise UsageError("offers a choice that is not text")
        yield value


def _several(
    kind: inspect.ListType | inspect.VarTupleType | inspect.SetType | inspect.FrozenSetType,
) -> JsonObject:
    item, extras = unwrapped(kind.item_type)
    _refuse_unknown(extras)
    schema: JsonObject = {"type": "array"}
    if isinstance(item, inspect.LiteralType | inspect.EnumType):
        schema["items"] = {"type": "string", "enum": list(_options(item))}
    elif "oneOf" in extras:
        schema["items"] = {"anyOf": extras["oneOf"]}
    else:
        raise UsageError("is a list of something other than choices")
    if kind.min_length is not None:
        schema["minItems"] = kind.min_length
    if kind.max_length is not None:
        schema["maxItems"] = kind.max_length
    return schema
