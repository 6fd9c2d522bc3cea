"""Standard error where it is a terminal: colours, and a bar that shows progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from .cli_screen import Screen, amount
from .cli_text import harmless, one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import TaskID

_HELD_BACK: Final = 1000
"""Lines that are kept while a person is asked; of more, the last."""


_LONGEST_BAR: Final = 40
_BETWEEN: Final = 5
"""Columns between the parts of the bar, and for the ^C that a terminal puts at its end: a line
that is full would go on in the next one, where it could not be taken away."""


class TerminalScreen(Screen):
    """A terminal. While a person is asked, what others say waits."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._bar: tuple[Progress, TaskID] | None = None
        self._held: deque[str] | None = None

    def say(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
            return
        self.show(Text(harmless(text), style="dim"))

    def show(self, *shown: RenderableType) -> None:
        """Show something that is harmless already, at once."""
        with suppress(OSError):  # the terminal is gone
            for renderable in shown:
                self._console.print(renderable, soft_wrap=isinstance(renderable, Text))

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        if self._held is not None:
            return
        told = amount(done, total)
        with suppress(OSError):
            bar, task = self._bar = self._bar or self._started()
            described = self._fitted(one_line(message or ""), beside=told)
            bar.update(task, completed=done, total=total, description=described, amount=told)
            bar.refresh()

    def _fitted(self, message: str, *, beside: str) -> str:
        """The message, cut to what a line has left."""
        text = Text(message)
        room = self._console.width - self._bar_width() - len(beside) - _BETWEEN
        text.truncate(max(room, 0), overflow="ellipsis")
        return text.plain

    def _bar_width(self) -> int:
        return min(_LONGEST_BAR, self._console.width // 3)

    def _started(self) -> tuple[Progress, TaskID]:
        bar = Progress(
            BarColumn(self._bar_width()),
            TextColumn("{task.fields[amount]}", markup=False),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            # No thread of its own: it is drawn when there is something new.
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bar.start()
        return bar, bar.add_task("", total=None, amount="")

    def _stop_bar(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            with suppress(OSError):
                bar[0].stop()

    @contextmanager
    def prompting(self) -> Generator[None, None, None]:
        self._stop_bar()
        self._held = deque(maxlen=_HELD_BACK)
        try:
            yield
        finally:
            held, self._held = self._held, None
            for text in held:
                self.say(text)

    def close(self) -> None:
        self._stop_bar()
