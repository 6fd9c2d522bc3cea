"""``key=value`` on a command line, typed by the JSON Schema of what it is for."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, cast

from attrs import field, frozen

from ..engine.errors import UsageError
from ..engine.jsonrpc import InvalidJson, JsonObject, JsonValue, loads

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_NODES: Final = 200
"""Parts of a schema that are looked at for one type: references may lead in circles."""

_ARTICLES: Final = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "object": "a JSON object",
    "array": "a JSON array",
}


@frozen
class Pair:
    """One ``key=value``, or ``key:=value`` where the value is JSON whatever the schema says."""

    key: str
    value: str = field(repr=False)
    json: bool = False


class Unfit(UsageError):
    """A text is no value of the type that is wanted; the message says which that is."""


def split_pair(text: str) -> Pair:
    """Take ``key=value`` or ``key:=json`` apart.

    Raises:
        UsageError: it is neither.
    """
    key, equals, value = text.partition("=")
    json = key.endswith(":")
    key = key[: len(key) - json]
    if not equals or not key:
        raise UsageError(f"{text[:40]!r} is not of the form key=value or key:=json")
    return Pair(key, value, json)


def read_json(text: str, what: str) -> JsonValue:
    """A JSON value that was given on the command line.

    Raises:
        Unfit: it is none; ``what`` names it, and the text itself is not repeated.
    """
    try:
        return loads(text.encode())
    except (InvalidJson, UnicodeEncodeError) as error:
        raise Unfit(f"{what} is not valid JSON: {error}") from None


def typed_arguments(
    pairs: Iterable[Pair], whole: JsonObject, schema: JsonObject
) -> dict[str, JsonValue]:
    """The arguments of a tool: those of ``whole``, and each pair typed by the tool's schema.

    Raises:
        UsageError: a value does not fit its type, or a name is given twice.
    """
    arguments: dict[str, JsonValue] = dict(whole)
    for pair in pairs:
        if pair.key in arguments:
            raise UsageError(f"Argument {pair.key!r} is given twice")
        arguments[pair.key] = _argument(pair, schema)
    return arguments


def _argument(pair: Pair, schema: JsonObject) -> JsonValue:
    what = f"Argument {pair.key!r}"
    if pair.json:
        return read_json(pair.value, what)
    node = _members(schema.get("properties")).get(pair.key)
    try:
        return typed(pair.value, type_names(node, schema))
    except Unfit as error:
        raise Unfit(f"{what} must be {error}") from None


def typed(text: str, types: Collection[str]) -> JsonValue:
    """The value of one of the JSON types that ``text`` stands for.

    Where text is among the types, or no type is known, it stands for itself.

    Raises:
        Unfit: it stands for none; the message names the types.
    """
    if not types or "string" in types:
        return text
    for kind in ("null", "boolean", "integer", "number", "array", "object"):
        if kind in types:
            try:
                return _value(text, kind)
            except ValueError:
                continue
    raise Unfit(" or ".join(_ARTICLES[kind] for kind in _ARTICLES if kind in types))


def _value(text: str, kind: str) -> JsonValue:
    match kind:
        case "null" | "boolean":
            return _named(text.strip(), kind)
        case "integer" | "number":
            return _number(text.strip(), kind)
        case _:
            return _container(text, kind)


def _named(text: str, kind: str) -> JsonValue:
    if kind == "null" and text == "null":
        return None
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    raise ValueError


def _number(text: str, kind: str) -> JsonValue:
    if _INTEGER.fullmatch(text):
        return int(text)
    if kind == "integer" or not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError
    return float(text)


def _container(text: str, kind: str) -> JsonValue:
    try:
        value = read_json(text, kind)
    except Unfit:
        raise ValueError from None
    if isinstance(value, list if kind == "array" else dict):
        return value
    raise ValueError


# -- schemas ----------------------------------------------------------------------------------


def type_names(node: JsonValue, schema: JsonObject) -> list[str]:
    """The JSON types that a property of a schema may have; none where it does not say."""
    found: dict[str, None] = {}
    waiting = deque([node])
    for _ in range(_MOST_NODES):
        if not waiting:
            break
        members = _members(waiting.popleft())
        found.update(dict.fromkeys(_own_types(members)))
        waiting.extend(_branches(members))
        waiting.append(_referred(members.get("$ref"), schema))
    return list(found)


def _own_types(members: Mapping[str, JsonValue]) -> Iterator[str]:
    kinds = members.get("type")
    if kinds is not None:
        yield from (kind for kind in _listed(kinds) if isinstance(kind, str))
    elif "const" in members:
        yield _type_of(members["const"])
    else:
        yield from map(_type_of, _listed(members.get("enum")))


def _branches(members: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    for word in ("anyOf", "oneOf", "allOf"):
        yield from _listed(members.get(word))


def _listed(value: JsonValue) -> list[JsonValue]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _type_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _referred(reference: JsonValue, schema: JsonObject) -> JsonValue:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    node: JsonValue = schema
    for step in reference[2:].split("/"):
        node = _members(node).get(step.replace("~1", "/").replace("~0", "~"))
    return node


def _members(node: JsonValue) -> Mapping[str, JsonValue]:
    return cast("JsonObject", node) if isinstance(node, dict) else {}
