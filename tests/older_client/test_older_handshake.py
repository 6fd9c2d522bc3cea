"""The handshake with a server of an earlier revision, and the words after it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import InvalidReply, LegTimeout, ServerError
from antiphon.engine.hearing import LogMessage
from tests.older_client.older_server import (
    Asked,
    OlderServer,
    Refused,
    ask_region,
    client_of,
    hello,
    region,
    text,
    unheard,
)

LEGACY: Any = {"mode": "legacy"}
TOOL = {"name": "t", "inputSchema": {"type": "object"}}


async def tools(asked: Asked) -> Any:
    return {"tools": [TOOL]}


async def test_a_session_begins_with_the_newest_handshake_and_no_other_word() -> None:
    server = OlderServer({"tools/list": tools})
    async with client_of(server, **LEGACY) as client:
        assert [tool.name for tool in await client.list_tools()] == ["t"]
        assert client.name == "elder"
    assert server.asked == ["initialize", "notifications/initialized", "tools/list"]
    params = server.params("initialize")[0]
    assert params["protocolVersion"] == "2025-11-25"
    assert params["clientInfo"]["name"] == "antiphon"


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
async def test_every_earlier_revision_is_spoken(version: str) -> None:
    server = OlderServer({"tools/call": hello}, version=version)
    async with client_of(server, **LEGACY) as client:
        assert (await client.call_tool("t", {"a": 1})).text == "hello {'a': 1}"
        assert (await client.discover()).supported_versions == [version]


async def test_a_result_whose_optional_members_are_null_is_taken() -> None:
    async def nulls(asked: Asked) -> Any:
        return {**text("hello"), "isError": None, "_meta": None}

    async with client_of(OlderServer({"tools/call": nulls}), **LEGACY) as client:
        result = await client.call_tool("t")
        assert (result.text, result.is_error) == ("hello", False)
        assert client.name == "elder"


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", "", 7, None])
async def test_a_revision_that_is_not_spoken_is_refused_by_name(version: Any) -> None:
    server = OlderServer(version=version)
    async with client_of(server, **LEGACY) as client:
        with pytest.raises(InvalidReply, match=r"2025-11-25, 2025-06-18") as caught:
            await client.list_tools()
    assert repr(str(version)) in str(caught.value)
    assert server.asked[0] == "initialize"
    assert "notifications/initialized" not in server.asked


async def test_what_the_callbacks_declare_is_declared_and_no_extension() -> None:
    server = OlderServer({"tools/call": hello})
    options: Any = {"elicitation": region, "roots": [], "extensions": {"com.example/x": {}}}
    async with client_of(server, **LEGACY, **options) as client:
        await client.call_tool("t")
    declared = server.params("initialize")[0]["capabilities"]
    assert declared == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


async def test_what_later_calls_declare_is_declared_in_the_handshake() -> None:
    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        links: Any = client.conversation("t", kinds=["url", "roots"])
        await links.run()
        assert "prod" in (await client.call_tool("t")).text
    declared = server.params("initialize")[0]["capabilities"]
    assert declared == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


async def test_no_word_of_this_revision_reaches_the_server() -> None:
    server = OlderServer({"tools/call": ask_region, "tools/list": tools})
    async with client_of(server, **LEGACY, elicitation=region, log=print) as client:
        await client.list_tools()
        await client.call_tool("t", {"a": 1}, progress=unheard, meta={"mine/x": "kept"})
    said = json.dumps(server.heard)
    for word in ("io.modelcontextprotocol/", "requestState", "inputResponses", "resultType"):
        assert word not in said
    call = server.params("tools/call")[0]
    assert call["arguments"] == {"a": 1}
    assert set(call["_meta"]) == {"mine/x", "progressToken"}
    assert "_meta" not in server.params("tools/list")[0]


async def test_what_the_server_said_of_itself_is_its_discovery() -> None:
    async with client_of(OlderServer(), **LEGACY) as client:
        found = await client.discover()
        assert found.instructions == "Ask me anything."
        assert found.supported_versions == ["2025-11-25"]
        assert found.server is not None
        assert (found.server.name, found.server.version) == ("elder", "3")
        assert "logging" in found.capabilities


async def test_requests_at_the_same_time_have_one_handshake() -> None:
    server = OlderServer({"tools/call": hello})
    async with client_of(server, **LEGACY) as client, trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(partial(client.call_tool, "t", {"n": number}))
    assert server.asked.count("initialize") == 1
    assert server.asked.count("notifications/initialized") == 1
    assert server.asked.count("tools/call") == 20


async def test_a_handshake_that_failed_is_tried_again() -> None:
    tries: list[str] = []

    async def initialize(asked: Asked) -> Any:
        tries.append("x")
        if len(tries) == 1:
            raise Refused(-32603, "not yet")
        info = {"name": "elder", "version": "3"}
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}

    server = OlderServer({"initialize": initialize, "tools/call": hello})
    async with client_of(server, **LEGACY) as client:
        with pytest.raises(ServerError, match="not yet") as caught:
            await client.call_tool("t")
        assert caught.value.code == -32603
        assert (await client.call_tool("t")).text == "hello {}"
    assert server.asked.count("initialize") == 2


async def test_who_is_cancelled_during_the_handshake_leaves_it_to_the_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def initialize(asked: Asked) -> Any:
        await trio.sleep(10)
        info = {"name": "elder", "version": "3"}
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}

    server = OlderServer({"initialize": initialize, "tools/call": hello})
    async with client_of(server, **LEGACY) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "t")
            with trio.move_on_after(1):
                await client.call_tool("t")
                raise AssertionError
        with trio.move_on_after(1):
            await client.call_tool("t")
    assert server.asked.count("initialize") == 1
    assert server.cancelled == []  # an initialize is never cancelled


async def test_a_handshake_that_everybody_has_left_serves_who_comes_soon(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def initialize(asked: Asked) -> Any:
        await trio.sleep(10)
        info = {"name": "elder", "version": "3"}
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}

    server = OlderServer({"initialize": initialize, "tools/call": hello})
    async with client_of(server, **LEGACY, leg_timeout=6) as client:
        with pytest.raises(LegTimeout):
            await client.call_tool("t")
        assert (await client.call_tool("t")).text == "hello {}"
    assert server.asked.count("initialize") == 1


async def test_who_comes_to_a_handshake_that_was_left_may_wait_as_long_as_it_takes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def initialize(asked: Asked) -> Any:
        await trio.sleep(500)
        info = {"name": "elder", "version": "3"}
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}

    server = OlderServer({"initialize": initialize, "tools/call": hello})
    async with client_of(server, **LEGACY, leg_timeout=None) as client:
        with trio.move_on_after(5):
            await client.call_tool("t")
        await trio.sleep(10)
        assert (await client.call_tool("t")).text == "hello {}"
    assert server.asked.count("initialize") == 1


async def test_a_handshake_that_never_ends_is_given_up_and_begun_anew(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = OlderServer({"initialize": never})
    async with client_of(server, **LEGACY, leg_timeout=6) as client:
        for _ in range(2):
            with pytest.raises(LegTimeout):
                await client.call_tool("t")
            await trio.sleep(40)
    assert server.asked.count("initialize") == 2
    assert server.cancelled == []


async def never(asked: Asked) -> Any:
    await trio.sleep_forever()


async def test_a_server_that_pings_before_the_handshake_is_answered() -> None:
    async def initialize(asked: Asked) -> Any:
        assert (await asked.ask("ping"))["result"] == {}
        await asked.server.tell("message", level="info", data="starting")
        info = {"name": "elder", "version": "3"}
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}

    server = OlderServer({"initialize": initialize, "tools/call": hello})
    async with client_of(server, **LEGACY) as client:
        assert (await client.call_tool("t")).text == "hello {}"


@pytest.mark.parametrize(
    "members",
    [
        {"resultType": "input_required"},
        {"inputRequests": {}},
        {"requestState": "s"},
        {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}},
        {"resultType": "complete", "requestState": "s"},
    ],
    ids=["type", "questions", "state", "whole", "contradiction"],
)
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "prompts/get"])
async def test_an_interim_result_is_never_taken_for_complete(members: Any, method: str) -> None:
    async def interim(asked: Asked) -> Any:
        return {**text("half-formed"), "tools": [], "messages": [], **members}

    server = OlderServer({method: interim})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        requests: dict[str, Callable[[], Awaitable[Any]]] = {
            "tools/call": partial(client.call_tool, "t"),
            "tools/list": client.list_tools,
            "prompts/get": partial(client.get_prompt, "p"),
        }
        with pytest.raises(InvalidReply, match="interim result, which revision 2025-11-25"):
            await requests[method]()


async def test_an_unknown_type_of_result_is_an_error() -> None:
    async def task(asked: Asked) -> Any:
        return {**text("x"), "resultType": "task"}

    async with client_of(OlderServer({"tools/call": task}), **LEGACY) as client:
        with pytest.raises(InvalidReply, match="type that this client does not know"):
            await client.call_tool("t")


async def test_errors_pass_as_they_are() -> None:
    async def refuse(asked: Asked) -> Any:
        raise Refused(-32042, "URL needed", {"elicitations": []})

    async with client_of(OlderServer({"tools/call": refuse}), **LEGACY) as client:
        with pytest.raises(ServerError) as caught:
            await client.call_tool("t")
    assert (caught.value.code, caught.value.data) == (-32042, {"elicitations": []})
    assert "mode=" not in str(caught.value)


# -- log messages -------------------------------------------------------------------------------


async def test_the_log_level_is_set_when_another_is_wanted_and_only_then() -> None:
    async def logs(asked: Asked) -> Any:
        for level in ("debug", "info", "error"):
            await asked.server.tell("message", level=level, data=f"it is {level}")
        return text("done")

    heard: list[LogMessage] = []
    server = OlderServer({"tools/call": logs})
    async with client_of(server, **LEGACY, log=heard.append, log_level="error") as client:
        await client.call_tool("t")
        await client.call_tool("t")
        assert [message.data for message in heard] == ["it is error"] * 2
        await client.call_tool("t", log_level="debug")
    assert [params["level"] for params in server.params("logging/setLevel")] == ["error", "debug"]
    assert [message.data for message in heard[2:]] == ["it is debug", "it is info", "it is error"]


async def test_the_lowest_level_of_calls_at_the_same_time_counts() -> None:
    async def waits(asked: Asked) -> Any:
        await gate.wait()
        return text("done")

    gate = trio.Event()
    server = OlderServer({"tools/call": waits})
    async with client_of(server, **LEGACY, log=unheard) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(client.call_tool, "t", log_level="debug"))
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(partial(client.call_tool, "t", log_level="error"))
            await trio.testing.wait_all_tasks_blocked()
            assert [p["level"] for p in server.params("logging/setLevel")] == ["debug"]
            gate.set()
        await client.call_tool("t", log_level="error")
    assert [p["level"] for p in server.params("logging/setLevel")] == ["debug", "error"]


async def test_a_server_that_does_not_log_is_not_asked_to() -> None:
    server = OlderServer({"tools/call": hello}, capabilities={"tools": {}})
    async with client_of(server, **LEGACY, log=unheard) as client:
        await client.call_tool("t")
    assert "logging/setLevel" not in server.asked


async def test_a_server_that_refuses_the_level_serves_all_the_same() -> None:
    async def refuse(asked: Asked) -> Any:
        raise Refused(-32602, "no such level")

    server = OlderServer({"tools/call": hello, "logging/setLevel": refuse})
    async with client_of(server, **LEGACY, log=unheard) as client:
        assert (await client.call_tool("t")).text == "hello {}"
