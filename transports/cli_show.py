"""What a server gave, as text for a person or JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from ..engine.client_messages import CallToolResult, Tool
from ..engine.jsonrpc import JsonObject, JsonValue
from .cli_text import harmless, one_line, shortened
from .cli_values import type_names

_INDENT: Final = 2


def as_json(value: JsonValue) -> str:
    """JSON in ASCII: what a terminal could obey is escaped, and nothing is lost."""
    # DEL is the one control character that JSON does not escape.
    return json.dumps(value, indent=_INDENT).replace("\x7f", "\\u007f")


# -- results ----------------------------------------------------------------------------------


def result_json(result: CallToolResult) -> JsonObject:
    """The result as it came."""
    members: JsonObject = {"content": list(result.content)}
    if result.has_structured:
        members["structuredContent"] = result.structured
    if result.is_error:
        members["isError"] = True
    if result.meta:
        members["_meta"] = result.meta
    return members


def result_text(result: CallToolResult) -> str:
    """The result as a person reads it."""
    if result.has_structured and _repeats(result):
        return readable_json(result.structured)
    return "\n".join(map(_block, result.content))


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
        size = len(str(block.get("data", ""))) * 3 // 4
        return f"[{kind} {one_line(str(block.get('mimeType')))}, {size} bytes]"
    if kind == "resource_link":
        return f"[link {one_line(str(block.get('name')))}: {one_line(str(block.get('uri')), 2000)}]"
    if kind == "resource":
        return _resource(block.get("resource"))
    return readable_json(block)


def _resource(resource: JsonValue) -> str:
    members = resource if isinstance(resource, dict) else {}
    named = f"[resource {one_line(str(members.get('uri')), 2000)}]"
    text = members.get("text")
    return f"{named}\n{harmless(text)}" if isinstance(text, str) else named


# -- tools ------------------------------------------------------------------------------------


def tool_json(tool: Tool) -> JsonObject:
    """A tool as it was listed."""
    members: dict[str, JsonValue] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "_meta": tool.meta,
    }
    return {name: value for name, value in members.items() if value is not None}


def tool_text(tool: Tool) -> str:
    """A tool: its name, what it does, its arguments."""
    head = one_line(tool.name) + (f" ({one_line(tool.title)})" if tool.title else "")
    described = shortened(tool.description or "").splitlines()
    return "\n".join([head, *(f"    {line}" for line in [*described, *_arguments(tool)])])


def _arguments(tool: Tool) -> Iterator[str]:
    schema = tool.input_schema
    properties, required = schema.get("properties"), schema.get("required")
    for name, node in properties.items() if isinstance(properties, dict) else ():
        kinds = " or ".join(map(one_line, type_names(node, schema))) or "anything"
        needed = isinstance(required, list) and name in required
        described = node.get("description") if isinstance(node, dict) else None
        about = f": {one_line(described)}" if isinstance(described, str) else ""
        yield f"{one_line(name)}=<{kinds}>{'' if needed else ' (optional)'}{about}"
