"""A client's end of a connection, and tasks that ask through it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from antiphon.engine.exchange import ClientTransport
from antiphon.engine.jsonrpc import Notification, Reply, Request
from antiphon.engine.limits import Limits
from antiphon.transports.line_client import LineTransport, open_lines
from tests.stdio.harness import Peer, stream_pair

OUTCOME = dict[Any, "Reply | Exception"]


@asynccontextmanager
async def connected(
    *, tight: bool = False, limits: Limits | None = None
) -> AsyncGenerator[tuple[LineTransport, Peer], None]:
    """A transport, and the server's end of it."""
    ours, theirs = stream_pair(tight=tight)
    async with open_lines(ours, ours, name="the peer", limits=limits) as transport:
        yield transport, Peer(theirs)


class Asker:
    """Starts exchanges and keeps what comes of them."""

    def __init__(self, transport: ClientTransport, nursery: trio.Nursery) -> None:
        self._transport = transport
        self._nursery = nursery
        self.outcomes: OUTCOME = {}
        self.heard: dict[Any, list[Notification]] = {}

    async def ask(self, *requests: Request) -> None:
        for each in requests:
            self._nursery.start_soon(self._ask, each)
        await trio.testing.wait_all_tasks_blocked()

    async def _ask(self, each: Request) -> None:
        heard = self.heard.setdefault(each.id, [])
        try:
            self.outcomes[each.id] = await self._transport.exchange(each, heard.append)
        except Exception as error:  # noqa: BLE001  # whatever it is, the test looks at it
            self.outcomes[each.id] = error


def result(id: object, **members: Any) -> Any:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def progress(token: object, step: int) -> Any:
    params = {"progressToken": token, "progress": step}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
