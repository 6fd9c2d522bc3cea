"""How many steps it takes, at the most, to hold a value against a foreign schema.

The bound is worked out for each level of the value's nesting, from how the parts of the schema
apply each other; see :mod:`.schema_parts`.
"""

from __future__ import annotations

from typing import Final

from attrs import define, field

from .jsonrpc import JsonObject, JsonValue
from .schema_parts import Part, Parts, in_order

_MANY: Final = 10**18
"""What is more is all the same."""

_PER_CHARACTER: Final = 32
"""Steps that a pattern takes for one character, at the most, of the size that is allowed."""


@define(eq=False)
class _Layer:
    """For each part: what is done at most to one value, some levels below the one it applies to."""

    steps: dict[Part, int] = field(factory=dict[Part, int])
    patterns: dict[Part, int] = field(factory=dict[Part, int])


@define(eq=False)
class Cost:
    """The price of one schema.

    Raises:
        Unusable: see :class:`Parts` and :func:`in_order`.
    """

    schema: JsonObject
    _root: Part = field(init=False)
    _ordered: list[Part] = field(init=False)
    _last: _Layer = field(init=False, factory=_Layer)
    _at_root: list[tuple[int, int]] = field(init=False, factory=list[tuple[int, int]])

    def __attrs_post_init__(self) -> None:
        found = Parts(self.schema).found
        self._root = found[0]
        reached = [part for known in found for part in (*known.below, *known.either)]
        self._ordered = in_order([*found, *reached])

    def of(self, value: JsonValue) -> int:
        """Steps for a value, at the most."""
        total = 0
        for depth, (values, characters) in enumerate(_levels(value)):
            steps, patterns = self._level(depth)
            total += values * steps + characters * patterns * _PER_CHARACTER
        return total

    def _level(self, depth: int) -> tuple[int, int]:
        while len(self._at_root) <= depth:
            self._last = self._below(self._last)
            key = self._root
            self._at_root.append((self._last.steps[key], self._last.patterns[key]))
        return self._at_root[depth]

    def _below(self, before: _Layer) -> _Layer:
        """The layer after this one; before the first one there is nothing."""
        layer = _Layer()
        first = not self._at_root
        for part in self._ordered:
            own = (part.own, part.patterns) if first else (0, 0)
            layer.steps[part] = own[0] + _applied(part, layer.steps, before.steps)
            layer.patterns[part] = own[1] + _applied(part, layer.patterns, before.patterns)
        return layer


def _applied(part: Part, here: dict[Part, int], below: dict[Part, int]) -> int:
    same = part.times * sum(here[p] for p in part.here)
    inner = sum(below.get(p, 0) for p in part.below)
    one = max((below.get(p, 0) for p in part.either), default=0)
    return min(same + inner + one, _MANY)


def _levels(value: JsonValue) -> list[tuple[int, int]]:
    """For each level of nesting: how many values there are, and characters of texts and names."""
    levels: list[tuple[int, int]] = []
    layer, names = [value], 0
    while layer:
        below: list[JsonValue] = []
        characters, names_below = names, 0
        for item in layer:
            if isinstance(item, str):
                characters += len(item)
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, dict):
                below.extend(item.values())
                names_below += sum(map(len, item))
        # Names are held against patterns of the object, and against those for names alone.
        levels.append((len(layer), characters + names_below))
        layer, names = below, names_below
    return levels
