"""A foreign JSON Schema taken apart, to know what it costs before anything is held against it.

Validators evaluate a schema to its end: a few hundred bytes of references that double, or of
nested ``unevaluatedProperties``, keep one busy for years, and nothing can interrupt it. Here the
subschemas are found with how they apply each other. Specification: basic/index, "$ref Resolution"
and "Composition-Keyword Resource Use".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from attrs import define, field

from .call_errors import quoted
from .jsonrpc import JsonObject, JsonValue, dumps

_HERE: Final = ("not", "if", "then", "else")
_HERE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_HERE_MAPS: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_BELOW: Final = (
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
)
_COMPARED: Final = ("const", "enum", "required", "dependentRequired", "dependencies", "type")
_NESTED: Final = 64
"""Subschemas that may apply each other to one value; the validator's stack grows with them."""

_AGAIN: Final = 3
"""How often what stands beside ``unevaluated*`` is evaluated, at the most; measured 2.6."""


class Unusable(Exception):
    """The schema cannot be used; the message says why, in a phrase."""


@define(eq=False)
class Part:
    """One subschema.

    Attributes:
        own: about how many steps it takes itself, for one value.
        patterns: how many patterns it holds against one text or the names of one object.
        times: how often those in ``here`` are evaluated, each.
        here: those that apply to the same value.
        below: those that apply to the elements or members of the value, all of them.
        either: those of which one applies to each of them.
    """

    own: int = 1
    patterns: int = 0
    times: int = 1
    here: list[Part] = field(factory=list["Part"])
    below: list[Part] = field(factory=list["Part"])
    either: list[Part] = field(factory=list["Part"])


@define(eq=False)
class Parts:
    """The parts of one schema, the root first.

    Raises:
        Unusable: it refers to something outside itself, or is built in a way that is not
            understood here.
    """

    root: JsonObject
    found: list[Part] = field(init=False, factory=list[Part])
    _by_place: dict[int, Part] = field(init=False, factory=dict[int, Part])
    _open: list[tuple[JsonObject, Part]] = field(init=False, factory=list[tuple[JsonObject, Part]])
    _anchors: dict[str, JsonObject] | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self._part(self.root)
        while self._open:
            self._take_apart(*self._open.pop())

    def _part(self, schema: JsonValue) -> Part:
        if not isinstance(schema, dict):
            return _TRIVIAL  # true, false, or what compiling refuses
        part = self._by_place.get(id(schema))
        if part is None:
            part = self._by_place[id(schema)] = Part()
            self.found.append(part)
            self._open.append((schema, part))
        return part

    def _take_apart(self, schema: JsonObject, part: Part) -> None:
        self._refuse_embedded(schema)
        part.own += _own(schema)
        part.patterns = ("pattern" in schema) + len(_map(schema.get("patternProperties")))
        part.times = _AGAIN if any(name.startswith("unevaluated") for name in schema) else 1
        part.here = [self._part(s) for s in (*_here(schema), *self._referred(schema))]
        part.below = [self._part(schema[name]) for name in _BELOW if name in schema]
        part.below += map(self._part, _map(schema.get("patternProperties")).values())
        part.either = [*map(self._part, _either(schema))]
        if schema.get("uniqueItems") is True:
            part.below.append(_WHOLE)

    def _refuse_embedded(self, schema: JsonObject) -> None:
        if schema is not self.root and any(isinstance(schema.get(n), str) for n in ("$id", "id")):
            raise Unusable("it holds another schema with an $id of its own")

    # -- references ---------------------------------------------------------------------------

    def _referred(self, schema: JsonObject) -> Iterator[JsonObject]:
        for name in _REFERENCES:
            if name in schema:
                yield self._resolved(schema[name])

    def _resolved(self, reference: JsonValue) -> JsonObject:
        if not isinstance(reference, str):
            raise Unusable("a reference is no text")
        address, _, place = reference.partition("#")
        own = self.root.get("$id", self.root.get("id"))
        if address and not (isinstance(own, str) and address == own.rstrip("#")):
            raise Unusable(f"it refers to {quoted(reference)}, which is outside of it")
        target = self._at(place) if place.startswith("/") or not place else self._named(place)
        if not isinstance(target, dict):
            raise Unusable(f"it refers to {quoted(reference)}, where no schema is")
        return target

    def _at(self, pointer: str) -> JsonValue:
        node: JsonValue = self.root
        for step in unquote(pointer).split("/")[1:]:
            if isinstance(node, dict):
                self._refuse_embedded(node)
                node = node.get(step.replace("~1", "/").replace("~0", "~"))
            elif isinstance(node, list):
                node = node[int(step)] if step.isdecimal() and int(step) < len(node) else None
        return node

    def _named(self, name: str) -> JsonValue:
        if self._anchors is None:
            self._anchors = _anchors(self.root)
        return self._anchors.get(unquote(name))


_TRIVIAL: Final = Part()

_WHOLE: Final = Part(patterns=1)
"""Comparing elements with each other looks at all that is in them."""
_WHOLE.below.append(_WHOLE)


def _own(schema: JsonObject) -> int:
    compared = sum(len(dumps(schema[name])) // 4 for name in _COMPARED if name in schema)
    named = sum(len(_map(schema.get(name))) for name in ("properties", "patternProperties"))
    return len(schema) + compared + named


def _map(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _here(schema: JsonObject) -> Iterator[JsonValue]:
    yield from (schema[name] for name in _HERE if name in schema)
    for name in _HERE_LISTS:
        yield from _list(schema.get(name))
    for name in _HERE_MAPS:
        yield from _map(schema.get(name)).values()


def _either(schema: JsonObject) -> Iterator[JsonValue]:
    yield from _map(schema.get("properties")).values()
    yield from _list(schema.get("prefixItems"))
    yield from _list(schema.get("items"))


def _anchors(root: JsonObject) -> dict[str, JsonObject]:
    """What is named by ``$anchor``, wherever it stands.

    Raises:
        Unusable: two have one name.
    """
    anchors: dict[str, JsonObject] = {}
    layer: list[JsonValue] = [root]
    while layer:
        node = layer.pop()
        layer.extend(_list(node))
        if not isinstance(node, dict):
            continue
        layer.extend(node.values())
        for name in (node.get("$anchor"), node.get("$dynamicAnchor")):
            if isinstance(name, str) and anchors.setdefault(name, node) is not node:
                raise Unusable(f"two of its parts are named {quoted(name)}")
    return anchors


def in_order(parts: list[Part]) -> list[Part]:
    """The parts, each after those that it applies to the same value.

    Raises:
        Unusable: one applies itself to the same value, or too many stand behind each other.
    """
    ordered: list[Part] = []
    nested: dict[Part, int] = {}
    for start in parts:
        for part in _within(start, nested):
            nested[part] = 1 + max((nested[p] for p in part.here), default=0)
            if nested[part] > _NESTED:
                raise Unusable(f"more than {_NESTED} of its parts apply each other")
            ordered.append(part)
    return ordered


def _within(start: Part, done: Mapping[Part, int]) -> Iterator[Part]:
    """The parts that are not done yet, the innermost first."""
    stack = [] if start in done else [(start, iter(start.here))]
    entered = {start}
    while stack:
        part, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            stack.pop()
            entered.discard(part)
            yield part
        elif following in entered:
            raise Unusable("it refers to itself without an end")
        elif following not in done:
            entered.add(following)
            stack.append((following, iter(following.here)))
