"""The client that the conformance suite tests: ``python tests/conformance/client.py URL``.

The suite starts it once for each scenario, which it names in the environment. It ends with
status 0, and ``FINISHED`` as its last line, where it did all that the scenario wants of it.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from antiphon import Root, open_client
from antiphon.engine.asked import Accept, ElicitationAnswer, FormRequest, UrlRequest
from antiphon.engine.asked_deprecated import SamplingRequest
from antiphon.engine.client import Client
from antiphon.engine.client_messages import Tool
from antiphon.engine.handshake_era import MODERN, Mode

FINISHED: Final = "finished"
CONTEXT: Final[dict[str, Any]] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))


async def confirm(question: FormRequest | UrlRequest) -> ElicitationAnswer:
    """Say yes to whatever is asked, and leave as it is what has a default."""
    if isinstance(question, FormRequest):
        return {field.name: True for field in question.fields if field.default is None}
    return Accept()


async def think(question: SamplingRequest) -> str:
    """Answer for a language model."""
    return f"A reply to {len(question.messages)} messages"


async def add_numbers(client: Client) -> None:
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def look_around(client: Client) -> None:
    await client.discover()
    await every_tool(client)


async def everything_named(client: Client) -> None:
    await look_around(client)
    for prompt in await client.list_prompts():
        await client.get_prompt(prompt.name)
    for resource in await client.list_resources():
        await client.read_resource(resource.uri)


async def list_only(client: Client) -> None:
    await client.list_tools()


async def every_tool(client: Client) -> None:
    for tool in await client.list_tools():
        await client.call_tool(tool.name)


async def several_rounds(client: Client) -> None:
    for name in (
        "test_mrtr_echo_state",
        "test_mrtr_unrelated",
        "test_mrtr_no_state",
        "test_mrtr_no_result_type",
    ):
        await client.call_tool(name)


async def calls_of_context(client: Client) -> None:
    await client.list_tools()
    for call in CONTEXT["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def every_tool_listed(client: Client) -> None:
    for tool in await client.list_tools():
        await client.call_tool(tool.name, dict.fromkeys(_properties(tool), "value"))


async def echo_schema(client: Client) -> None:
    tools = {tool.name: tool for tool in await client.list_tools()}
    schema = tools["json_schema_2020_12_tool"].input_schema
    await client.call_tool("json_schema_echo", {"schema": schema})


def _properties(tool: Tool) -> list[str]:
    properties = tool.input_schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


SCENARIOS: Final[dict[str, Callable[[Client], Awaitable[None]]]] = {
    "initialize": list_only,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": every_tool,
    "sse-retry": every_tool,
    "request-metadata": look_around,
    "sep-2322-client-request-state": several_rounds,
    "http-standard-headers": everything_named,
    "http-custom-headers": calls_of_context,
    "http-invalid-tool-headers": every_tool_listed,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_schema,
}


async def main(scenario: str, revision: str, url: str) -> None:
    play = SCENARIOS.get(scenario)
    if play is None:
        sys.exit(f"No part is written for scenario {scenario}")
    roots = [Root("file:///workspace", "workspace")]
    # Servers of the suite that want the handshake do not refuse what comes without.
    mode: Mode = "auto" if revision == MODERN else "legacy"
    async with open_client(
        url, mode=mode, elicitation=confirm, sampling=think, roots=roots
    ) as client:
        await play(client)
    print(FINISHED)


if __name__ == "__main__":
    trio.run(
        main,
        os.environ["MCP_CONFORMANCE_SCENARIO"],
        os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"],
        sys.argv[-1],
    )
