"""Servers that never come to an end: limits and time limits do, and the client goes on.

Time is virtual and moves only where a server moves it, so that nothing depends on the machine.
"""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from antiphon.engine.call_errors import DeadlineExceeded, LegTimeout, RoundsExceeded
from antiphon.engine.errors import InvalidReply
from antiphon.engine.jsonrpc import JsonObject, Request
from antiphon.engine.limits import Limits
from antiphon.transports.connect import open_client
from antiphon.transports.line_client import WARNINGS
from tests.client.scripted import asks, client_of, form, poll
from tests.hostile.methods import ITEMS, LISTS, METHODS, ROUNDS, ready
from tests.hostile.plays import (
    CARRIERS,
    ID,
    Act,
    Entry,
    Play,
    command,
    message,
    note,
    playing,
    says,
    told,
)
from tests.http_client.scripted import STREAM_HEAD, Peer, answer, chunk, event, serving

GOOD: Final = message(METHODS["tools/call"].good)
NEVER: Final = math.inf

# -- lists and rounds -------------------------------------------------------------------------


def _pages(method: str, *cursors: str) -> list[JsonObject]:
    good = METHODS[method].good
    return [{**good, "nextCursor": cursor} for cursor in cursors]


def _many(method: str) -> JsonObject:
    """A page of twenty, and another to follow."""
    good: dict[str, Any] = METHODS[method].good
    return {**good, ITEMS[method]: good[ITEMS[method]] * 20, "nextCursor": "x"}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("method", LISTS)
async def test_a_list_without_end_is_told_and_the_client_goes_on(
    method: str, carrier: str, tmp_path: Path
) -> None:
    good, what = METHODS[method], METHODS[method].ask
    loops = (["a", "a"], ["a", "b", "a"], ["", ""])
    script = [entry for loop in loops for entry in says(method, *_pages(method, *loop))]
    script += says(method, *_pages(method, *map(str, range(20))))
    script += says(method, _many(method))
    script += says(method, good.good)
    async with playing(carrier, script, tmp_path, limits=Limits(listed=20)) as (client, _):
        for _ in loops:
            with pytest.raises(InvalidReply, match="leads back to an earlier page"):
                await what(client)
        for _ in range(2):
            with pytest.raises(InvalidReply, match="passes limit listed"):
                await what(client)
        await what(client)


async def test_long_cursors_are_not_kept() -> None:
    numbers = itertools.count()

    async def page(_: Request) -> JsonObject:
        transport.requests.clear()  # which has the cursors too
        return {"tools": [], "nextCursor": f"{next(numbers)}" + "c" * 50_000}

    client, transport = client_of(*[page] * 100, limits=Limits(listed=100))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidReply, match="passes limit listed"):
            await client.list_tools()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_500_000


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("method", ROUNDS)
async def test_rounds_without_end_are_told_and_the_client_goes_on(
    method: str, carrier: str, tmp_path: Path
) -> None:
    good = METHODS[method]
    script = [
        *says(method, *[asks({"q": form()}, f"s{n}") for n in range(4)]),
        *says(method, *[poll(f"s{n}") for n in range(6)]),
        *says(method, *good.legs),
    ]
    options: Any = {"max_rounds": 3, "max_polls": 5}
    async with playing(carrier, script, tmp_path, **options) as (client, _):
        with pytest.raises(RoundsExceeded, match="limit max_rounds") as asked:
            await good.ask(client)
        with pytest.raises(RoundsExceeded, match="limit max_polls") as polled:
            await good.ask(client)
        await good.ask(client)
    assert (asked.value.rounds, polled.value.polls) == (4, 6)
    assert asked.value.interim is not None
    assert asked.value.interim.request_state == "s3"


# -- streams ----------------------------------------------------------------------------------

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: 999999999\r\n\r\n"

More = Callable[[bytes], bytes]
"""Bytes for a request of this id."""

Drip = tuple[bytes, More]
"""What comes first, and what comes again and again."""


def _again(said: bytes) -> More:
    return lambda _: said


def _events(data: bytes) -> More:
    return lambda asked: chunk(event(data.replace(ID, asked)))


def _progress(steps: Iterator[int]) -> More:
    return lambda asked: _events(_step(next(steps)))(asked)


def _step(done: int) -> bytes:
    return note("notifications/progress", progressToken="$ID", progress=done)


