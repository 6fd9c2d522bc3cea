"""Whether a server's message is what the revision's JSON Schema says it is.

The project carries no copy of the schema. Where the file stands beside the repository it is
used; elsewhere the models alone judge, and the head of the test run says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from jsonschema_rs import Draft202012Validator

FILE: Final = Path(__file__).resolve().parents[3] / "shared" / "spec" / "2026-07-28" / "schema.json"
_MOST: Final = 3
_PREFIX: Final = "#/$defs/"

Definitions: TypeAlias = "dict[str, Any]"
_NOTHING: Final[Definitions] = {"not": {}}


def faults(method: str | None, message: dict[str, Any], file: Path = FILE) -> list[str]:
    """What is wrong with a message, each fault with its path; nothing where the file is missing.

    Args:
        method: of the request that the message answers; a result needs it.
        message: what was sent, decoded.
        file: the schema.
    """
    if not _stands(file):
        return []
    return [
        f"{_path(error.instance_path)}: {error.message:.200}"
        for name in _names(method, message, file)
        for error in list(_validator(file, name).iter_errors(message))[:_MOST]
    ]


def _names(method: str | None, message: dict[str, Any], file: Path) -> Iterator[str]:
    """The schemas that hold for a message; see :func:`_schemas`."""
    if "method" in message:
        yield f"notification {message['method']}"
    elif "error" in message:
        yield "error"
        code = f"error {message['error']['code']}"
        if code in _schemas(file):
            yield code
    else:
        yield "result"
        if f"result {method}" in _schemas(file):
            yield f"result {method}"


@cache
def _stands(file: Path) -> bool:
    return file.is_file()


@cache
def _validator(file: Path, name: str) -> Draft202012Validator:
    """One that takes nothing where the revision has no such message."""
    schema = _schemas(file).get(name, _NOTHING)
    return Draft202012Validator({"$defs": _definitions(file), **schema}, validate_formats=True)


@cache
def _definitions(file: Path) -> Definitions:
    return cast(Definitions, json.loads(file.read_bytes())["$defs"])


@cache
def _schemas(file: Path) -> dict[str, Definitions]:
    """The schema of each message of a server, by what it is and its method or code."""
    found = {"result": _ref("JSONRPCResultResponse"), "error": _ref("JSONRPCErrorResponse")}
    definitions = _definitions(file)
    for ref in definitions["ServerNotification"]["anyOf"]:
        name = ref["$ref"].removeprefix(_PREFIX)
        found[f"notification {_const(definitions[name], 'method')}"] = _ref(name)
    for name, definition in definitions.items():
        if name.endswith("ResultResponse") and name != "JSONRPCResultResponse":
            request = definitions[name.removesuffix("ResultResponse") + "Request"]
            found[f"result {_const(request, 'method')}"] = _response(definition)
        elif name.endswith("Error") and "properties" in definition:
            for part in definition["properties"].get("error", {}).get("allOf", ()):
                if "properties" in part:
                    found[f"error {_const(part, 'code')}"] = _ref(name)
    return found


def _response(definition: Definitions) -> Definitions:
    """A response whose result is of the kind that it says: the schema takes any of its kinds."""
    result = definition["properties"]["result"]
    kinds = [kind["$ref"].removeprefix(_PREFIX) for kind in result.get("anyOf", [result])]
    interim = "InputRequiredResult"
    complete = next(kind for kind in kinds if kind != interim)
    kind: Definitions = {
        "if": {"properties": {"resultType": {"const": "input_required"}}},
        "then": _ref(interim) if interim in kinds else _NOTHING,
        "else": {**_ref(complete), "properties": {"resultType": {"const": "complete"}}},
    }
    return {"allOf": [definition, {"properties": {"result": kind}}]}


def _ref(name: str) -> Definitions:
    return {"$ref": _PREFIX + name}


def _const(definition: Definitions, member: str) -> object:
    return definition["properties"][member]["const"]


def _path(path: list[str | int]) -> str:
    return ".".join(map(str, path)) or "the message"
