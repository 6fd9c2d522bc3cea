"""What the head of a request decides: target, method, media types, size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio

from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import write_message
from antiphon.engine.limits import Limits
from antiphon.transports.asgi import http_app
from tests.http_server.scripted import (
    ScriptedServer,
    Visit,
    call,
    head_of,
    listing,
    post,
    post_body,
    visit,
)


async def test_request_is_served_as_one_json_body() -> None:
    server = ScriptedServer()
    answer = await post(http_app(server), call(id="seven"))
    assert answer.status == 200
    assert answer.json == {"jsonrpc": "2.0", "id": "seven", "result": {"resultType": "complete"}}
    assert answer.headers[b"content-length"] == b"%d" % len(answer.body)
    assert len(answer.chunks) == 1
    assert len(server.requests) == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "PUT", "HEAD", "PATCH"])
async def test_other_method_is_405_and_allows_post(method: str) -> None:
    answer = await Visit(head_of(), method=method).run(http_app(ScriptedServer()))
    assert answer.status == 405
    assert answer.headers[b"allow"] == b"POST"


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp/x", "/MCP", "/other", ""])
async def test_wrong_path_is_404_that_cannot_be_taken_for_an_endpoints_own(path: str) -> None:
    server = ScriptedServer()
    request = call()
    answer = await Visit(head_of(request), [write_message(request)], path=path).run(
        http_app(server)
    )
    assert answer.status == 404
    assert answer.headers[b"content-type"] == b"text/plain; charset=utf-8"
    assert server.requests == []


async def test_path_can_be_chosen() -> None:
    app = http_app(ScriptedServer(), path="/")
    request = call()
    assert (await post(app, request)).status == 404
    answer = await Visit(head_of(request), [write_message(request)], path="/").run(app)
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/tools/mcp", "/mcp"])
async def test_mount_prefix_may_be_kept_or_taken_off_by_the_framework(path: str) -> None:
    request = call()
    visit = Visit(head_of(request), [write_message(request)], path=path, root_path="/tools")
    assert (await visit.run(http_app(ScriptedServer()))).status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json;",
    ],
)
async def test_json_content_type_is_taken(content_type: str) -> None:
    answer = await post(http_app(ScriptedServer()), call(), content_type=content_type)
    assert answer.status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/jsonl",
        "application/json-rpc",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
        "application/json; charset=utf-16",
        "text/plain, application/json",
    ],
)
async def test_other_content_type_is_415(content_type: str | None) -> None:
    server = ScriptedServer()
    answer = await post(http_app(server), call(), content_type=content_type)
    assert answer.status == 415
    assert "application/json" in answer.message
    assert server.requests == []


async def test_repeated_content_type_is_415() -> None:
    request = call()
    headers = [*head_of(request), (b"content-type", b"application/json")]
    answer = await post_body(http_app(ScriptedServer()), write_message(request), headers)
    assert answer.status == 415


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate", "gzip, identity", "x"])
async def test_encoded_body_is_415_and_says_what_is_taken(encoding: str) -> None:
    server = ScriptedServer()
    bomb = b"\x1f\x8b" + bytes(1000)
    answer = await post_body(http_app(server), bomb, head_of(call(), content_encoding=encoding))
    assert answer.status == 415
    assert answer.headers[b"accept-encoding"] == b"identity"
    assert server.requests == []


@pytest.mark.parametrize("encoding", ["identity", "Identity", ""])
async def test_identity_is_no_encoding(encoding: str) -> None:
    answer = await post(http_app(ScriptedServer()), call(), content_encoding=encoding)
    assert answer.status == 200


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "application/json, text/event-stream",
        "text/event-stream,application/json",
        "application/json;q=0.9, text/event-stream ; q=0.1",
        "APPLICATION/JSON, Text/*",
        "application/*, text/*;q=0.5",
        "text/html, */*;q=0.001",
        "application/json, text/event-stream;charset=utf-8",
    ],
)
async def test_accept_that_admits_both_kinds_of_reply_is_served(accept: str | None) -> None:
    assert (await post(http_app(ScriptedServer()), call(), accept=accept)).status == 200


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "text/event-stream",
        "text/html",
        "application/*",
        "*/*;q=0",
        "*/*, text/event-stream;q=0",
        "application/json;q=0, */*",
        "application/json, text/event-stream;q=0.000",
        "application/json, text/event-stream;q=much",
        "application/json, text/event-stream;q=nan",
        ",;,=;q=",
    ],
)
async def test_accept_that_misses_a_kind_of_reply_is_406(accept: str) -> None:
    server = ScriptedServer()
    answer = await post(http_app(server), call(), accept=accept)
    assert answer.status == 406
    assert "text/event-stream" in answer.message
    assert server.requests == []


async def test_accept_may_come_on_two_lines() -> None:
    request = call()
    headers = [*head_of(request, accept="application/json"), (b"accept", b"text/event-stream")]
    answer = await post_body(http_app(ScriptedServer()), write_message(request), headers)
    assert answer.status == 200


@pytest.mark.parametrize("length", ["101", "9" * 19, "9" * 5000])
async def test_declared_size_over_the_limit_is_413_before_anything_is_read(length: str) -> None:
    server = ScriptedServer(limits=Limits(message_bytes=100))
    waiting = Visit(head_of(call(), content_length=length), [])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waiting.run, http_app(server))
        await waiting.opened.wait()
        assert waiting.answer.status == 413
        assert waiting.taken == 0
        waiting.left.set()
    assert server.requests == []


async def test_body_that_grows_over_the_limit_is_413_and_stops_being_kept() -> None:
    server = ScriptedServer(limits=Limits(message_bytes=100))
    big = Visit(head_of(call()), [b" " * 60, b" " * 40, b" ", *[b" " * 10] * 5])
    answer = await big.run(http_app(server))
    assert answer.status == 413
    assert "message_bytes is 100" in answer.message
    assert answer.ended
    assert big.taken == len(big.chunks), "the rest is dropped so that the client can read on"
    assert server.requests == []


@pytest.mark.parametrize("http_version", ["1.1", "2"])
async def test_body_that_is_too_large_in_its_last_part_is_answered_at_once(
    http_version: str, autojump_clock: trio.testing.MockClock
) -> None:
    big = Visit(head_of(call()), [b" " * 60, b" " * 60], http_version=http_version)
    answer = await big.run(http_app(ScriptedServer(limits=Limits(message_bytes=100))))
    assert answer.status == 413
    assert answer.ended
    assert trio.current_time() == 0


async def test_body_of_exactly_the_limit_is_served_in_whatever_parts() -> None:
    request = call()
    body = write_message(request)
    server = ScriptedServer(limits=Limits(message_bytes=len(body)))
    parts = [bytes([byte]) for byte in body]
    answer = await Visit(head_of(request), [b"", *parts, b""]).run(http_app(server))
    assert answer.status == 200


async def test_refused_client_that_goes_on_sending_is_answered_first_and_then_dropped(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slow = Visit(head_of(call(), content_type="text/plain"), [b"a"], complete=False)
    answer = await slow.run(http_app(ScriptedServer()))
    assert answer.status == 415
    assert answer.ended
    assert trio.current_time() <= 5


async def test_refusal_does_not_read_a_body_without_end() -> None:
    limits = Limits(message_bytes=1000)
    endless = Visit(head_of(call(), content_type="text/plain"), [b"a" * 100] * 100_000)
    answer = await endless.run(http_app(ScriptedServer(limits=limits)))
    assert answer.ended
    assert endless.taken < 1000


async def test_refusal_over_http2_ends_after_the_body_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    long = Visit(head_of(call(), content_type="text/plain"), [b"a" * 100] * 50, http_version="2")
    await long.run(http_app(ScriptedServer(limits=Limits(message_bytes=1000))))
    assert long.taken == 50
    slow = Visit(head_of(call()), [b"a" * 2000], complete=False, http_version="2")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.run, http_app(ScriptedServer(limits=Limits(message_bytes=1000))))
        await trio.sleep(1000)
        assert slow.answer.status == 413
        assert not slow.answer.ended
        slow.left.set()


async def test_refusal_ends_where_the_server_waits_for_its_queue_to_be_emptied() -> None:
    """So hypercorn does: its last send waits for room in the queue of the body's parts."""

    async def last_waits(event: Mapping[str, Any]) -> None:
        while event.get("more_body") is False and full.taken < len(full.chunks):
            await trio.lowlevel.checkpoint()

    full = Visit(head_of(call(), content_type="text/plain"), [b"a" * 100] * 50, complete=False)
    full.on_send = last_waits
    answer = await full.run(http_app(ScriptedServer(limits=Limits(message_bytes=1000))))
    assert answer.status == 415
    assert answer.ended


