"""Antiphon's client alone: ``python -m tests.bench.client_ours URL``.

URL is that of a canned server, for the part ``http``; that of ``memory`` is in this process, and
each message still passes the JSON door there, which the official SDK's do not. Answers are held
against their form, and results against their schema; the official client does the latter.
"""

import sys

import trio

from antiphon import Limits, open_client
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Reply, Request, Success
from tests.bench.canned_replies import DATABASE, result_of
from tests.bench.in_process import Count, obey, repeated


class Canned:
    """A server object that says what one of the flow would."""

    name = "Provisioner"
    limits = Limits()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        """Answer at once."""
        return Success(request.id, result_of(request.method, request.params))


async def answered(_: object) -> dict[str, object]:
    return {"region": "eu-west-1"}


async def flows(target: str | Canned, seconds: float) -> Count:
    async with open_client(target, elicitation=answered) as client:
        # From here on results are checked, as the official client does by itself.
        await client.list_tools()

        async def flow() -> None:
            result = await client.call_tool("provision", {"name": "orders"})
            assert result.structured == DATABASE

        return await repeated(flow, seconds)


if __name__ == "__main__":
    targets: dict[str, str | Canned] = {"memory": Canned(), "http": sys.argv[1]}
    obey(lambda part, seconds: trio.run(flows, targets[part], seconds))
