"""Content blocks, and how a result becomes a ``CallToolResult``.

Specification: server/tools, "Tool Result"; server/prompts, "PromptMessage".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar, cast

from attrs import field, frozen

from . import validators
from .checks import kind_of
from .display import Annotations, Icon
from .errors import UsageError
from .jsonrpc import JsonObject, JsonValue, dumps
from .schema import plain


@frozen
class _Block:
    """What every block may carry beside its content."""

    annotations: Annotations | None = field(default=None, kw_only=True, validator=validators.hints)
    meta: JsonObject | None = field(default=None, kw_only=True, validator=validators.mapping)

    def _with_hints(self, block: JsonObject) -> JsonObject:
        if self.annotations is not None:
            block["annotations"] = self.annotations.wire()
        return with_meta(block, self.meta)


def with_meta(member: JsonObject, meta: JsonObject | None) -> JsonObject:
    """Add ``_meta`` where there is any; raises UsageError where it is no object of JSON."""
    if meta is not None:
        if not isinstance(cast(object, meta), Mapping):
            raise UsageError(f"meta must be a dict, not {kind_of(meta)}")
        member["_meta"] = _sayable(plain(meta))
    return member


def _sayable(value: JsonValue) -> JsonValue:
    # Told here, a log names the tool; the transport could only say that it cannot send.
    if not (isinstance(value, str) and value.isascii()):
        dumps(value)
    return value


@frozen
class Text(_Block):
    """A text block."""

    text: str = field(validator=validators.text)

    def wire(self) -> JsonObject:
        """The JSON form; raises UsageError where the text has a lone surrogate."""
        return self._with_hints({"type": "text", "text": _sayable(self.text)})


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@frozen
class Image(_Block):
    """An image block; ``data`` is the image file's own bytes."""

    data: bytes = field(validator=validators.octets)
    mime_type: str = field(validator=[validators.text, validators.mime_type])

    def wire(self) -> JsonObject:
        """The JSON form."""
        return self._with_hints(
            {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}
        )


@frozen
class Audio(_Block):
    """An audio block; ``data`` is the audio file's own bytes."""

    data: bytes = field(validator=validators.octets)
    mime_type: str = field(validator=[validators.text, validators.mime_type])

    def wire(self) -> JsonObject:
        """The JSON form."""
        return self._with_hints(
            {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}
        )


@frozen
class ResourceLink(_Block):
    """A pointer to a resource; ``size`` is that of its raw content in bytes."""

    uri: str = field(validator=validators.text)
    name: str = field(validator=validators.text)
    description: str | None = field(default=None, validator=validators.optional_text)
    mime_type: str | None = field(default=None, validator=validators.mime_type)
    title: str | None = field(default=None, kw_only=True, validator=validators.optional_text)
    size: int | None = field(default=None, kw_only=True, validator=validators.size)
    icons: Sequence[Icon] = field(default=(), kw_only=True, validator=validators.icons)

    def wire(self) -> JsonObject:
        """The JSON form; raises UsageError where a text has a lone surrogate."""
        given: JsonObject = {
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "size": self.size,
            "icons": [icon.wire() for icon in self.icons] or None,
        }
        block: JsonObject = {"type": "resource_link", "uri": self.uri, "name": self.name}
        block |= {name: value for name, value in given.items() if value is not None}
        _sayable(block)
        return self._with_hints(block)


def contents_wire(uri: str, contents: str | bytes, mime_type: str | None) -> JsonObject:
    """A ``TextResourceContents`` or a ``BlobResourceContents``.

    Raises:
        UsageError: a text has a lone surrogate.
    """
    wire: JsonObject = {"uri": _sayable(uri)}
    if isinstance(contents, str):
        wire["text"] = _sayable(contents)
    else:
        wire["blob"] = _base64(contents)
    if mime_type is not None:
        wire["mimeType"] = mime_type
    return wire


@frozen
class EmbeddedResource(_Block):
    """A resource's own contents: text, or bytes."""

    uri: str = field(validator=validators.text)
    contents: str | bytes = field(validator=validators.text_or_octets)
    mime_type: str | None = field(default=None, validator=validators.mime_type)

    def wire(self) -> JsonObject:
        """The JSON form; raises UsageError where a text has a lone surrogate."""
        resource = contents_wire(self.uri, self.contents, self.mime_type)
        return self._with_hints({"type": "resource", "resource": resource})


Block: TypeAlias = Text | Image | Audio | ResourceLink | EmbeddedResource
BLOCKS = (Text, Image, Audio, ResourceLink, EmbeddedResource)


def as_block(value: str | Block) -> Block:
    """A block as it is, a text as a text block."""
    return Text(value) if isinstance(value, str) else value


T = TypeVar("T")


@frozen
class Structured(Generic[T]):
    """A result that is structured content whatever its type is: a text, None, a list of blocks.

    Args:
        value: anything that has a JSON form.
        content: what clients that read no structured content get; its JSON where this is None.
    """

    value: T
    content: Sequence[str | Block] | None = None

    def wire(self) -> JsonObject:
        """The members of a ``CallToolResult``; raises UsageError where there is no JSON form."""
        structured = plain(self.value)
        content = [dumps(structured).decode()] if self.content is None else self.content
        return {
            "content": [as_block(item).wire() for item in content],
            "structuredContent": _sayable(structured),
        }


def tool_result(value: object) -> JsonObject:
    """The members of a ``CallToolResult`` that say ``value``.

    Text and content blocks, alone or in a list with at least one block, are sent as they are,
    and None as no content. Anything else is structured content, with its JSON as a text block
    for clients that read only text; :class:`Structured` makes it of text and None too.

    Raises:
        UsageError: the value has no JSON form, or blocks stand among other things.
    """
    if value is None:
        return {"content": []}
    if isinstance(value, str | Block):
        return {"content": [as_block(value).wire()]}
    if isinstance(value, Structured):
        return cast("Structured[object]", value).wire()
    if isinstance(value, list | tuple):
        items = cast(Sequence[object], value)
        if any(isinstance(item, Block) for item in items):
            return {"content": [_said(item).wire() for item in items]}
    return Structured(cast(object, value)).wire()


def _said(item: object) -> Block:
    if isinstance(item, str | Block):
        return as_block(item)
    raise UsageError(
        f"A list of content blocks holds a {type(item).__name__}; besides blocks it may hold text"
    )


def tool_error(message: str) -> JsonObject:
    """The members of a ``CallToolResult`` that tells a model what went wrong.

    What no JSON can say, such as half a surrogate pair in a file's name, is replaced: the rest
    of the message must reach the model.
    """
    sayable = message.encode("utf-8", "replace").decode()
    return {"content": [Text(sayable).wire()], "isError": True}