DRIPS: Final[dict[str, Drip]] = {
    "nothing": (b"", _again(b"")),
    "a status line and nothing": (b"HTTP/1.1 200 OK\r\n", _again(b"")),
    "first words": (b"", _again(b"HTTP/1.1 103 X\r\n\r\n")),
    "spaces of a body": (HEAD % b"application/json", _again(b" ")),
    "a page": (HEAD.replace(b"200", b"500") % b"text/html", _again(b"<")),
    "comments": (STREAM_HEAD, _again(chunk(b": still here\n\n"))),
    "bytes of one comment": (STREAM_HEAD + chunk(b":"), _again(chunk(b"x"))),
    "events of another kind": (STREAM_HEAD, _again(chunk(b"event: ping\ndata: {}\n\n"))),
    "events of nothing": (STREAM_HEAD, _again(chunk(b"data:\n\nid: 1\nretry: 1\n\n"))),
    "events that cannot be read": (STREAM_HEAD, _events(b"{")),
    "requests": (STREAM_HEAD, _events(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')),
    "logs": (STREAM_HEAD, _events(note(level="error", data="x"))),
    "progress that nobody hears": (STREAM_HEAD, _progress(itertools.count())),
}


def _dripping(drip: Drip, clock: MockClock) -> Callable[[Peer], Awaitable[None]]:
    """To the first request nothing but this, a second later each time; good answers after."""
    first = True

    async def handler(peer: Peer) -> None:
        nonlocal first
        while True:
            received = await peer.request()
            id = json.dumps(received.id).encode()
            if not first:
                await peer.send(answer(GOOD.replace(ID, id)))
                continue
            first = False
            begin, more = drip
            await peer.send(begin)
            while said := more(id):
                clock.jump(1)
                await peer.send(said)
                await trio.lowlevel.checkpoint()
            clock.jump(61)
            await peer.left()
            return

    return handler


def _hears(_: object) -> None:
    """So that logs are asked for."""


@pytest.mark.parametrize("what", DRIPS)
async def test_an_answer_without_end_is_left_when_its_time_is_over(
    what: str, mock_clock: MockClock
) -> None:
    async with serving(_dripping(DRIPS[what], mock_clock), NEVER) as server:
        async with open_client(
            server.url, mode="2026-07-28", log=_hears, **ready(leg_timeout=60)
        ) as client:
            begun = trio.current_time()
            with pytest.raises(LegTimeout, match="leg_timeout, 60 s"):
                await client.call_tool("t")
            assert trio.current_time() - begun >= 60
            await client.call_tool("t")
        await server.all_left()


async def test_progress_gives_time_to_a_leg_and_never_to_a_call(mock_clock: MockClock) -> None:
    told: list[float] = []
    drip = (STREAM_HEAD, _progress(itertools.count()))
    async with serving(_dripping(drip, mock_clock), NEVER) as server:
        async with open_client(server.url, mode="2026-07-28", **ready(leg_timeout=60)) as client:
            begun = trio.current_time()
            with pytest.raises(DeadlineExceeded):
                await client.call_tool(
                    "t", progress=lambda done, total, words: told.append(done), deadline=600
                )
            assert trio.current_time() - begun >= 500  # ten times as long as one leg has
            await client.call_tool("t", deadline=600)
        await server.all_left()
    assert told == sorted(told)
    assert told


async def test_a_stream_without_end_is_held_in_bounded_memory(mock_clock: MockClock) -> None:
    big = chunk(event(note(level="error", data="x" * 50_000)))
    drips: list[Drip] = [
        (STREAM_HEAD, _again(big)),
        (STREAM_HEAD, _again(chunk(b": " + b"x" * 50_000 + b"\n"))),
        (STREAM_HEAD, _again(chunk(b"id: " + b"x" * 50_000 + b"\n"))),
    ]
    for drip in drips:
        async with serving(_dripping(drip, mock_clock), NEVER) as server:
            async with open_client(
                server.url, mode="2026-07-28", **ready(leg_timeout=100)
            ) as client:
                await _within(2_000_000, client.call_tool, "t")
                await client.call_tool("t")
            await server.all_left()


async def _within(most: int, call: Callable[..., Awaitable[object]], *given: Any) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(LegTimeout):
            await call(*given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most


# -- lines ------------------------------------------------------------------------------------


def _flood(line: bytes, end: str = "\n") -> Act:
    return {"flood": line.decode("latin-1") + end}


FLOODS: Final[dict[str, list[Act]]] = {
    "nothing": [{"stderr": "tick\n"}],
    "garbage": [_flood(b"still here")],
    "empty lines": [_flood(b"")],
    "a line without an end": [_flood(b"x" * 100, end="")],
    "a reply without an end": [{"raw": GOOD.decode()[:-1] + ', "x": "'}, _flood(b"x", end="")],
    "logs": [_flood(note(level="error", data="x" * 1000))],
    "the same progress": [_flood(_step(1))],
    "replies to nobody": [_flood(b'{"jsonrpc":"2.0","id":"nobody","result":{}}')],
    "requests": [_flood(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')],
    "a reply that begins with other words": [
        {"raw": "prompt> " + GOOD.decode()[:-1] + ', "x": 1}\n'},
        {"stderr": "tick\n"},
    ],
}


@pytest.mark.parametrize("what", FLOODS)
async def test_a_flood_of_lines_is_left_when_its_time_is_over(
    what: str, mock_clock: MockClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = [Entry("tools/call", FLOODS[what]), Entry("tools/call", [GOOD])]

    armed = True

    def tick(_: str) -> None:
        if armed:
            mock_clock.jump(61)

    target = command(Play(script), tmp_path)
    options = ready(leg_timeout=60, log=_hears, stderr=tick)
    async with open_client(target, mode="2026-07-28", **options) as client:
        with pytest.raises(LegTimeout):
            await client.call_tool("t")
        armed = False
        await client.call_tool("t")
    assert len(caplog.records) <= WARNINGS  # a log is not flooded either
    assert len(told(tmp_path)) == 2
