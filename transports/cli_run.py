"""Around a command that reaches a server: its screen, its client, its deadline, its signals."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Final, TextIO

import trio

from ..engine.answering import ElicitationCallback
from ..engine.background import background
from ..engine.call_errors import DeadlineExceeded
from ..engine.client import Client
from ..engine.client_options import ClientOptions
from ..engine.errors import UsageError
from ..engine.exchange import ClientTransport
from ..engine.handshake_era import MODERN
from ..engine.hearing import LogMessage
from .cli_asking import Desk
from .cli_parser import Connection
from .cli_screen import Screen, encodable, logged_to
from .cli_show import log_line
from .cli_trace import Trace, TracedTransport
from .connect import TransportOptions, is_url, open_client, open_transport

SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command in good order; an interrupt does so by itself."""

EXTRA: Final = (
    "Asking at a terminal needs questionary and rich: pip install 'antiphon[cli]'"
    " (or --decline, to be asked nothing)"
)


def print_out(text: str) -> None:
    """Print a result on standard output.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    print(encodable(text, sys.stdout), flush=True)  # noqa: T201


# -- the client -------------------------------------------------------------------------------


@asynccontextmanager
async def connected(
    connection: Connection,
    screen: Screen,
    *,
    elicitation: ElicitationCallback | None = None,
) -> AsyncGenerator[Client, None]:
    """A client for the length of one command; with an elicitation, of a server that may ask."""
    options: ClientOptions = {"leg_timeout": connection.timeout, "elicitation": elicitation}
    if connection.log is not None:
        options["log"] = _logging_to(screen)
        options["log_level"] = connection.log
    if not is_url(connection.target):
        # A command that died would mostly die again, and say so again.
        options["retry"] = None
    async with (
        open_transport(connection.target, **_transport_options(connection, screen)) as transport,
        # The revision is the affair of the transport inside.
        open_client(_watched(transport, connection, screen), mode=MODERN, **options) as client,
    ):
        yield client


def _watched(transport: ClientTransport, connection: Connection, screen: Screen) -> ClientTransport:
    return TracedTransport(transport, Trace(screen.say)) if connection.trace else transport


def _logging_to(screen: Screen) -> Callable[[LogMessage], None]:
    return lambda message: screen.say(log_line(message))


def _transport_options(connection: Connection, screen: Screen) -> TransportOptions:
    given: TransportOptions = {"mode": connection.mode}
    if connection.headers:
        given["headers"] = connection.headers
    if connection.token is not None:
        given["token"] = connection.token
    if connection.env:
        given["env"] = connection.env
    if not is_url(connection.target):
        given["stderr"] = screen.say
    return given


# -- time and signals -------------------------------------------------------------------------


@contextmanager
def deadline(seconds: float) -> Generator[None, None, None]:
    """Cancel what runs longer, prompts included, and say so; closing is not hurried by it.

    Raises:
        DeadlineExceeded: it did.
    """
    with trio.move_on_after(seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineExceeded(f"No result within the deadline, {seconds:g} s; it was cancelled")


async def until_signalled(command: Callable[[], Awaitable[int]]) -> int:
    """Run a command until it ends or a signal ends it; the exit status."""
    status = 0
    stopped_by: list[int] = []
    with trio.open_signal_receiver(*SIGNALS) as signals:
        async with background() as nursery:
            nursery.start_soon(_heed, signals, stopped_by, nursery.cancel_scope)
            status = await command()
            nursery.cancel_scope.cancel()
    return 128 + stopped_by[0] if stopped_by else status


async def _heed(
    signals: AsyncIterator[int], stopped_by: list[int], scope: trio.CancelScope
) -> None:
    async for number in signals:
        stopped_by.append(number)
        scope.cancel()


# -- the screen -------------------------------------------------------------------------------


@contextmanager
def surroundings(
    *, debug: bool, interactive: bool
) -> Generator[tuple[Screen, Desk | None], None, None]:
    """The screen of a command, and the desk where there is a terminal to ask at.

    Raises:
        UsageError: there is one, and what draws on it is not installed.
    """
    with ExitStack() as stack:
        screen, desk = _screen_and_desk(stack) if interactive else (Screen(sys.stderr), None)
        stack.callback(screen.close)
        stack.enter_context(logged_to(screen, debug=debug))
        yield screen, desk


def _screen_and_desk(stack: ExitStack) -> tuple[Screen, Desk | None]:
    if not _is_terminal(sys.stderr):
        return Screen(sys.stderr), None
    asks = _is_terminal(sys.stdin)
    try:
        from .cli_desk import terminal_desk
        from .cli_terminal import TerminalScreen
    except ModuleNotFoundError:
        if asks:
            raise UsageError(EXTRA) from None
        return Screen(sys.stderr), None
    screen = TerminalScreen(sys.stderr)
    desk = stack.enter_context(terminal_desk(sys.stdin, sys.stderr, screen)) if asks else None
    return screen, desk


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that understands how to be drawn on."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
