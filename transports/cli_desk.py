"""The terminal of the person who called: prompts, sheets, and its state put back at the end."""

from __future__ import annotations

import os
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from prompt_toolkit.input import create_input
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from .cli_prompts import TerminalPrompts
from .cli_terminal import TerminalScreen
from .cli_text import harmless, shortened

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output


class QuietOutput(Vt100_Output):
    """A terminal that is asked nothing: its answer could come when we have gone."""

    def get_rows_below_cursor_position(self) -> int:
        # In place of asking where the cursor is: drawing takes the room that it needs.
        return 0


class TerminalDesk(TerminalPrompts):
    """Asks on a screen; see :class:`~.cli_asking.Desk`."""

    def __init__(self, keyboard: Input, output: Output, screen: TerminalScreen) -> None:
        super().__init__(keyboard, output)
        self._screen = screen

    @contextmanager
    def prompting(self) -> Generator[None, None, None]:
        with self._screen.prompting():
            self.forget_typed()
            yield

    def heading(self, title: str, text: str) -> None:
        framed = Panel(Text(shortened(text)), title=Text(title), title_align="left", expand=False)
        self._screen.show(framed)

    def note(self, text: str) -> None:
        self._screen.show(Padding(Text(harmless(text), style="dim"), (0, 0, 0, 2)))

    def address(self, before: str, host: str, after: str) -> None:
        self._screen.show(Text.assemble("  ", before, (host, "bold"), after))

    def warn(self, text: str) -> None:
        self._screen.show(Text.assemble("  ", ("Careful: ", "bold yellow"), harmless(text)))


@contextmanager
def terminal_desk(
    stdin: TextIO, stderr: TextIO, screen: TerminalScreen
) -> Generator[TerminalDesk, None, None]:
    """A desk at the terminal that both streams are, put back as it was found at the end."""
    fd = stdin.fileno()
    before = termios.tcgetattr(fd)
    output = QuietOutput.from_pty(
        stderr, term=os.environ.get("TERM"), default_color_depth=ColorDepth.from_env()
    )
    try:
        yield TerminalDesk(create_input(stdin), output, screen)
    finally:
        with suppress(termios.error):
            termios.tcsetattr(fd, termios.TCSANOW, before)
