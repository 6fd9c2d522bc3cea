"""A client of an earlier revision, spoken by hand; all that it hears is held against its wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, cast

import trio
from attrs import define, field

from antiphon.engine.exchange import RequestHandler
from antiphon.engine.jsonrpc import JsonObject, JsonValue
from tests.stdio.harness import Peer, served
from tests.wire import older

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
LATEST: Final = VERSIONS[0]
PATIENCE: Final = 60.0
"""Seconds for a message that must come; far more than it takes."""

EVERYTHING: Final[JsonObject] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {"listChanged": True},
}
DECLINE: Final[JsonObject] = {"action": "decline"}
CANCEL: Final[JsonObject] = {"action": "cancel"}
AGREE: Final[JsonObject] = {"action": "accept"}
ROOTS: Final[JsonObject] = {"roots": [{"uri": "file:///home"}]}

Message: TypeAlias = "dict[str, Any]"
Answer: TypeAlias = Callable[[Message], JsonObject]


def accept(**content: JsonValue) -> JsonObject:
    """A form that was filled in."""
    return {"action": "accept", "content": content}


def says(text: str) -> JsonObject:
    """What a model said."""
    block: JsonObject = {"type": "text", "text": text}
    return {"role": "assistant", "content": block, "model": "m", "stopReason": "endTurn"}


def in_turn(*answers: JsonObject) -> Answer:
    """One answer after the other, whatever is asked."""
    left = list(answers)
    return lambda _: left.pop(0)


def by_message(answers: Mapping[str, JsonObject]) -> Answer:
    """The answer for the text that a question contains; roots are always the same."""

    def answer(question: Message) -> JsonObject:
        if question["method"] == "roots/list":
            return ROOTS
        (found,) = [value for part, value in answers.items() if part in str(question["params"])]
        return found

    return answer


def nobody(question: Message) -> JsonObject:
    raise AssertionError(f"nobody was to be asked: {question}")


@define
class OlderPeer:
    """Speaks to a server over lines.

    Attributes:
        line: the same, without any help and unwatched.
        heard: every message that came, in order.
    """

    line: Peer
    version: str = LATEST
    heard: list[Message] = field(factory=list[Message])
    _methods: dict[Any, str] = field(factory=dict[Any, str])
    _next: int = 0

    async def begin(self, capabilities: JsonObject = EVERYTHING, **more: JsonValue) -> Message:
        """Begin a session; the result of ``initialize``."""
        params: JsonObject = {
            "protocolVersion": self.version,
            "capabilities": capabilities,
            "clientInfo": {"name": "older", "version": "1"},
            **more,
        }
        result = await self.result("initialize", params)
        self.version = result["protocolVersion"]
        await self.note("notifications/initialized")
        return result

    async def send(self, method: str, params: JsonObject | None = None) -> int:
        """Send a request; its id."""
        self._next += 1
        await self.say(self._next, method, params)
        return self._next

    async def say(self, id: int, method: str, params: JsonObject | None = None) -> None:
        """Send a request by an id of one's own."""
        self._methods[id] = method
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        await self.line.say(message if params is None else {**message, "params": params})

    async def call(self, name: str, /, **arguments: JsonValue) -> int:
        """Send a call of a tool; its id."""
        return await self.send("tools/call", {"name": name, "arguments": arguments})

    async def note(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        await self.line.say(message if params is None else {**message, "params": params})

    async def cancel(self, id: int) -> None:
        await self.note("notifications/cancelled", {"requestId": id})

    async def reply(self, id: str, result: JsonObject) -> None:
        """Answer a request of the server."""
        await self.line.say({"jsonrpc": "2.0", "id": id, "result": result})

    async def fail(self, id: str, code: int, text: str = "no") -> None:
        """Answer a request of the server by an error."""
        error = {"code": code, "message": text}
        await self.line.say({"jsonrpc": "2.0", "id": id, "error": error})

    async def raw(self, data: bytes) -> None:
        await self.line.raw(data)

    async def hear(self) -> Any:
        """The next message; None at the end."""
        with trio.fail_after(PATIENCE):
            message = await self.line.hear()
        if message is not None:
            self.heard.append(message)
            asked = self._methods.get(message.get("id")) if "method" not in message else None
            assert older.faults(asked, message, self.version) == [], message
        return message

    async def question(self) -> Message:
        """The next request of the server; notifications are passed over."""
        while True:
            message = await self.hear()
            assert message is not None, "the connection ended without a question"
            assert "method" in message, message
            if "id" in message:
                return cast(Message, message)

    async def finish(self, id: int, answer: Answer = nobody) -> Message:
        """The reply to a request, once everything was answered that is asked until then."""
        while True:
            message = await self.hear()
            assert message is not None, "the connection ended without the reply"
            if "method" in message:
                if "id" in message:
                    await self.reply(message["id"], answer(message))
            elif message.get("id") == id:
                return cast(Message, message)

    async def result(
        self, method: str, params: JsonObject | None = None, answer: Answer = nobody
    ) -> Message:
        """The result of a request."""
        reply = await self.finish(await self.send(method, params), answer)
        assert "result" in reply, reply
        return cast(Message, reply["result"])

    async def error(self, method: str, params: JsonObject | None = None) -> Message:
        """The error of a request."""
        reply = await self.finish(await self.send(method, params))
        assert "error" in reply, reply
        return cast(Message, reply["error"])

    async def tool(self, name: str, answer: Answer = nobody, /, **arguments: JsonValue) -> Message:
        """The result of a tool."""
        return await self.result("tools/call", {"name": name, "arguments": arguments}, answer)

    async def hear_nothing(self) -> None:
        await self.line.hear_nothing()

    async def hang_up(self) -> None:
        await self.line.hang_up()

    async def leave(self) -> None:
        await self.line.leave()

    @property
    def notes(self) -> list[Message]:
        """The notifications that were heard."""
        return [message for message in self.heard if "id" not in message and "method" in message]


def text_of(result: Message) -> str:
    """The text of a tool's result of one block."""
    (block,) = result["content"]
    return str(block["text"])


@asynccontextmanager
async def connected(
    server: RequestHandler, version: str = LATEST, *, grace: float = 2.0, tight: bool = False
) -> AsyncGenerator[OlderPeer, None]:
    """A peer that has not begun yet."""
    async with served(server, grace=grace, tight=tight) as peer:
        yield OlderPeer(peer, version)


@asynccontextmanager
async def in_session(
    server: RequestHandler,
    version: str = LATEST,
    capabilities: JsonObject = EVERYTHING,
    *,
    grace: float = 2.0,
    tight: bool = False,
) -> AsyncGenerator[OlderPeer, None]:
    """A peer that has begun a session."""
    async with connected(server, version, grace=grace, tight=tight) as peer:
        await peer.begin(capabilities)
        yield peer
