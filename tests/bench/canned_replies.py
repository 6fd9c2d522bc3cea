"""What a server of the measured flow would say, made once, so that saying it costs nothing."""

import re
from typing import Final

from antiphon.engine.jsonrpc import JsonObject, JsonValue, dumps

FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {"region": {"type": "string", "enum": ["eu-west-1", "us-east-1", "prod"]}},
    "required": ["region"],
}
QUESTION: Final[JsonObject] = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Which region should 'orders' live in?",
        "requestedSchema": FORM,
    },
}
META: Final[JsonObject] = {
    "io.modelcontextprotocol/serverInfo": {"name": "Provisioner", "version": "1.0"}
}
DATABASE: Final[JsonObject] = {"name": "orders", "region": "eu-west-1"}
TOOL: Final[JsonObject] = {
    "name": "provision",
    "description": "Provision a database. Asks which region to put it in.",
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "region": {"type": "string"}},
        "required": ["name", "region"],
    },
}


def _result(kind: str, **members: JsonValue) -> JsonObject:
    return {"resultType": kind, **members, "_meta": META}


INTERIM: Final = _result(
    "input_required", requestState="x" * 400, inputRequests={"region": QUESTION}
)
COMPLETE: Final = _result(
    "complete",
    content=[{"type": "text", "text": dumps(DATABASE).decode()}],
    structuredContent=DATABASE,
)
TOOLS: Final = _result("complete", tools=[TOOL], ttlMs=0, cacheScope="private")


def result_of(method: str, params: JsonObject) -> JsonObject:
    """The result of a request; whoever takes it changes nothing in it."""
    if method == "tools/list":
        return TOOLS
    return COMPLETE if "requestState" in params else INTERIM


_ID: Final = re.compile(rb'"id": *("[^"]*"|\d+)')
_REPLY: Final = b'{"jsonrpc":"2.0","id":%b,"result":%b}'
_TOOLS, _COMPLETE, _INTERIM = map(dumps, (TOOLS, COMPLETE, INTERIM))


def reply_to(request: bytes) -> bytes:
    """The reply to a request, which is only searched."""
    id = _ID.search(request)
    if id is None:
        raise RuntimeError(f"The client sent {request!r}")
    if b'"tools/list"' in request:
        return _REPLY % (id[1], _TOOLS)
    return _REPLY % (id[1], _COMPLETE if b'"requestState"' in request else _INTERIM)
