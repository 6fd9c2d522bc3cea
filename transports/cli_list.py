"""``antiphon list``: what a server has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import trio

from ..engine.client import Client
from ..engine.jsonrpc import JsonValue
from .cli_exits import Exit
from .cli_options import KINDS, ListOptions
from .cli_run import connected, deadline, print_out, surroundings, until_signalled
from .cli_screen import Screen
from .cli_show import as_json
from .cli_show_listed import Item, item_json, item_text
from .cli_text import one_line

_Kinds: TypeAlias = Mapping[str, Sequence[Item]]

_LISTINGS: Final[dict[str, Callable[[Client], Awaitable[Sequence[Item]]]]] = {
    "tools": Client.list_tools,
    "prompts": Client.list_prompts,
    "resources": Client.list_resources,
    "templates": Client.list_resource_templates,
}
_CAPABILITIES: Final = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}


def run_list(options: ListOptions, *, debug: bool = False) -> int:
    """List what a server has; the exit status."""
    with surroundings(debug=debug, interactive=False) as (screen, _):
        return trio.run(until_signalled, partial(_list, options, screen))


async def _list(options: ListOptions, screen: Screen) -> int:
    connection = options.connection
    async with connected(connection, screen) as client:
        with deadline(connection.deadline):
            kinds = options.kinds or await _offered(client)
            listed = {kind: await _LISTINGS[kind](client) for kind in kinds}
        single = len(options.kinds) == 1
        if connection.json:
            print_out(as_json(_json(listed, single=single)))
        else:
            print_out(_text(listed, one_line(client.name), single=single))
    return Exit.OK


async def _offered(client: Client) -> list[str]:
    """The kinds that the server says it has."""
    capabilities = (await client.discover()).capabilities
    return [kind for kind in KINDS if _CAPABILITIES[kind] in capabilities]


def _json(listed: _Kinds, *, single: bool) -> JsonValue:
    kinds: dict[str, JsonValue] = {
        kind: [item_json(item) for item in items] for kind, items in listed.items()
    }
    return next(iter(kinds.values())) if single else kinds


def _text(listed: _Kinds, server: str, *, single: bool) -> str:
    if not any(listed.values()):
        return f"{server} has no {' and no '.join(listed) or 'lists'}"
    if single:
        return "\n".join(item_text(item) for items in listed.values() for item in items)
    return "\n\n".join(_section(kind, items) for kind, items in listed.items() if items)


def _section(kind: str, items: Sequence[Item]) -> str:
    return "\n".join([f"{kind.upper()} ({len(items)})", *map(item_text, items)])
