"""Clients of earlier revisions that drive an application without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import trio
import trio.testing
from attrs import define

from antiphon.engine.exchange import Principal, RequestHandler
from antiphon.engine.jsonrpc import (
    JsonObject,
    Message,
    Notification,
    Request,
    RequestId,
    Success,
    write_message,
)
from antiphon.transports.asgi import HttpApp, http_app
from tests.http_server.scripted import Answer, Visit, head_of
from tests.older_server.desk import initialize
from tests.older_server.peer import LATEST
from tests.wire import older

settled = trio.testing.wait_all_tasks_blocked

_ids = count(1)


def older_head(**more: str | None) -> list[tuple[bytes, bytes]]:
    """The headers of a good client of an earlier revision."""
    return head_of(None, **more)


def message_visit(message: Message, **more: str | None) -> Visit:
    """A POST of one message."""
    return Visit(older_head(**more), [write_message(message)])


async def send(app: HttpApp, message: Message, **more: str | None) -> Answer:
    """Post one message and wait for the end of the answer."""
    return await message_visit(message, **more).run(app)


def opening(version: str = LATEST, id: RequestId = 0) -> Request:
    """The request that begins a session."""
    return Request(id, "initialize", initialize(version))


def tool(name: str, *, id: RequestId | None = None, **arguments: Any) -> Request:
    """A call of a tool."""
    params: JsonObject = {"name": name, "arguments": arguments}
    return Request(next(_ids) if id is None else id, "tools/call", params)


@define
class Guest:
    """A client with a session.

    Attributes:
        id: its session's.
        bearer: its credentials.
    """

    app: HttpApp
    nursery: trio.Nursery
    id: str
    version: str = LATEST
    bearer: str | None = None

    def headers(self, **more: str | None) -> dict[str, str | None]:
        headers: dict[str, str | None] = {
            "mcp_session_id": self.id,
            "mcp_protocol_version": self.version,
        }
        if self.bearer is not None:
            headers["authorization"] = f"Bearer {self.bearer}"
        return headers | more

    async def send(self, message: Message, **more: str | None) -> Answer:
        """Post a message, and wait for the whole answer."""
        answer = await self.send_raw(message, **more)
        if isinstance(message, Request):
            self._check(message.method, answer)
        return answer

    async def send_raw(self, message: Message, **more: str | None) -> Answer:
        """The same, whatever the answer is."""
        return await send(self.app, message, **self.headers(**more))

    async def start(self, request: Request, **more: str | None) -> Visit:
        """Post a request, and wait until nothing moves any more."""
        visiting = message_visit(request, **self.headers(**more))
        self.nursery.start_soon(visiting.run, self.app)
        await settled()
        return visiting

    async def listen(self, **more: str | None) -> Visit:
        """Open the stream of the session."""
        headers = self.headers(content_type=None, **more)
        visiting = Visit(older_head(**headers), method="GET")
        self.nursery.start_soon(visiting.run, self.app)
        await settled()
        return visiting

    async def leave(self) -> Answer:
        """End the session."""
        headers = older_head(**self.headers(content_type=None, accept=None))
        return await Visit(headers, method="DELETE").run(self.app)

    async def reply(self, question: JsonObject, **result: Any) -> Answer:
        """Answer a question."""
        id: Any = question["id"]
        return await self.send(Success(id, result))

    def _check(self, method: str, answer: Answer) -> None:
        events = answer.events if _streams(answer) else [answer.json]
        for event in events:
            asked = method if "result" in event else None
            assert older.faults(asked, event, self.version) == []


def _streams(answer: Answer) -> bool:
    return answer.headers[b"content-type"] == b"text/event-stream"


async def begin(
    app: HttpApp,
    nursery: trio.Nursery,
    version: str = LATEST,
    bearer: str | None = None,
) -> Guest:
    """Begin a session."""
    credentials = {} if bearer is None else {"authorization": f"Bearer {bearer}"}
    answer = await send(app, opening(version), **credentials)
    assert answer.status == 200, answer.body
    result: Any = answer.json["result"]
    guest = Guest(
        app, nursery, answer.headers[b"mcp-session-id"].decode(), result["protocolVersion"], bearer
    )
    assert (await guest.send(Notification("notifications/initialized", {}))).status == 202
    return guest


@define
class Here:
    """An application, and those who visit it."""

    server: Any
    app: HttpApp
    nursery: trio.Nursery

    async def guest(self, version: str = LATEST, bearer: str | None = None) -> Guest:
        return await begin(self.app, self.nursery, version, bearer)


@asynccontextmanager
async def hosting(server: RequestHandler, **options: Any) -> AsyncGenerator[Here]:
    """An application; at the end of the block all that is still open is cut off."""
    patient: dict[str, Any] = {"keepalive": 1e6}
    app = http_app(server, **(patient | options))
    async with trio.open_nursery() as nursery:
        yield Here(server, app, nursery)
        nursery.cancel_scope.cancel()


async def verify(token: str) -> Principal | None:
    """Everybody is who they say they are, but for one."""
    return None if token == "nobody" else Principal("app", "https://issuer.example", token)
