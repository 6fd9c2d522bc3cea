"""The official example server of revision 2025-11-25: what it answers without asking."""

import base64
import gzip
from typing import Final

import trio

from antiphon import LogMessage, PromptRef, ServerError, TemplateRef
from antiphon.engine.errors import INVALID_PARAMS
from tests.conformance.typescript.judging import Connect, equal, raising

REVISION: Final = "2025-11-25"
TEXTS: Final = "demo://resource/dynamic/text"
BLOBS: Final = "demo://resource/dynamic/blob"


async def the_server_is_discovered(connect: Connect) -> None:
    async with connect() as client:
        discovery = await client.discover()
    equal(discovery.supported_versions, [REVISION])
    assert discovery.server is not None
    equal((discovery.server.name, client.name), ("mcp-servers/everything",) * 2)
    assert discovery.instructions is not None
    assert discovery.instructions.startswith("# Everything Server")
    equal(discovery.capabilities["resources"], {"subscribe": True, "listChanged": True})


async def what_was_discovered_saves_finding_out(connect: Connect) -> None:
    async with connect() as client:
        discovery = await client.discover()
    async with connect(prior_discover=discovery) as client:
        equal((await client.call_tool("echo", {"message": "again"})).text, "Echo: again")


async def it_is_spoken_to_as_it_is_told(connect: Connect) -> None:
    async with connect(mode="legacy") as client:
        equal((await client.call_tool("echo", {"message": "größe 🚢"})).text, "Echo: größe 🚢")


async def tools_answer(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool async for tool in client.list_tools()}
        total = await client.call_tool("get-sum", {"a": 2, "b": 0.5})
        image = await client.call_tool("get-tiny-image")
        weather = await client.call_tool("get-structured-content", {"location": "Chicago"})
        links = await client.call_tool("get-resource-links", {"count": 2})
    equal(tools["echo"].title, "Echo Tool")
    equal(total.text, "The sum of 2 and 0.5 is 2.5.")
    equal([block["type"] for block in image.content], ["text", "image", "text"])
    assert tools["get-structured-content"].output_schema is not None
    in_chicago = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
    equal(weather.structured, in_chicago)
    equal([block["type"] for block in links.content], ["text", "resource_link", "resource_link"])


async def what_a_tool_fails_of_is_a_result(connect: Connect) -> None:
    async with connect() as client:
        invalid = await client.call_tool("get-sum", {"a": "two", "b": 0})
        unknown = await client.call_tool("nobody-knows-it")
    assert invalid.is_error
    assert unknown.is_error


async def fifty_calls_at_once_do_not_mix(connect: Connect) -> None:
    told: dict[int, str] = {}
    async with connect() as client, trio.open_nursery() as nursery:

        async def call(number: int) -> None:
            told[number] = (await client.call_tool("echo", {"message": f"{number}"})).text

        for number in range(50):
            nursery.start_soon(call, number)
    equal(told, {number: f"Echo: {number}" for number in range(50)})


# -- while a call is open ------------------------------------------------------------------------


async def progress_is_heard(connect: Connect) -> None:
    told: list[tuple[float, float | None]] = []

    def on_progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total))

    arguments = {"duration": 0.2, "steps": 4}
    async with connect() as client:
        result = await client.call_tool(
            "trigger-long-running-operation", arguments, progress=on_progress
        )
    equal(told, [(1, 4), (2, 4), (3, 4), (4, 4)])
    assert "completed" in result.text


async def a_cancelled_call_leaves_the_others_alone(connect: Connect) -> None:
    started = trio.Event()
    arguments = {"duration": 600, "steps": 6000}
    async with connect() as client:
        async with trio.open_nursery() as nursery:

            async def hang() -> None:
                await client.call_tool(
                    "trigger-long-running-operation",
                    arguments,
                    progress=lambda done, total, told: started.set(),
                )

            nursery.start_soon(hang)
            await started.wait()
            nursery.cancel_scope.cancel()
        equal((await client.call_tool("echo", {"message": "here"})).text, "Echo: here")


async def messages_are_logged_to_an_open_call(connect: Connect) -> None:
    logged: list[LogMessage] = []
    heard = trio.Event()

    def log(message: LogMessage) -> None:
        logged.append(message)
        heard.set()

    async with connect(log=log, log_level="debug") as client, trio.open_nursery() as nursery:

        async def wait() -> None:
            await client.call_tool("trigger-long-running-operation", {"duration": 600, "steps": 1})

        nursery.start_soon(wait)
        await client.call_tool("toggle-simulated-logging")
        await heard.wait()
        nursery.cancel_scope.cancel()
    assert "evel" in str(logged[0].data)


# -- prompts and resources -----------------------------------------------------------------------


async def prompts_are_got_and_completed(connect: Connect) -> None:
    async with connect() as client:
        prompts = {prompt.name: prompt async for prompt in client.list_prompts()}
        weather = await client.get_prompt("args-prompt", {"city": "Bergen", "state": "Vestland"})
        resource = await client.get_prompt(
            "resource-prompt", {"resourceType": "Text", "resourceId": "3"}
        )
        team = PromptRef("completable-prompt")
        departments = await client.complete(team, "department", "S")
        names = await client.complete(team, "name", "", {"department": "Sales"})
    arguments = prompts["args-prompt"].arguments
    equal([(each.name, each.required) for each in arguments], [("city", True), ("state", False)])
    equal(weather.text, "What's weather in Bergen, Vestland?")
    equal([message.content["type"] for message in resource.messages], ["text", "resource"])
    equal(departments.values, ["Sales", "Support"])
    equal(names.values, ["David", "Eve", "Frank"])


async def a_prompt_that_fails_is_an_error(connect: Connect) -> None:
    async with connect() as client:
        for name in ("args-prompt", "nobody-knows-it"):
            with raising(ServerError) as caught:
                await client.get_prompt(name)
            equal(caught.error.code, INVALID_PARAMS)


async def resources_are_read_and_completed(connect: Connect) -> None:
    async with connect() as client:
        listed = {resource.uri: resource async for resource in client.list_resources()}
        templates = [each.uri_template for each in await client.list_resource_templates()]
        document = await client.read_resource("demo://resource/static/document/features.md")
        text = await client.read_resource(f"{TEXTS}/7")
        [blob] = (await client.read_resource(f"{BLOBS}/7")).contents
        found = await client.complete(TemplateRef(f"{TEXTS}/{{resourceId}}"), "resourceId", "7")
    equal(listed[document.contents[0].uri].mime_type, "text/markdown")
    assert document.text.startswith("# Everything Server")
    assert f"{BLOBS}/{{resourceId}}" in templates
    assert text.text.startswith("Resource 7: This is a plaintext resource")
    assert (blob.data or b"").startswith(b"Resource 7: This is a base64 blob")
    equal(found.values, ["7"])


async def what_a_tool_makes_can_be_read(connect: Connect) -> None:
    data = "data:text/plain;base64," + base64.b64encode(b"Sand.").decode()
    arguments = {"name": "sand.gz", "data": data, "outputType": "resourceLink"}
    async with connect() as client:
        [link] = (await client.call_tool("gzip-file-as-resource", arguments)).content
        [packed] = (await client.read_resource(str(link["uri"]))).contents
    equal(gzip.decompress(packed.data or b""), b"Sand.")


async def what_is_not_there_is_an_error(connect: Connect) -> None:
    async with connect() as client:
        with raising(ServerError):
            await client.read_resource(f"{TEXTS}/none")
        with raising(ServerError) as caught:
            await client.read_resource("demo://nowhere")
    equal(caught.error.code, INVALID_PARAMS)
