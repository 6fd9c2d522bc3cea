"""What a server sends to a client, as attrs classes: lists, results, and what is in them.

Members that this revision does not know are left out; content blocks, annotations, icons and
``_meta`` stay JSON objects, as they were sent. Specification: server/discover, server/tools,
server/prompts, server/resources, server/utilities/completion, basic/patterns/mrtr.
"""

from __future__ import annotations

import base64
from typing import Final

from attrs import field, frozen

from .errors import InvalidReply, ProtocolError, printable
from .jsonrpc import JsonObject, JsonValue
from .protocol import META_SERVER, CacheScope, Implementation
from .structuring import NOT_NULL, structure


def _milliseconds(told: JsonValue) -> int:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return 0
    return max(int(told), 0)


def _scope(told: JsonValue) -> CacheScope:
    return "public" if told == "public" else "private"


@frozen(kw_only=True)
class Cacheable:
    """A result that says how long it may be kept (server/utilities/caching).

    These are hints, which never spoil the result that they come with: what makes no sense counts
    as absent.

    Attributes:
        ttl_ms: for how long it is fresh, in milliseconds; 0 for not at all.
        cache_scope: whether others than who has asked may be served with it.
    """

    ttl_ms: int = field(default=0, converter=_milliseconds)
    cache_scope: CacheScope = field(default="private", converter=_scope)


@frozen
class Discovery(Cacheable):
    """A ``DiscoverResult``."""

    supported_versions: list[str]
    capabilities: JsonObject
    instructions: str | None = None
    meta: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def server(self) -> Implementation | None:
        """How the server names itself, where it does so readably."""
        try:
            return structure(self.meta.get(META_SERVER), Implementation)
        except ProtocolError:
            return None


# -- what is listed ---------------------------------------------------------------------------


@frozen
class Tool:
    """A tool as a server lists it."""

    name: str
    input_schema: JsonObject
    title: str | None = None
    description: str | None = None
    output_schema: JsonObject | None = None
    annotations: JsonObject | None = None
    icons: list[JsonObject] | None = None
    meta: JsonObject | None = None


@frozen
class PromptArgument:
    """An argument of a prompt; its value is a text."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool = False


@frozen
class Prompt:
    """A prompt as a server lists it."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] = field(factory=list[PromptArgument])
    icons: list[JsonObject] | None = None
    meta: JsonObject | None = None


@frozen
class Resource:
    """A resource as a server lists it; ``size`` in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: JsonObject | None = None
    icons: list[JsonObject] | None = None
    meta: JsonObject | None = None


@frozen
class ResourceTemplate:
    """A template of resources as a server lists it (RFC 6570)."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: JsonObject | None = None
    icons: list[JsonObject] | None = None
    meta: JsonObject | None = None


@frozen
class ToolPage(Cacheable):
    """A ``ListToolsResult``."""

    tools: list[Tool]
    next_cursor: str | None = None


@frozen
class PromptPage(Cacheable):
    """A ``ListPromptsResult``."""

    prompts: list[Prompt]
    next_cursor: str | None = None


@frozen
class ResourcePage(Cacheable):
    """A ``ListResourcesResult``."""

    resources: list[Resource]
    next_cursor: str | None = None


@frozen
class ResourceTemplatePage(Cacheable):
    """A ``ListResourceTemplatesResult``."""

    resource_templates: list[ResourceTemplate]
    next_cursor: str | None = None


# -- results ----------------------------------------------------------------------------------

_BY_LINE: Final = "\n"


def _text_of(blocks: list[JsonObject]) -> str:
    return _BY_LINE.join(str(block.get("text")) for block in blocks if block.get("type") == "text")


@frozen
class CallToolResult:
    """A complete ``CallToolResult``, content blocks as plain JSON objects.

    ``structured`` is None where the member is absent and where it is null;
    ``has_structured`` tells the two apart.
    """

    content: list[JsonObject]
    structured: JsonValue = None
    is_error: bool = False
    has_structured: bool = False
    meta: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return _text_of(self.content)


@frozen
class PromptMessage:
    """A message of a prompt; ``content`` is a content block."""

    role: str
    content: JsonObject


@frozen
class GetPromptResult:
    """A complete ``GetPromptResult``."""

    messages: list[PromptMessage]
    description: str | None = None
    meta: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def text(self) -> str:
        """The text blocks of all messages, joined by newlines."""
        return _text_of([message.content for message in self.messages])


@frozen
class ResourceContents:
    """Contents of a resource: text, or bytes in Base64 as ``blob``."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: JsonObject | None = None

    @property
    def data(self) -> bytes:
        """The contents as bytes: text in UTF-8.

        Raises:
            InvalidReply: the server sent a blob that is no Base64.
        """
        if self.blob is None:
            return (self.text or "").encode()
        try:
            return base64.b64decode(self.blob, validate=True)
        except ValueError:
            raise InvalidReply(f"The blob of {printable(self.uri)[:200]} is no Base64") from None


@frozen
class ReadResourceResult(Cacheable):
    """A complete ``ReadResourceResult``."""

    contents: list[ResourceContents]
    meta: JsonObject = field(factory=dict[str, JsonValue])

    @property
    def text(self) -> str:
        """The contents that are text, joined by newlines."""
        return _BY_LINE.join(part.text for part in self.contents if part.text is not None)


@frozen
class Suggestions:
    """What a server suggests for an argument, best first."""

    values: list[str]
    total: int | None = None
    has_more: bool = False


@frozen
class CompleteResult:
    """A ``CompleteResult``."""

    completion: Suggestions


@frozen
class InputRequired:
    """An ``InputRequiredResult``: questions, state, or both."""

    input_requests: JsonObject = field(factory=dict[str, JsonValue], metadata=NOT_NULL)
    request_state: str | None = field(default=None, repr=False)
    meta: JsonObject = field(factory=dict[str, JsonValue])
