"""The 2026-07-28 messages that Antiphon reads, as attrs classes, and the converter for them.

Structuring is strict: text is text, a number is a number, nothing is coerced. Unknown members
are ignored, as the protocol asks. Specification: basic/index ("_meta"), server/tools,
server/discover, basic/patterns/mrtr.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeGuard, TypeVar, Union, cast, get_args, get_origin

import attrs
from attrs import field, frozen
from cattrs import BaseConverter, BaseValidationError, Converter, transform_error
from cattrs.cols import list_structure_factory
from cattrs.gen import make_dict_structure_fn, override

from .errors import INVALID_PARAMS, ProtocolError, unsupported_version
from .jsonrpc import JsonObject, JsonValue

VERSION: Final = "2026-07-28"
SUPPORTED_VERSIONS: Final = (VERSION,)

META_PREFIX: Final = "io.modelcontextprotocol/"
META_VERSION: Final = META_PREFIX + "protocolVersion"
META_CLIENT: Final = META_PREFIX + "clientInfo"
META_CAPABILITIES: Final = META_PREFIX + "clientCapabilities"
META_LOG_LEVEL: Final = META_PREFIX + "logLevel"
META_SERVER: Final = META_PREFIX + "serverInfo"
META_RETRY_MS: Final = "antiphon/retryAfterMs"
"""In the result's ``_meta`` of a poll: when the server would like to be asked again."""

CacheScope = Literal["public", "private"]
LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)
"""From the least severe to the most (specification, server/utilities/logging)."""


def is_log_level(value: object) -> TypeGuard[LogLevel]:
    """Whether it names a level."""
    return value in LOG_LEVELS


def is_at_least(level: LogLevel, floor: LogLevel) -> bool:
    """Whether a level is as severe as ``floor``, or more."""
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(floor)


COMPLETE: Final = "complete"
INPUT_REQUIRED: Final = "input_required"

TARGETS: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""The methods that may ask, and the parameter that says what is asked for."""

T = TypeVar("T")


@frozen
class Implementation:
    """A program as it names itself; nothing may depend on it."""

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: list[JsonObject] | None = None

    def wire(self) -> JsonObject:
        """The JSON form, without absent members."""
        members: JsonObject = {
            "name": self.name,
            "version": self.version,
            "title": self.title,
            "description": self.description,
            "websiteUrl": self.website_url,
            "icons": None if self.icons is None else [*self.icons],
        }
        return {name: value for name, value in members.items() if value is not None}


@frozen
class RequestMeta:
    """The ``_meta`` of a request: all that a server knows of its client.

    ``raw`` is the whole object as it was sent.
    """

    version: str
    capabilities: JsonObject
    client: Implementation | None
    progress_token: str | int | None
    raw: JsonObject
    log_level: LogLevel | None = None


@frozen
class CallToolParams:
    """The parameters of ``tools/call``."""

    name: str
    arguments: JsonObject | None = None
    input_responses: JsonObject | None = field(default=None, repr=False)
    request_state: str | None = field(default=None, repr=False)


@frozen
class GetPromptParams:
    """The parameters of ``prompts/get``."""

    name: str
    arguments: JsonObject | None = None
    input_responses: JsonObject | None = field(default=None, repr=False)
    request_state: str | None = field(default=None, repr=False)


@frozen
class ReadResourceParams:
    """The parameters of ``resources/read``."""

    uri: str
    input_responses: JsonObject | None = field(default=None, repr=False)
    request_state: str | None = field(default=None, repr=False)


@frozen
class CompleteParams:
    """The parameters of ``completion/complete``, the members of its parts taken apart later."""

    ref: JsonObject
    argument: JsonObject
    context: JsonObject | None = None


@frozen
class PageParams:
    """The parameters of a list method."""

    cursor: str | None = None


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


def _json_members(cls: type, converter: BaseConverter) -> Callable[[object, object], object]:
    """A hook that is made when it is first used: a server never needs those of a client.

    A field with a converter of its own is given the value as it is.
    """
    attrs.resolve_types(cast(Any, cls))
    names = {
        a.name: override(
            rename=_RENAMED.get(a.name),
            struct_hook=_as_is if a.converter else _optional_hook(a.type),
        )
        for a in attrs.fields(cast(Any, cls))
    }
    build = make_dict_structure_fn(cast(Any, cls), converter, **cast(Any, names))

    def check(value: object, as_kind: object) -> object:
        return build(_json_object(value, None), cast(Any, as_kind))

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


def read_meta(params: JsonObject) -> RequestMeta:
    """Read the ``_meta`` of a request.

    Raises:
        ProtocolError: -32602 where a required member is missing or has the wrong type,
            -32022 where the revision is not served.
    """
    raw = params.get("_meta")
    if not isinstance(raw, dict):
        raise ProtocolError(INVALID_PARAMS, 'Invalid params: "_meta" is missing')
    version = raw.get(META_VERSION)
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f'Invalid params: _meta["{META_VERSION}"] is missing')
    if version not in SUPPORTED_VERSIONS:
        raise unsupported_version(version, SUPPORTED_VERSIONS)
    capabilities = raw.get(META_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise ProtocolError(
            INVALID_PARAMS, f'Invalid params: _meta["{META_CAPABILITIES}"] is missing'
        )
    client = raw.get(META_CLIENT)
    token = raw.get("progressToken")
    if token is not None and (isinstance(token, bool) or not isinstance(token, str | int)):
        raise ProtocolError(
            INVALID_PARAMS, 'Invalid params: "progressToken" must be a string or an integer'
        )
    level = raw.get(META_LOG_LEVEL)
    if level is not None and not is_log_level(level):
        raise ProtocolError(
            INVALID_PARAMS,
            f'Invalid params: _meta["{META_LOG_LEVEL}"] must be one of {", ".join(LOG_LEVELS)}',
        )
    return RequestMeta(
        version,
        capabilities,
        structure(client, Implementation, part="clientInfo") if client is not None else None,
        token,
        raw,
        level,
    )
