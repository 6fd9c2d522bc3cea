"""Servers that know only the handshake of earlier revisions: used as any other."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
import trio

from antiphon import (
    Accept,
    Asked,
    Client,
    FormRequest,
    Root,
    SamplingReply,
    ServerError,
    UrlRequest,
    open_client,
)
from antiphon.engine.changes import Change, ListChanged, ResourceUpdated
from antiphon.engine.hearing import LogMessage
from tests.http_older.theirs import URI, their_server
from tests.http_server.serving import serving
from tests.interop.servers import PATIENCE, program, python_path
from tests.interop.theirs_old import make_app

Open = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def over_lines(**options: Any) -> AsyncGenerator[Client]:
    command = [sys.executable, program("tests.interop.theirs_old_asking")]
    async with open_client(command, env=python_path(), **options) as client:
        yield client


@asynccontextmanager
async def over_http(**options: Any) -> AsyncGenerator[Client]:
    async with their_server(only_older=True) as (url, _), open_client(url, **options) as client:
        yield client


@asynccontextmanager
async def over_http_as_json(**options: Any) -> AsyncGenerator[Client]:
    async with (
        their_server(only_older=True, json=True) as (url, _),
        open_client(url, **options) as client,
    ):
        yield client


@pytest.fixture(params=[over_lines, over_http], ids=["lines", "http"])
def opened(request: pytest.FixtureRequest) -> Open:
    chosen: Open = request.param
    return chosen


async def person(_: object) -> dict[str, str]:
    return {"name": "Ada"}


async def model(_: object) -> SamplingReply:
    return SamplingReply("Hi", model="none")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("tool", "answered"),
    [
        ("ask", "accept {'name': 'Ada'}"),
        ("twice", "accept {'name': 'Ada'}, accept {'name': 'Ada'}"),
        ("sample", "Hi"),
        ("roots", "['file:///home']"),
        ("tell", "told"),
    ],
)
async def test_tools_ask_and_tell(tool: str, answered: str, mode: Any, opened: Open) -> None:
    options: Any = {"elicitation": person, "sampling": model, "roots": [Root("file:///home")]}
    heard: list[Any] = []

    def log(message: LogMessage) -> None:
        heard.append(message.data)

    with trio.fail_after(PATIENCE):
        async with opened(mode=mode, **options, log=log) as client:

            def progress(done: float, total: float | None, message: str | None) -> None:
                heard.append((done, total, message))

            assert (await client.call_tool(tool, progress=progress)).text == answered
    if tool == "tell":
        assert heard == [(1, 2, "step 1"), "log 1", (2, 2, "step 2"), "log 2"]


async def test_what_the_server_has_is_found(opened: Open) -> None:
    with trio.fail_after(PATIENCE):
        async with opened() as client:
            found = await client.discover()
            assert found.supported_versions == ["2025-11-25"]
            assert [tool.name for tool in await client.list_tools()] == ["ask"]
            assert [resource.uri for resource in await client.list_resources()] == [URI]
            assert (await client.read_resource(URI)).contents[0].text == "here"
            assert client.name == "Theirs"


async def test_a_link_that_is_needed_first_is_asked_and_the_call_made_again(opened: Open) -> None:
    seen: list[str] = []

    async def agree(question: FormRequest | UrlRequest) -> Accept:
        assert isinstance(question, UrlRequest)
        seen.append(question.url)
        return Accept()

    with trio.fail_after(PATIENCE):
        async with opened(elicitation=agree) as client:
            assert (await client.call_tool("visit")).text == "visited"
    assert seen == ["https://example.org/in"]


async def test_rounds_are_taken_by_hand(opened: Open) -> None:
    with trio.fail_after(PATIENCE):
        async with opened() as client:
            conversation = client.conversation("ask")
            step = await conversation.advance()
            assert isinstance(step, Asked)
            (key,) = step.questions
            result: Any = await conversation.advance({key: {"name": "Eve"}})
            assert result.text == "accept {'name': 'Eve'}"


async def test_who_declares_nothing_is_asked_nothing(opened: Open) -> None:
    with trio.fail_after(PATIENCE):
        async with opened() as client:
            with pytest.raises(ServerError):
                await client.call_tool("ask")
            assert (await client.call_tool("tell")).text == "told"


async def test_a_call_is_cancelled_and_the_next_one_is_served(opened: Open) -> None:
    with trio.fail_after(PATIENCE):
        async with opened() as client:
            await client.list_tools()
            with trio.move_on_after(0.2) as scope:
                await client.call_tool("slow")
            assert scope.cancelled_caught
            assert await client.list_tools(fresh=True)


async def test_changes_are_told(opened: Open) -> None:
    heard: list[Change] = []
    with trio.fail_after(PATIENCE):
        async with opened() as client, client.subscribe(tools=True, uris=[URI]) as changes:
            await client.call_tool("change")
            async for change in changes:
                heard.append(change)
                if len(heard) == 1 + changes.honoured.tools:
                    break
    assert ResourceUpdated(URI) in heard
    assert {type(change) for change in heard} <= {ResourceUpdated, ListChanged}


async def test_answers_in_one_body_ask_nothing_and_do_not_hang() -> None:
    with trio.fail_after(PATIENCE):
        async with over_http_as_json(elicitation=person) as client:
            assert (await client.call_tool("tell")).text == "told"


async def test_server_without_sessions_serves_plain_calls() -> None:
    with trio.fail_after(PATIENCE):
        async with (
            serving(make_app(stateless=True)) as port,
            open_client(f"http://127.0.0.1:{port}/mcp") as client,
        ):
            assert len(await client.list_tools()) == 5
            assert (await client.discover()).supported_versions == ["2025-11-25"]
            assert len(await client.list_tools(fresh=True)) == 5


async def test_server_with_sessions_is_greeted() -> None:
    with trio.fail_after(PATIENCE):
        async with (
            serving(make_app(stateless=False)) as port,
            open_client(f"http://127.0.0.1:{port}/mcp") as client,
        ):
            assert len(await client.list_tools()) == 5


async def test_a_mode_of_this_revision_is_refused_as_before() -> None:
    command = [sys.executable, program("tests.interop.theirs_old")]
    with trio.fail_after(PATIENCE):
        async with open_client(command, env=python_path(), mode="2026-07-28") as client:
            with pytest.raises(ServerError, match='mode="auto"'):
                await client.discover()


async def test_an_interim_result_of_such_a_server_is_an_error() -> None:
    # The SDK itself does not send one: it says that its handler is to blame.
    command = [sys.executable, program("tests.interop.theirs_old")]
    with trio.fail_after(PATIENCE):
        async with open_client(command, env=python_path()) as client:
            with pytest.raises(ServerError) as caught:
                await client.call_tool("state", {"state": 1})
    assert caught.value.code == -32603
