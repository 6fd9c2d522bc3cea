"""Tools of a server of the official SDK that tell what they do, hang, and change the server."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Final

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ServerEvent
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import InputRequiredResult, LoggingLevel
from pydantic import BaseModel, Field

LEVELS: Final[tuple[LoggingLevel, ...]] = ("debug", "info", "error")


class WatchedBus(InMemorySubscriptionBus):
    """Knows when nobody listens."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0
        self.left = anyio.Event()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        unsubscribe = super().subscribe(listener)
        self.listeners += 1

        def leave() -> None:
            unsubscribe()
            self.listeners -= 1
            self.left.set()
            self.left = anyio.Event()

        return leave


class Weather(BaseModel):
    place: str
    degrees: float
    rain: bool | None = None


def add_notices(server: MCPServer[Any]) -> None:
    """Add what tells of itself, what promises its results, and what hangs."""
    for tool in (work, weather, mirrored):
        server.add_tool(tool)
    _add_hanging(server)


async def work(ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Work in two rounds, and tell of it in both."""
    rounds = int(ctx.request_state or 0)
    for level in LEVELS:
        await _log(ctx, level, {"round": rounds, "größe": [None, 0.5]})
    await ctx.report_progress(rounds + 0.5, 2, f"round {rounds}")
    return InputRequiredResult(request_state="1") if rounds == 0 else "worked"


async def _log(ctx: Context[Any, Any], level: LoggingLevel, data: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        # It warns when it is called, and nothing is awaited meanwhile.
        sent = ctx.session.send_log_message(  # pyright: ignore[reportDeprecated]
            level, data, "works", related_request_id=ctx.request_id
        )
    await sent


async def weather(place: str) -> list[Weather]:
    """What it is like there."""
    return [Weather(place=place, degrees=-0.5), Weather(place=place, degrees=21, rain=True)]


async def mirrored(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    level: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Level"})] = 0,
    loud: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Loud"})] = False,
) -> str:
    """Say what came; over HTTP some of it comes in headers too."""
    return f"{region!r} {level} {loud}"


def _add_hanging(server: MCPServer[Any]) -> None:
    freed = {"hanging_prompt": anyio.Event(), "hanging_resource": anyio.Event()}

    async def hang(name: str, ctx: Context[Any, Any]) -> str:
        try:
            await ctx.report_progress(1)
            await anyio.sleep_forever()
        finally:
            freed[name].set()
        raise AssertionError

    async def hanging_prompt(ctx: Context[Any, Any]) -> str:
        """Begin, and wait for ever."""
        return await hang("hanging_prompt", ctx)

    async def hanging_resource(name: str, ctx: Context[Any, Any]) -> str:
        """Begin, and wait for ever."""
        return await hang(name, ctx)

    async def until_freed(name: str) -> str:
        """Wait until what hung under this name was cancelled."""
        await freed[name].wait()
        return "freed"

    server.prompt()(hanging_prompt)
    server.resource("hang://{name}")(hanging_resource)
    server.add_tool(until_freed)


def add_changes(server: MCPServer[Any], bus: WatchedBus) -> None:
    """Add what changes the server, and a resource that changes."""
    text = ["Spice."]

    async def dune() -> str:
        """A book that is rewritten."""
        return text[0]

    async def rewrite(to: str, ctx: Context[Any, Any]) -> str:
        """Give it another text, and tell of it."""
        text[0] = to
        await ctx.notify_resource_updated("shelf://another")
        await ctx.notify_resource_updated("shelf://dune")
        return "rewritten"

    async def grow(ctx: Context[Any, Any]) -> str:
        """Add a tool, and tell that all lists are others."""
        server.add_tool(grown)
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        return "grown"

    async def until_left() -> str:
        """Wait until nobody listens."""
        while bus.listeners:
            await bus.left.wait()
        return "left"

    server.resource("shelf://dune")(dune)
    for tool in (rewrite, grow, until_left, die):
        server.add_tool(tool)


async def grown() -> str:
    """Be there."""
    return "grown"


async def die() -> str:
    """Take the whole process along."""
    os._exit(3)
