"""The form of a question as a client sees it: fields that a screen can show, and their check.

A ``requestedSchema`` comes from the other side and is hostile. It is not compiled as it stands:
a flat schema is built from the keywords that the specification knows, with local references
inlined up to a bound, so that checking an answer takes time in proportion to the answer and
reaches no network. A pattern that cannot be run in bounded time is displayed and not checked. What
generators of schemas add besides is ignored. Specification: client/elicitation, "Requested
Schema"; basic/index, "Composition-Keyword Resource Use".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast

import jsonschema_rs
import msgspec
from attrs import field, frozen

from .asked_parts import MOST_INLINED, Definitions, Malformed, Patterns, Swollen
from .call_errors import quoted
from .forms import FORMATS
from .jsonrpc import JsonObject, JsonValue, dumps
from .linear_patterns import LINEAR
from .snapshot import snapshot

Scalar: TypeAlias = str | int | float | bool
FieldType: TypeAlias = Literal["string", "number", "integer", "boolean", "array"]

_TEXT: Final = ("minLength", "maxLength", "pattern")
_NUMBER: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KEYWORDS: Final[dict[FieldType, tuple[str, ...]]] = {
    "string": _TEXT,
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": (),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
_HOPS: Final = 8
"""References and unions that one field may stand behind."""

_MOST_FIELDS: Final = 1000
_REMEMBERED_BYTES: Final = 8192
"""The largest form that is remembered, what its references repeat included."""


@frozen
class Choice:
    """One option: the value that is sent, and the title that a person reads."""

    value: Scalar
    title: str


@frozen(kw_only=True)
class Field:
    """One input of a form.

    Attributes:
        name: the member of the answer.
        type: the JSON type of the value; an array is a multiple choice.
        choices: the options, where there are any.
        default: what is sent when the answer leaves the field out; None for nothing. A default
            that the field's own schema refuses is ignored.
        required: whether an answer without it is refused.
        nullable: whether None is an answer.
    """

    name: str
    type: FieldType
    title: str | None = None
    description: str | None = None
    choices: tuple[Choice, ...] = ()
    default: Scalar | tuple[Scalar, ...] | None = None
    required: bool = False
    nullable: bool = False
    format: str | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None

    @property
    def label(self) -> str:
        """The title, or the name where there is none."""
        return self.title or self.name


@frozen
class AskedForm:
    """The fields of a form, and what its answers must satisfy."""

    fields: tuple[Field, ...]
    _open: bool = field(repr=False)
    _validator: jsonschema_rs.Draft202012Validator = field(repr=False, eq=False)

    def fill(self, content: Mapping[str, object]) -> JsonObject:
        """The content to send: what was answered, and defaults for what was left out.

        Raises:
            UsageError: the content cannot be said in JSON.
        """
        defaults = {f.name: _plain(f.default) for f in self.fields if f.default is not None}
        return {**defaults, **snapshot(content, "The content of an answer")}

    def faults(self, content: JsonObject) -> list[str]:
        """What is wrong with the content, a phrase each, without any value."""
        missing = [f.name for f in self.fields if f.required and f.name not in content]
        return [
            *self._unknown(content),
            *(f"field {quoted(name)} is missing" for name in missing),
            *_told(self._validator, content),
        ]

    def _unknown(self, content: JsonObject) -> list[str]:
        known = content if self._open else {f.name for f in self.fields}
        return [f"the form has no field {quoted(name)}" for name in content if name not in known]


def _plain(default: Scalar | tuple[Scalar, ...] | None) -> JsonValue:
    return list(default) if isinstance(default, tuple) else default


def _told(validator: jsonschema_rs.Draft202012Validator, content: JsonObject) -> Iterator[str]:
    for error in validator.iter_errors(content):
        if error.instance_path:
            place = ".".join(map(str, error.instance_path))
            yield f"field {quoted(place)} does not satisfy {error.schema_path[-1]!r}"


def read_form(schema: JsonObject) -> AskedForm:
    """Understand a ``requestedSchema``; equal ones are worked through once.

    Raises:
        Malformed: it describes no flat form.
    """
    text = dumps(schema)
    if len(text) <= _REMEMBERED_BYTES:
        with suppress(Swollen):
            return _remembered(text)
    return _read(schema, MOST_INLINED)


@lru_cache(maxsize=128)
def _remembered(text: bytes) -> AskedForm:
    return _read(cast(JsonObject, msgspec.json.decode(text)), _REMEMBERED_BYTES - len(text))


def _read(schema: JsonObject, most_inlined: int) -> AskedForm:
    properties, required = schema.get("properties"), schema.get("required", [])
    if schema.get("type") != "object" or not isinstance(properties, dict):
        raise Malformed('requestedSchema needs "type": "object" and "properties"')
    if len(properties) > _MOST_FIELDS:
        raise Malformed(f"it has more than {_MOST_FIELDS} fields")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise Malformed('"required" is not a list of names')
    if strange := [name for name in required if name not in properties]:
        raise Malformed(f"it requires {quoted(strange[0])}, which it does not describe")
    definitions = Definitions(schema, most_inlined)
    nodes = {name: _node(name, node, definitions) for name, node in properties.items()}
    patterns = Patterns()
    flat: JsonObject = {name: node.flat(patterns) for name, node in nodes.items()}
    # What is required is not compiled: defaults are checked one by one, with the others missing.
    validator = _compile({"type": "object", "properties": flat})
    demanded = set(required)
    fields = tuple(
        node.field(name, name in demanded, validator, patterns) for name, node in nodes.items()
    )
    return AskedForm(fields, schema.get("additionalProperties", False) is not False, validator)


def _compile(flat: JsonObject) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(
            flat, validate_formats=True, pattern_options=LINEAR
        )
    except (ValueError, jsonschema_rs.ReferencingError):
        raise Malformed("requestedSchema is not a valid JSON Schema") from None


@frozen
class _Node:
    """The schema of one field, taken apart."""

    type: FieldType
    members: JsonObject
    choices: tuple[Choice, ...]
    nullable: bool

    def flat(self, patterns: Patterns) -> JsonObject:
        """The schema that answers are checked against."""
        flat: JsonObject = {"type": [self.type, "null"] if self.nullable else self.type}
        flat.update({k: self.members[k] for k in _KEYWORDS[self.type] if k in self.members})
        pattern = flat.get("pattern")
        if isinstance(pattern, str) and not patterns.run(pattern):
            del flat["pattern"]  # its server checks what is sent
        if self.type == "string" and (known := _text(self.members.get("format"))) in FORMATS:
            flat["format"] = known
        values: list[JsonValue] = [choice.value for choice in self.choices]
        if self.type == "array":
            flat["items"] = {"enum": values} if values else {"type": "string"}
        elif values:
            flat["enum"] = [*values, None] if self.nullable else values
        return flat

    def field(
        self,
        name: str,
        required: bool,
        validator: jsonschema_rs.Draft202012Validator,
        patterns: Patterns,
    ) -> Field:
        """What a screen shows of it."""
        read = self.members.get
        return Field(
            name=name,
            type=self.type,
            title=_text(read("title")),
            description=_text(read("description")),
            choices=self.choices,
            default=self._default(name, validator, patterns),
            required=required,
            nullable=self.nullable,
            format=_text(read("format")),
            pattern=_text(read("pattern")),
            minimum=_number(read("minimum")),
            maximum=_number(read("maximum")),
            min_length=_whole(read("minLength")),
            max_length=_whole(read("maxLength")),
            min_items=_whole(read("minItems")),
            max_items=_whole(read("maxItems")),
        )

    def _default(
        self, name: str, validator: jsonschema_rs.Draft202012Validator, patterns: Patterns
    ) -> Scalar | tuple[Scalar, ...] | None:
        default = self.members.get("default")
        if default is None or ("pattern" in self.members and not patterns.match(default)):
            return None
        if not validator.is_valid({name: default}):
            return None
        if isinstance(default, list):
            return tuple(cast("list[Scalar]", default))
        return cast(Scalar, default)


def _node(name: str, value: JsonValue, definitions: Definitions) -> _Node:
    try:
        members, nullable = _unfolded(value, definitions)
        kind = _type(members)
        options = members.get("items", {}) if kind == "array" else members
        if not isinstance(options, dict):
            raise Malformed('"items" is not an object')
        if kind == "array":
            options, _ = _unfolded(options, definitions)
            if options.get("type", "string") != "string":
                raise Malformed("a multiple choice has texts as its items")
        definitions.offer(options)
        return _Node(kind, members, tuple(_choices(options)), nullable)
    except Malformed as fault:
        raise type(fault)(f"field {quoted(name)}: {fault}") from None


def _unfolded(node: JsonValue, definitions: Definitions) -> tuple[JsonObject, bool]:
    """Inline local references, and take null out of a union.

    That is how generators of schemas write an enumeration and an optional field.
    """
    nullable = False
    for _ in range(_HOPS):
        if not isinstance(node, dict):
            raise Malformed("its schema is not an object")
        if "$ref" in node:
            rest = {k: v for k, v in node.items() if k != "$ref"}
            node = {**definitions.take(node["$ref"]), **rest}
        elif (only := _beside_null(node.get("anyOf"))) is not None:
            rest = {k: v for k, v in node.items() if k != "anyOf"}
            node, nullable = {**only, **rest}, True
        elif (kind := _type_beside_null(node.get("type"))) is not None:
            node, nullable = {**node, "type": kind}, True
        else:
            return node, nullable
    raise Malformed("its schema is wrapped too deeply")


def _beside_null(union: JsonValue) -> JsonObject | None:
    if not isinstance(union, list) or len(union) != 2 or {"type": "null"} not in union:
        return None
    other = union[0] if union[1] == {"type": "null"} else union[1]
    return other if isinstance(other, dict) else None


def _type_beside_null(kinds: JsonValue) -> JsonValue:
    if not isinstance(kinds, list) or len(kinds) != 2 or "null" not in kinds:
        return None
    return kinds[0] if kinds[1] == "null" else kinds[1]


def _type(members: JsonObject) -> FieldType:
    kind = members.get("type")
    if kind is None and any(word in members for word in ("enum", "oneOf")):
        return "string"
    for known in _KEYWORDS:
        if kind == known:
            return known
    raise Malformed("it is neither text, number, boolean nor a choice")


def _choices(members: JsonObject) -> Iterator[Choice]:
    options = members.get("enum")
    if isinstance(options, list):
        yield from _plain_choices(options, members.get("enumNames"))
        return
    for word in ("oneOf", "anyOf"):
        offers = members.get(word)
        if isinstance(offers, list):
            yield from map(_titled_choice, _some(offers))
            return


def _some(offers: list[JsonValue]) -> list[JsonValue]:
    if not offers:
        raise Malformed("it offers no choice")
    return offers


def _plain_choices(options: list[JsonValue], names: JsonValue) -> Iterator[Choice]:
    values = [_scalar(option) for option in _some(options) if option is not None]
    titles: list[JsonValue] = list(values)
    if isinstance(names, list) and len(names) == len(values):
        titles = names
    for value, title in zip(values, titles, strict=True):
        yield Choice(value, str(title))


def _titled_choice(offer: JsonValue) -> Choice:
    if not isinstance(offer, dict) or "const" not in offer:
        raise Malformed('a choice has no "const"')
    value = _scalar(offer["const"])
    return Choice(value, _text(offer.get("title")) or str(value))


def _scalar(value: JsonValue) -> Scalar:
    if isinstance(value, str | int | float):
        return value
    raise Malformed("a choice is no plain value")


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: JsonValue) -> int | None:
    return int(number) if (number := _number(value)) is not None else None
