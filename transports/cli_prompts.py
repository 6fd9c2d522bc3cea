"""Prompts at a terminal, by questionary, that a cancel scope can end.

prompt_toolkit runs a loop of its own, so each prompt runs in a thread. Cancelled, it is told to
close; then it puts the terminal back as it was, and only then the cancellation goes on.
"""

from __future__ import annotations

import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import questionary
import trio
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings

from .cli_forms import Declined, Dismissed, Paused

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

Check: TypeAlias = Callable[[Any], str | None]

CLOSING: Final = 2.0
"""Seconds for a prompt to close; only a terminal that takes no output needs longer."""

ESCAPE: Final = 0.1
"""Seconds after which Esc is the key, and not the beginning of another one."""

SEARCHABLE: Final = 10
"""Choices from which on typing searches among them."""


class TerminalPrompts:
    """Asks at a terminal; see :class:`~.cli_forms.Prompts`."""

    def __init__(self, keyboard: Input, output: Output) -> None:
        self._input = keyboard
        self._output = output

    async def text(self, message: str, default: str, check: Check) -> str:
        return cast(
            str,
            await self._ask(
                lambda: questionary.text(
                    message,
                    default,
                    validate=_verdict(check),
                    validate_while_typing=False,
                )
            ),
        )

    async def choose(self, message: str, options: Sequence[str], first: int) -> int:
        many = len(options) > SEARCHABLE
        choices = [questionary.Choice(option, i) for i, option in enumerate(options)]
        return cast(
            int,
            await self._ask(
                lambda: questionary.select(
                    message, choices, choices[first], use_search_filter=many, use_jk_keys=not many
                )
            ),
        )

    async def choose_any(
        self, message: str, options: Sequence[str], chosen: frozenset[int], check: Check
    ) -> list[int]:
        many = len(options) > SEARCHABLE
        choices = [
            questionary.Choice(option, i, checked=i in chosen) for i, option in enumerate(options)
        ]
        return cast(
            "list[int]",
            await self._ask(
                lambda: questionary.checkbox(
                    message,
                    choices,
                    validate=_verdict(check),
                    use_search_filter=many,
                    use_jk_keys=not many,
                )
            ),
        )

    def forget_typed(self) -> None:
        """Drop what was typed before there was a question: nobody consents in advance."""
        clear_typeahead(self._input)
        with suppress(termios.error):  # it is no terminal, or gone
            termios.tcflush(self._input.fileno(), termios.TCIFLUSH)

    async def _ask(self, make: Callable[[], questionary.Question]) -> object:
        with create_app_session(self._input, self._output):
            prompt = _Prompt(_with_ways_out(make().application))
        return await prompt.answer()


def _verdict(check: Check) -> Callable[[Any], bool | str]:
    return lambda value: check(value) or True


def _with_ways_out(app: Application[Any]) -> Application[Any]:
    """Keys that leave the question, in place of what questionary does at ctrl-C."""
    keys = KeyBindings()

    def way_out(by: type[Exception]) -> Callable[[KeyPressEvent], None]:
        return lambda event: _leave(event.app, by())

    for key in ("c-c", "c-q", "escape"):
        keys.add(key, eager=True)(way_out(Dismissed))
    keys.add("c-d", eager=True)(way_out(Declined))
    keys.add("c-z", eager=True)(way_out(Paused))
    given = app.key_bindings
    app.key_bindings = merge_key_bindings([given, keys] if given else [keys])
    app.ttimeoutlen = ESCAPE
    return app


def _leave(app: Application[Any], by: Exception) -> None:
    if app.future is not None and not app.future.done():
        app.erase_when_done = True
        app.exit(exception=by)


class _Prompt:
    """One prompt in a thread, from its first drawing until the terminal is itself again."""

    def __init__(self, app: Application[Any]) -> None:
        self._app = app
        self._unwanted = threading.Event()
        self._closed = trio.Event()
        self._token = trio.lowlevel.current_trio_token()

    async def answer(self) -> object:
        # From here on there is a thread to wait for: the limiter has room, so nothing can
        # cancel us before it starts.
        await trio.lowlevel.checkpoint_if_cancelled()
        limiter = trio.CapacityLimiter(1)
        try:
            return await trio.to_thread.run_sync(self._run, abandon_on_cancel=True, limiter=limiter)
        finally:
            self._close()
            with trio.move_on_after(CLOSING, shield=True):
                await self._closed.wait()

    # -- in the thread ------------------------------------------------------------------------

    def _run(self) -> object:
        try:
            return self._app.run(
                self._leave_if_unwanted, set_exception_handler=False, handle_sigint=False
            )
        except (EOFError, OSError):
            raise Dismissed from None  # the terminal is gone
        finally:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._closed.set)

    def _leave_if_unwanted(self) -> None:
        if self._unwanted.is_set():
            _leave(self._app, Dismissed())

    # -- in trio ------------------------------------------------------------------------------

    def _close(self) -> None:
        # In this order: a prompt that has no loop yet looks at the event when it has one.
        self._unwanted.set()
        loop = self._app.loop
        if loop is not None:
            with suppress(RuntimeError):  # it is closed already
                loop.call_soon_threadsafe(self._leave_if_unwanted)
