"""A client of the official SDK asks a server of ours for all that has no rounds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import trio
from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
)

from tests.interop.lists import all_tools
from tests.interop.people import accept, person
from tests.interop.servers import HARBOUR, HTTP, LEAVES_GARBAGE, PROVISION, Over, served, text_of

pytestmark = LEAVES_GARBAGE


def only(group: BaseExceptionGroup[MCPError]) -> MCPError:
    """The one error within nested groups."""
    (error,) = group.exceptions
    return only(error) if isinstance(error, BaseExceptionGroup) else error


async def test_server_is_discovered(over: Over) -> None:
    async with served(over, HARBOUR) as server, server.client() as client:
        assert client.protocol_version == "2026-07-28"
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("Harbour", "2.5")
        assert client.server_info.title == "The harbour"
        assert client.instructions == "Mind the tide."
        capabilities = client.server_capabilities.model_dump(exclude_none=True)
        assert capabilities == {"logging": {}, "tools": {"list_changed": True}}
    assert server.complaints.texts == []


async def test_revision_can_be_taken_for_granted() -> None:
    async with served(HTTP, HARBOUR) as server, server.client(mode="2026-07-28") as client:
        assert text_of(await client.call_tool("echo", {"text": "at once"})) == "at once"


async def test_handshake_of_an_earlier_revision_is_taken(over: Over) -> None:
    async with served(over, HARBOUR) as server, server.client(mode="legacy") as client:
        assert client.protocol_version == "2025-11-25"
        assert text_of(await client.call_tool("echo", {"text": "of old"})) == "of old"
    assert server.complaints.texts == []


async def test_every_page_of_the_tools_is_listed(over: Over) -> None:
    async with served(over, HARBOUR) as server, server.client() as client:
        tools = {tool.name: tool for tool in await all_tools(client)}
    assert list(tools)[:4] == ["gather", "place_order", "pay", "add"]
    assert list(tools)[-2:] == ["hang", "until_freed"]
    assert tools["add"].input_schema["required"] == ["a"]
    assert tools["add"].output_schema == {"type": "integer"}
    assert tools["add"].description == "Add two numbers."
    assert tools["größe/名前"].title == "Größe"


async def test_structured_output_passes_the_clients_check(
    over: Over, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(over, HARBOUR) as server, server.client() as client:
        await all_tools(client)
        added = await client.call_tool("add", {"a": 2})
        place = await client.call_tool("größe/名前", {"latitude": 52.5})
    assert added.structured_content == 3
    assert place.structured_content == {
        "latitude": 52.5,
        "names": {"de": "Größe", "ja": "名前"},
        "tags": ["x"],
    }
    assert "cannot validate" not in caplog.text


async def test_text_comes_back_as_it_was(over: Over) -> None:
    texts = [
        "\u2028\u2029\x85\x0b\x0c\x1c line\r\nends \x00",
        "名前 größe 🚢 \U0010ffff",
        "x" * 1_000_000,
        "",
    ]
    async with served(over, HARBOUR) as server, server.client() as client:
        assert [text_of(await client.call_tool("echo", {"text": text})) for text in texts] == texts


async def test_failures_of_a_tool_are_results_for_the_model(over: Over) -> None:
    async with served(over, HARBOUR) as server, server.client() as client:
        told = await client.call_tool("fail", {"how": "told"})
        untold = await client.call_tool("fail", {"how": "untold"})
        invalid = await client.call_tool("fail", {"how": "loudly"})
        missing = await client.call_tool("fail")
    assert [result.is_error for result in (told, untold, invalid, missing)] == [True] * 4
    assert text_of(told) == "The tide is out."
    assert "secret" not in text_of(untold)
    assert '"told" or "untold"' in text_of(invalid)
    assert "how" in text_of(missing)
    assert any("'fail' failed" in text for text in server.complaints.texts)


async def test_unknown_tool_is_an_error_and_the_next_call_is_served(over: Over) -> None:
    async with served(over, HARBOUR) as server, server.client() as client:
        with pytest.raises(MCPError, match="Unknown tool: mast") as caught:
            await client.call_tool("mast", {})
        assert caught.value.code == INVALID_PARAMS
        assert text_of(await client.call_tool("echo", {"text": "still here"})) == "still here"


async def test_unknown_method_is_an_error() -> None:
    async with served(HTTP, HARBOUR) as server, server.client() as client:
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()
    assert caught.value.code == -32601


async def test_progress_is_heard_in_order(over: Over) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with served(over, HARBOUR) as server, server.client() as client:
        result = await client.call_tool("count", {"to": 5}, progress_callback=on_progress)
        silent = await client.call_tool("count", {"to": 5})
    assert sorted(heard) == [(number, 5, f"number {number}") for number in range(1, 6)]
    assert result.structured_content == silent.structured_content == 5


async def test_cancelled_call_frees_its_handler(over: Over) -> None:
    started = trio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        started.set()

    async with served(over, HARBOUR) as server, server.client() as client:
        async with trio.open_nursery() as nursery:

            async def hang() -> None:
                await client.call_tool("hang", progress_callback=on_progress)

            nursery.start_soon(hang)
            await started.wait()
            nursery.cancel_scope.cancel()
        assert text_of(await client.call_tool("until_freed")) == "freed"
    assert server.complaints.texts == []


async def test_call_that_runs_out_of_time_frees_its_handler(over: Over) -> None:
    async with served(over, HARBOUR) as server, server.client() as client:
        with pytest.raises(MCPError, match=r"(?i)timed out"):
            await client.call_tool("hang", read_timeout_seconds=0.05)
        assert text_of(await client.call_tool("until_freed")) == "freed"


async def test_calls_run_beside_one_that_hangs(over: Over) -> None:
    async with (
        served(over, HARBOUR) as server,
        server.client() as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(client.call_tool, "hang")
        for number in range(20):
            result = await client.call_tool("add", {"a": number})
            assert result.structured_content == number + 1
        nursery.cancel_scope.cancel()


async def test_client_on_asyncio_is_served(over: Over) -> None:
    async with served(over, PROVISION) as server:
        asked = person(accept(name="prod"), accept(sure="yes"))

        async def session() -> CallToolResult:
            async with server.client(elicitation_callback=asked) as client:
                return await client.call_tool("provision", {"name": "orders"})

        def run() -> Any:
            return asyncio.run(session())

        result = await trio.to_thread.run_sync(run)
    assert result.structured_content == {"name": "orders", "region": "prod"}
