"""The standard error of a child: always read, passed on by lines, its end kept."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio

from .lines import CHUNK

logger = logging.getLogger("antiphon.stdio")

KEPT: Final = 64 * 1024
"""Bytes of the end that are kept to explain a failure."""

LONGEST: Final = 8 * 1024
"""Bytes of one line as it is passed on; a longer one comes in pieces."""


def forward(line: str) -> None:
    """Write a line to our own standard error, where there is one."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] # pythonw
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{line}\n")


class Tail:
    """Reads a stream to its end. Undecodable bytes become replacement characters.

    Attributes:
        done: set when the stream has ended.
    """

    def __init__(self, stream: trio.abc.ReceiveStream, on_line: Callable[[str], None]) -> None:
        self.done = trio.Event()
        self._stream = stream
        self._on_line = on_line
        self._kept = bytearray()
        self._cut = False
        self._rest = b""

    @property
    def text(self) -> str:
        """The last :data:`KEPT` bytes, from the beginning of a line on where there is one."""
        kept = bytes(self._kept)
        if self._cut:
            kept = kept.split(b"\n", 1)[-1]
        return kept.decode("utf-8", "replace").strip()

    async def drain(self) -> None:
        """Read until the stream ends or breaks: a child must never wait for us to read."""
        try:
            while data := await self._stream.receive_some(CHUNK):
                self._take(bytes(data))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            if self._rest:
                self._pass_on(self._rest)
            self.done.set()

    def _take(self, data: bytes) -> None:
        self._kept += data
        self._cut = self._cut or len(self._kept) > KEPT
        del self._kept[:-KEPT]
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._pass_on(line.removesuffix(b"\r"))
        while len(rest) > LONGEST:
            self._pass_on(rest[:LONGEST])
            rest = rest[LONGEST:]
        self._rest = rest

    def _pass_on(self, line: bytes) -> None:
        for start in range(0, max(len(line), 1), LONGEST):
            piece = line[start : start + LONGEST]
            try:
                self._on_line(piece.decode("utf-8", "replace"))
            except Exception:
                logger.exception("The callback for the standard error of a child failed")
