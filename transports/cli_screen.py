"""Standard error as a command writes to it: sentences, progress, the words of a child.

This one is for files and pipes; :mod:`.cli_terminal` has the one for terminals.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

from .cli_text import harmless, one_line


class Screen:
    """Lines of text. Whatever is given to it is made harmless before it is shown."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, text: str) -> None:
        """Show one or more lines."""
        write_line(self._stream, harmless(text))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far a call has come."""
        self.say(progress_line(done, total, message))

    @contextmanager
    def prompting(self) -> Generator[None, None, None]:
        """Keep everything else off the screen while a person is asked."""
        yield

    def close(self) -> None:
        """Leave the screen as it was found."""


def progress_line(done: float, total: float | None, message: str | None) -> str:
    """Progress in one line: ``3/12 writing``."""
    told = f" {one_line(message)}" if message else ""
    return f"{amount(done, total)}{told}"


def amount(done: float, total: float | None) -> str:
    """How much is done: ``3/12``, or ``3`` where the end is not known."""
    return f"{done:.6g}" if total is None else f"{done:.6g}/{total:.6g}"


def write_line(stream: TextIO | None, text: str) -> None:
    """Write a line in the stream's encoding; a stream that is gone takes nothing."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        stream.write(f"{encodable(text, stream)}\n")
        stream.flush()


def encodable(text: str, stream: TextIO) -> str:
    """The text with what the stream's encoding has no letters for as escapes."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class _ScreenHandler(logging.Handler):
    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        self._screen.say(self.format(record))


@contextmanager
def logged_to(screen: Screen, *, debug: bool) -> Generator[None, None, None]:
    """Show warnings on the screen, and for debugging whatever Antiphon logs."""
    handler = _ScreenHandler(screen)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root, ours = logging.getLogger(), logging.getLogger("antiphon")
    before = ours.level
    root.addHandler(handler)
    if debug:
        ours.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(handler)
        ours.setLevel(before)
