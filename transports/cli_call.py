"""``antiphon call``, ``prompt`` and ``read``: one request that may ask, to its result."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

import trio

from ..engine.call_errors import Kind
from ..engine.client import Client
from ..engine.client_messages import Tool
from ..engine.driver import Conversation
from ..engine.errors import UsageError
from ..engine.request_options import CallOptions as EngineOptions
from .cli_answers import Answers
from .cli_asking import Asker
from .cli_exits import Exit
from .cli_forms import Paused
from .cli_options import Called, CallOptions, PromptOptions, ReadOptions
from .cli_parser import Connection
from .cli_results import deliver
from .cli_run import connected, deadline, surroundings, until_signalled
from .cli_screen import Screen
from .cli_text import one_line
from .cli_values import typed_arguments

ANSWERED: Final[tuple[Kind, ...]] = ("form", "url")
"""The kinds of question that a person answers at a terminal."""

Begin: TypeAlias = Callable[[Client, EngineOptions], Awaitable[Conversation[Any]]]
"""Makes the conversation of a command, of which nothing was sent yet."""


def run_call(options: CallOptions, *, debug: bool = False) -> int:
    """Call a tool and print its result; the exit status."""

    async def begin(client: Client, told: EngineOptions) -> Conversation[Any]:
        tool = await _find(client, options.tool)
        arguments = typed_arguments(options.pairs, options.whole, tool.input_schema)
        return client.conversation(tool.name, arguments, kinds=ANSWERED, **told)

    return _run(options, begin, debug=debug)


def run_prompt(options: PromptOptions, *, debug: bool = False) -> int:
    """Get a prompt and print it; the exit status."""

    async def begin(client: Client, told: EngineOptions) -> Conversation[Any]:
        given = options.arguments or None
        return client.prompt_conversation(options.name, given, kinds=ANSWERED, **told)

    return _run(options, begin, debug=debug)


def run_read(options: ReadOptions, *, debug: bool = False) -> int:
    """Read a resource and print it; the exit status."""

    async def begin(client: Client, told: EngineOptions) -> Conversation[Any]:
        return client.resource_conversation(options.uri, kinds=ANSWERED, **told)

    return _run(options, begin, debug=debug)


async def _find(client: Client, name: str) -> Tool:
    tools = {tool.name: tool for tool in await client.list_tools()}
    if name in tools:
        return tools[name]
    near = difflib.get_close_matches(name, tools, n=1)
    meant = f"; do you mean {one_line(near[0])}?" if near else ""
    raise UsageError(f"{one_line(client.name)} has no tool {one_line(name)!r}{meant}")


# -- conversations ----------------------------------------------------------------------------


def _run(options: Called, begin: Begin, *, debug: bool) -> int:
    asks = not (options.manner.decline or options.manner.pause)
    with surroundings(debug=debug, interactive=asks) as (screen, desk):
        asker = Asker(Answers(options.answers), screen, desk, options.manner)
        return trio.run(until_signalled, partial(_converse, options, begin, asker, screen))


async def _converse(options: Called, begin: Begin, asker: Asker, screen: Screen) -> int:
    connection = options.connection
    async with connected(connection, screen, elicitation=asker) as client:
        with deadline(connection.deadline):
            conversation = await begin(client, _told(connection, screen))
            try:
                result = await conversation.run()
            except Paused:
                from .cli_paused import put_away  # few calls need a database

                return await put_away(conversation, connection, screen)
        screen.close()
        status = deliver(result, screen, json=connection.json, output=options.output)
    return asked_for(asker, screen, status)


def _told(connection: Connection, screen: Screen) -> EngineOptions:
    # The deadline goes with a call that is put away.
    return {"progress": screen.progress, "deadline": connection.deadline}


def asked_for(asker: Asker, screen: Screen, status: Exit) -> Exit:
    """The exit status, with regard to what was asked and answered; tells of answers too many."""
    for key in asker.answers.unused:
        screen.say(f"--answer {key}=… was never asked for")
    return Exit.UNANSWERED if asker.unanswered else status
