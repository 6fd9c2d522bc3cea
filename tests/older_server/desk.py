"""A session without a transport: what it asks lies here until somebody answers."""

from __future__ import annotations

from itertools import count
from typing import Any

import trio
from attrs import define, field

from antiphon import LowLevelServer
from antiphon.engine.exchange import Exchange
from antiphon.engine.handshake_session import HandshakeSession
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    Notification,
    Reply,
    Request,
    Success,
    read_message,
    write_message,
)
from tests.older_server.peer import EVERYTHING, LATEST, Message

_ids = count(1)


def initialize(version: str = LATEST, capabilities: JsonObject = EVERYTHING) -> JsonObject:
    """The parameters of a handshake."""
    return {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "older", "version": "1"},
    }


@define
class Desk:
    """The client's side of a session.

    Attributes:
        asked: the questions that were put, in order.
        taken_back: the ids of those that are not asked any more.
        notes: the notifications of its calls.
        slow: seconds that each message takes on its way to the client.
    """

    session: HandshakeSession
    asked: list[Request] = field(factory=list[Request])
    taken_back: list[Any] = field(factory=list[Any])
    notes: list[Notification] = field(factory=list[Notification])
    slow: float = 0.0
    _more: trio.Event = field(factory=trio.Event)

    async def post(self, message: Request | Notification) -> None:
        await trio.sleep(self.slow)
        read = read_message(write_message(message))
        if isinstance(read, Request):
            self.asked.append(read)
            self._more.set()
            self._more = trio.Event()
        else:
            assert isinstance(read, Notification)
            assert read.method == "notifications/cancelled"
            self.taken_back.append(read.params["requestId"])

    async def notify(self, notification: Notification) -> None:
        self.notes.append(notification)

    async def questions(self, most: int) -> list[Request]:
        """Wait until so many were asked."""
        while len(self.asked) < most:
            await self._more.wait()
        return self.asked

    async def send(self, method: str, params: JsonObject) -> Reply:
        """Serve a request."""
        request = Request(next(_ids), method, params)
        reply = await self.session.handle(request, Exchange(notify=self.notify), self.post)
        assert reply.id == request.id
        read = read_message(write_message(reply))
        assert isinstance(read, Success | Failure)
        return read

    async def tool(self, name: str, **arguments: Any) -> Message:
        """The result of a tool."""
        return await self.tool_with({"name": name, "arguments": arguments})

    async def tool_with(self, params: JsonObject) -> Message:
        reply = await self.send("tools/call", params)
        assert isinstance(reply, Success), reply
        return reply.result

    def answer(self, request: Request, result: JsonObject) -> None:
        self.session.own.answer(Success(request.id, result))

    def fail(self, request: Request, code: int) -> None:
        self.session.own.answer(Failure(request.id, code, "no"))


def desk(
    server: LowLevelServer,
    version: str = LATEST,
    capabilities: JsonObject = EVERYTHING,
    *,
    slow: float = 0.0,
) -> Desk:
    """A session with a server."""
    return Desk(server.open_session(initialize(version, capabilities)), slow=slow)


async def answering(client: Desk, *answers: JsonObject) -> None:
    """Answer the questions in the order in which they are put."""
    for number, answer in enumerate(answers, 1):
        asked = await client.questions(number)
        client.answer(asked[number - 1], answer)
