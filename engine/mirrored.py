"""The parameters of a tool that HTTP repeats in headers: ``x-mcp-header`` in an input schema.

Both ends read them from the schema by one set of rules: a server when the tool is registered, a
client when it lists. Specification: server/tools, "x-mcp-header"; basic/transports/streamable-http,
"Custom Headers from Tool Parameters".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias, TypeGuard, cast

from attrs import field, frozen
from msgspec import Meta

from .errors import DefinitionError
from .jsonrpc import JsonObject, JsonValue

KEYWORD: Final = "x-mcp-header"
PREFIX: Final = "Mcp-Param-"
SAFE: Final = 2**53 - 1
"""The largest integer that every JSON reader takes exactly; its negative is the smallest."""

Kind: TypeAlias = Literal["string", "integer", "boolean"]

_KINDS: Final = ("string", "integer", "boolean")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SHOWN: Final = 100

# The keywords of draft 2020-12, and those of earlier ones that are still met, whose values are
# schemas. All else is data, where the word would mean nothing.
_NAMED: Final = frozenset(
    {
        "properties",
        "patternProperties",
        "dependentSchemas",
        "dependencies",
        "$defs",
        "definitions",
    }
)
_HOLDING: Final = frozenset(
    {
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "contentSchema",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
    }
)


def header(name: str) -> Meta:
    """A parameter that HTTP repeats as ``Mcp-Param-<name>``: ``Annotated[str, header("Region")]``.

    So that what stands between client and server can route by it without reading the body.
    Everything there can read it too: never mark what is secret or personal. It stands beside
    another ``Meta`` in one ``Annotated``. The type is ``str``, ``int``, ``bool`` or a choice of
    texts, without ``| None``; an optional parameter has a default of its own type.
    """
    return Meta(extra_json_schema={KEYWORD: name})


@frozen
class Mirrored:
    """A parameter that a header repeats.

    Attributes:
        suffix: what stands behind ``Mcp-Param-`` in the header's name.
        path: the names that lead to the value in the arguments, from the outermost.
        kind: the type that the schema gives it.
    """

    suffix: str
    path: tuple[str, ...]
    kind: Kind

    @property
    def header(self) -> str:
        """The header's name, as it is written; it is compared without regard to case."""
        return PREFIX + self.suffix

    def value(self, arguments: JsonObject) -> JsonValue:
        """What the arguments hold for it: None where that is nothing, or null."""
        value: JsonValue = arguments
        for name in self.path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def fits(self, value: JsonValue) -> bool:
        """Whether a value is of the type that the schema gives it; integers of any size are."""
        if self.kind == "integer":
            return is_whole(value)
        return isinstance(value, str if self.kind == "string" else bool)


