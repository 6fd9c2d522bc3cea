"""Which JSON values are JSON-RPC messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.engine.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
    UsageError,
)
from antiphon.engine.jsonrpc import (
    Failure,
    Notification,
    Request,
    RequestId,
    Success,
    as_message,
    failure,
    loads,
    read_message,
    write_message,
)


def fault_of(data: str) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        read_message(data.encode())
    return caught.value


def call(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": "tools/list", **members})


@pytest.mark.parametrize("line", ["{", "nul", '{"id":1', '{"jsonrpc":"2.0","id":1,"x":1e400}'])
def test_bad_json_is_a_parse_error_without_an_id(line: str) -> None:
    fault = fault_of(line)
    assert (fault.code, fault.id) == (PARSE_ERROR, None)
    assert fault.message.startswith("Parse error: ")


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ("[]", None),
        ("null", None),
        ("42", None),
        ('"x"', None),
        ("true", None),
        ("{}", None),
        ('{"jsonrpc":"2.0"}', None),
        ('{"jsonrpc":"2.0","id":1}', 1),
        ('{"jsonrpc":"1.0","id":"a","method":"m"}', "a"),
        ('{"jsonrpc":2.0,"id":1,"method":"m"}', 1),
        ('{"id":7,"method":"m"}', 7),
        ('{"jsonrpc":"2.0","id":1,"method":5}', 1),
        ('{"jsonrpc":"2.0","id":1,"method":null}', 1),
        ('[{"jsonrpc":"2.0","id":1,"method":"m"}]', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(line: str, id: RequestId | None) -> None:
    fault = fault_of(line)
    assert (fault.code, fault.id) == (INVALID_REQUEST, id)
    assert fault.message.startswith("Invalid request: ")


def test_a_batch_is_refused_by_name() -> None:
    assert "batches are not served" in fault_of("[]").message


@pytest.mark.parametrize("id", ["null", "1.0", "1.5", "1E+5", "true", "false", "[]", "{}", '["a"]'])
def test_an_id_that_is_neither_text_nor_integer_is_refused(id: str) -> None:
    fault = fault_of(f'{{"jsonrpc":"2.0","method":"tools/list","id":{id}}}')
    assert (fault.code, fault.id) == (INVALID_REQUEST, None)


@pytest.mark.parametrize(
    "id", ["", "1", "a b", "名前", 0, -1, 2**53 + 1, 2**63, -(2**64), 10**399, "x" * 10_000]
)
def test_a_reply_carries_the_very_id_of_its_request(id: RequestId) -> None:
    request = read_message(call(id=id).encode())
    assert isinstance(request, Request)
    reply = read_message(write_message(Success(request.id, {})))
    assert isinstance(reply, Success)
    assert (type(reply.id), reply.id) == (type(id), id)


def test_the_id_is_written_digit_for_digit() -> None:
    digits = "1" + "0" * 398 + "7"
    request = read_message(f'{{"jsonrpc":"2.0","id":{digits},"method":"m"}}'.encode())
    assert isinstance(request, Request)
    assert f'"id":{digits}'.encode() in write_message(Success(request.id, {}))


def test_a_call_without_an_id_is_a_notification() -> None:
    assert read_message(call().encode()) == Notification("tools/list", {})


def test_text_and_number_are_different_ids() -> None:
    one, other = (read_message(call(id=id).encode()) for id in ("1", 1))
    assert one != other


@pytest.mark.parametrize("members", ["", ',"params":null', ',"params":{}'])
def test_params_may_be_missing_or_null(members: str) -> None:
    message = read_message(f'{{"jsonrpc":"2.0","id":1,"method":"m"{members}}}'.encode())
    assert message == Request(1, "m", {})


@pytest.mark.parametrize("params", ["[]", "[1]", '"x"', "1", "true"])
def test_params_that_are_no_object_are_refused_with_the_id(params: str) -> None:
    fault = fault_of(f'{{"jsonrpc":"2.0","id":"q","method":"m","params":{params}}}')
    assert (fault.code, fault.id) == (INVALID_PARAMS, "q")


def test_unknown_members_are_ignored() -> None:
    assert read_message(call(id=1, extra=[1], result=None).encode()) == Request(1, "tools/list", {})


@pytest.mark.parametrize(
    "message",
    [
        Request(1, "tools/call", {"name": "größe"}),
        Notification("notifications/cancelled", {"requestId": 1}),
        Success("a", {"resultType": "complete"}),
        Failure(1, -32602, "no", {"uri": "x"}),
        Failure(1, -32602, "no"),
        Failure(None, -32700, "Parse error"),
    ],
)
def test_every_kind_of_message_comes_back(
    message: Request | Notification | Success | Failure,
) -> None:
    assert read_message(write_message(message)) == message


def test_an_error_without_an_id_or_data_has_no_such_members() -> None:
    assert loads(write_message(Failure(None, -32700, "no"))) == {
        "jsonrpc": "2.0",
        "error": {"code": -32700, "message": "no"},
    }


@pytest.mark.parametrize(
    "members",
    [
        '"id":1,"result":null',
        '"id":1,"result":[]',
        '"id":1,"result":"x"',
        '"id":1,"error":null',
        '"id":1,"error":"x"',
        '"id":1,"error":{}',
        '"id":1,"error":{"code":"1","message":"m"}',
        '"id":1,"error":{"code":true,"message":"m"}',
        '"id":1,"error":{"code":1.5,"message":"m"}',
        '"id":1,"error":{"code":1}',
        '"id":1,"result":{},"error":{"code":1,"message":"m"}',
        '"result":{}',
        '"id":null,"result":{}',
        '"id":1.0,"result":{}',
    ],
)
def test_a_malformed_reply_is_refused(members: str) -> None:
    assert fault_of(f'{{"jsonrpc":"2.0",{members}}}').code == INVALID_REQUEST


def test_an_error_may_answer_a_request_whose_id_was_not_read() -> None:
    line = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}'
    assert read_message(line) == Failure(None, -32700, "no")


def test_a_decoded_value_is_held_to_the_same_rules() -> None:
    assert as_message({"jsonrpc": "2.0", "id": 1, "method": "m"}) == Request(1, "m", {})
    with pytest.raises(ProtocolError, match="the message is no object"):
        as_message("m")


def test_a_message_that_cannot_be_said_in_json_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="lone surrogate"):
        write_message(Success(1, {"content": "\ud800"}))


def test_a_fault_becomes_a_reply_with_the_id_that_is_known() -> None:
    fault = ProtocolError(-32602, "no", {"a": 1})
    assert failure(fault, 5) == Failure(5, -32602, "no", {"a": 1})
    assert failure(ProtocolError(-32600, "no", id="own"), 5).id == "own"
    assert failure(fault).id is None
