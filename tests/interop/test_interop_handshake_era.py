"""Servers that know only the handshake of earlier revisions: an error, and never a wait."""

from __future__ import annotations

import sys

import pytest
import trio

from antiphon import Client, ServerError, open_client
from antiphon.engine.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from tests.http_server.serving import serving
from tests.interop.servers import PATIENCE, program, python_path
from tests.interop.theirs_old import make_app


async def refusals(client: Client) -> list[int]:
    """The codes of the errors of each kind of request."""
    codes: list[int] = []
    for request in (client.discover, client.list_tools, lambda: client.call_tool("state")):
        with pytest.raises(
            ServerError, match=r"The server answered with error -\d+: \w+"
        ) as caught:
            await request()
        codes.append(caught.value.code)
    return codes


async def test_requests_to_a_child_are_errors() -> None:
    command = [sys.executable, program("tests.interop.theirs_old")]
    with trio.fail_after(PATIENCE):
        async with open_client(command, env=python_path()) as client:
            assert await refusals(client) == [METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_PARAMS]


async def test_requests_to_a_server_with_sessions_are_errors_that_say_so() -> None:
    with trio.fail_after(PATIENCE):
        async with (
            serving(make_app(stateless=False)) as port,
            open_client(f"http://127.0.0.1:{port}/mcp") as client,
        ):
            assert await refusals(client) == [INVALID_REQUEST] * 3
            with pytest.raises(ServerError, match="Missing session ID"):
                await client.list_tools()


async def test_server_without_sessions_may_serve_plain_calls() -> None:
    with trio.fail_after(PATIENCE):
        async with (
            serving(make_app(stateless=True)) as port,
            open_client(f"http://127.0.0.1:{port}/mcp") as client,
        ):
            # Results of those revisions have no resultType, which stands for complete ones.
            assert len(await client.list_tools()) == 5
            with pytest.raises(ServerError) as caught:
                await client.discover()
    assert caught.value.code == METHOD_NOT_FOUND
