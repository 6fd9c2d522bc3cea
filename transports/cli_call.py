"""``antiphon call`` and ``antiphon list``: a client for the length of one command."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final, TextIO

import trio

from ..engine.call_errors import DeadlineExceeded
from ..engine.client import Client
from ..engine.client_messages import CallToolResult, Tool
from ..engine.errors import UsageError
from .background import background
from .cli_answers import Answers
from .cli_asking import Asker, Desk, Manner
from .cli_exits import Exit
from .cli_options import CallOptions, Connection
from .cli_screen import Screen, encodable, logged_to
from .cli_show import as_json, result_json, result_text, tool_json, tool_text
from .cli_text import one_line
from .cli_values import typed_arguments
from .connect import ConnectOptions, is_url, open_client

SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command in good order; an interrupt does so by itself."""

EXTRA: Final = (
    "Asking at a terminal needs questionary and rich: pip install 'antiphon[cli]'"
    " (or --decline, to be asked nothing)"
)


def run_call(options: CallOptions, *, debug: bool = False) -> int:
    """Call a tool and print its result; the exit status."""
    with _surroundings(debug=debug, interactive=not options.decline) as (screen, desk):
        manner = Manner(decline=options.decline, open_links=options.open_links)
        asker = Asker(Answers(options.answers), screen, desk, manner)
        return trio.run(_until_signalled, partial(_call, options, asker, screen))


def run_list(options: Connection, *, debug: bool = False) -> int:
    """List a server's tools; the exit status."""
    with _surroundings(debug=debug, interactive=False) as (screen, _):
        return trio.run(_until_signalled, partial(_list, options, screen))


# -- commands ---------------------------------------------------------------------------------


async def _call(options: CallOptions, asker: Asker, screen: Screen) -> int:
    connection = options.connection
    given = _client_options(connection, screen)
    given["elicitation"] = asker
    async with open_client(connection.target, **given) as client:
        with _deadline(connection.deadline):
            tool = await _find(client, options.tool)
            arguments = typed_arguments(options.pairs, options.whole, tool.input_schema)
            result = await client.call_tool(tool.name, arguments, progress=screen.progress)
        screen.close()
        _print_result(result, screen, json=connection.json)
    for key in asker.answers.unused:
        screen.say(f"--answer {key}=… was never asked for")
    if asker.unanswered:
        return Exit.UNANSWERED
    return Exit.TOOL if result.is_error else Exit.OK


async def _find(client: Client, name: str) -> Tool:
    tools = {tool.name: tool for tool in await client.list_tools()}
    if name in tools:
        return tools[name]
    near = difflib.get_close_matches(name, tools, n=1)
    meant = f"; do you mean {one_line(near[0])}?" if near else ""
    raise UsageError(f"{one_line(client.name)} has no tool {one_line(name)!r}{meant}")


def _print_result(result: CallToolResult, screen: Screen, *, json: bool) -> None:
    if json:
        print_out(as_json(result_json(result)))
    elif result.is_error:
        screen.say(f"The tool failed: {result_text(result)}")
    else:
        print_out(result_text(result))


async def _list(options: Connection, screen: Screen) -> int:
    async with open_client(options.target, **_client_options(options, screen)) as client:
        with _deadline(options.deadline):
            tools = await client.list_tools()
        if options.json:
            print_out(as_json([tool_json(tool) for tool in tools]))
        else:
            print_out("\n".join(map(tool_text, tools)) or f"{one_line(client.name)} has no tools")
    return Exit.OK


def _client_options(options: Connection, screen: Screen) -> ConnectOptions:
    given: ConnectOptions = {"leg_timeout": options.timeout}
    if options.headers:
        given["headers"] = options.headers
    if options.token is not None:
        given["token"] = options.token
    if options.env:
        given["env"] = options.env
    if not is_url(options.target):
        given["stderr"] = screen.say
    return given


def print_out(text: str) -> None:
    """Print a result on standard output.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    print(encodable(text, sys.stdout), flush=True)  # noqa: T201


# -- around a command -------------------------------------------------------------------------


@contextmanager
def _deadline(seconds: float) -> Generator[None, None, None]:
    """Cancel what runs longer, prompts included, and say so; closing is not hurried by it."""
    with trio.move_on_after(seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineExceeded(f"No result within the deadline, {seconds:g} s; it was cancelled")


async def _until_signalled(command: Callable[[], Awaitable[int]]) -> int:
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


@contextmanager
def _surroundings(
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
