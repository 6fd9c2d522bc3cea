"""Newline framing."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from antiphon.transports.lines import CHUNK, EDGE, Line, LineReader, TooLong


class Pieces(trio.abc.ReceiveStream):
    """A stream that arrives exactly in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for piece in pieces if piece]

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        return self._pieces.pop(0) if self._pieces else b""

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def read(*pieces: bytes, limit: int = 1000) -> list[Line]:
    reader = LineReader(Pieces(*pieces), limit)
    lines: list[Line] = []
    while batch := await reader.receive():
        lines += batch
    assert await reader.receive() == []
    return lines


async def test_lines_come_out_whole_however_they_arrive() -> None:
    data = b'{"a":1}\n{"b":2}\r\n\n  \r\n{"c":3}'
    expected = [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert await read(data) == expected
    assert await read(*(data[i : i + 1] for i in range(len(data)))) == expected


async def test_lines_that_arrive_together_come_together() -> None:
    reader = LineReader(Pieces(b"a\nb\nc\nd"), 10)
    assert await reader.receive() == [b"a", b"b", b"c"]
    assert await reader.receive() == [b"d"]


@pytest.mark.parametrize("tolerated", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"])
async def test_only_a_line_feed_ends_a_message(tolerated: str) -> None:
    text = f'{{"x":"a{tolerated}b"}}'.encode()
    assert await read(text + b"\n" + text + b"\n") == [text, text]


async def test_one_carriage_return_before_the_end_belongs_to_the_end() -> None:
    assert await read(b"a\r\r\nb\r") == [b"a\r", b"b"]


async def test_a_line_of_exactly_the_limit_is_read() -> None:
    longest = b"x" * 1000
    assert await read(longest + b"\r\n", longest + b"\n", longest) == [longest] * 3


@pytest.mark.parametrize("size", [1001, 1002, 5000, 3 * CHUNK])
@pytest.mark.parametrize("step", [7, 1000, CHUNK])
async def test_a_longer_line_is_reported_once_and_the_next_one_is_read(
    size: int, step: int
) -> None:
    data = b"before\n" + b"<" + b"x" * (size - 2) + b">" + b"\nafter\n"
    lines = await read(*(data[i : i + step] for i in range(0, len(data), step)))
    before, long, after = lines
    assert (before, after) == (b"before", b"after")
    assert isinstance(long, TooLong)
    assert long.size == size
    assert long.head == b"<" + b"x" * (EDGE - 1)
    assert long.tail == b"x" * (EDGE - 1) + b">"


async def test_an_endless_line_costs_no_more_memory_than_the_limit() -> None:
    class Endless(trio.abc.ReceiveStream):
        left = 64 * 1024 * 1024

        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            self.left -= CHUNK
            return b"x" * CHUNK if self.left >= 0 else b""

        async def aclose(self) -> None: ...

    tracemalloc.start()
    try:
        (line,) = await LineReader(Endless(), 1024 * 1024).receive()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(line, TooLong)
    assert line.size == 64 * 1024 * 1024
    assert peak < 4 * 1024 * 1024


async def test_a_long_line_in_single_bytes_takes_linear_time() -> None:
    # Quadratic joining of so many pieces would take minutes.
    pieces = [b"x"] * 200_000 + [b"\n"]
    stream = Pieces()
    iterator = iter(pieces)

    class OneByOne(Pieces):
        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            return next(iterator, b"")

    assert not await stream.receive_some()
    with trio.fail_after(30):
        (line,) = await LineReader(OneByOne(), 2_000_000).receive()
    assert line == b"x" * 200_000


@given(
    lines=st.lists(st.binary(max_size=30).filter(lambda b: b"\n" not in b), max_size=8),
    cuts=st.lists(st.integers(0, 250), max_size=10),
    limit=st.integers(1, 25),
)
def test_what_is_read_does_not_depend_on_how_it_arrives(
    lines: list[bytes], cuts: list[int], limit: int
) -> None:
    data = b"\n".join(lines)
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]

    async def both() -> tuple[list[Line], list[Line]]:
        return await read(data, limit=limit), await read(*pieces, limit=limit)

    whole, cut = trio.run(both)
    assert [_size(line) for line in whole] == [_size(line) for line in cut]
    assert [line for line in whole if isinstance(line, bytes)] == [
        line.removesuffix(b"\r")
        for line in lines
        if line.removesuffix(b"\r").strip(b" \t\r\x0b\x0c")
        and len(line.removesuffix(b"\r")) <= limit
    ]


def _size(line: Line) -> bytes | None:
    return line if isinstance(line, bytes) else None
