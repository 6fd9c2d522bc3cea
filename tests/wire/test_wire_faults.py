"""What is valid, and what is not, in the eyes of the official models and of the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.wire import models, schema
from tests.wire.watching import judge

META: Final[Any] = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
TEXT: Final[Any] = {"type": "text", "text": "a"}
DONE: Final[Any] = {"resultType": "complete", "content": [TEXT], "_meta": META}
FORM: Final[Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
ASKING: Final[Any] = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": FORM},
        }
    },
    "requestState": "s",
}
LIST: Final[Any] = {
    "resultType": "complete",
    "tools": [{"name": "t", "inputSchema": {"type": "object", "x-mine": True}}],
    "ttlMs": 0,
    "cacheScope": "private",
}
STEP: Final[Any] = {"progressToken": "t", "progress": 1, "total": 2.5, "message": "half"}

with_schema = pytest.mark.skipif(
    not schema.FILE.is_file(), reason=f"the schema does not stand at {schema.FILE}"
)


def result(of: Any, **more: Any) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "result": {**of, **more}}


def without(of: Any, name: str) -> Any:
    return {key: value for key, value in of.items() if key != name}


def error(code: Any, **more: Any) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", **more}}


def said(method: str, params: Any) -> Any:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("tools/call", result(DONE)),
        ("tools/call", result(DONE, structuredContent=None, isError=False)),
        ("tools/call", result(DONE, structuredContent={"deep": [1, 2.0, {"x": None}]})),
        ("tools/call", result(ASKING)),
        ("tools/list", result(LIST, nextCursor="n")),
        ("com.example/own", result({"resultType": "complete", "whatever": 1})),
        (None, error(-32603)),
        (None, {"jsonrpc": "2.0", "error": {"code": -32700, "message": "no"}}),
        (None, error(-32022, data={"requested": "1", "supported": ["2026-07-28"]})),
        (None, error(7, data=["anything"])),
        (None, said("progress", STEP)),
        (None, said("message", {"level": "info", "data": {"a": 1}})),
    ],
)
def test_a_valid_message_has_no_fault(method: str | None, message: Any) -> None:
    assert models.faults(method, message) == []
    assert schema.faults(method, message) == []


WRONG: Final[dict[str, tuple[str | None, Any, str]]] = {
    "no result type": ("tools/call", result(without(DONE, "resultType")), "resultType"),
    "another result type": ("tools/call", result(DONE, resultType="finished"), "resultType"),
    "a complete result in name": ("tools/call", result(ASKING, resultType="complete"), "content"),
    "a list that asks": ("tools/list", result(ASKING), "result"),
    "a list without a lifetime": ("tools/list", result(without(LIST, "ttlMs")), "ttlMs"),
    "a lifetime in text": ("tools/list", result(LIST, ttlMs="0"), "ttlMs"),
    "an unknown scope": ("tools/list", result(LIST, cacheScope="all"), "cacheScope"),
    "a tool without a schema": ("tools/list", result(LIST, tools=[{"name": "t"}]), "tools.0"),
    "an unknown block": ("tools/call", result(DONE, content=[{"type": "smell"}]), "content.0"),
    "an error flag in text": ("tools/call", result(DONE, isError="true"), "isError"),
    "a code in text": (None, error("7"), "error.code"),
    "no data where some is due": (None, error(-32022, data={}), "error.data"),
    "an id that is none": ("tools/call", {**result(DONE), "id": 1.5}, "id"),
    "a result without an id": ("tools/call", without(result(DONE), "id"), "id"),
    "another version of JSON-RPC": ("tools/call", {**result(DONE), "jsonrpc": "1.0"}, "jsonrpc"),
    "progress of nothing": (None, said("progress", without(STEP, "progressToken")), "Token"),
    "a level that is none": (None, said("message", {"level": "loud", "data": 1}), "level"),
    "what only a client says": (None, said("initialized", {}), ""),
}


@pytest.mark.parametrize(("method", "message", "where"), WRONG.values(), ids=WRONG)
def test_the_models_tell_the_fault_and_its_path(
    method: str | None, message: Any, where: str
) -> None:
    assert where in " ".join(models.faults(method, message) or ["nothing found"])


@with_schema
@pytest.mark.parametrize(("method", "message", "where"), WRONG.values(), ids=WRONG)
def test_the_schema_tells_the_fault_and_its_path(
    method: str | None, message: Any, where: str
) -> None:
    found = schema.faults(method, message)
    assert found
    assert where in " ".join(found)


@pytest.mark.parametrize(
    ("method", "message", "fault"),
    [
        ("tools/list", result(LIST, next_cursor="n"), "result.next_cursor"),
        ("tools/call", result(DONE, content=[{**TEXT, "mime": "x"}]), "result.content[0].mime"),
        ("tools/list", result(LIST, ttlMs=True), "result.ttlMs"),
        ("tools/call", result(DONE, resultType="input_required"), "result.content"),
        (None, error(7, reason="so"), "error.reason"),
        (None, said("progress", {**STEP, "of": 3}), "params.of"),
    ],
)
def test_what_the_models_would_overlook_is_a_fault(
    method: str | None, message: Any, fault: str
) -> None:
    assert any(found.startswith(f"{fault}: ") for found in models.faults(method, message))


def test_an_interim_result_must_ask_or_hold_a_state() -> None:
    found = models.faults("tools/call", result({"resultType": "input_required"}))
    assert "at least one of input_requests or request_state" in found[0]


def test_without_the_schema_the_models_judge_alone(tmp_path: Path) -> None:
    assert schema.faults("tools/list", result({}), tmp_path / "schema.json") == []


def test_a_fault_names_the_method_the_judge_and_the_message() -> None:
    record = b'"tools/list"\t' + json.dumps(result(without(LIST, "tools"))).encode()
    found = judge(record)[0]
    assert found.startswith("The answer to tools/list is not valid: result.tools: Field required")
    assert '"ttlMs": 0' in found
