"""A handler that fails while it is cancelled, or gives up the program, harms nobody else."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Call, Limits, LowLevelServer, Server
from antiphon.engine.jsonrpc import read_message
from tests.engine.peer import KEY, Peer, meta, told
from tests.stdio.harness import call, cancel, served


async def fails_when_cancelled(entered: trio.Event) -> None:
    async def clean_up_badly() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("no clean-up")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(clean_up_badly)
        nursery.start_soon(trio.sleep_forever)  # which is cancelled as it should be
        await trio.testing.wait_all_tasks_blocked()
        entered.set()


def serving(entered: trio.Event) -> Server:
    server = Server("Work", keys=[KEY])

    @server.tool
    async def hang() -> None:
        await fails_when_cancelled(entered)

    @server.prompt
    async def ask() -> str:
        await fails_when_cancelled(entered)
        return ""

    @server.method("com.example/hang")
    async def own(_: object) -> dict[str, Any]:
        await fails_when_cancelled(entered)
        return {}

    @server.tool
    async def quit() -> None:
        sys.exit("enough")

    @server.tool
    async def add(a: int) -> int:
        return a + 1

    return server


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "hang"}),
        ("prompts/get", {"name": "ask"}),
        ("com.example/hang", {}),
    ],
)
async def test_a_cancelled_handler_that_fails_does_not_end_the_connection(
    method: str, params: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    entered = trio.Event()
    async with served(serving(entered)) as peer:
        await peer.say(call(1, method, **params, _meta=meta()))
        await entered.wait()
        await peer.say(cancel(1))
        await peer.say(call(2, "tools/call", name="add", arguments={"a": 1}, _meta=meta()))
        reply = await peer.hear()
    assert reply["id"] == 2
    assert reply["result"]["structuredContent"] == 2
    assert "failed while it was cancelled" in caplog.text
    assert "no clean-up" in caplog.text


async def test_a_tool_that_exits_is_a_failed_tool() -> None:
    async with served(serving(trio.Event())) as peer:
        await peer.say(call(1, "tools/call", name="quit", _meta=meta()))
        reply = await peer.hear()
        assert reply["result"]["isError"]
        await peer.say(call(2, "tools/call", name="add", arguments={"a": 1}, _meta=meta()))
        assert (await peer.hear())["id"] == 2


async def test_a_call_that_took_too_long_says_so_even_where_its_end_fails(
    autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("Work", keys=[KEY], limits=Limits(handler_seconds=5))

    @server.tool
    async def hang(call: Call[object]) -> None:
        await fails_when_cancelled(trio.Event())

    with caplog.at_level(logging.WARNING):
        text = told(await Peer(server).call("hang"))
    assert text == "hang took longer than 5 seconds, which is limit handler_seconds of this server."
    assert "passed limit handler_seconds" in caplog.text
    assert "no clean-up" in caplog.text


async def test_an_error_that_a_handler_has_read_elsewhere_goes_out_under_its_own_request() -> None:
    gateway = LowLevelServer("Gateway")

    @gateway.method("com.example/forward")
    async def forward(_: object) -> dict[str, Any]:
        read_message(b'{"jsonrpc":"2.0","id":1,"method":5}')  # what an upstream sent
        return {}

    async with served(gateway) as peer:
        await peer.say(call(2, "com.example/forward", _meta=meta()))
        assert (await peer.hear())["id"] == 2
