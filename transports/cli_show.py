"""What a server gave, as text for a person or JSON for a program."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final, TypeAlias

from ..engine.client_messages import (
    CallToolResult,
    GetPromptResult,
    ReadResourceResult,
    ResourceContents,
)
from ..engine.hearing import LogMessage
from ..engine.jsonrpc import JsonObject, JsonValue
from .cli_text import harmless, one_line

Result: TypeAlias = CallToolResult | GetPromptResult | ReadResourceResult

_INDENT: Final = 2
_LONGEST_URI: Final = 2000
_LONGEST_LOG: Final = 2000


def as_json(value: JsonValue) -> str:
    """JSON in ASCII: what a terminal could obey is escaped, and nothing is lost."""
    # DEL is the one control character that JSON does not escape.
    return json.dumps(value, indent=_INDENT).replace("\x7f", "\\u007f")


# -- results ----------------------------------------------------------------------------------


def result_json(result: Result) -> JsonObject:
    """The result as it came."""
    match result:
        case CallToolResult():
            members = _call_json(result)
        case GetPromptResult():
            members = _prompt_json(result)
        case ReadResourceResult():
            members = _read_json(result)
    if result.meta:
        members["_meta"] = result.meta
    return members


def _call_json(result: CallToolResult) -> JsonObject:
    members: JsonObject = {"content": list(result.content)}
    if result.has_structured:
        members["structuredContent"] = result.structured
    if result.is_error:
        members["isError"] = True
    return members


def _prompt_json(result: GetPromptResult) -> JsonObject:
    messages: list[JsonValue] = [
        {"role": message.role, "content": message.content} for message in result.messages
    ]
    described = {} if result.description is None else {"description": result.description}
    return {**described, "messages": messages}


def _read_json(result: ReadResourceResult) -> JsonObject:
    contents: list[JsonValue] = [_contents_json(part) for part in result.contents]
    return {"contents": contents}


def _contents_json(part: ResourceContents) -> JsonObject:
    members: dict[str, JsonValue] = {
        "uri": part.uri,
        "mimeType": part.mime_type,
        "text": part.text,
        "blob": part.blob,
        "_meta": part.meta,
    }
    return present(members)


def present(members: dict[str, JsonValue]) -> JsonObject:
    """The members that are there."""
    return {name: value for name, value in members.items() if value is not None}


def result_text(result: Result) -> str:
    """The result as a person reads it."""
    match result:
        case CallToolResult():
            return _call_text(result)
        case GetPromptResult():
            return "\n\n".join(
                f"{one_line(message.role)}:\n{_block(message.content)}"
                for message in result.messages
            )
        case ReadResourceResult():
            return "\n".join(map(_contents_text, result.contents))


def _call_text(result: CallToolResult) -> str:
    if result.has_structured and _repeats(result):
        return readable_json(result.structured)
    return "\n".join(map(_block, result.content))


def _contents_text(part: ResourceContents) -> str:
    if part.blob is None:
        return harmless(part.text or "")
    kind = f" of {one_line(part.mime_type)}" if part.mime_type else ""
    return f"[{_uri(part.uri)}: {_decoded_size(part.blob)} bytes{kind}; --output FILE writes them]"


def contents_bytes(result: ReadResourceResult) -> bytes:
    """What was read, one part after the other.

    Raises:
        InvalidReply: the server sent a blob that is no Base64.
    """
    return b"".join(part.data for part in result.contents)


def readable_json(value: JsonValue) -> str:
    """JSON for people: letters of all languages as they are."""
    return harmless(json.dumps(value, indent=_INDENT, ensure_ascii=False))


def _repeats(result: CallToolResult) -> bool:
    """Whether the text only says what the structured content says better."""
    try:
        return not result.content or json.loads(result.text) == result.structured
    except ValueError:
        return False


def _block(block: JsonObject) -> str:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return harmless(str(block["text"]))
    if kind in ("image", "audio"):
        size = _decoded_size(str(block.get("data", "")))
        return f"[{kind} {one_line(str(block.get('mimeType')))}, {size} bytes]"
    if kind == "resource_link":
        return f"[link {one_line(str(block.get('name')))}: {_uri(block.get('uri'))}]"
    if kind == "resource":
        return _resource(block.get("resource"))
    return readable_json(block)


def _resource(resource: JsonValue) -> str:
    members = resource if isinstance(resource, dict) else {}
    named = f"[resource {_uri(members.get('uri'))}]"
    text = members.get("text")
    return f"{named}\n{harmless(text)}" if isinstance(text, str) else named


def _uri(uri: JsonValue) -> str:
    return one_line(str(uri), _LONGEST_URI)


def _decoded_size(text: str) -> int:
    try:
        return len(base64.b64decode(text))
    except (binascii.Error, ValueError):
        return 0


# -- log messages -----------------------------------------------------------------------------


def log_line(message: LogMessage) -> str:
    """A log message of a server on one line."""
    data = message.data
    told = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    logger = f" {one_line(message.logger)}" if message.logger else ""
    return f"{message.level.upper()}{logger}: {one_line(told, _LONGEST_LOG)}"
