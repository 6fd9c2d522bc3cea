"""What the fields of a form take from the rest of its schema, up to bounds.

Specification: basic/index, "Composition-Keyword Resource Use".
"""

from __future__ import annotations

from typing import Final, TypeGuard

from attrs import define, field

from .jsonrpc import JsonObject, JsonValue, dumps
from .linear_patterns import MOST_CHARACTERS, is_linear

MOST_INLINED: Final = 256 * 1024
"""Bytes of JSON that the references of one form may repeat, all taken together."""

MOST_CHOICES: Final = 50_000
"""Choices that one form may offer, all fields taken together."""


MOST_MATCHED: Final = 256 * 1024
"""Characters of defaults that the patterns of one form are held against. A pattern takes up to a
few microseconds for each."""


class Malformed(Exception):
    """The question cannot be understood; its reader turns this into an ``InvalidReply``."""


class Swollen(Malformed):
    """Its references repeat too much."""


@define
class Definitions:
    """What the references of a schema stand for, repeated up to a sum.

    A reference is a few bytes, and a megabyte may stand behind it: without the sum, a form would
    grow as its fields times its definitions.
    """

    _schema: JsonObject = field(repr=False)
    _room: int
    _taken: set[JsonValue] = field(factory=set[JsonValue])
    _offered: int = 0

    def take(self, reference: JsonValue) -> JsonObject:
        """The definition, to be inlined once.

        Raises:
            Malformed: there is none, or the sum is reached.
        """
        found = self._find(reference)
        # Taken once, a definition is no longer than it stands in the message.
        if reference in self._taken:
            self._room -= len(dumps(found))
        self._taken.add(reference)
        if self._room < 0:
            raise Swollen(f"the references repeat more than {MOST_INLINED} bytes")
        return found

    def offer(self, members: JsonObject) -> None:
        """Count the choices of a field.

        Raises:
            Malformed: the form offers more than a person could look through.
        """
        offers = (members.get(word) for word in ("enum", "oneOf", "anyOf"))
        self._offered += sum(len(choices) for choices in offers if isinstance(choices, list))
        if self._offered > MOST_CHOICES:
            raise Malformed(f"the form offers more than {MOST_CHOICES} choices")

    def _find(self, reference: JsonValue) -> JsonObject:
        for place in ("$defs", "definitions"):
            prefix, named = f"#/{place}/", self._schema.get(place)
            if isinstance(reference, str) and reference.startswith(prefix) and _is_object(named):
                found = named.get(reference[len(prefix) :])
                if isinstance(found, dict):
                    return found
        raise Malformed("it refers to something outside its schema")


@define
class Patterns:
    """The patterns of a form that are run, up to sums: the others are its server's business."""

    _characters: int = MOST_CHARACTERS
    _matched: int = MOST_MATCHED

    def run(self, pattern: str) -> bool:
        """Whether this one is held against answers."""
        self._characters -= len(pattern)
        return self._characters >= 0 and is_linear(pattern)

    def match(self, default: JsonValue) -> bool:
        """Whether the default of a field with such a pattern is held against it now."""
        self._matched -= len(default) if isinstance(default, str) else 0
        return self._matched >= 0


def _is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)
