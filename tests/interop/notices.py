"""Requests of a client of the official SDK that listens while they run."""

from __future__ import annotations

from typing import TypeAlias

import trio
from attrs import define, field
from mcp import Client
from mcp_types import (
    GetPromptRequest,
    GetPromptRequestParams,
    GetPromptResult,
    LoggingMessageNotificationParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
)

Told: TypeAlias = tuple[float, float | None, str | None]


@define
class Listener:
    """Hears progress and log messages."""

    progress: list[Told] = field(factory=list[Told])
    logged: list[LoggingMessageNotificationParams] = field(
        factory=list[LoggingMessageNotificationParams]
    )
    _heard: trio.Event = field(factory=trio.Event)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))
        self._heard.set()

    async def on_log(self, params: LoggingMessageNotificationParams) -> None:
        self.logged.append(params)
        self._heard.set()

    async def until(self, *, progress: int = 0, logged: int = 0) -> None:
        """Wait for so many of each; the client may hear them after the result."""
        while len(self.progress) < progress or len(self.logged) < logged:
            self._heard = trio.Event()
            await self._heard.wait()


async def get_prompt(
    client: Client, name: str, arguments: dict[str, str], listener: Listener
) -> GetPromptResult:
    """Get a prompt and hear its progress, for which the client has no parameter."""
    request = GetPromptRequest(params=GetPromptRequestParams(name=name, arguments=arguments))
    return await client.session.send_request(
        request, GetPromptResult, progress_callback=listener.on_progress
    )


async def read_resource(client: Client, uri: str, listener: Listener) -> ReadResourceResult:
    """Read a resource and hear its progress."""
    request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
    return await client.session.send_request(
        request, ReadResourceResult, progress_callback=listener.on_progress
    )
