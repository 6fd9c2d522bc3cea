"""Discovery, and tools of one round."""

import json
from typing import Final

import trio

from antiphon import LogMessage
from antiphon.engine.protocol import LogLevel
from tests.conformance.typescript.judging import Connect, equal

ODD: Final = "\u2028\u2029\x85\x0b größe 名前 🚢 \x00" + "x" * 1_000_000


async def the_server_is_discovered(connect: Connect) -> None:
    async with connect() as client:
        discovery = await client.discover()
    equal(discovery.supported_versions, ["2026-07-28"])
    equal(discovery.instructions, "Ask away.")
    assert discovery.server is not None
    equal((discovery.server.name, discovery.server.version), ("typescript", "2.4.0"))
    equal(discovery.capabilities["resources"], {"subscribe": True, "listChanged": True})
    equal(client.name, "typescript")


async def tools_are_listed(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool async for tool in client.list_tools()}
    equal(len(tools), 18)
    equal(tools["echo"].description, "Say it again.")
    equal(tools["echo"].input_schema["required"], ["text"])
    equal(tools["weather"].annotations, {"readOnlyHint": True})
    assert tools["weather"].output_schema is not None


async def any_text_comes_back(connect: Connect) -> None:
    async with connect() as client:
        for text in ("", ODD):
            equal((await client.call_tool("echo", {"text": text})).text, text)


async def a_promised_result_is_checked(connect: Connect) -> None:
    async with connect() as client:
        await client.list_tools()
        result = await client.call_tool("weather", {"place": "Bergen"})
    equal(result.structured, {"degrees": -0.5})
    equal(result.text, "It is cold in Bergen.")


async def what_a_tool_fails_of_is_a_result(connect: Connect) -> None:
    async with connect() as client:
        failed = await client.call_tool("fail")
        invalid = await client.call_tool("echo", {"text": 1})
    equal((failed.is_error, failed.text), (True, "The tide is out."))
    assert invalid.is_error


async def parameters_are_mirrored_in_headers(connect: Connect) -> None:
    given = {"region": " größe 🚢\n", "level": -7, "at": {"loud": True}}
    async with connect() as client:
        await client.list_tools()
        result = json.loads((await client.call_tool("mirrored", given)).text)
        plain = json.loads((await client.call_tool("mirrored", {"region": "eu"})).text)
    equal(result["given"], given)
    if plain["seen"] != [None] * 3:  # as on stdio; over HTTP this server refuses what is not there
        equal(plain["seen"], ["eu", None, None])
        equal(result["seen"], ["=?base64?IGdyw7bDn2Ug8J+aogo=?=", "-7", "true"])


async def tools_are_listed_by_itself_for_missing_headers(connect: Connect) -> None:
    async with connect() as client:
        result = await client.call_tool("mirrored", {"region": "eu"})
    equal(json.loads(result.text)["given"], {"region": "eu"})


async def progress_and_messages_are_heard(connect: Connect) -> None:
    logged: list[LogMessage] = []
    told: list[tuple[float, float | None, str | None]] = []

    def on_progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with connect() as client:
        result = await client.call_tool("work", progress=on_progress, log=logged.append)
    equal(result.text, "worked")
    equal(told, [(1, 3, "step 1"), (2.5, 3, "step 2.5")])
    levels: tuple[LogLevel, ...] = ("info", "error")
    wanted = [LogMessage(x, {"level": x, "größe": [None, 0.5]}, "works") for x in levels]
    equal(logged, wanted)


async def messages_come_from_a_level_on(connect: Connect) -> None:
    logged: list[LogMessage] = []
    async with connect(log=logged.append, log_level="error") as client:
        await client.call_tool("work")
    equal([message.level for message in logged], ["error"])


async def a_cancelled_call_frees_its_handler(connect: Connect) -> None:
    started = trio.Event()
    async with connect() as client:
        async with trio.open_nursery() as nursery:

            async def hang() -> None:
                await client.call_tool("hang", progress=lambda done, total, told: started.set())

            nursery.start_soon(hang)
            await started.wait()
            nursery.cancel_scope.cancel()
        equal((await client.call_tool("until_freed")).text, "freed")


async def fifty_calls_at_once_do_not_mix(connect: Connect) -> None:
    told: dict[int, str] = {}
    async with connect() as client, trio.open_nursery() as nursery:

        async def call(number: int) -> None:
            told[number] = (await client.call_tool("echo", {"text": f"{number}"})).text

        for number in range(50):
            nursery.start_soon(call, number)
    equal(told, {number: f"{number}" for number in range(50)})
