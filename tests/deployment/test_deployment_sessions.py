"""Sessions behind nginx: each request reaches the worker that has its session, by its prefix."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import httpx2
import pytest
import trio

from tests.deployment.programs import NGINX, Site, deployed
from tests.older_server.desk import initialize

pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: nginx-light)"),
    pytest.mark.skipif(sys.platform != "linux", reason="the port is reserved as Linux allows it"),
]

PATIENCE: Final = 120
ANSWERS: Final = {"size": {"size": "small"}, "colour": {"colour": "red"}}


async def post(http: httpx2.AsyncClient, site: Site, session: str | None, **message: Any) -> Any:
    headers = {} if session is None else {"mcp-session-id": session}
    return await http.post(site.url, json={"jsonrpc": "2.0", **message}, headers=headers)


async def begin(http: httpx2.AsyncClient, site: Site) -> str:
    answer = await post(http, site, None, id=0, method="initialize", params=initialize())
    assert answer.status_code == 200, answer.text
    id: str = answer.headers["mcp-session-id"]
    return id


async def make(http: httpx2.AsyncClient, site: Site, session: str, made: list[Any]) -> None:
    """Order one thing, in three rounds of one open call."""
    params = {"name": "make", "arguments": {"number": 1}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"mcp-session-id": session}
    async with http.stream("POST", site.url, json=body, headers=headers) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: "):
                continue
            event = json.loads(line[6:])
            if "result" in event:
                made.append((session, event["result"]["structuredContent"]))
                continue
            (field,) = event["params"]["requestedSchema"]["properties"]
            answer = {"action": "accept", "content": ANSWERS[field]}
            assert (await post(http, site, session, id=event["id"], result=answer)).is_success


async def test_every_answer_reaches_the_call_that_waits_for_it() -> None:
    made: list[Any] = []
    headers = {"accept": "application/json, text/event-stream"}
    with trio.fail_after(PATIENCE):
        async with (
            deployed() as site,
            httpx2.AsyncClient(verify=False, timeout=PATIENCE, headers=headers) as http,
        ):
            sessions = [await begin(http, site) for _ in range(20)]
            assert {session[:2] for session in sessions} == {"1-", "2-"}
            async with trio.open_nursery() as nursery:
                for session in sessions:
                    nursery.start_soon(make, http, site, session, made)
            pids = {f"{n}-": worker.process.pid for n, worker in site.workers.items()}
            await site.workers[1].kill()
            for session in sessions:
                answer = await post(http, site, session, id=9, method="ping")
                assert answer.status_code == (404 if session.startswith("1-") else 200)
            assert (await begin(http, site)).startswith("2-")
    assert len(made) == len(sessions)
    for session, result in made:
        assert result["workers"] == [pids[session[:2]]] * 3
