"""Antiphon in one process: its client over memory, and the server's ``handle`` alone."""

import trio

from antiphon import open_client
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import JsonObject, JsonValue, Request, Success
from tests.bench.in_process import Count, obey, repeated
from tests.bench.ours import server
from tests.bench.traffic import ANSWER, call


async def answered(_: object) -> dict[str, object]:
    return {"region": "eu-west-1"}


async def through_client(seconds: float) -> Count:
    async with open_client(server, elicitation=answered) as client:
        # From here on results are checked, as the official client does by itself.
        await client.list_tools()

        async def flow() -> None:
            result = await client.call_tool("provision", {"name": "orders"})
            assert result.structured == {"name": "orders", "region": "eu-west-1"}

        return await repeated(flow, seconds)


async def handled(**members: JsonValue) -> JsonObject:
    reply = await server.handle(Request(1, "tools/call", call(**members)), Exchange())
    assert isinstance(reply, Success)
    return reply.result


async def flow_alone() -> None:
    interim = await handled()
    state = interim["requestState"]
    result = await handled(requestState=state, inputResponses={"choosing_region": ANSWER})
    assert result["structuredContent"] == {"name": "orders", "region": "eu-west-1"}


async def server_alone(seconds: float) -> Count:
    return await repeated(flow_alone, seconds)


if __name__ == "__main__":
    flows = {"client": through_client, "server": server_alone}
    obey(lambda part, seconds: trio.run(flows[part], seconds))