def is_whole(value: JsonValue) -> TypeGuard[int | float]:
    """Whether JSON Schema takes a value for an integer: ``42.0`` is one, ``true`` is none."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def mirrored_parameters(schema: JsonObject, subject: str) -> tuple[Mirrored, ...]:
    """The parameters of an input schema that have headers, in the order in which they stand.

    Raises:
        DefinitionError: the schema breaks a rule of the specification; it names ``subject`` and
            tells all faults at once. A client leaves such a tool out.
    """
    places = list(_places(schema, (), chained=True))
    faults = [fault for place in places for fault in place.faults()]
    faults.extend(_shared(places))
    if faults:
        raise DefinitionError(subject, faults)
    return tuple(place.parameter() for place in places)


# -- where the keyword stands -----------------------------------------------------------------


@frozen
class _Place:
    """A schema that holds the keyword.

    Attributes:
        steps: the keywords and names that lead to it.
        chained: whether the keywords among them are ``properties`` alone.
    """

    steps: tuple[str, ...]
    chained: bool
    schema: JsonObject = field(repr=False)

    @property
    def told(self) -> str:
        if self.path:
            return f"parameter {_shown('.'.join(self.path))}"
        return f"schema {_shown('/'.join(('#', *self.steps)))}"

    @property
    def path(self) -> tuple[str, ...]:
        """The property's names; empty where no chain of properties leads here."""
        return self.steps[1::2] if self.chained else ()

    @property
    def name(self) -> JsonValue:
        return self.schema[KEYWORD]

    def parameter(self) -> Mirrored:
        """What it says, once it has no faults."""
        return Mirrored(cast(str, self.name), self.path, cast(Kind, self.schema["type"]))

    def faults(self) -> Iterator[str]:
        for fault in (_of_name(self.name), self._of_place(), self._of_type(), self._of_range()):
            if fault:
                yield f"{self.told}: {fault}"

    def _of_place(self) -> str | None:
        if self.path:
            return None
        way = "behind more than `properties` (items, anyOf, $ref and their like)"
        return f"{KEYWORD} stands where no argument can be read, {way}; {self._advice}"

    @property
    def _advice(self) -> str:
        if "anyOf" in (*self.steps, *self.schema):
            return "an optional parameter takes a default of its type in place of None"
        return "mark a str, int, bool or Literal of texts among the tool's own parameters"

    def _of_type(self) -> str | None:
        kind = self.schema.get("type")
        if not self.path or (isinstance(kind, str) and kind in _KINDS):
            return None
        rule = f"{KEYWORD} is for type string, integer or boolean"
        if isinstance(kind, str):
            return f"{rule}, and this is of type {_shown(kind)}"
        return f"{rule}, and this names no single type; {self._advice}"

    def _of_range(self) -> str | None:
        if self.schema.get("type") != "integer" or not self.path:
            return None
        unsafe = sorted(word for word, value in _bounds(self.schema) if abs(value) > SAFE)
        if not unsafe:
            return None
        return f"no header carries integers beyond {SAFE}, which {' and '.join(unsafe)} let in"


def _places(schema: JsonValue, steps: tuple[str, ...], *, chained: bool) -> Iterator[_Place]:
    if not isinstance(schema, dict):
        return
    if KEYWORD in schema:
        yield _Place(steps, chained, schema)
    for word, below in schema.items():
        for names, inner in _inner(word, below):
            yield from _places(
                inner, (*steps, word, *names), chained=chained and word == "properties"
            )


def _inner(word: str, below: JsonValue) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """The schemas that a keyword holds, each with its name or number there."""
    if word in _NAMED and isinstance(below, dict):
        for name, schema in below.items():
            yield (name,), schema
    elif word in _HOLDING and isinstance(below, list):
        for number, schema in enumerate(below):
            yield (str(number),), schema
    elif word in _HOLDING:
        yield (), below


# -- what it says there -----------------------------------------------------------------------


def _of_name(name: JsonValue) -> str | None:
    if not isinstance(name, str):
        return f"{KEYWORD} is a header's name, and this is no text"
    if not name:
        return f"{KEYWORD} is empty; name the header"
    if not _TOKEN.fullmatch(name):
        return (
            f"{KEYWORD} {_shown(name)} is no header's name (RFC 9110, token): it takes ASCII"
            " letters, digits and !#$%&'*+-.^_`|~"
        )
    return None


def _bounds(schema: JsonObject) -> Iterator[tuple[str, float]]:
    """What the schema of an integer lets in by name, at the most and at the least."""
    for word in ("minimum", "maximum", "const", "default"):
        if is_whole(value := schema.get(word)):
            yield word, value
    # No integer lies between the bound itself and the next one inwards.
    if is_whole(value := schema.get("exclusiveMinimum")):
        yield "exclusiveMinimum", value + 1
    if is_whole(value := schema.get("exclusiveMaximum")):
        yield "exclusiveMaximum", value - 1
    options = schema.get("enum")
    for value in options if isinstance(options, list) else ():
        if is_whole(value):
            yield "enum", value


def _shared(places: Sequence[_Place]) -> Iterator[str]:
    """The headers that several parameters would have; in HTTP their case makes no difference."""
    holders: defaultdict[str, list[_Place]] = defaultdict(list)
    for place in places:
        if isinstance(place.name, str):
            holders[place.name.lower()].append(place)
    for sharing in holders.values():
        if len(sharing) > 1:
            told = ", ".join(place.told for place in sharing)
            names = ", ".join(_shown(cast(str, place.name)) for place in sharing)
            yield f"{told} share one header ({names}); its case makes no difference"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
