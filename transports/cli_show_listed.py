"""What a server has, as a list for a person or JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from ..engine.client_messages import Prompt, PromptArgument, Resource, ResourceTemplate, Tool
from ..engine.jsonrpc import JsonObject, JsonValue
from .cli_show import present
from .cli_text import one_line, shortened
from .cli_values import type_names

Item: TypeAlias = Tool | Prompt | Resource | ResourceTemplate

_LONGEST_URI: Final = 2000
_LONGEST_VALUE: Final = 60
_MOST_CHOICES: Final = 12


def item_json(item: Item) -> JsonObject:
    """Something as it was listed."""
    match item:
        case Tool():
            return tool_json(item)
        case Prompt():
            return _prompt_json(item)
        case Resource():
            return _resource_json(item)
        case ResourceTemplate():
            return _template_json(item)


def item_text(item: Item) -> str:
    """Something as a person reads it: its name, what it is for, what it takes."""
    match item:
        case Tool():
            return tool_text(item)
        case Prompt():
            return _entry(item.name, item, map(_argument_text, item.arguments))
        case Resource():
            size = [] if item.size is None else [f"{item.size} bytes"]
            return _entry(item.uri, item, _kind(item.name, item.mime_type, *size))
        case ResourceTemplate():
            return _entry(item.uri_template, item, _kind(item.name, item.mime_type))


def _entry(name: str, item: Item, more: Iterable[str]) -> str:
    head = one_line(name, _LONGEST_URI) + (f" ({one_line(item.title)})" if item.title else "")
    described = shortened(item.description or "").splitlines()
    return "\n".join([head, *(f"    {line}" for line in [*described, *more])])


def _common(item: Item) -> dict[str, JsonValue]:
    icons: list[JsonValue] | None = None if item.icons is None else [*item.icons]
    return {
        "name": item.name,
        "title": item.title,
        "description": item.description,
        "icons": icons,
    }


# -- tools ------------------------------------------------------------------------------------


def tool_json(tool: Tool) -> JsonObject:
    """A tool as it was listed."""
    return present(
        {
            **_common(tool),
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations,
            "_meta": tool.meta,
        }
    )


def tool_text(tool: Tool) -> str:
    """A tool: its name, what it does, its arguments."""
    return _entry(tool.name, tool, _arguments(tool))


def _arguments(tool: Tool) -> Iterator[str]:
    schema = tool.input_schema
    properties, required = schema.get("properties"), schema.get("required")
    for name, node in properties.items() if isinstance(properties, dict) else ():
        members = node if isinstance(node, dict) else {}
        needed = isinstance(required, list) and name in required
        unless = "" if needed else _left_out(members)
        described = members.get("description")
        about = f": {one_line(described)}" if isinstance(described, str) else ""
        taken = _choices(members) or " or ".join(map(one_line, type_names(node, schema)))
        yield f"{one_line(name)}=<{taken or 'anything'}>{unless}{about}"


def _choices(node: JsonObject) -> str:
    """The values that it takes, where they are few."""
    values = node.get("enum")
    if not isinstance(values, list) or len(values) > _MOST_CHOICES:
        return ""
    return "|".join(_value(value) for value in values)


def _left_out(node: JsonObject) -> str:
    """What leaving it out means."""
    default = node.get("default")
    return " (optional)" if default is None else f" (default {_value(default)})"


def _value(value: JsonValue) -> str:
    return one_line(
        value if isinstance(value, str) and value else json.dumps(value), _LONGEST_VALUE
    )


# -- prompts ----------------------------------------------------------------------------------


def _prompt_json(prompt: Prompt) -> JsonObject:
    arguments: list[JsonValue] = [_argument_json(argument) for argument in prompt.arguments]
    return present({**_common(prompt), "arguments": arguments, "_meta": prompt.meta})


def _argument_json(argument: PromptArgument) -> JsonObject:
    return present(
        {
            "name": argument.name,
            "title": argument.title,
            "description": argument.description,
            "required": argument.required,
        }
    )


def _argument_text(argument: PromptArgument) -> str:
    about = f": {one_line(argument.description)}" if argument.description else ""
    return f"{one_line(argument.name)}={'' if argument.required else ' (optional)'}{about}"


# -- resources --------------------------------------------------------------------------------


def _resource_json(resource: Resource) -> JsonObject:
    return present(
        {
            "uri": resource.uri,
            **_common(resource),
            "mimeType": resource.mime_type,
            "size": resource.size,
            "annotations": resource.annotations,
            "_meta": resource.meta,
        }
    )


def _template_json(template: ResourceTemplate) -> JsonObject:
    return present(
        {
            "uriTemplate": template.uri_template,
            **_common(template),
            "mimeType": template.mime_type,
            "annotations": template.annotations,
            "_meta": template.meta,
        }
    )


def _kind(*words: str | None) -> list[str]:
    return [", ".join(one_line(word) for word in words if word)]
