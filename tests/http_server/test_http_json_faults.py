"""Bodies that are no request: each gets its status and error, none reaches the server."""

from __future__ import annotations

import logging

import pytest

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Failure, JsonObject, Reply, Request, dumps
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import (
    ScriptedServer,
    call,
    head_of,
    listing,
    meta,
    post,
    post_body,
    success,
)

GOOD_ID = {"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": meta()}}


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"{} {}", -32700, None),
        (b"\xef\xbb\xbf{}", -32700, None),
        (b'{"x":NaN}', -32700, None),
        (b'{"x":1e400}', -32700, None),
        (b'{"x":-1e400}', -32700, None),
        (b'{"x":' + b"1" * 5000 + b"}", -32700, None),
        (b'{"x":"\\ud800"}', -32700, None),
        (b"[" * 5000 + b"]" * 5000, -32700, None),
        (b"null", -32600, None),
        (b"42", -32600, None),
        (b'"x"', -32600, None),
        (b"{}", -32600, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"1.0","id":4,"method":"tools/list"}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":"a","method":7}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":[]}', -32602, 2),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":"x"}', -32602, 3),
    ],
)
async def test_body_that_is_no_request_is_400_and_the_next_is_served(
    body: bytes, code: int, id: int | str | None
) -> None:
    server = ScriptedServer()
    app = http_app(server)
    answer = await post_body(app, body)
    assert answer.status == 400
    assert answer.code == code
    assert answer.json.get("id") == id
    assert ("id" in answer.json) == (id is not None)
    assert (await post(app, listing())).status == 200
    assert len(server.requests) == 1


async def test_batch_is_400_and_nothing_of_it_is_run() -> None:
    server = ScriptedServer()
    answer = await post_body(http_app(server), dumps([{**GOOD_ID, "id": 1}, {**GOOD_ID, "id": 2}]))
    assert (answer.status, answer.code) == (400, -32600)
    assert "batches" in answer.message
    assert server.requests == []


@pytest.mark.parametrize(
    "id",
    [b"null", b"1.0", b"1.5", b"1E+5", b"true", b"[]", b"{}"],
)
async def test_id_of_another_kind_is_400_without_an_id(id: bytes) -> None:
    server = ScriptedServer()
    answer = await post_body(
        http_app(server), dumps(GOOD_ID).removesuffix(b"}") + b',"id":' + id + b"}"
    )
    assert (answer.status, answer.code) == (400, -32600)
    assert "id" not in answer.json
    assert server.requests == []


@pytest.mark.parametrize("id", ["", "1", 1, 0, -7, 2**53 + 1, 2**63, 10**300])
async def test_id_comes_back_exactly(id: str | int) -> None:
    answer = await post(http_app(ScriptedServer()), listing(id))
    assert answer.status == 200
    assert answer.json["id"] == id
    assert type(answer.json["id"]) is type(id)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":null}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ],
)
async def test_notification_is_202_without_a_body(body: bytes) -> None:
    server = ScriptedServer()
    answer = await post_body(http_app(server), body)
    assert answer.status == 202
    assert answer.body == b""
    assert answer.headers == {b"content-length": b"0"}
    assert server.requests == []


async def test_request_method_without_an_id_is_not_run() -> None:
    server = ScriptedServer()
    request = call()
    body = dumps({"jsonrpc": "2.0", "method": request.method, "params": request.params})
    answer = await post_body(http_app(server), body, head_of(request))
    assert (answer.status, answer.body) == (202, b"")
    assert server.requests == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
        b'{"jsonrpc":"2.0","method":7}',
        b'{"jsonrpc":"1.0","method":"notifications/cancelled"}',
    ],
)
async def test_malformed_notification_is_400_without_an_id(body: bytes) -> None:
    answer = await post_body(http_app(ScriptedServer()), body)
    assert answer.status == 400
    assert "id" not in answer.json


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}',
        b'{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":1,"result":7}',
    ],
)
async def test_posted_response_is_400(body: bytes) -> None:
    server = ScriptedServer()
    answer = await post_body(http_app(server), body)
    assert (answer.status, answer.code) == (400, -32600)
    assert server.requests == []


@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":{}'])
async def test_absent_null_and_empty_params_reach_the_server_that_misses_meta(
    params: bytes,
) -> None:
    server = ScriptedServer()
    answer = await post_body(
        http_app(server), b'{"jsonrpc":"2.0","id":1,"method":"tools/list"' + params + b"}"
    )
    assert (answer.status, answer.code) == (400, -32602)
    assert answer.json["id"] == 1
    assert server.requests == [Request(1, "tools/list", {})]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32601, 404),
        (-32602, 400),
        (-32603, 200),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (7, 200),
    ],
)
async def test_error_code_decides_the_status(code: int, status: int) -> None:
    # What the two codes with data of their own want, for the message must be a valid one.
    data: JsonObject = {"requiredCapabilities": {}, "requested": "1", "supported": ["2026-07-28"]}

    async def fail(request: Request, exchange: Exchange) -> Reply:
        return Failure(request.id, code, "no", data)

    answer = await post(http_app(ScriptedServer(fail)), call())
    assert answer.status == status
    assert answer.json == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": code, "message": "no", "data": data},
    }


async def test_reply_that_json_cannot_say_becomes_an_error_and_not_a_crash(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def surrogate(request: Request, exchange: Exchange) -> Reply:
        return success(request, text="secret \udc80")

    answer = await post(http_app(ScriptedServer(surrogate)), call())
    assert (answer.status, answer.code) == (200, -32603)
    assert answer.json["id"] == 1
    assert "lone surrogate" in caplog.text
    assert "secret" not in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
