"""A client of the official SDK hears what our calls say on their way, and ends some of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio
from mcp import Client
from mcp_types import LoggingLevel

from antiphon.engine.protocol import LOG_LEVELS
from tests.interop.notices import Listener, get_prompt, read_resource
from tests.interop.servers import HTTP, LEAVES_GARBAGE, WHOLE, Over, served, text_of

pytestmark = LEAVES_GARBAGE

EVERYTHING: Any = {"io.modelcontextprotocol/logLevel": "debug"}


async def test_tool_tells_its_progress_and_logs_from_the_level_that_was_asked_for(
    over: Over,
) -> None:
    heard = Listener()
    options = {"logging_callback": heard.on_log, "log_level": "warning"}
    async with served(over, WHOLE) as server, server.client(**options) as client:
        result = await client.call_tool("work", {"steps": 4}, progress_callback=heard.on_progress)
        await heard.until(progress=4, logged=5)
    assert result.structured_content == 4
    # The client starts a task for each that it hears.
    assert sorted(heard.progress) == [(step, 4, f"step {step}") for step in range(1, 5)]
    levels: list[LoggingLevel] = ["warning", "error", "critical", "alert", "emergency"]
    assert sorted(said.level for said in heard.logged) == sorted(levels)
    assert {said.logger for said in heard.logged} == {"library.work"}
    assert all(said.data == {"level": said.level} for said in heard.logged)


async def test_each_request_has_a_level_of_its_own() -> None:
    heard = Listener()
    async with (
        served(HTTP, WHOLE) as server,
        server.client(logging_callback=heard.on_log) as client,
    ):
        await client.call_tool("work", {"steps": 0})
        await client.call_tool("work", {"steps": 0}, meta=EVERYTHING)
        await heard.until(logged=len(LOG_LEVELS))
        assert sorted(said.level for said in heard.logged) == sorted(LOG_LEVELS)


async def test_prompt_and_resource_tell_their_progress_and_log() -> None:
    heard = Listener()
    options = {"logging_callback": heard.on_log, "log_level": "debug"}
    async with served(HTTP, WHOLE) as server, server.client(**options) as client:
        prompt = await get_prompt(client, "reckon", {"text": "aloud"}, heard)
        await heard.until(progress=1, logged=1)
        resource = await read_resource(client, "reckon://softly", heard)
        await heard.until(progress=2, logged=2)
    assert len(prompt.messages) == len(resource.contents) == 1
    assert heard.progress == [(0.5, 1, "aloud"), (0.5, 1, "softly")]
    assert [(said.level, said.data) for said in heard.logged] == [
        ("warning", "aloud"),
        ("warning", "softly"),
    ]


async def test_cancelled_requests_free_the_handlers_of_all_three(over: Over) -> None:
    def requests(client: Client, heard: Listener) -> list[Callable[[], Awaitable[object]]]:
        return [
            lambda: client.call_tool("hang", {"which": 0}, progress_callback=heard.on_progress),
            lambda: get_prompt(client, "hang", {"which": "1"}, heard),
            lambda: read_resource(client, "hang://2", heard),
        ]

    async with served(over, WHOLE) as server, server.client() as client:
        for number in range(3):
            heard = Listener()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(requests(client, heard)[number])
                await heard.until(progress=1)
                nursery.cancel_scope.cancel()
        assert text_of(await client.call_tool("all_freed")) == "freed"
    assert server.complaints.texts == []
