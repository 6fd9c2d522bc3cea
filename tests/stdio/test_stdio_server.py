"""Serving a stream of lines, the peer spoken by hand: messages, good and bad."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.limits import Limits
from tests.stdio.harness import call, cancel, line, served
from tests.stdio.scripted import Scripted


def ids(handler: Scripted) -> list[Any]:
    return [request.id for request in handler.asked]


async def test_requests_are_answered_by_their_ids() -> None:
    async with served(Scripted()) as peer:
        await peer.say(call(1, text="a"), call("1", text="b"), call(2, "nothing"))
        replies = await peer.hear_all(3)
        assert replies[1]["result"] == {"params": {"text": "a"}}
        assert replies["1"]["result"] == {"params": {"text": "b"}}
        assert replies[2]["error"]["code"] == -32601


async def test_a_handler_is_told_which_transport_carries_it() -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.say(call(1))
        await peer.hear()
    (exchange,) = handler.exchanges
    assert exchange.transport == "stdio"
    assert exchange.principal is None


# -- a fault never ends the connection --------------------------------------------------------

FAULTS: list[tuple[bytes, int, str | int | None]] = [
    (b"{", -32700, None),
    (b"[]", -32600, None),
    (b"null", -32600, None),
    (b"42", -32600, None),
    (b'"x"', -32600, None),
    (b"{}", -32600, None),
    (b"\xff\xfe", -32700, None),
    (b"\xef\xbb\xbf{}", -32700, None),
    (b'{"jsonrpc":"1.0","id":5,"method":"echo"}', -32600, 5),
    (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":"one"}', -32600, "one"),
    (b'{"jsonrpc":"2.0","id":6,"method":7}', -32600, 6),
    (b'{"jsonrpc":"2.0","id":6,"method":"echo","params":[]}', -32602, 6),
    (b'{"jsonrpc":"2.0","id":7,"method":"echo","params":{"x":NaN}}', -32700, 7),
    (b'{"jsonrpc":"2.0","method":"echo","params":{"x":1e400},"id":8}', -32700, 8),
]


@pytest.mark.parametrize(("bad", "code", "id"), FAULTS)
async def test_a_line_that_is_no_request_is_answered_and_the_next_one_served(
    bad: bytes, code: int, id: str | int | None
) -> None:
    async with served(Scripted()) as peer:
        await peer.raw(bad + b"\n" + line(call(99)))
        first, second = await peer.hear(), await peer.hear()
        assert first["jsonrpc"] == "2.0"
        assert first["error"]["code"] == code
        assert first["error"]["message"]
        assert ("id" in first) is (id is not None)
        assert first.get("id") == id
        assert second["id"] == 99


async def test_all_faults_in_one_chunk_are_answered_in_their_order() -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b"\n".join(bad for bad, _, _ in FAULTS) + b"\n" + line(call(99)))
        codes = [(await peer.hear())["error"]["code"] for _ in FAULTS]
        assert codes == [code for _, code, _ in FAULTS]
        assert (await peer.hear())["id"] == 99


# -- notifications ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/unheard_of"},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"x": 1}},
        {"jsonrpc": "2.0", "method": "echo", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        cancel(None),
        cancel(True),
        cancel(1.0),
        cancel([1]),
        cancel({"id": 1}),
        cancel("never asked"),
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
    ],
)
async def test_a_notification_or_a_response_is_never_answered_nor_run(message: object) -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.say(call(1, "park"), message, call(2))
        assert (await peer.hear())["id"] == 2
        handler.go_on.set()
        assert (await peer.hear())["id"] == 1
        await peer.hear_nothing()
    assert sorted(request.method for request in handler.asked) == ["echo", "park"]


async def test_malformed_notification_params_are_not_answered_with_an_id() -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b'{"jsonrpc":"2.0","method":"notifications/x","params":[]}\n')
        await peer.say(call(1))
        reply = await peer.hear()
        if "error" in reply:  # a fault of the message as such, never a reply to a request
            assert "id" not in reply
            reply = await peer.hear()
        assert reply["id"] == 1


async def test_cancelling_ends_the_call_and_no_reply_comes() -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.say(call(1, "park"), call("1", "park"))
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(cancel("1"))
        await peer.hear_nothing()
        assert handler.cancelled == ["1"]
        handler.go_on.set()
        assert (await peer.hear())["id"] == 1
        await peer.say(cancel(1), call(3))  # finished: ignored
        assert (await peer.hear())["id"] == 3


async def test_an_id_is_free_again_once_its_request_was_cancelled() -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.say(call(1, "tidy"), cancel(1), call(1, text="again"))
        reply = await peer.hear()
        assert (reply["id"], reply["result"]) == (1, {"params": {"text": "again"}})
        handler.go_on.set()
        await peer.hear_nothing()


async def test_a_call_that_ignores_its_cancellation_still_says_nothing_more() -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.say(call(1, "deaf"), call(2, "tidy"))
        await trio.testing.wait_all_tasks_blocked()
        await peer.say(cancel(1), cancel(2))
        await trio.testing.wait_all_tasks_blocked()
        handler.go_on.set()
        await peer.hear_nothing()


# -- long lines -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [65_535, 65_536, 129 * 1024, 3 * 1024 * 1024])
async def test_a_line_up_to_the_limit_is_served(size: int) -> None:
    async with served(Scripted()) as peer:
        await peer.say(call(1, "size", text="x" * size))
        assert (await peer.hear())["result"] == {"size": size}


@pytest.mark.parametrize("size", [129 * 1024, 5 * 1024 * 1024])
async def test_a_long_reply_is_sent_whole(size: int) -> None:
    async with served(Scripted()) as peer:
        await peer.say(call(1, "big", size=size))
        assert len((await peer.hear())["result"]["text"]) == size


@pytest.mark.parametrize("excess", [1, 2, 100_000])
async def test_a_longer_line_fails_alone_and_by_its_id(excess: int) -> None:
    limit = 10_000
    message = call(1, "size", text="x" * (limit + excess))
    text = line(message).rstrip()
    padding = len(text) - limit - excess
    text = line(call(1, "size", text="x" * (limit + excess - padding))).rstrip()
    assert len(text) == limit + excess
    handler = Scripted(Limits(message_bytes=limit))
    async with served(handler) as peer:
        await peer.raw(text + b"\n" + b"y" * (limit + 1) + b"\n" + line(call(2)))
        named, nameless, served_one = [await peer.hear() for _ in range(3)]
        assert named["id"] == 1
        assert named["error"]["code"] == -32700
        assert "message_bytes is 10000" in named["error"]["message"]
        assert "id" not in nameless
        assert served_one["id"] == 2
    assert ids(handler) == [2]


# -- line breaks in strings -------------------------------------------------------------------


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
async def test_a_line_break_of_unicode_inside_a_message_is_text(character: str) -> None:
    text = f"a{character}b"
    raw = line(call(1, text=text))
    if character >= "\x7f":
        assert character.encode() in raw  # as such, not escaped
    async with served(Scripted()) as peer:
        await peer.raw(raw)
        assert (await peer.hear())["result"] == {"params": {"text": text}}


async def test_a_carriage_return_before_the_newline_and_blank_lines_are_tolerated() -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b"\n\r\n  \n" + line(call(1)).rstrip() + b"\r\n\n")
        assert (await peer.hear())["id"] == 1
        await peer.hear_nothing()


# -- JSON at its edges ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "code"),
    [
        (b'"params":{"x":' + b"1" * 5000 + b"}", -32700),
        (b'"params":{"x":1e400}', -32700),
        (b'"params":{"x":-1e400}', -32700),
        (b'"params":{"x":Infinity}', -32700),
        (b'"params":{"x":"\\ud800"}', -32700),
        (b'"params":{"\\udc80":1}', -32700),
        (b'"params":' + b'{"a":' * 5000 + b"1" + b"}" * 5000, -32700),
    ],
)
async def test_numbers_and_texts_that_json_cannot_carry_are_refused(
    member: bytes, code: int
) -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b'{"jsonrpc":"2.0","id":1,"method":"echo",' + member + b"}\n")
        await peer.say(call(2))
        refused = await peer.hear()
        assert (refused["id"], refused["error"]["code"]) == (1, code)
        assert (await peer.hear())["id"] == 2


@pytest.mark.parametrize("id", [2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**300, 0, -1])
async def test_a_large_id_comes_back_digit_by_digit(id: int) -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b'{"jsonrpc":"2.0","id":%d,"method":"echo"}\n' % id)
        first = await peer.hear()
        # Echoed exactly, or refused: never rounded.
        assert first.get("id") == id or "error" in first
        assert type(first.get("id", 0)) is int
        await peer.say(call("after"))
        assert (await peer.hear())["id"] == "after"


@pytest.mark.parametrize("id", [b"null", b"1.0", b"1.5", b"true", b"[]", b"{}", b"1E+5"])
async def test_an_id_that_is_no_text_and_no_integer_is_refused_without_id(id: bytes) -> None:
    handler = Scripted()
    async with served(handler) as peer:
        await peer.raw(b'{"jsonrpc":"2.0","id":' + id + b',"method":"echo"}\n')
        refused = await peer.hear()
        assert refused["error"]["code"] == -32600
        assert "id" not in refused
    assert handler.asked == []


@pytest.mark.parametrize("id", ["", "1", "null", "ä\u2028", 0, 1, -1])
async def test_an_id_comes_back_with_its_own_type(id: str | int) -> None:
    async with served(Scripted()) as peer:
        await peer.say(call(id))
        reply = await peer.hear()
        assert reply["id"] == id
        assert type(reply["id"]) is type(id)


@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":{}'])
async def test_absent_and_null_params_are_an_empty_object(params: bytes) -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b'{"jsonrpc":"2.0","id":1,"method":"echo"' + params + b"}\n")
        assert (await peer.hear())["result"] == {"params": {}}


@pytest.mark.parametrize("params", [b"[]", b"1", b'"x"', b"false"])
async def test_params_of_another_kind_are_invalid(params: bytes) -> None:
    async with served(Scripted()) as peer:
        await peer.raw(b'{"jsonrpc":"2.0","id":1,"method":"echo","params":' + params + b"}\n")
        refused = await peer.hear()
        assert (refused["id"], refused["error"]["code"]) == (1, -32602)
