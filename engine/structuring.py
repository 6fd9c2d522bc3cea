"""JSON values taken for attrs classes: the converter for what the two sides send to each other.

Structuring is strict: text is text, a number is a number, nothing is coerced. Unknown members
are ignored, as the protocol asks; an optional member that is null counts as absent, as those
mean it who write every member that they know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import attrs
from cattrs import BaseConverter, BaseValidationError, Converter, transform_error
from cattrs.cols import list_structure_factory
from cattrs.gen import make_dict_structure_fn, override

from .errors import INVALID_PARAMS, ProtocolError
from .jsonrpc import JsonObject, JsonValue

T = TypeVar("T")

NOT_NULL: Final = {"not null": True}
"""The metadata of an optional field whose member may be absent, but not null."""

_RENAMED: Final[dict[str, str]] = {
    "meta": "_meta",
    "input_responses": "inputResponses",
    "request_state": "requestState",
    "input_requests": "inputRequests",
    "supported_versions": "supportedVersions",
    "ttl_ms": "ttlMs",
    "cache_scope": "cacheScope",
    "website_url": "websiteUrl",
    "input_schema": "inputSchema",
    "mime_type": "mimeType",
    "uri_template": "uriTemplate",
    "resource_templates": "resourceTemplates",
    "has_more": "hasMore",
    "output_schema": "outputSchema",
    "next_cursor": "nextCursor",
    "structured": "structuredContent",
    "is_error": "isError",
}


_MALFORMED: Final = (TypeError, ValueError, KeyError, AttributeError)


def _fault(error: BaseException, _: type | None) -> str:
    return "required member missing" if isinstance(error, KeyError) else str(error)


_PYTHON_NAME: Final = re.compile(r"(?<=\.)\w+")


def _wire_name(match: re.Match[str]) -> str:
    return _RENAMED.get(match[0], match[0])


_JSON_NAMES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}


def _json_name(kind: type) -> str:
    return _JSON_NAMES.get(kind, kind.__name__)


def _exactly(kind: type[T], *also: type) -> Callable[[object, object], T]:
    kinds = (kind, *also)

    def check(value: object, _: object) -> T:
        # bool is an int to Python and not to JSON.
        if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"expected {_json_name(kind)}, not {_json_name(type(value))}")
        return cast(T, value)

    return check


def _integer(value: object, _: object) -> int:
    # To JSON Schema 42.0 is an integer, and some write all their numbers so.
    whole = isinstance(value, float) and value.is_integer()
    return int(cast(float, value)) if whole else _exactly(int)(value, int)


def _as_is(value: object, _: object) -> object:
    return value


def _json_object(value: object, _: object) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError(f"expected object, not {_json_name(type(value))}")
    return cast(JsonObject, value)


def _is_json_object(kind: object) -> bool:
    return get_origin(kind) is dict


def _is_json_value(kind: object) -> bool:
    return get_origin(kind) is Union and {str, float} <= set(get_args(kind))


def _optional_object(value: object, _: object) -> JsonObject | None:
    return None if value is None else _json_object(value, None)


def _optional_text(value: object, _: object) -> str | None:
    return None if value is None else _text(value, str)


_text: Final = _exactly(str)


def _optional_hook(kind: object) -> Callable[[object, object], object] | None:
    """A hook given by field: cattrs' own way to an optional costs ten times as much."""
    parts = [part for part in get_args(kind) if part is not type(None)]
    if len(parts) != 1 or len(get_args(kind)) != 2:
        return None
    if parts[0] is str:
        return _optional_text
    return _optional_object if _is_json_object(parts[0]) else None


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list


def _json_array(kind: object, converter: BaseConverter) -> Callable[[object, object], object]:
    build = list_structure_factory(cast(Any, kind), converter)

    def check(value: object, as_kind: object) -> object:
        # Left to itself, cattrs takes whatever it can walk through: a text, an object.
        if not isinstance(value, list):
            raise TypeError(f"expected array, not {_json_name(type(value))}")
        return build(cast("list[object]", value), cast(Any, as_kind))

    return check


def _is_literal(kind: object) -> bool:
    return get_origin(kind) is Literal


def _one_of(kind: object) -> Callable[[object, object], object]:
    words = get_args(kind)

    def check(value: object, _: object) -> object:
        # Left to itself, cattrs raises an error of another kind, which quotes the value whole.
        if isinstance(value, str) and value in words:
            return value
        raise TypeError(f"expected one of {', '.join(words)}")

    return check


def _may_be_null(a: attrs.Attribute[Any]) -> bool:
    return a.default is not attrs.NOTHING and not NOT_NULL.items() <= a.metadata.items()


def _json_members(cls: type, converter: BaseConverter) -> Callable[[object, object], object]:
    """A hook that is made when it is first used: a server never needs those of a client.

    A field with a converter of its own is given the value as it is.
    """
    # A JsonObject is made of JsonValue by name, which the module of the class need not have.
    attrs.resolve_types(cast(Any, cls), localns={"JsonValue": JsonValue})
    fields = attrs.fields(cast(Any, cls))
    optional = {_RENAMED.get(a.name, a.name) for a in fields if _may_be_null(a)}
    names = {
        a.name: override(
            rename=_RENAMED.get(a.name),
            struct_hook=_as_is if a.converter else _optional_hook(a.type),
        )
        for a in fields
    }
    build = make_dict_structure_fn(cast(Any, cls), converter, **cast(Any, names))

    def check(value: object, as_kind: object) -> object:
        members = _json_object(value, None)
        if None in members.values():
            members = {n: v for n, v in members.items() if v is not None or n not in optional}
        return build(members, cast(Any, as_kind))

    return check


@cache
def _build(*, detailed: bool) -> Converter:
    converter = Converter(detailed_validation=detailed)
    converter.register_structure_hook(str, _exactly(str))
    converter.register_structure_hook(bool, _exactly(bool))
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(float, _exactly(float, int))
    converter.register_structure_hook_func(_is_json_object, _json_object)
    converter.register_structure_hook_func(_is_json_value, _as_is)
    converter.register_structure_hook_factory(_is_literal, _one_of)
    converter.register_structure_hook_factory(_is_list, _json_array)
    converter.register_structure_hook_factory(attrs.has, _json_members)
    return converter


_fast: Final = _build(detailed=False)


def structure(value: JsonValue, kind: type[T], *, part: str = "params") -> T:
    """Take a JSON value for a message part; ``part`` names it in the error.

    Raises:
        ProtocolError: -32602 that names each fault and where it stands.
    """
    try:
        return _fast.structure(value, kind)
    except _MALFORMED:
        faults = _explain(value, kind, part)
    raise ProtocolError(INVALID_PARAMS, f"Invalid {part}: {faults}")


_EXPLAINED: Final = 20


def _explain(value: JsonValue, kind: type[object], part: str) -> str:
    # Only what failed is structured again, slowly, for a message that names the place; of long
    # lists only the head, since each faulty item costs an exception.
    if not isinstance(value, dict):
        return f"expected object, not {_json_name(type(value))}"
    try:
        _build(detailed=True).structure(_head(value), kind)
    except BaseValidationError as error:
        told = "; ".join(transform_error(error, path=part, format_exception=_fault))
        return _PYTHON_NAME.sub(_wire_name, told)
    return f"an item of a list after the first {_EXPLAINED} is malformed"


def _head(value: JsonObject) -> JsonObject:
    return {k: v[:_EXPLAINED] if isinstance(v, list) else v for k, v in value.items()}
