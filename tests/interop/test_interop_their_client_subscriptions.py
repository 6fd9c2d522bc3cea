"""A client of the official SDK listens to what changes in a server of ours."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from mcp import Client, MCPError
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    Subscription,
    ToolsListChanged,
)

from antiphon.engine.errors import BUSY
from tests.http_server.serving import hypercorn
from tests.interop.lists import all_prompts, all_resources, all_templates, all_tools, wire
from tests.interop.servers import (
    HTTP,
    LEAVES_GARBAGE,
    PATIENCE,
    WHOLE,
    Over,
    Served,
    over_http,
    served,
    text_of,
)
from tests.interop.whole import DIARY

pytestmark = LEAVES_GARBAGE

LISTS: dict[str, Any] = {
    "tools_list_changed": True,
    "prompts_list_changed": True,
    "resources_list_changed": True,
}


async def next_events(subscription: Subscription, count: int) -> set[ServerEvent]:
    return {await anext(subscription) for _ in range(count)}


async def names(client: Client) -> list[set[str]]:
    """What the four lists hold."""
    return [
        {tool.name for tool in await all_tools(client)},
        {prompt.name for prompt in await all_prompts(client)},
        {resource.uri for resource in await all_resources(client)},
        {template.uri_template for template in await all_templates(client)},
    ]


async def diary(client: Client) -> str:
    (part,) = (await client.read_resource(DIARY)).contents
    return str(wire(part)["text"])


# -- lists -------------------------------------------------------------------------------------


async def test_what_is_registered_and_removed_at_run_time_is_told_and_listed(over: Over) -> None:
    added = [{"lamp"}, {"lamp"}, {"library://lamp"}, {"library://lamp/{number}"}]
    events = {ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()}
    async with served(over, WHOLE) as server, server.client() as client:
        before = await names(client)
        async with client.listen(**LISTS) as subscription:
            assert wire(subscription.honored) == {
                "toolsListChanged": True,
                "promptsListChanged": True,
                "resourcesListChanged": True,
            }
            await client.call_tool("acquire", {"name": "lamp"})
            # Until it hears of a change, the client is content with the lists that it has.
            assert await next_events(subscription, 3) == events
            after = await names(client)
            assert [new - old for old, new in zip(before, after, strict=True)] == added
            assert text_of(await client.call_tool("lamp")) == "lamp"
            await client.call_tool("discard", {"name": "lamp"})
            assert await next_events(subscription, 3) == events
            assert await names(client) == before
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("lamp")
    assert server.complaints.texts == []


# -- resources ---------------------------------------------------------------------------------


async def test_resource_that_is_watched_is_read_anew_when_it_was_updated() -> None:
    async with served(HTTP, WHOLE) as server, server.client() as client:
        assert await diary(client) == "first day"
        async with client.listen(resource_subscriptions=[DIARY, "library://later"]) as watching:
            await client.call_tool("announce", {"uri": "library://not-watched"})
            await client.call_tool("write", {"text": "second day"})
            assert await anext(watching) == ResourceUpdated(DIARY)
            assert await diary(client) == "first day\nsecond day"
            await client.call_tool("announce", {"uri": "library://later"})
            assert await anext(watching) == ResourceUpdated("library://later")


# -- several -----------------------------------------------------------------------------------


async def test_several_at_once_hear_what_each_asked_for_until_it_leaves(over: Over) -> None:
    async with served(over, WHOLE) as server, server.client() as client:
        async with client.listen(tools_list_changed=True) as staying:
            async with (
                client.listen(resource_subscriptions=[DIARY]) as reader,
                client.listen(prompts_list_changed=True, tools_list_changed=True) as both,
            ):
                assert len({sub.subscription_id for sub in (staying, reader, both)}) == 3
                with pytest.raises(MCPError, match="limit subscriptions is 3") as refused:
                    async with client.listen(tools_list_changed=True):
                        raise AssertionError("it is one too many")
                assert refused.value.code == BUSY
                await client.call_tool("write", {"text": "x", "times": 3})
                await client.call_tool("acquire", {"name": "lamp"})
                assert await anext(reader) == ResourceUpdated(DIARY)
                assert await next_events(both, 2) == {ToolsListChanged(), PromptsListChanged()}
                assert await anext(staying) == ToolsListChanged()
            await client.call_tool("only_so_many_listen", {"count": 1})
            await client.call_tool("discard", {"name": "lamp"})
            assert await anext(staying) == ToolsListChanged()
            async with client.listen(prompts_list_changed=True) as late:
                await client.call_tool("acquire", {"name": "chair"})
                assert await anext(late) == PromptsListChanged()
        await client.call_tool("only_so_many_listen", {"count": 0})
    assert server.complaints.texts == []


async def test_subscriptions_of_another_client_hear_of_it_too() -> None:
    async with (
        served(HTTP, WHOLE) as server,
        server.client() as reader,
        server.client() as writer,
        reader.listen(resource_subscriptions=[DIARY]) as watching,
    ):
        await writer.call_tool("write", {"text": "second day"})
        assert await anext(watching) == ResourceUpdated(DIARY)
        assert await diary(reader) == "first day\nsecond day"


# -- the end -----------------------------------------------------------------------------------

Stop = Callable[[Client], Awaitable[None]]


@asynccontextmanager
async def stoppable(over: Over) -> AsyncGenerator[tuple[Served, Stop]]:
    """A server in a process of its own, and what terminates it."""
    if over == "stdio":
        async with served(over, WHOLE) as server:
            yield server, terminate
        return
    with trio.fail_after(PATIENCE):
        arguments = ("-k", "trio", "--graceful-timeout", str(int(PATIENCE)))
        async with hypercorn(*arguments, app="whole_served", folder="tests.interop") as running:
            await running.wait_for("Running on")
            url = f"http://127.0.0.1:{running.port}/mcp"

            async def stop(_: Client) -> None:
                running.process.terminate()

            yield Served(lambda: over_http(url)), stop
            said = await running.read_on()
            assert running.process.returncode == 0
            assert "Traceback" not in said


async def terminate(client: Client) -> None:
    pid = (await client.call_tool("pid")).structured_content
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGTERM)


async def test_server_that_is_terminated_ends_subscriptions_gracefully(over: Over) -> None:
    async with (
        stoppable(over) as (server, stop),
        server.client() as client,
        client.listen(resource_subscriptions=[DIARY]) as watching,
        client.listen(**LISTS) as listening,
    ):
        await client.call_tool("write", {"text": "last day"})
        await stop(client)
        # What had changed comes first; an end without a result would raise.
        assert [event async for event in watching] == [ResourceUpdated(DIARY)]
        assert [event async for event in listening] == []
