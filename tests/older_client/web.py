"""Servers that show by their first answers which revision they speak, as HTTP has them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import trio
from attrs import define, field

from antiphon import Client, InvalidReply, open_client
from antiphon.engine.errors import CallError
from antiphon.engine.exchange import Deferral, Deferred, OnNotification
from antiphon.engine.handshake_link import HandshakeLink, OnRequest, RefusedBy, SessionLost
from antiphon.engine.jsonrpc import Failure, Notification, Reply, Request, Success
from tests.older_client.older_server import text

DISCOVERED: Any = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
}

Outcome: TypeAlias = Reply | CallError


class Status(InvalidReply):
    """An answer without a JSON-RPC reply."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


@define(eq=False)
class Web:
    """A transport that finds the revision out as HTTP does, to a server that says these things.

    Attributes:
        says: what is said to a request of this revision, by method.
        greets: whether it takes the handshake.
        busy: how many handshakes it puts off.
        in_json: whether it says so in JSON-RPC.
    """

    says: Callable[[Request], Outcome]
    greets: bool = True
    busy: int = 0
    in_json: bool = True
    full_target: str = field(factory=lambda: f"http://{secrets.token_hex(8)}/")
    name: str = "web"
    probes: bool = False
    mirrors: bool = True
    asked: list[str] = field(factory=list[str])
    lost: list[str] = field(factory=list[str])
    ended: int = 0

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        await trio.lowlevel.checkpoint()
        self.asked.append(request.method)
        outcome = self.says(request)
        if isinstance(outcome, CallError):
            raise outcome
        return outcome

    def older(self) -> HandshakeLink:
        return WebLink(self)


@define(eq=False)
class WebLink:
    """Its sessions: whatever is in ``web.lost`` loses the one that it is said in, once."""

    web: Web
    name: str = "web"

    async def exchange(
        self, request: Request, on_notification: OnNotification, on_request: OnRequest
    ) -> Reply:
        await trio.lowlevel.checkpoint()
        self.web.asked.append(f"older {request.method}")
        if request.method in self.web.lost:
            self.web.lost.remove(request.method)
            raise SessionLost("The session is gone")
        if request.method == "prompts/get":
            return Success(request.id, {"messages": []})
        if request.method != "initialize":
            return Success(request.id, text("older"))
        if self.web.busy:
            self.web.busy -= 1
            wait = Deferral(unserved=True, after=3)
            if self.web.in_json:
                return Deferred(request.id, -32000, "Too many", deferral=wait)
            error = Status(429)
            error.deferral = wait
            raise error
        if not self.web.greets:
            raise Status(404)
        return Success(
            request.id, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
        )

    async def say(self, message: Notification | Success | Failure) -> None:
        await trio.lowlevel.checkpoint()

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()

    def begun(self, version: str) -> None:
        pass

    async def end(self) -> None:
        self.web.ended += 1


@asynccontextmanager
async def browsing(web: Web, **options: Any) -> AsyncGenerator[Client]:
    async with open_client(web, retry=None, **options) as client:
        yield client


def answering(status: int) -> Callable[[Request], Outcome]:
    return lambda _: Status(status)


def refused(code: int, status: int) -> Callable[[Request], Outcome]:
    return lambda request: RefusedBy(request.id, code, "no", status=status)


def speaks_both(request: Request) -> Outcome:
    """A server of all revisions, in this one."""
    result = DISCOVERED if request.method == "server/discover" else text("new")
    return Success(request.id, {"resultType": "complete", **result})
