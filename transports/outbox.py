"""Lines on their way out: from many tasks, through one writer, to one stream.

Whatever is waiting when the writer comes round leaves in one send. Tasks that have more to say
wait while the peer does not read; nobody else does, so a reader that posts without waiting can
never be locked up with a peer that writes before it reads.
"""

from __future__ import annotations

import select
from typing import Final

import trio

BOUND: Final = 256 * 1024
"""Bytes on their way, beyond which those who can wait do."""


class Outbox:
    """The lines that one stream still has to carry.

    Attributes:
        sent: how many bytes, counted from the first, the peer may have received.
    """

    def __init__(self, *, pipe: bool = False) -> None:
        """``pipe`` promises a pipe at the other end, and makes ``sent`` exact.

        A write of at most PIPE_BUF bytes to a pipe happens as a whole or not at all. Of any
        other stream that breaks in the middle, everything handed over counts as sent.
        """
        self.sent = 0
        self._pipe = pipe
        self._lines: list[bytes] = []
        self._held = 0
        self._end = 0
        self._over = False
        self._work = trio.lowlevel.ParkingLot()
        self._progress = trio.lowlevel.ParkingLot()

    def post(self, line: bytes) -> int:
        """Add a line without its newline, however full the box is.

        Returns:
            Where the line ends, to be compared with :attr:`sent`. The newline lies beyond: a
            peer takes a last line without one.
        """
        end = self._end + len(line)
        self._end = end + 1
        if not self._over:
            self._held += len(line) + 1
            self._lines.append(line)
            self._work.unpark_all()
        return end

    async def below(self, size: int) -> None:
        """Wait until fewer than ``size`` bytes are on their way, or the stream is broken.

        This is a checkpoint only where it has to wait.
        """
        while self._held >= size and not self._over:
            await self._progress.park()

    async def room(self) -> None:
        """Wait until the box takes another line from somebody who can wait."""
        await self.below(BOUND)

    async def write_to(self, stream: trio.abc.SendStream) -> None:
        """Carry lines until cancelled; what comes after that is dropped.

        Raises:
            trio.BrokenResourceError, trio.ClosedResourceError: as the stream raises them.
        """
        try:
            while True:
                while not self._lines:
                    await self._work.park()
                await self._send(stream, self._take())
                self._progress.unpark_all()
        finally:
            self._over = True
            self._progress.unpark_all()

    def _take(self) -> bytes:
        self._lines.append(b"")  # the last line's newline
        batch = b"\n".join(self._lines)
        self._lines.clear()
        return batch

    async def _send(self, stream: trio.abc.SendStream, batch: bytes) -> None:
        if self._pipe:
            for start in range(0, len(batch), select.PIPE_BUF):
                piece = batch[start : start + select.PIPE_BUF]
                await stream.send_all(piece)
                self.sent += len(piece)
        else:
            self.sent += len(batch)
            await stream.send_all(batch)
        self._held -= len(batch)
