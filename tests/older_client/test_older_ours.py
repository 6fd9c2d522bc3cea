"""Both ends ours, in an earlier revision: every way of asking, over lines and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any, Literal

import pytest
import trio
from attrs import frozen

from antiphon import (
    Accept,
    Ask,
    Asking,
    Call,
    Client,
    Consent,
    Done,
    Failed,
    Flow,
    Form,
    Link,
    ListRoots,
    Meta,
    Polling,
    Progress,
    Root,
    Sample,
    Sampled,
    SamplingReply,
    Server,
    UrlRequest,
    all_of,
    http_app,
    open_client,
    open_lines,
    serve_lines,
)
from antiphon.engine.answering import AuditEntry
from antiphon.engine.changes import ListChanged
from tests.http_server.serving import serving
from tests.stdio.harness import stream_pair

PATIENCE = 60.0


@frozen
class Nothing:
    pass


@frozen
class Region:
    name: Literal["dev", "prod"]


@frozen
class Name:
    name: Annotated[str, Meta(min_length=1)]


@frozen
class AskingAll(Asking[tuple[Region, Name, Sampled, tuple[Root, ...]]]):
    def ask(self) -> Any:
        return all_of(
            Form("Which region?", Region, key="region"),
            Form("Who?", Name, key="who"),
            Sample("Capital of France?", max_tokens=5, key="said"),
            ListRoots(key="roots"),
        )


@frozen
class AskingLink(Asking[Consent]):
    answers: str

    def ask(self) -> Link:
        return Link("Pay there", "https://example.com/pay")


@frozen
class Waiting(Polling):
    answers: str
    left: int

    def progress(self) -> Progress:
        return Progress(3 - self.left, 3, "working")


@frozen
class Everything(Flow[Nothing]):
    """Asks all kinds, in rounds one after another, and lets its client wait."""

    name = "everything"

    async def begin(self, args: Nothing) -> AskingAll:
        return AskingAll()

    @AskingAll.answered
    async def all_answered(
        self, at: AskingAll, answers: tuple[Region, Name, Sampled, tuple[Root, ...]]
    ) -> AskingLink:
        region, who, said, roots = answers
        return AskingLink(f"{region.name} {who.name} {said.text} {[str(r.uri) for r in roots]}")

    @AskingLink.answered
    async def paid(self, at: AskingLink, reply: Consent) -> Waiting:
        return Waiting(at.answers, 3)

    @AskingLink.refused
    async def unpaid(self, at: AskingLink) -> Failed:
        return Failed("unpaid")

    @Waiting.polled
    async def worked(self, at: Waiting) -> Waiting | Done[str]:
        return Waiting(at.answers, at.left - 1) if at.left else Done(at.answers)


async def ask_name(call: Call[Any]) -> Form[Name]:
    return Form("Who?", Name)


def make() -> Server:
    server = Server("Ours", version="1")
    server.tool(Everything())

    @server.tool
    async def greet(who: Annotated[Name, Ask(ask_name)]) -> str:
        return f"Hello, {who.name}."

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


@asynccontextmanager
async def over_lines(server: Server, **options: Any) -> AsyncGenerator[Client]:
    ours, theirs = stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_lines, server, theirs, theirs)
        async with open_lines(ours, ours) as lines, open_client(lines, **options) as client:
            yield client


@asynccontextmanager
async def over_http(server: Server, **options: Any) -> AsyncGenerator[Client]:
    async with (
        serving(http_app(server)) as port,
        open_client(f"http://127.0.0.1:{port}/mcp", **options) as client,
    ):
        yield client


Open = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=[over_lines, over_http], ids=["lines", "http"])
def opened(request: pytest.FixtureRequest) -> Open:
    chosen: Open = request.param
    return chosen


async def person(question: Any) -> Any:
    return Accept() if isinstance(question, UrlRequest) else {"name": "prod"}


async def model(_: object) -> SamplingReply:
    return SamplingReply("Paris", model="m")


OPTIONS: Any = {"elicitation": person, "sampling": model, "roots": [Root("file:///home")]}


async def outcome(opened: Open, mode: str) -> tuple[Any, list[Any]]:
    """What a call of everything comes to, and its record."""
    entries: list[AuditEntry] = []
    async with opened(make(), mode=mode, audit=entries.append, **OPTIONS) as client:
        result = await client.call_tool("everything")
    return result.text, sorted((entry.kind, entry.outcome) for entry in entries)


async def test_both_revisions_come_to_the_same_with_the_same_record(opened: Open) -> None:
    with trio.fail_after(PATIENCE):
        older = await outcome(opened, "legacy")
        newer = await outcome(opened, "2026-07-28")
    assert older == newer
    assert older[0] == "prod prod Paris ['file:///home']"
    assert len(older[1]) == 5


async def test_a_server_of_both_is_spoken_to_in_this_revision(opened: Open) -> None:
    with trio.fail_after(PATIENCE):
        async with opened(make()) as client:
            assert (await client.discover()).supported_versions == ["2026-07-28"]


async def test_many_calls_at_once_get_their_own_answers(opened: Open) -> None:
    results: dict[int, str] = {}

    async def one(client: Client, number: int) -> None:
        if number % 2:
            results[number] = (await client.call_tool("add", {"a": number, "b": 1})).text
        else:
            results[number] = (await client.call_tool("greet")).text

    with trio.fail_after(PATIENCE):
        async with (
            opened(make(), mode="legacy", **OPTIONS) as client,
            trio.open_nursery() as nursery,
        ):
            for number in range(40):
                nursery.start_soon(one, client, number)
    assert results == {n: str(n + 1) if n % 2 else "Hello, prod." for n in range(40)}


async def test_changes_of_a_list_are_told(opened: Open) -> None:
    server = make()
    with trio.fail_after(PATIENCE):
        async with (
            opened(server, mode="legacy") as client,
            client.subscribe(tools=True) as changes,
            trio.open_nursery() as nursery,
        ):
            # Over HTTP the stream that tells may not stand yet.
            nursery.start_soon(tell_until_cancelled, server)
            assert await anext(changes) == ListChanged("tools")
            nursery.cancel_scope.cancel()


async def tell_until_cancelled(server: Server) -> None:
    while True:
        server.tools_changed()
        await trio.sleep(0.01)
