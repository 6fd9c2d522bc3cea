"""Whether what a server sends in an earlier revision is valid there, and nothing of ours in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeAlias, cast

from jsonschema_rs import Draft202012Validator

from tests.wire import models, schema

LATEST: Final = "2025-11-25"
FILE: Final = schema.FILE.parents[1] / LATEST / "schema.json"
"""The schema of the last of them; it is used where it stands, as for the present revision."""

MODERN: Final = frozenset({"resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"})
PREFIX: Final = "io.modelcontextprotocol/"

_Object: TypeAlias = "dict[str, Any]"


def faults(method: str | None, message: dict[str, Any], version: str) -> list[str]:
    """What is wrong with a message of a session.

    Args:
        method: of the request that the message answers; a result needs it.
        message: what was sent, decoded.
        version: the session's revision.
    """
    found = [f"{fault} (mcp-types)" for fault in models.faults(method, message, version)]
    found += [f"{member} is none of {version}" for member in leaked(message)]
    if version == LATEST and FILE.is_file():
        found += [f"{fault} (schema.json)" for fault in _schema_faults(method, message)]
    return found


def leaked(message: dict[str, Any]) -> Iterator[str]:
    """The members of the present revision in a message; what users put there is theirs."""
    for name in ("result", "params"):
        part = message.get(name, {})
        yield from (member for member in part if member in MODERN)
        meta = part.get("_meta", {})
        yield from (member for member in meta if member.startswith(PREFIX))


def _schema_faults(method: str | None, message: _Object) -> Iterator[str]:
    for name in _names(method, message):
        for error in list(_validator(name).iter_errors(message))[:3]:
            path = ".".join(map(str, error.instance_path)) or "the message"
            yield f"{path}: {error.message:.200}"


def _names(method: str | None, message: _Object) -> Iterator[str]:
    if "method" in message:
        kind = "request" if "id" in message else "notification"
        yield f"{kind} {message['method']}"
    elif "error" in message:
        yield "error"
    else:
        yield "result"
        if f"result {method}" in _schemas():
            yield f"result {method}"


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = _schemas().get(name, {"not": {}})
    return Draft202012Validator({"$defs": _definitions(), **schema}, validate_formats=True)


@cache
def _definitions() -> _Object:
    return cast(_Object, json.loads(FILE.read_bytes())["$defs"])


@cache
def _schemas() -> dict[str, _Object]:
    """The schema of each message of a server, by what it is and its method."""
    definitions = _definitions()
    found: dict[str, _Object] = {
        "result": {"$ref": "#/$defs/JSONRPCResultResponse"},
        "error": {"$ref": "#/$defs/JSONRPCErrorResponse"},
    }
    for kind, union in (("request", "ServerRequest"), ("notification", "ServerNotification")):
        for ref in definitions[union]["anyOf"]:
            definition = definitions[ref["$ref"].removeprefix("#/$defs/")]
            found[f"{kind} {definition['properties']['method']['const']}"] = ref
    for name, definition in definitions.items():
        method = definition.get("properties", {}).get("method", {}).get("const")
        if method is not None and name.endswith("Request"):
            result = f"{name.removesuffix('Request')}Result"
            of = result if result in definitions else "EmptyResult"
            found[f"result {method}"] = {"properties": {"result": {"$ref": f"#/$defs/{of}"}}}
    return found
