"""A client of ours asks servers of the official SDK for all that has no rounds."""

from __future__ import annotations

import pytest
import trio

from antiphon import DeadlineExceeded, LegTimeout
from tests.interop.clients import LOW, THEIRS, our_client, reachable
from tests.interop.servers import Over


async def test_every_page_is_listed() -> None:
    async with our_client(LOW) as client:
        tools = await client.list_tools()
    assert [tool.name for tool in tools] == [f"tool{number}" for number in range(5)]


async def test_tools_are_discovered_listed_and_called(over: Over) -> None:
    text = "\u2028\u2029\x85\x0b\x1c größe 名前 🚢 " + "x" * 1_000_000
    heard: list[tuple[float, float | None, str | None]] = []

    def on_progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with reachable(over, THEIRS) as connect, connect() as client:
        discovery = await client.discover()
        tools = {tool.name: tool for tool in await client.list_tools()}
        added = await client.call_tool("add", {"a": 2})
        echoed = await client.call_tool("echo", {"text": text})
        failed = await client.call_tool("fail", {"how": "told"})
        counted = await client.call_tool("count", {"to": 5}, progress=on_progress)
    assert discovery.supported_versions == ["2026-07-28"]
    assert discovery.server is not None
    assert (discovery.server.name, discovery.server.version) == ("Theirs", "3.1")
    assert discovery.instructions == "Ask away."
    assert client.name == "Theirs"
    assert tools["add"].input_schema["required"] == ["a"]
    assert tools["by_dependency"].input_schema["properties"] == {
        "name": {"title": "Name", "type": "string"}
    }
    assert added.structured == {"result": 3}
    assert added.text == "3"
    assert echoed.text == text
    assert failed.is_error
    assert "The tide is out." in failed.text
    assert counted.structured == {"result": 5}
    assert heard == [(number, 5, f"number {number}") for number in range(1, 6)]


async def test_everything_that_a_tool_can_fail_of_is_a_result() -> None:
    async with our_client() as client:
        untold = await client.call_tool("fail", {"how": "untold"})
        invalid = await client.call_tool("fail", {"how": "loudly"})
        unknown = await client.call_tool("mast")
    assert [result.is_error for result in (untold, invalid, unknown)] == [True] * 3
    assert "secret" not in untold.text
    assert "loudly" in invalid.text
    assert "mast" in unknown.text


async def test_cancelled_call_frees_their_handler(over: Over) -> None:
    started = trio.Event()

    async with reachable(over, THEIRS) as connect, connect() as client:
        async with trio.open_nursery() as nursery:

            async def hang() -> None:
                await client.call_tool("hang", progress=lambda done, total, told: started.set())

            nursery.start_soon(hang)
            await started.wait()
            nursery.cancel_scope.cancel()
        assert (await client.call_tool("until_freed")).text == "freed"


async def test_call_without_a_reply_frees_their_handler_after_its_time() -> None:
    async with our_client(leg_timeout=0.05) as client:
        with pytest.raises(LegTimeout):
            await client.call_tool("hang")
        assert (await client.call_tool("until_freed")).text == "freed"


async def test_deadline_frees_their_handler() -> None:
    async with our_client() as client:
        with pytest.raises(DeadlineExceeded):
            await client.call_tool("hang", deadline=0.05)
        assert (await client.call_tool("until_freed")).text == "freed"
