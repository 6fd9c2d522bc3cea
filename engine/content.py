"""Content blocks, and how a result becomes a ``CallToolResult``.

Specification: server/tools, "Tool Result".
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeAlias, cast

from attrs import frozen

from .jsonrpc import JsonObject, dumps
from .schema import plain


@frozen
class Text:
    """A text block."""

    text: str

    def wire(self) -> JsonObject:
        """The JSON form; raises UsageError where the text has a lone surrogate."""
        # Told here, a log names the tool; the transport could only say that it cannot send.
        if not self.text.isascii():
            dumps(self.text)
        return {"type": "text", "text": self.text}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


@frozen
class Image:
    """An image block; ``data`` is the image file's own bytes."""

    data: bytes
    mime_type: str

    def wire(self) -> JsonObject:
        """The JSON form."""
        return {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}


@frozen
class Audio:
    """An audio block; ``data`` is the audio file's own bytes."""

    data: bytes
    mime_type: str

    def wire(self) -> JsonObject:
        """The JSON form."""
        return {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}


@frozen
class ResourceLink:
    """A pointer to a resource."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None

    def wire(self) -> JsonObject:
        """The JSON form."""
        block: JsonObject = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.description is not None:
            block["description"] = self.description
        if self.mime_type is not None:
            block["mimeType"] = self.mime_type
        return block


@frozen
class EmbeddedResource:
    """A resource's own contents: text, or bytes."""

    uri: str
    contents: str | bytes
    mime_type: str | None = None

    def wire(self) -> JsonObject:
        """The JSON form."""
        resource: JsonObject = {"uri": self.uri}
        if isinstance(self.contents, str):
            resource["text"] = self.contents
        else:
            resource["blob"] = _base64(self.contents)
        if self.mime_type is not None:
            resource["mimeType"] = self.mime_type
        return {"type": "resource", "resource": resource}


Block: TypeAlias = Text | Image | Audio | ResourceLink | EmbeddedResource
BLOCKS = (Text, Image, Audio, ResourceLink, EmbeddedResource)


def tool_result(value: object) -> JsonObject:
    """The members of a ``CallToolResult`` that say ``value``.

    Text and content blocks are sent as they are, None as no content; anything else as
    structured content, with its JSON as a text block for clients that read only text.

    Raises:
        UsageError: the value has no JSON form.
    """
    if value is None:
        return {"content": []}
    if isinstance(value, str):
        return {"content": [Text(value).wire()]}
    if isinstance(value, BLOCKS):
        return {"content": [value.wire()]}
    if isinstance(value, list | tuple):
        items = cast(Sequence[object], value)
        blocks = [item for item in items if isinstance(item, BLOCKS)]
        if blocks and len(blocks) == len(items):
            return {"content": [block.wire() for block in blocks]}
    structured = plain(cast(object, value))
    return {
        "content": [Text(dumps(structured).decode()).wire()],
        "structuredContent": structured,
    }


def tool_error(message: str) -> JsonObject:
    """The members of a ``CallToolResult`` that tells a model what went wrong.

    What no JSON can say, such as half a surrogate pair in a file's name, is replaced: the rest
    of the message must reach the model.
    """
    sayable = message.encode("utf-8", "replace").decode()
    return {"content": [Text(sayable).wire()], "isError": True}
