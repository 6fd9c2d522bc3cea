"""``antiphon watch``: what changes at a server, a line each, as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import trio
from attrs import frozen

from ..engine.changes import Change, ListChanged, Reconnected, ResourceUpdated, Watched
from ..engine.client_subscriptions import Changes
from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject
from .cli_exits import EXITS, Exit
from .cli_parser import (
    TARGET,
    Connection,
    Parser,
    add_connection,
    count,
    read_connection,
    split_command,
    take_target,
)
from .cli_run import connected, deadline, print_out, surroundings, until_signalled
from .cli_screen import Screen
from .cli_text import one_line

_ABOUT: Final = """\
Tell what changes at a server, a line each: lists, and resources by their URIs. Without any of
them it watches all lists. It ends when the server ends it, after --count changes, or by ctrl-C.
In JSON each line is a document of its own.
"""
_LISTS: Final = ("tools", "prompts", "resources")
_LONGEST_URI: Final = 2000


@frozen(kw_only=True)
class WatchOptions:
    """What ``antiphon watch`` is asked to do.

    Attributes:
        connection: which server.
        lists: the lists to watch.
        uris: the resources to watch.
        count: after how many changes to end; None for never.
    """

    connection: Connection
    lists: Sequence[str]
    uris: Sequence[str]
    count: int | None


def watch_parser() -> Parser:
    """The parser of ``antiphon watch``."""
    parser = Parser(
        "antiphon watch",
        "antiphon watch TARGET [URI ...] [--tools] [--prompts] [--resources] [options]\n"
        "       antiphon watch [URI ...] [options] -- COMMAND [ARGUMENT ...]",
        _ABOUT,
        f"{TARGET}\n{EXITS}",
    )
    add = parser.add_argument
    add("words", nargs="*", metavar="TARGET URI", help="see below")
    for name in _LISTS:
        add(f"--{name}", action="store_true", help=f"watch the list of {name}")
    add("--count", metavar="N", type=count, help="end after this many changes")
    add_connection(parser)
    return parser


def read_watch(argv: Sequence[str]) -> WatchOptions:
    """Read the command line of ``antiphon watch``.

    Raises:
        UsageError: it is wrong.
    """
    words, command = split_command(argv)
    given = watch_parser().parse_intermixed_args(words)
    uris = list(given.words)
    connection = read_connection(given, take_target(uris, command))
    if strange := [uri for uri in uris if ":" not in uri]:
        raise UsageError(f"{strange[0][:40]!r} is no URI; a command of several words is quoted")
    named = [name for name in _LISTS if getattr(given, name)]
    lists = named or ([] if uris else _LISTS)
    return WatchOptions(connection=connection, lists=lists, uris=uris, count=given.count)


def run_watch(options: WatchOptions, *, debug: bool = False) -> int:
    """Tell what changes until there is an end; the exit status."""
    with surroundings(debug=debug, interactive=False) as (screen, _):
        return trio.run(until_signalled, partial(_watch, options, screen))


async def _watch(options: WatchOptions, screen: Screen) -> int:
    connection = options.connection
    tools, prompts, resources = (name in options.lists for name in _LISTS)
    async with connected(connection, screen) as client:
        with deadline(connection.deadline):
            async with client.subscribe(
                tools=tools, prompts=prompts, resources=resources, uris=options.uris
            ) as changes:
                _announce(changes, screen, one_line(client.name))
                if not changes.honoured.wire():
                    return Exit.PROTOCOL
                await _tell(changes, options)
        if changes.ended:
            screen.say(f"{one_line(client.name)} has ended the subscription")
    return Exit.OK


async def _tell(changes: Changes, options: WatchOptions) -> None:
    left = options.count
    async for change in changes:
        print_out(json.dumps(_json(change)) if options.connection.json else _text(change))
        if left is not None and not isinstance(change, Reconnected):
            left -= 1
            if not left:
                return


def _announce(changes: Changes, screen: Screen, server: str) -> None:
    """Say what is watched, and what the server does not tell of."""
    honoured = list(_parts(changes.honoured))
    missed = [part for part in _parts(changes.asked) if part not in honoured]
    if honoured:
        screen.say(f"Watching {', '.join(honoured)} of {server}")
    if missed:
        screen.say(f"{server} does not tell of {', '.join(missed)}")


def _parts(watched: Watched) -> Iterator[str]:
    yield from (name for name in _LISTS if getattr(watched, name))
    yield from (_uri(uri) for uri in watched.uris)


# -- words ------------------------------------------------------------------------------------


def _text(change: Change) -> str:
    match change:
        case ListChanged():
            return f"{change.which} changed"
        case ResourceUpdated():
            return f"updated {_uri(change.uri)}"
        case Reconnected():
            return f"reconnected after {change.after:.1f} s ({one_line(change.reason)})"


def _json(change: Change) -> JsonObject:
    match change:
        case ListChanged():
            return {"changed": change.which}
        case ResourceUpdated():
            return {"updated": change.uri}
        case Reconnected():
            return {"reconnected": change.after, "reason": change.reason}


def _uri(uri: str) -> str:
    return one_line(uri, _LONGEST_URI)
