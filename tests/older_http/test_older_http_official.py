"""The official client in the handshake era, over HTTP, with a real hypercorn between."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final, Literal

import mcp_types as types
import pytest
import trio
from attrs import define, field, frozen
from mcp import Client

from antiphon import Call, Form, ListRoots, Root, Sample, Sampled, Server, http_app
from antiphon.flows.asks import Ask
from antiphon.transports.asgi import HttpApp
from tests.http_server.serving import serving
from tests.interop.people import list_roots
from tests.interop.servers import LEAVES_GARBAGE, PATIENCE, over_http, text_of

pytestmark = [
    LEAVES_GARBAGE,
    # All of that era is deprecated there.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

URI: Final = "file:///a"


@frozen
class Size:
    size: Literal["small", "large"]


def ask_size() -> Form[Size]:
    return Form("Which size?", Size)


def ask_model() -> Sample:
    return Sample("Say something.", max_tokens=10)


def ask_roots() -> ListRoots:
    return ListRoots()


@define
class Place:
    """A server, and what became of its calls."""

    server: Server = field(factory=lambda: Server("Place"))
    entered: trio.Event = field(factory=trio.Event)
    cancelled: trio.Event = field(factory=trio.Event)

    def __attrs_post_init__(self) -> None:
        for tool in (self.order, self.say, self.where, self.work, self.hang, self.change):
            self.server.tool(tool)
        self.server.resource(URI)(self.a)

    async def a(self) -> str:
        """A file."""
        return "a"

    async def order(self, size: Annotated[Size, Ask(ask_size)]) -> str:
        """Order a thing."""
        return size.size

    async def say(self, said: Annotated[Sampled, Ask(ask_model)]) -> str:
        """Say what a model said."""
        return said.text

    async def where(self, roots: Annotated[tuple[Root, ...], Ask(ask_roots)]) -> str:
        """Say where we are."""
        return " ".join(root.uri for root in roots)

    async def work(self, call: Call[Any]) -> str:
        """Tell how it goes on."""
        await call.progress(1, 2, "half")
        await call.message("warning", {"at": "half"})
        return "worked"

    async def hang(self) -> str:
        """Never end."""
        self.entered.set()
        try:
            await trio.sleep_forever()
        finally:
            self.cancelled.set()
        raise AssertionError

    async def change(self) -> str:
        """Change everything."""
        self.server.tools_changed()
        self.server.resource_updated(URI)
        return "changed"


@define
class Person:
    """Who sits at the client.

    Attributes:
        told: notifications, by method.
        logged: what the server logged.
    """

    told: list[str] = field(factory=list[str])
    logged: list[Any] = field(factory=list[Any])
    steps: list[float] = field(factory=list[float])
    _more: trio.Event = field(factory=trio.Event)

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        assert params.message == "Which size?"
        return types.ElicitResult(action="accept", content={"size": "large"})

    async def sample(self, context: Any, params: Any) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text="something")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def log(self, params: Any) -> None:
        self.logged.append(params.data)

    async def step(self, progress: float, total: float | None, message: str | None) -> None:
        self.steps.append(progress)

    async def hear(self, message: Any) -> None:
        self.told.append(getattr(message, "method", ""))
        self._more.set()
        self._more = trio.Event()

    async def hears(self, method: str) -> None:
        while method not in self.told:
            await self._more.wait()


@define
class Seen:
    """An application, and how it answered requests of each method."""

    app: HttpApp
    statuses: dict[str, list[int]] = field(factory=dict[str, list[int]])
    _more: trio.Event = field(factory=trio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any, *_: object) -> None:
        async def sending(event: Any) -> None:
            await send(event)
            if event["type"] == "http.response.start":
                self.statuses.setdefault(scope["method"], []).append(event["status"])
                self._more.set()
                self._more = trio.Event()

        await self.app(scope, receive, sending)

    async def sees(self, method: str) -> None:
        while method not in self.statuses:
            await self._more.wait()


@asynccontextmanager
async def visiting(app: HttpApp | Seen, person: Person) -> AsyncGenerator[Client]:
    gc.freeze()
    with trio.fail_after(PATIENCE):
        async with (
            serving(app) as port,
            Client(
                over_http(f"http://127.0.0.1:{port}/mcp"),
                mode="legacy",
                elicitation_callback=person.elicit,
                sampling_callback=person.sample,
                list_roots_callback=list_roots,
                logging_callback=person.log,
                message_handler=person.hear,
            ) as client,
        ):
            yield client
    gc.collect()
    gc.unfreeze()


async def test_it_is_asked_everything_within_one_call_each() -> None:
    person = Person()
    async with visiting(http_app(Place().server), person) as client:
        assert client.protocol_version == "2025-11-25"
        assert text_of(await client.call_tool("order", {})) == "large"
        assert text_of(await client.call_tool("say", {})) == "something"
        assert text_of(await client.call_tool("where", {})) == "file:///home/ada file:///srv"


async def test_progress_and_logs_come_before_the_result() -> None:
    person = Person()
    async with visiting(http_app(Place().server), person) as client:
        await client.set_logging_level("info")  # pyright: ignore[reportDeprecated]
        result = await client.call_tool("work", {}, progress_callback=person.step)
        assert text_of(result) == "worked"
    assert person.steps == [1]
    assert person.logged == [{"at": "half"}]


async def test_changes_are_told_on_its_stream() -> None:
    person, seen = Person(), Seen(http_app(Place().server))
    async with visiting(seen, person) as client:
        await client.subscribe_resource(URI)  # pyright: ignore[reportDeprecated]
        await seen.sees("GET")
        await client.call_tool("change", {})
        await person.hears("notifications/tools/list_changed")
        await person.hears("notifications/resources/updated")


async def test_call_that_it_gives_up_is_cancelled() -> None:
    place, person = Place(), Person()
    async with visiting(http_app(place.server), person) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "hang")
            await place.entered.wait()
            nursery.cancel_scope.cancel()
        await place.cancelled.wait()
        assert text_of(await client.call_tool("order", {})) == "large"


async def test_its_session_is_ended_when_it_leaves() -> None:
    seen = Seen(http_app(Place().server))
    async with visiting(seen, Person()) as client:
        await client.send_ping()  # pyright: ignore[reportDeprecated]
        await seen.sees("GET")
        assert "DELETE" not in seen.statuses
    assert seen.statuses["DELETE"] == [204]
    assert set(seen.statuses["POST"]) == {200, 202}


async def test_without_sessions_it_can_call_and_is_told_that_it_cannot_be_asked() -> None:
    async with visiting(http_app(Place().server, sessions=False), Person()) as client:
        assert text_of(await client.call_tool("work", {})) == "worked"
        result = await client.call_tool("order", {})
        assert result.is_error
        assert "sessions" in text_of(result)
