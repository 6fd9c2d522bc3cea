"""The 2026-07-28 messages that Antiphon reads, as attrs classes.

Specification: basic/index ("_meta"), server/tools, server/discover, basic/patterns/mrtr.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeGuard, get_args

from attrs import field, frozen

from .errors import INVALID_PARAMS, ProtocolError, unsupported_version
from .jsonrpc import JsonObject
from .structuring import structure

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


CANCELLED: Final = "notifications/cancelled"
LOG: Final = "notifications/message"
PROGRESS: Final = "notifications/progress"

COMPLETE: Final = "complete"
INPUT_REQUIRED: Final = "input_required"

TARGETS: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""The methods that may ask, and the parameter that says what is asked for."""


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
