"""The official SDK in one process: its client over memory, and its server's dispatch alone.

``python -m tests.bench.in_process_theirs FORM``, FORM being the module of a server. It runs on
asyncio, where it is faster than on trio.
"""

import asyncio
import sys
from importlib import import_module
from typing import Any

import anyio
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.runner import modern_on_request
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp_types import ElicitResult

from antiphon.engine.jsonrpc import JsonObject
from tests.bench.in_process import Count, obey, repeated
from tests.bench.traffic import ANSWER, call


async def answered(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"region": "eu-west-1"})


async def _through_client(server: MCPServer, seconds: float) -> Count:
    async with Client(server, elicitation_callback=answered) as client:

        async def flow() -> None:
            result = await client.call_tool("provision", {"name": "orders"})
            assert result.structured_content == {"name": "orders", "region": "eu-west-1"}

        return await repeated(flow, seconds)


async def _server_alone(server: MCPServer, seconds: float) -> Count:
    # There is no public way from an MCPServer to what serves its requests.
    lowlevel: Any = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    near, far = create_direct_dispatcher_pair()

    async def flow() -> None:
        interim = await near.send_raw_request("tools/call", call())
        answers: JsonObject = dict.fromkeys(interim["inputRequests"], ANSWER)
        continued = call(requestState=interim["requestState"], inputResponses=answers)
        result = await near.send_raw_request("tools/call", continued)
        assert result["structuredContent"] == {"name": "orders", "region": "eu-west-1"}

    done = Count(0, 0.0, 0.0)
    async with lowlevel.lifespan(lowlevel) as state, anyio.create_task_group() as nursery:
        await nursery.start(far.run, modern_on_request(lowlevel, state), no_notification)
        await nursery.start(near.run, _no_request, no_notification)
        done = await repeated(flow, seconds)
        near.close()
        far.close()
    return done


async def _no_request(*_: object) -> dict[str, Any]:
    raise AssertionError("the server asks nothing of its own")


async def no_notification(*_: object) -> None:
    return None


def main(form: str) -> None:
    server: MCPServer = import_module(f"tests.bench.{form}").server

    flows = {"client": _through_client, "server": _server_alone}
    obey(lambda part, seconds: asyncio.run(flows[part](server, seconds)))


if __name__ == "__main__":
    main(sys.argv[1])
