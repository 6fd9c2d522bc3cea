"""How a client finds out which revision its server speaks, and what it keeps of that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import LegTimeout, Server, ServerError, UsageError, open_client
from tests.older_client.older_server import (
    Asked,
    OlderServer,
    Refused,
    ask_region,
    client_of,
    hello,
    region,
    text,
)

DISCOVERED: Any = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
}


async def modern(asked: Asked) -> Any:
    """A tool of a server of this revision."""
    assert asked.params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    return {"resultType": "complete", **text("modern")}


# -- lines --------------------------------------------------------------------------------------


async def test_an_error_at_the_probe_means_the_handshake() -> None:
    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, elicitation=region) as client:
        assert "prod" in (await client.call_tool("t")).text
        assert "prod" in (await client.call_tool("t")).text
    assert server.asked[:4] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]
    assert server.asked.count("server/discover") == 1


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603, -32000, 0, 1])
async def test_the_code_of_that_error_does_not_matter(code: int) -> None:
    async def refuse(asked: Asked) -> Any:
        raise Refused(code)

    server = OlderServer({"server/discover": refuse, "tools/call": hello})
    async with client_of(server) as client:
        assert (await client.call_tool("t")).text == "hello {}"


async def test_silence_at_the_probe_means_the_handshake_after_a_while(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = OlderServer({"tools/call": hello}, at_discover="silence")
    async with client_of(server) as client:
        began = trio.current_time()
        assert (await client.call_tool("t")).text == "hello {}"
        assert 1 <= trio.current_time() - began <= 10
        began = trio.current_time()
        await client.call_tool("t")
        assert trio.current_time() - began < 1
    assert len(server.cancelled) == 1  # the probe


async def test_who_waits_less_than_the_probe_takes_does_not_keep_it_from_ending(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = OlderServer({"tools/call": hello}, at_discover="silence")
    async with client_of(server, leg_timeout=1.5) as client:
        for _ in range(3):
            with pytest.raises(LegTimeout):
                await client.call_tool("t")
        assert (await client.call_tool("t")).text == "hello {}"
    assert server.asked.count("server/discover") == 1


@pytest.mark.parametrize(
    "reply",
    [
        DISCOVERED,
        {**DISCOVERED, "supportedVersions": ["2025-11-25", "2026-07-28"]},
        Refused(-32022, "no", {"supported": ["2026-07-28"], "requested": "x"}),
        Refused(-32021, "no", {"requiredCapabilities": {}}),
        Refused(-32020, "no"),
    ],
    ids=["discovery", "both", "-32022", "-32021", "-32020"],
)
async def test_an_answer_of_this_revision_means_this_revision(reply: Any) -> None:
    async def discover(asked: Asked) -> Any:
        if isinstance(reply, Refused):
            raise reply
        return reply

    server = OlderServer({"server/discover": discover, "tools/call": modern})
    async with client_of(server) as client:
        assert (await client.call_tool("t")).text == "modern"
    assert "initialize" not in server.asked


@pytest.mark.parametrize(
    "reply",
    [
        {"supportedVersions": ["2025-11-25"], "capabilities": {}},
        Refused(-32022, "no", {"supported": ["2025-06-18", "2025-11-25"]}),
        {},
        {"tools": []},
    ],
    ids=["discovery", "-32022", "nothing", "something else"],
)
async def test_an_answer_that_knows_earlier_revisions_only_means_the_handshake(reply: Any) -> None:
    async def discover(asked: Asked) -> Any:
        if isinstance(reply, Refused):
            raise reply
        return reply

    server = OlderServer({"server/discover": discover, "tools/call": hello})
    async with client_of(server) as client:
        assert (await client.call_tool("t")).text == "hello {}"


async def test_requests_at_the_same_time_have_one_probe() -> None:
    server = OlderServer({"tools/call": hello})
    async with client_of(server) as client, trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(client.call_tool, "t")
    assert server.asked.count("server/discover") == 1
    assert server.asked.count("initialize") == 1


async def test_a_server_that_is_slow_to_start_is_known_for_what_it_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    up = trio.Event()

    async def starting(asked: Asked) -> Any:
        await up.wait()
        if asked.message["method"] == "initialize":
            raise Refused(-32601, "Method not found")
        return DISCOVERED

    async def start() -> None:
        await trio.sleep(20)
        up.set()

    async def telling(asked: Asked) -> Any:
        await asked.server.tell("message", level="info", data="still here")
        return await modern(asked)

    heard: list[Any] = []
    server = OlderServer(
        {"server/discover": starting, "initialize": starting, "tools/call": telling}
    )
    async with client_of(server, log=heard.append) as client, trio.open_nursery() as nursery:
        nursery.start_soon(start)
        assert (await client.call_tool("t")).text == "modern"
    assert server.asked.count("initialize") == 1
    assert [message.data for message in heard] == ["still here"]


async def test_a_server_that_speaks_neither_says_so_at_each_request() -> None:
    async def refuse(asked: Asked) -> Any:
        raise Refused(-32601, f"no {asked.message['method']}")

    server = OlderServer({"server/discover": refuse, "initialize": refuse})
    async with client_of(server) as client:
        for _ in range(2):
            with pytest.raises(ServerError, match="no initialize"):
                await client.call_tool("t")
    assert "tools/call" not in server.asked


# -- modes --------------------------------------------------------------------------------------


async def test_a_mode_of_this_revision_makes_no_handshake() -> None:
    server = OlderServer({"tools/call": modern})
    async with client_of(server, mode="2026-07-28") as client:
        assert (await client.call_tool("t")).text == "modern"
        with pytest.raises(ServerError):
            await client.list_tools()
    assert server.asked == ["tools/call", "tools/list"]


async def test_its_errors_say_which_mode_finds_out() -> None:
    async with client_of(OlderServer(), mode="2026-07-28") as client:
        with pytest.raises(ServerError, match=r'before 2026-07-28.*mode="auto"'):
            await client.discover()


async def test_parameters_that_are_wrong_say_so_of_a_list_and_not_of_a_call() -> None:
    async def refuse(asked: Asked) -> Any:
        raise Refused(-32602, "Invalid request parameters")

    server = OlderServer({"tools/list": refuse, "tools/call": refuse})
    async with client_of(server, mode="2026-07-28") as client:
        with pytest.raises(ServerError, match=r'before 2026-07-28.*mode="auto"'):
            await client.list_tools()
        with pytest.raises(ServerError) as caught:
            await client.call_tool("t")
    assert "mode" not in str(caught.value)


@pytest.mark.parametrize("supported", [["2026-07-28"], ["2027-01-01"], None])
async def test_a_handshake_that_is_refused_says_which_mode_does_without(supported: Any) -> None:
    async def refuse(asked: Asked) -> Any:
        raise Refused(-32022, "no handshake", {"supported": supported})

    async with client_of(OlderServer({"initialize": refuse}), mode="legacy") as client:
        with pytest.raises(ServerError) as caught:
            await client.call_tool("t")
    assert ('mode="auto"' in str(caught.value)) is (supported == ["2026-07-28"])


async def test_errors_of_a_server_that_was_asked_do_not_send_people_round_in_a_circle() -> None:
    async with client_of(OlderServer()) as client:
        with pytest.raises(ServerError) as caught:
            await client.list_tools()
    assert "mode" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "2025-11-25"}, "mode takes auto, legacy, 2026-07-28"),
        ({"mode": "legacy"}, "means nothing for a target that speaks this revision only"),
    ],
)
async def test_a_mode_that_makes_no_sense_is_refused(options: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        async with open_client(Server("S"), **options):
            raise AssertionError


async def test_a_server_object_is_of_this_revision_without_being_asked() -> None:
    async with open_client(Server("S")) as client:
        assert (await client.discover()).supported_versions == ["2026-07-28"]


# -- what was known before ----------------------------------------------------------------------


async def test_a_discovery_of_before_saves_the_probe() -> None:
    first = OlderServer({"tools/call": hello})
    async with client_of(first) as client:
        known = await client.discover()
    again = OlderServer({"tools/call": hello})
    async with client_of(again, prior_discover=known) as client:
        assert (await client.call_tool("t")).text == "hello {}"
    assert again.asked[0] == "initialize"


async def test_a_discovery_of_this_revision_saves_it_too() -> None:
    server = OlderServer({"tools/call": modern}, at_discover=DISCOVERED)
    async with client_of(server) as client:
        known = await client.discover()
    again = OlderServer({"tools/call": modern})
    async with client_of(again, prior_discover=known) as client:
        assert (await client.call_tool("t")).text == "modern"
    assert again.asked == ["tools/call"]


async def test_a_discovery_that_holds_no_longer_is_found_out() -> None:
    async with open_client(Server("S")) as client:
        modern_before = await client.discover()
    async with client_of(OlderServer()) as client:
        older_before = await client.discover()

    async def tools(asked: Asked) -> Any:
        return {"tools": []}

    async def refuse(asked: Asked) -> Any:
        raise Refused(-32601)

    older = OlderServer({"tools/list": after_the_handshake(tools)})
    async with client_of(older, prior_discover=modern_before) as client:
        assert await client.list_tools() == []
    newer = OlderServer({"initialize": refuse, "tools/call": modern}, at_discover=DISCOVERED)
    async with client_of(newer, prior_discover=older_before) as client:
        assert (await client.call_tool("t")).text == "modern"


def after_the_handshake(handler: Callable[[Asked], Awaitable[Any]]) -> Any:
    """Served to who has made the handshake, and to nobody else."""

    async def serve(asked: Asked) -> Any:
        if "initialize" not in asked.server.asked:
            raise Refused(-32600, "Not initialized")
        return await handler(asked)

    return serve


async def test_a_call_that_may_have_run_is_not_sent_twice_to_find_out() -> None:
    async with open_client(Server("S")) as client:
        modern_before = await client.discover()
    server = OlderServer({"tools/call": after_the_handshake(hello)})
    async with client_of(server, prior_discover=modern_before) as client:
        with pytest.raises(ServerError, match="Not initialized"):
            await client.call_tool("t")
        assert server.asked.count("tools/call") == 1
        assert (await client.call_tool("t")).text == "hello {}"


async def test_a_discovery_besides_a_mode_is_refused() -> None:
    async with open_client(Server("S")) as client:
        known = await client.discover()
    with pytest.raises(UsageError, match="says already"):
        async with open_client("http://127.0.0.1:1/", mode="legacy", prior_discover=known):
            raise AssertionError
