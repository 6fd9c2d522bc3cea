"""The methods whose results may be interim, seen from a client.

Specification: basic/patterns/mrtr, "Supported Requests".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from attrs import frozen

from .client_messages import CallToolResult, GetPromptResult, ReadResourceResult
from .jsonrpc import JsonObject, JsonValue
from .structuring import structure

R = TypeVar("R")


@frozen
class Carrier(Generic[R]):
    """A method whose results may be interim.

    Attributes:
        method: the JSON-RPC method.
        names: the parameter that says what is called.
        read: makes the complete result; raises ``ProtocolError``.
        reads: whether a first request changes nothing at the server, so that it may be sent
            twice.
    """

    method: str
    names: str
    read: Callable[[JsonObject], R]
    reads: bool = False


def _tool_result(result: JsonObject) -> CallToolResult:
    present: JsonValue = "structuredContent" in result
    return structure({**result, "has_structured": present}, CallToolResult, part="result")


def _prompt_result(result: JsonObject) -> GetPromptResult:
    return structure(result, GetPromptResult, part="result")


def _read_result(result: JsonObject) -> ReadResourceResult:
    return structure(result, ReadResourceResult, part="result")


TOOL_CALL: Final = Carrier("tools/call", "name", _tool_result)
PROMPT_GET: Final = Carrier("prompts/get", "name", _prompt_result, reads=True)
RESOURCE_READ: Final = Carrier("resources/read", "uri", _read_result, reads=True)

CARRIERS: Final[Mapping[str, Carrier[Any]]] = {
    carrier.method: carrier for carrier in (TOOL_CALL, PROMPT_GET, RESOURCE_READ)
}
