"""How a result becomes the contents of a resource. Specification: server/resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from attrs import field, frozen

from . import validators
from .content import BLOCKS, Structured, contents_wire, with_meta
from .errors import UsageError
from .jsonrpc import JsonObject, dumps
from .prompt_content import PromptMessage
from .schema import plain

JSON: Final = "application/json"


FOREIGN: Final = (*BLOCKS, PromptMessage, Structured)
"""What only tools and prompts give."""


@frozen
class ResourceContents:
    """The contents of a resource, or of one of several that are read at once.

    Args:
        contents: text, or bytes.
        uri: of the part, where it is not the one that is read.
        mime_type: where it is not the one that the resource was registered with.
        meta: what else the client is told, as ``_meta``.
    """

    contents: str | bytes = field(validator=validators.text_or_octets)
    uri: str | None = field(default=None, kw_only=True, validator=validators.optional_text)
    mime_type: str | None = field(default=None, kw_only=True, validator=validators.mime_type)
    meta: JsonObject | None = field(default=None, kw_only=True, validator=validators.mapping)


def resource_contents(value: object, uri: str, mime_type: str | None = None) -> list[JsonObject]:
    """The ``contents`` of a ``ReadResourceResult`` that say ``value``; at least one.

    Text is text and bytes are a blob. A :class:`ResourceContents`, or a list of them, is sent
    as it says. Anything else is its JSON text, of type ``application/json`` unless another is
    given.

    Args:
        value: what the handler gave.
        uri: what was read.
        mime_type: what the resource was registered with.

    Raises:
        UsageError: there is nothing, or it has no JSON form.
    """
    if value is None:
        raise UsageError(
            f"Reading {uri!r} gave None; give its contents, or raise where there is no such "
            "resource"
        )
    if isinstance(value, str | bytes | bytearray):
        plainly = value if isinstance(value, str) else bytes(value)
        return [contents_wire(uri, plainly, mime_type)]
    items = cast("Sequence[object]", value if isinstance(value, list | tuple) else [value])
    _refuse_foreign(items, uri)
    if parts := [item for item in items if isinstance(item, ResourceContents)]:
        _refuse_others(items, parts)
        return [_wire(part, uri, mime_type) for part in parts]
    text = dumps(plain(cast(object, value))).decode()
    return [contents_wire(uri, text, mime_type or JSON)]


def _wire(part: ResourceContents, uri: str, mime_type: str | None) -> JsonObject:
    own = part.mime_type if part.mime_type is not None else mime_type
    named = part.uri if part.uri is not None else uri
    return with_meta(contents_wire(named, part.contents, own), part.meta)


def _refuse_foreign(items: Sequence[object], uri: str) -> None:
    for item in items:
        if isinstance(item, FOREIGN):
            kind = type(cast(object, item)).__name__
            raise UsageError(f"Reading {uri!r} gave a {kind}, which is for tools and prompts")


def _refuse_others(items: Sequence[object], parts: Sequence[ResourceContents]) -> None:
    if len(parts) != len(items):
        raise UsageError("A list with a ResourceContents holds nothing else")
