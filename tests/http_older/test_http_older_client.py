"""Whole clients of ours over HTTP, with servers of the handshake era."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

import pytest
import trio

from antiphon import (
    Client,
    FormRequest,
    ListChanged,
    LogMessage,
    ResourceUpdated,
    Root,
    SamplingRequest,
    UrlRequest,
    open_client,
)
from antiphon.engine.asked import ElicitationAnswer
from tests.http_older.theirs import URI, Their, their_server
from tests.interop.servers import PATIENCE


async def name(question: FormRequest | UrlRequest) -> ElicitationAnswer:
    assert isinstance(question, FormRequest)
    return {"name": "Ada"}


async def think(question: SamplingRequest) -> str:
    return f"{len(question.messages)} heard"


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Literal["auto", "legacy"]:
    return request.param  # type: ignore[no-any-return]


@asynccontextmanager
async def opened(
    mode: Literal["auto", "legacy"], logged: list[LogMessage] | None = None
) -> AsyncGenerator[tuple[Client, Their]]:
    log = None if logged is None else logged.append
    with trio.fail_after(PATIENCE):
        async with (
            their_server(only_older=mode == "auto") as (url, their),
            open_client(
                url,
                mode=mode,
                elicitation=name,
                sampling=think,
                roots=[Root("file:///home")],
                log=log,
            ) as client,
        ):
            yield client, their


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("ask", "accept {'name': 'Ada'}"),
        ("twice", "accept {'name': 'Ada'}, accept {'name': 'Ada'}"),
        ("sample", "1 heard"),
        ("roots", "['file:///home']"),
    ],
)
async def test_questions(mode: Literal["auto", "legacy"], tool: str, text: str) -> None:
    async with opened(mode) as (client, _):
        assert (await client.call_tool(tool)).text == text


async def test_progress_and_logs(mode: Literal["auto", "legacy"]) -> None:
    steps: list[tuple[float, float | None, str | None]] = []

    def step(done: float, total: float | None, message: str | None) -> None:
        steps.append((done, total, message))

    logged: list[LogMessage] = []
    async with opened(mode, logged) as (client, their):
        result = await client.call_tool("tell", progress=step)
    assert result.text == "told"
    assert steps == [(1, 2, "step 1"), (2, 2, "step 2")]
    assert [message.data for message in logged] == ["log 1", "log 2"]
    assert their.levels == ["info"]


async def test_cancellation(mode: Literal["auto", "legacy"]) -> None:
    async with opened(mode) as (client, their), trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "slow")
        await their.started.wait()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await their.cancelled.wait()


async def test_subscriptions(mode: Literal["auto", "legacy"]) -> None:
    async with opened(mode) as (client, their):
        async with client.subscribe(tools=True, uris=[URI]) as changes:
            assert their.subscribed == [URI]
            await client.call_tool("change")
            assert await anext(changes) == ResourceUpdated(URI)
            if changes.honoured.tools:
                assert await anext(changes) == ListChanged("tools")
        assert (await client.read_resource(URI)).text == "here"
    assert not their.subscribed
