"""Clients and servers of either make and of every era, each with each.

What may come of each pair is the compatibility matrix of the specification: basic/versioning.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias, cast

import pytest
import trio
from attrs import frozen
from mcp import Client as TheirClient
from mcp import MCPError, StdioServerParameters, stdio_client
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION

from antiphon import Accept, ServerError, http_app, open_client
from antiphon.engine.handshake_era import Mode
from tests.http_older.theirs import their_server
from tests.http_server.serving import serving
from tests.interop import answering, people
from tests.interop.lists import all_tools
from tests.interop.servers import (
    LEAVES_GARBAGE,
    PATIENCE,
    PROVISION,
    ROOT,
    Over,
    over_http,
    program,
    python_path,
    text_of,
)

pytestmark = [
    LEAVES_GARBAGE,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

Make: TypeAlias = Literal["ours", "theirs"]
Target: TypeAlias = "str | list[str]"

MODERN: Final = "2026-07-28"
EARLIER: Final = "2025-11-25"
MODES: Final[dict[Mode, list[str]]] = {
    "2026-07-28": [MODERN],
    "auto": [MODERN, EARLIER],
    "legacy": [EARLIER],
}
"""What a client of each mode speaks, what it likes best first."""


@frozen
class Served:
    """A server, and a tool of it that asks one question by a form.

    Attributes:
        module: run as a child over stdio.
        speaks: revisions.
        tool, arguments: what is called.
        answer: to its form.
        told: a part of the result then.
    """

    make: Make
    module: str
    speaks: frozenset[str]
    tool: str
    arguments: dict[str, Any]
    answer: dict[str, Any]
    told: str


def provision(module: str, *speaks: str) -> Served:
    return Served(
        make="ours",
        module=module,
        speaks=frozenset(speaks),
        tool="provision",
        arguments={"name": "orders"},
        answer={"name": "eu-west-1"},
        told="eu-west-1",
    )


SERVERS: Final = {
    "ours of 2026": provision("tests.interop.ours_modern", MODERN),
    "ours": provision(PROVISION, MODERN, EARLIER),
    "theirs of 2025": Served(
        make="theirs",
        module="tests.interop.theirs_old_asking",
        speaks=frozenset({EARLIER}),
        tool="ask",
        arguments={},
        answer={"name": "Ada"},
        told="accept {'name': 'Ada'}",
    ),
    "theirs": Served(
        make="theirs",
        module="tests.interop.theirs",
        speaks=frozenset({MODERN, EARLIER}),
        tool="by_outcome",
        arguments={},
        answer={"sure": True},
        told="accepted: True",
    ),
}


@frozen
class Outcome:
    """What a client saw.

    Attributes:
        version: the revision that was spoken.
        tools: the names of all tools.
        asked: how many questions its person was asked.
        told: the result of the call.
    """

    version: str
    tools: list[str]
    asked: int
    told: str


# -- the servers ---------------------------------------------------------------------------------


@asynccontextmanager
async def reachable(server: Served, over: Over) -> AsyncGenerator[Target]:
    """The command or the address of a server."""
    if over == "stdio":
        yield [sys.executable, program(server.module)]
    elif MODERN not in server.speaks:
        async with their_server(only_older=True) as (url, _):
            yield url
    else:
        async with serving(application(server)) as port:
            yield f"http://127.0.0.1:{port}/mcp"


def application(server: Served) -> Any:
    loaded: Any = import_module(server.module)
    if server.make == "theirs":
        return loaded.make().streamable_http_app()
    return http_app(loaded.make() if hasattr(loaded, "make") else loaded.server)


# -- the clients ---------------------------------------------------------------------------------


async def by_ours(target: Target, mode: Mode, server: Served) -> Outcome:
    person = answering.person(Accept(server.answer))
    env: Any = {} if isinstance(target, str) else {"env": python_path()}
    async with open_client(target, mode=mode, elicitation=person, **env) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool(server.tool, server.arguments)
        (version,) = (await client.discover()).supported_versions[:1]
    return Outcome(version, tools, len(person.asked), result.text)


async def by_theirs(target: Target, mode: Mode, server: Served) -> Outcome:
    person = people.person(people.accept(**server.answer))
    async with TheirClient(
        their_transport(target), mode=mode, elicitation_callback=person
    ) as client:
        tools = [tool.name for tool in await all_tools(client)]
        result = await client.call_tool(server.tool, server.arguments)
        version = client.protocol_version
    return Outcome(version, tools, len(person.asked), text_of(result))


def their_transport(target: Target) -> Any:
    if isinstance(target, str):
        return over_http(target)
    [command, *args] = target
    return stdio_client(
        StdioServerParameters(command=command, args=args, env=python_path(), cwd=ROOT)
    )


CLIENTS: Final[dict[Make, Callable[[Target, Mode, Served], Awaitable[Outcome]]]] = {
    "ours": by_ours,
    "theirs": by_theirs,
}


# -- each with each ------------------------------------------------------------------------------

PAIRS: Final = [*itertools.product(CLIENTS, MODES, SERVERS)]
WORKING: Final = [pair for pair in PAIRS if set(MODES[pair[1]]) & SERVERS[pair[2]].speaks]
FAILING: Final = [pair for pair in PAIRS if pair not in WORKING]


def each(pairs: list[tuple[Make, Mode, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("client", "mode", "name"), pairs, ids=[" - ".join(pair) for pair in pairs]
    )


@each(WORKING)
async def test_pair_works(client: Make, mode: Mode, name: str, over: Over) -> None:
    server = SERVERS[name]
    with trio.fail_after(PATIENCE):
        async with reachable(server, over) as target:
            outcome = await CLIENTS[client](target, mode, server)
    assert outcome.version == next(v for v in MODES[mode] if v in server.speaks)
    assert server.tool in outcome.tools
    assert outcome.asked == 1
    assert server.told in outcome.told


@each(FAILING)
async def test_pair_fails_and_says_why(client: Make, mode: Mode, name: str, over: Over) -> None:
    server = SERVERS[name]
    with trio.fail_after(PATIENCE):
        async with reachable(server, over) as target:
            error = await failure_of(CLIENTS[client](target, mode, server))
    if client == "ours":
        assert isinstance(error, ServerError)
        assert 'open the client in mode="auto"' in str(error)
    else:
        assert isinstance(error, MCPError)
    if server.make == "ours":  # all that a client of the handshake can show
        assert error.code == UNSUPPORTED_PROTOCOL_VERSION
        assert MODERN in str(error)


async def failure_of(work: Awaitable[Outcome]) -> ServerError | MCPError:
    """What work ends with, without the groups around it."""
    try:
        outcome = await work
    except Exception as error:  # noqa: BLE001  # looked at here
        inner: BaseException = error
        while isinstance(inner, BaseExceptionGroup):
            (inner,) = cast("BaseExceptionGroup[BaseException]", inner).exceptions
        assert isinstance(inner, ServerError | MCPError), inner
        return inner
    raise AssertionError(f"it works: {outcome}")


def test_every_cell_of_the_matrix_is_here() -> None:
    assert (len(WORKING), len(FAILING)) == (20, 4)
