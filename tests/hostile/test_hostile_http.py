"""Answers that break HTTP: the bytes as they stand, and one client for all of them."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable
from typing import Any, Final, Literal

import pytest
from attrs import frozen

from antiphon.engine.client import Client
from antiphon.engine.conversation import Asked
from antiphon.engine.errors import AntiphonError, InvalidReply
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import JsonObject
from antiphon.transports.connect import open_client
from antiphon.transports.http_answer import BadStatus
from tests.client.scripted import ROOTS, asks
from tests.hostile.methods import METHODS, ready
from tests.hostile.plays import ID, message
from tests.http_client.scripted import (
    STREAM_END,
    STREAM_HEAD,
    Handler,
    Peer,
    Received,
    answer,
    chunk,
    event,
    serving,
    stream,
)

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LONGEST: Final = 1500

End = Literal["stay", "close", "reset"]
Said = bytes | Callable[[bytes], bytes]


@frozen
class Raw:
    """One answer in bytes.

    Attributes:
        name: for the notes of a failure.
        said: the bytes, or what makes them of a good message.
        error: what the client raises; None where the reply is taken all the same.
        end: what the server does with the connection then.
    """

    name: str
    said: Said
    error: type[AntiphonError] | None = TransportLost
    end: End = "close"

    def bytes(self, good: bytes) -> bytes:
        return self.said(good) if callable(self.said) else self.said


def _sized(length: object) -> Said:
    return lambda good: HEAD + f"Content-Length: {length}\r\n\r\n".encode() + good


def _answered(*lines: str, status: int = 200, kind: str = "application/json") -> Said:
    return lambda good: answer(good, *lines, status=status, kind=kind)


def _chunked(*pieces: bytes) -> bytes:
    return STREAM_HEAD + b"".join(pieces)


NO_HTTP: Final = [
    Raw("nothing", b""),
    Raw("nothing, and a reset", b"", end="reset"),
    Raw("half a head", b"HTTP/1.1 200 OK\r\nContent-"),
    Raw("a line of text", b"hello\r\n\r\n"),
    Raw("a body without a head", lambda good: good),
    Raw("bytes of no text", bytes(range(256)) * 10),
    Raw("the head of another protocol", b"SSH-2.0-OpenSSH_9.6\r\n"),
    Raw("HTTP of long ago", b"<html>hello</html>"),
    Raw("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Raw("a request", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    Raw("TLS", b"\x15\x03\x01\x00\x02\x02\x16"),
    Raw("a status of four digits", b"HTTP/1.1 2000 OK\r\n\r\n"),
    Raw("a status of letters", b"HTTP/1.1 abc OK\r\n\r\n"),
]

HEADS: Final = [
    Raw("a header without a colon", HEAD + b"nonsense\r\n\r\n"),
    Raw("a header with a null", HEAD + b"X: a\x00b\r\n\r\n"),
    Raw("a header with a space before its colon", HEAD + b"X : a\r\n\r\n"),
    Raw("a header without an end", HEAD + b"X: " + b"x" * 200_000, end="stay"),
    Raw("headers without an end", HEAD + b"X: y\r\n" * 50_000, end="stay"),
    Raw("a length below zero", _sized(-1)),
    Raw("a length that is no number", _sized("many")),
    Raw("a length of 5000 digits", _sized("9" * 5000)),
    Raw("two lengths", _sized("5\r\nContent-Length: 7")),
    Raw("a coding of transfer that nobody knows", HEAD + b"Transfer-Encoding: gzip\r\n\r\n"),
    Raw("a status of three digits that is none", b"HTTP/1.1 999 X\r\n\r\n", BadStatus),
    Raw("another protocol from here on", b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n"),
    Raw("no content", b"HTTP/1.1 204 No Content\r\n\r\n", InvalidReply, "stay"),
    Raw("reset content", answer(b"", status=205), InvalidReply, "stay"),
    Raw("two types of content", _answered("Content-Type: text/html"), InvalidReply, "stay"),
    Raw("a type of content without end", _answered(kind="x" * 10_000), InvalidReply, "stay"),
    Raw("cookies", _answered(*["Set-Cookie: a=b"] * 200), None, "stay"),
    Raw("header bytes of no text", _answered("X: \xff\xfe\x80"), None, "stay"),
    Raw("first words", lambda good: b"HTTP/1.1 103 X\r\n\r\n" * 100 + answer(good), None, "stay"),
    Raw("that it closes, and it stays", _answered("Connection: close"), None, "stay"),
]

BODIES: Final = [
    Raw("a length that is too long", _sized(10_000)),
    Raw("a length that is too short", _sized(10), InvalidReply, "stay"),
    Raw("a length of nothing", _sized(0), InvalidReply, "stay"),
    Raw("a body that is cut by a reset", _sized(10_000), end="reset"),
    Raw("more than its length", lambda good: answer(good) + b"more", None, "stay"),
    Raw("two answers", lambda good: answer(good) * 2, None, "stay"),
    Raw(
        "an answer, and an error for the next",
        lambda good: answer(good) + answer(b"<html>", status=500, kind="text/html"),
        None,
        "stay",
    ),
    Raw("a stream, and another", lambda good: stream(event(good)) * 2, None, "stay"),
]

CHUNKS: Final = [
    Raw("a chunk whose size is no number", _chunked(b"zz\r\nx\r\n")),
    Raw("a chunk whose size is below zero", _chunked(b"-5\r\nhello\r\n")),
    Raw("a chunk of more bytes than there are", _chunked(b"ffffffffffffffff\r\n:\n")),
    Raw("a chunk whose size has no end", _chunked(b"1" * 200_000), end="stay"),
    Raw("a chunk that is longer than it says", _chunked(b"1\r\nabc\r\n")),
    Raw("a stream that ends before its reply", _chunked(chunk(b":\n"), STREAM_END), end="stay"),
    Raw("a stream that breaks off", lambda good: _chunked(chunk(b"data: " + good))),
    Raw("a stream that is reset", _chunked(chunk(b": x\n\n")), end="reset"),
    Raw(
        "a stream whose end is garbage",
        lambda good: _chunked(chunk(event(good)), b"garbage\r\n"),
        None,
    ),
    Raw(
        "trailers without end", _chunked(chunk(b":\n"), b"0\r\n" + b"X: y\r\n" * 50_000), end="stay"
    ),
]

REDIRECTS: Final = [
    Raw(
        f"a redirect by {status} to {where}",
        answer(b"", f"Location: {where}", status=status),
        InvalidReply,
        "stay",
    )
    for status in (301, 302, 303, 307, 308)
    for where in ("/mcp", "http://other.example/mcp", "//", "")
]

STATUSES: Final = [
    Raw(f"status {status} with {what}", answer(body, status=status, kind=kind), BadStatus, "stay")
    for status in (400, 401, 403, 404, 405, 406, 410, 415, 418, 500, 501, 599)
    for what, body, kind in (
        ("a page", b"<html>" * 1000, "text/html"),
        ("JSON that is no reply", b'{"error":"no"}', "application/json"),
        ("nothing", b"", None),
    )
]

FAMILIES: Final = {
    "no HTTP": NO_HTTP,
    "heads": HEADS,
    "bodies": BODIES,
    "chunks": CHUNKS,
    "redirects": REDIRECTS,
    "statuses": STATUSES,
}


def _good(received: Received) -> bytes:
    return message(METHODS["tools/call"].good).replace(ID, json.dumps(received.id).encode())


def _reset(peer: Peer) -> None:
    peer.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _playing(script: list[Raw]) -> Handler:
    """Each of these answers, and a good one after each."""
    answers = iter(script)
    honest = True

    async def handler(peer: Peer) -> None:
        nonlocal honest
        while True:
            received = await peer.request()
            honest = not honest
            if honest:
                await peer.send(answer(_good(received)))
                continue
            raw = next(answers)
            await peer.send(raw.bytes(_good(received)))
            if raw.end == "reset":
                _reset(peer)
            if raw.end != "stay":
                return

    return handler


async def _outcome(client: Client, raw: Raw) -> None:
    if raw.error is None:
        await client.call_tool("t")
        return
    with pytest.raises(AntiphonError) as caught:
        await client.call_tool("t")
    error = caught.value
    assert type(error) is raw.error
    assert not isinstance(error, TransportLost) or error.sent
    assert len(str(error)) < LONGEST


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_client_outlives_all_broken_answers(family: str) -> None:
    script = FAMILIES[family]
    async with serving(_playing(script)) as server:
        async with open_client(server.url, mode="2026-07-28", **ready()) as client:
            for raw in script:
                try:
                    await _outcome(client, raw)
                    await client.call_tool("t")
                except BaseException as failure:
                    failure.add_note(raw.name)
                    raise
        await server.all_left()


# -- cut at every byte ------------------------------------------------------------------------

FINAL: Final[JsonObject] = {"resultType": "complete", "content": []}


def _leg(received: Received, result: Any, kind: str) -> bytes:
    said = message(result).replace(ID, json.dumps(received.id).encode())
    return answer(said) if kind == "body" else stream(event(said))


@pytest.mark.parametrize("kind", ["body", "stream"])
async def test_a_conversation_goes_on_after_a_leg_that_was_cut_at_any_byte(kind: str) -> None:
    cut: int | None = None
    size = 0

    async def handler(peer: Peer) -> None:
        nonlocal size, cut
        while True:
            received = await peer.request()
            if b'"requestState"' not in received.body:
                await peer.send(_leg(received, asks({"q": ROOTS}, "s"), kind))
                continue
            whole = _leg(received, FINAL, kind)
            size, at, cut = len(whole), cut, None
            await peer.send(whole[:at])
            if at is not None:
                return

    async with (
        serving(handler) as server,
        open_client(server.url, roots=[], mode="2026-07-28") as client,
    ):
        assert (await client.call_tool("t")).content == []
        # A stream is not waited for to its end.
        enough = size - len(STREAM_END) - len(b"\r\n") if kind == "stream" else size
        for here in range(enough):
            conversation = client.conversation("t")
            assert isinstance(await conversation.advance(), Asked)
            cut = here
            with pytest.raises(TransportLost) as lost:
                await conversation.advance({"q": []})
            assert lost.value.sent
            assert lost.value.interim is not None
            assert lost.value.interim.request_state == "s"
            assert isinstance(conversation.step, Asked)
            result = await conversation.advance({"q": []})
            assert result.content == []  # type: ignore[union-attr]
