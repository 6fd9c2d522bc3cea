"""The official SDK's server asks for roots when a session begins, before any call."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import trio

from antiphon import Client, Root, RootsRequest, open_client
from tests.interop.servers import PATIENCE, program, python_path
from tests.interop.theirs_old_roots import curious_server

Open = Callable[..., AbstractAsyncContextManager[Client]]
HOME = Root("file:///home", name="Home")


@asynccontextmanager
async def over_lines(**options: Any) -> AsyncGenerator[Client]:
    command = [sys.executable, program("tests.interop.theirs_old_roots")]
    async with open_client(command, env=python_path(), mode="legacy", **options) as client:
        yield client


@asynccontextmanager
async def over_http(**options: Any) -> AsyncGenerator[Client]:
    async with curious_server() as url, open_client(url, mode="legacy", **options) as client:
        yield client


@pytest.fixture(params=[over_lines, over_http], ids=["lines", "http"])
def opened(request: pytest.FixtureRequest) -> Open:
    chosen: Open = request.param
    return chosen


async def home(_: RootsRequest) -> list[Root]:
    return [HOME]


async def failing(_: RootsRequest) -> list[Root]:
    raise ValueError("no disk")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"roots": [HOME]}, "[('file:///home', 'Home')]"),
        ({"roots": home}, "[('file:///home', 'Home')]"),
        ({"roots": failing}, "error -32603"),
        ({"roots": home, "refuse": ["roots"]}, "error -32602"),
        ({}, "error -32602"),
    ],
    ids=["list", "callback", "failing", "refused", "none"],
)
async def test_it_is_told_before_any_call(opened: Open, options: Any, told: str) -> None:
    with trio.fail_after(PATIENCE):
        async with opened(**options) as client:
            await client.list_tools()
            # It waits for the answer that came before.
            assert (await client.call_tool("roots")).text == told
