"""A client of ours hears servers of the official SDK, and leaves what it waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import pytest
import trio

from antiphon import Client, LogMessage
from antiphon.engine.protocol import LogLevel
from tests.interop.answering import Progressed
from tests.interop.clients import CARRIERS, our_client, reachable
from tests.interop.servers import Over

LOGGED: Final[dict[LogLevel, int]] = {"debug": 3, "info": 2, "error": 1}
"""The level from which on is heard, and the messages of each round."""


async def test_progress_and_messages_of_all_rounds_are_heard(over: Over) -> None:
    logged: list[LogMessage] = []
    progress = Progressed()
    async with reachable(over, CARRIERS) as connect, connect() as client:
        result = await client.call_tool("work", progress=progress, log=logged.append)
    assert result.text == "worked"
    assert progress.told == [(0.5, 2, "round 0"), (1.5, 2, "round 1")]
    assert logged == [
        LogMessage(level, {"round": number, "größe": [None, 0.5]}, "works")
        for number in (0, 1)
        for level in ("info", "error")
    ]


@pytest.mark.parametrize("level", LOGGED)
async def test_messages_come_from_a_level_on(level: LogLevel) -> None:
    logged: list[LogMessage] = []
    async with our_client(CARRIERS, log=logged.append, log_level=level) as client:
        await client.call_tool("work")
    assert len(logged) == 2 * LOGGED[level]


async def test_who_does_not_listen_is_told_nothing(over: Over) -> None:
    async with reachable(over, CARRIERS) as connect, connect() as client:
        assert (await client.call_tool("work")).text == "worked"


Hang: TypeAlias = Callable[[Client, Progressed], Awaitable[object]]


def _prompt(client: Client, heard: Progressed) -> Awaitable[object]:
    return client.get_prompt("hanging_prompt", progress=heard)


def _resource(client: Client, heard: Progressed) -> Awaitable[object]:
    return client.read_resource("hang://hanging_resource", progress=heard)


@pytest.mark.parametrize(
    ("hang", "name"), [(_prompt, "hanging_prompt"), (_resource, "hanging_resource")]
)
async def test_cancelled_prompt_or_read_frees_their_handler(
    over: Over, hang: Hang, name: str
) -> None:
    heard = Progressed()
    async with reachable(over, CARRIERS) as connect, connect() as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hang, client, heard)
            await heard.begun.wait()
            nursery.cancel_scope.cancel()
        assert (await client.call_tool("until_freed", {"name": name})).text == "freed"
