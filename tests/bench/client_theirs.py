"""The official SDK's client alone: ``python -m tests.bench.client_theirs URL``, as client_ours.

Each part runs where it is faster: over memory on asyncio, over HTTP on trio.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import anyio
import trio
from mcp import Client
from mcp.server import Server
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair

from antiphon.engine.protocol import VERSION
from tests.bench.canned_replies import DATABASE, result_of
from tests.bench.in_process import Count, obey, repeated
from tests.bench.in_process_theirs import answered, no_notification


async def _said(_: object, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    return result_of(method, dict(params or {}))


async def _beside_a_canned_peer(stack: AsyncExitStack, *_: object) -> Any:
    near, far = create_direct_dispatcher_pair()
    nursery = await stack.enter_async_context(anyio.create_task_group())
    stack.callback(far.close)
    await nursery.start(far.run, _said, no_notification)
    return near


def over_memory() -> Client:
    client = Client(Server("Provisioner"), elicitation_callback=answered, mode=VERSION)
    # There is no public way to a peer in memory that is no server of theirs.
    client._connect = _beside_a_canned_peer  # pyright: ignore[reportPrivateUsage]
    return client


def over_http(url: str) -> Client:
    return Client(url, elicitation_callback=answered, mode=VERSION)


async def flows(made: Callable[[], Client], seconds: float) -> Count:
    async with made() as client:

        async def flow() -> None:
            # The first call lists the tools, and results are checked by what is listed.
            result = await client.call_tool("provision", {"name": "orders"})
            assert result.structured_content == DATABASE

        return await repeated(flow, seconds)


def run(part: str, seconds: float) -> Count:
    if part == "memory":
        return asyncio.run(flows(over_memory, seconds))
    return trio.run(flows, partial(over_http, sys.argv[1]), seconds)


if __name__ == "__main__":
    obey(run)
