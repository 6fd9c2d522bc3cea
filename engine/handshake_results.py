"""What a peer of an earlier revision is sent: results, errors and questions in its own terms.

No member of this revision reaches it (``resultType``, ``ttlMs``, ``cacheScope``, ``inputRequests``,
``requestState``, ``_meta`` keys of the protocol), and nothing that its own revision does not know.
Specification: schema of 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve

from .errors import INVALID_PARAMS
from .jsonrpc import Failure, JsonObject, JsonValue
from .protocol import META_PREFIX

RESOURCE_NOT_FOUND: Final = -32002
"""The code that earlier revisions have for a uri behind which there is nothing."""

_MODERN: Final = frozenset(
    {"resultType", "ttlMs", "cacheScope", "inputRequests", "requestState", "supportedVersions"}
)
_LISTED: Final = frozenset({"tools", "prompts", "resources", "resourceTemplates"})

# The revision from which on a member is known: of what is listed, of the server's own name.
_SINCE: Final[Mapping[str, str]] = {
    "title": "2025-06-18",
    "outputSchema": "2025-06-18",
    "_meta": "2025-06-18",
    "annotations": "2025-03-26",
    "icons": "2025-11-25",
    "websiteUrl": "2025-11-25",
    "description": "2025-11-25",
}
_BLOCKS: Final[Mapping[str, str]] = {"audio": "2025-03-26", "resource_link": "2025-06-18"}


def known_members(members: JsonObject, version: str, *names: str) -> JsonObject:
    """The members without those of ``names`` that ``version`` does not know yet."""
    late = {name for name in names if _SINCE[name] > version}
    return {name: value for name, value in members.items() if name not in late}


def older_info(info: JsonObject, version: str) -> JsonObject:
    """A server's own name."""
    return known_members(info, version, "title", "icons", "websiteUrl", "description")


def older_result(result: JsonObject, version: str) -> JsonObject:
    """The members of a complete result."""
    members = {name: value for name, value in result.items() if name not in _MODERN}
    members |= _without_ours(members.pop("_meta", None))
    for name in _LISTED & members.keys():
        members[name] = [_older_entry(entry, version) for entry in _objects(members[name])]
    if isinstance(content := members.get("content"), list):
        members["content"] = [_older_block(block, version) for block in content]
    if isinstance(messages := members.get("messages"), list):
        members["messages"] = [_older_message(message, version) for message in messages]
    if not _takes_structured(members.get("structuredContent"), version):
        members.pop("structuredContent", None)
    return members


def _without_ours(meta: JsonValue) -> JsonObject:
    """The ``_meta`` without the keys of this revision; nothing where none are left."""
    if not isinstance(meta, dict):
        return {}
    kept = {name: value for name, value in meta.items() if not name.startswith(META_PREFIX)}
    return {"_meta": kept} if kept else {}


def _objects(listed: JsonValue) -> list[JsonObject]:
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _older_entry(entry: JsonObject, version: str) -> JsonObject:
    members = known_members(
        entry, version, "title", "icons", "annotations", "outputSchema", "_meta"
    )
    schema = members.get("outputSchema")
    # Until 2025-11-25 what is structured is an object.
    if isinstance(schema, dict) and schema.get("type") != "object":
        del members["outputSchema"]
    return members


def _takes_structured(value: JsonValue, version: str) -> bool:
    return isinstance(value, dict) and version >= _SINCE["outputSchema"]


def _older_message(message: JsonValue, version: str) -> JsonValue:
    if not isinstance(message, dict):
        return message
    return {**message, "content": _older_block(message.get("content"), version)}


def _older_block(block: JsonValue, version: str) -> JsonValue:
    """A content block, as text where the revision has no such blocks."""
    if not isinstance(block, dict) or _BLOCKS.get(str(block.get("type")), "") <= version:
        return block
    if block["type"] == "resource_link":
        return {"type": "text", "text": f"{block.get('name')}: {block.get('uri')}"}
    return {"type": "text", "text": f"(audio, {block.get('mimeType')}, which cannot be shown here)"}


def older_failure(failure: Failure, method: str) -> Failure:
    """An error reply, by the codes that earlier revisions have."""
    # A uri that reaches a handler is the one case in which this method's error has it as data.
    nothing = isinstance(failure.data, dict) and set(failure.data) == {"uri"}
    if method == "resources/read" and failure.code == INVALID_PARAMS and nothing:
        return evolve(failure, code=RESOURCE_NOT_FOUND)
    return failure


# -- questions --------------------------------------------------------------------------------


def older_question(request: JsonObject, version: str) -> tuple[str, JsonObject]:
    """The method and parameters that put one of ``inputRequests`` to a client."""
    method, params = str(request.get("method")), request.get("params")
    members = dict(params) if isinstance(params, dict) else {}
    older = _QUESTIONS.get(method)
    return method, members if older is None else older(members, version)


def _older_elicitation(params: JsonObject, version: str) -> JsonObject:
    if params.get("mode") == "url":
        return {**params, "elicitationId": secrets.token_urlsafe(16)}
    if version >= "2025-11-25":
        return params
    params.pop("mode", None)
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and isinstance(fields, dict):
        older = {name: _with_enum_names(field) for name, field in fields.items()}
        params["requestedSchema"] = {**schema, "properties": older}
    return params


def _with_enum_names(field: JsonValue) -> JsonValue:
    """A titled choice as 2025-06-18 has it; the values that answer it are the same."""
    options = _objects(field.get("oneOf")) if isinstance(field, dict) else []
    if not isinstance(field, dict) or not options:
        return field
    kept = {name: value for name, value in field.items() if name != "oneOf"}
    titles: list[JsonValue] = [option.get("title", option.get("const")) for option in options]
    return {**kept, "enum": [option.get("const") for option in options], "enumNames": titles}


def _older_sampling(params: JsonObject, version: str) -> JsonObject:
    if version >= "2025-11-25":
        return params
    messages = params.get("messages")
    if isinstance(messages, list):
        params["messages"] = [part for message in messages for part in _single_blocks(message)]
    return params


def _single_blocks(message: JsonValue) -> list[JsonValue]:
    """A message of several blocks as several of one, which is all that 2025-06-18 takes."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        return [message]
    return [{**message, "content": block} for block in content]


_QUESTIONS: Final[Mapping[str, Callable[[JsonObject, str], JsonObject]]] = {
    "elicitation/create": _older_elicitation,
    "sampling/createMessage": _older_sampling,
}
