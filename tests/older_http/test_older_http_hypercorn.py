"""Sessions behind the hypercorn command, until it stops."""

from __future__ import annotations

from typing import Any

import httpx2
import trio

from antiphon.engine.jsonrpc import JsonObject, write_message
from tests.http_server.serving import hypercorn
from tests.older_http.test_older_http_workers import Guest, begin
from tests.older_http.visiting import opening

SOON = 60
"""Seconds; more than anything here takes, and far less than the graceful timeout."""


async def test_hypercorn_that_is_terminated_ends_streams_and_parked_calls_by_itself() -> None:
    headers = {"accept": "application/json, text/event-stream"}
    params: JsonObject = {"name": "greet", "arguments": {}}
    body: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    command = hypercorn(
        *("-k", "trio", "--graceful-timeout", "1000"), app="asked", folder="tests.older_http"
    )
    async with command as running, httpx2.AsyncClient(verify=False, headers=headers) as http:
        await running.wait_for("Running on")
        guest = await begin(Guest(http, f"http://127.0.0.1:{running.port}/mcp"))
        async with (
            guest.stream("GET") as stream,
            guest.stream("POST", json=body, timeout=SOON) as call,
        ):
            assert (await call.next())["method"] == "elicitation/create"
            with trio.fail_after(SOON):
                running.process.terminate()
                taken_back, last = await call.next(), await call.next()
                assert taken_back["method"] == "notifications/cancelled"
                error: Any = last["error"]
                assert "stopped" in error["message"]
                await call.end()
                await stream.end()
        with trio.fail_after(SOON):
            assert "Traceback" not in await running.read_on()


async def test_workers_that_know_nothing_of_each_others_sessions_warn_of_the_first() -> None:
    media = "application/json"
    headers = {"accept": f"{media}, text/event-stream", "content-type": media}
    command = hypercorn("-k", "trio", "-w", "2", app="asked", folder="tests.older_http")
    with trio.fail_after(SOON):
        async with command as running, httpx2.AsyncClient(verify=False, headers=headers) as http:
            await running.wait_for("Running on", times=2)
            # One connection leads to one worker.
            for _ in range(2):
                answer = await http.post(
                    f"http://127.0.0.1:{running.port}/mcp", content=write_message(opening())
                )
                assert answer.status_code == 200
            running.process.terminate()
            said = await running.read_on()
    assert said.count("keeps sessions") == 1
    assert "sessions=False" in said