async def test_refused_client_that_leaves_is_sent_nothing_more() -> None:
    leaving = Visit(head_of(call(), content_type="text/plain"), [b"a"], complete=False)
    leaving.left.set()
    answer = await leaving.run(http_app(ScriptedServer()))
    assert answer.status == 415
    assert not answer.ended


async def test_old_session_and_resumption_headers_are_ignored() -> None:
    answer = await post(
        http_app(ScriptedServer()), listing(), mcp_session_id="old", last_event_id="7"
    )
    assert answer.status == 200
    assert set(answer.headers) == {b"content-type", b"content-length"}


async def test_header_names_count_in_any_case() -> None:
    request = call()
    shouted = visit(request)
    shouted.headers = [(name.upper(), value) for name, value in shouted.headers]
    assert (await shouted.run(http_app(ScriptedServer()))).status == 200


@pytest.mark.parametrize("path", ["mcp", ""])
def test_path_without_a_slash_is_a_mistake(path: str) -> None:
    with pytest.raises(UsageError, match="begins with /"):
        http_app(ScriptedServer(), path=path)


@pytest.mark.parametrize("keepalive", [0, -1, float("nan")])
def test_keepalive_without_a_duration_is_a_mistake(keepalive: float) -> None:
    with pytest.raises(UsageError, match="keepalive"):
        http_app(ScriptedServer(), keepalive=keepalive)
