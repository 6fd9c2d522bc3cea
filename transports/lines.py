"""Newline framing: bytes in, whole lines out.

Only byte 0x0A ends a message, with one CR before it tolerated: every other line break that
Unicode knows may stand inside a JSON string. A line beyond the limit costs no more memory than
the limit, and the line after it is read as if nothing had happened.

Specification: basic/transports/stdio.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import trio
from attrs import frozen

CHUNK: Final = 64 * 1024
"""Bytes asked for at once: what a pipe of Linux holds."""

EDGE: Final = 512
"""Bytes kept of each end of a line that is too long: an id stands first or last."""


@frozen
class TooLong:
    """A line beyond the limit, of which only the two ends were kept. Sizes in bytes."""

    size: int
    head: bytes
    tail: bytes


Line: TypeAlias = bytes | TooLong


class LineReader:
    """Cuts a stream into lines. One task reads at a time; the stream stays its owner's."""

    def __init__(self, stream: trio.abc.ReceiveStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._ended = False
        self._reset()

    def _reset(self) -> None:
        self._held = bytearray()
        self._size = 0
        self._head: bytes | None = None

    @property
    def ended(self) -> bool:
        """Whether the stream has ended: the last line may be half of one."""
        return self._ended

    async def receive(self) -> list[Line]:
        """The lines at hand, in order and at least one; an empty list at the end of the stream.

        Blank lines are skipped. A last line without its newline counts as a line.

        Raises:
            trio.BrokenResourceError, trio.ClosedResourceError: as the stream raises them.
        """
        while not self._ended:
            data = await self._stream.receive_some(CHUNK)
            if lines := self._split(bytes(data)) if data else self._last():
                return lines
        return []

    def _last(self) -> list[Line]:
        self._ended = True
        line = self._complete()
        return [line] if line is not None else []

    def _split(self, data: bytes) -> list[Line]:
        pieces = data.split(b"\n")
        rest = pieces.pop()
        lines: list[Line] = []
        if pieces and self._size:
            self._grow(pieces.pop(0))
            if (line := self._complete()) is not None:
                lines.append(line)
        for piece in pieces:
            if (line := self._judge(piece)) is not None:
                lines.append(line)
        self._grow(rest)
        return lines

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        self._held += part
        if self._head is not None:
            del self._held[:-EDGE]
        elif self._size > self._limit + 1:  # the one may be a CR
            self._head = bytes(self._held[:EDGE])
            self._held = self._held[-EDGE:]

    def _complete(self) -> Line | None:
        held, size, head = bytes(self._held), self._size, self._head
        self._reset()
        return self._judge(held) if head is None else TooLong(size, head, held)

    def _judge(self, line: bytes) -> Line | None:
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > self._limit:
            return TooLong(len(line), line[:EDGE], line[-EDGE:])
        return line if line and not line.isspace() else None
