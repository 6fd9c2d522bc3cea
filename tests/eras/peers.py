"""One client for each revision and transport, spoken by hand: the same call for all of them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

import trio
import trio.testing
from attrs import define, field

from antiphon.engine.exchange import RequestHandler
from antiphon.engine.jsonrpc import Request, Success
from antiphon.engine.protocol import META_CAPABILITIES, META_RETRY_MS, META_VERSION, VERSION
from antiphon.transports.asgi import HttpApp
from tests.http_server.scripted import Visit, head_of
from tests.older_http.visiting import Guest, hosting
from tests.older_server.peer import EVERYTHING, OlderPeer, in_session
from tests.stdio.harness import Peer, served

Message: TypeAlias = "dict[str, Any]"


class Left(Exception):
    """The person's client leaves in place of an answer."""


Person: TypeAlias = Callable[[Message], "Message | None"]
"""Answers a question (``method`` and ``params``); None for silence, and Left is raised to leave."""

ERAS: Final = (VERSION, "2025-11-25", "2025-06-18")
TRANSPORTS: Final = ("stdio", "http")


class Client(Protocol):
    """Makes one call after the other."""

    async def call(self, method: str, params: Message, person: Person) -> Message | None:
        """The reply, decoded; None where the client was left or waits for ever."""
        ...

    def rest(self) -> int:
        """How many calls are open at the server's end, where that can be seen."""
        ...


def client(
    server: RequestHandler, era: str, transport: str, capabilities: Message = EVERYTHING
) -> AbstractAsyncContextManager[Client]:
    """A client of a server in this process."""
    make = _MAKERS[era == VERSION, transport]
    return make(server, era, capabilities)


# -- this revision: rounds --------------------------------------------------------------------


@define
class _Rounds:
    """Sends a request again with the answers, until it is complete."""

    send: Callable[[Message], Any]
    capabilities: Message
    _ids: Any = field(factory=lambda: count(1))

    async def call(self, method: str, params: Message, person: Person) -> Message | None:
        again: Message = {}
        while True:
            meta = {META_VERSION: VERSION, META_CAPABILITIES: self.capabilities}
            whole = {**params, **again, "_meta": meta}
            reply = await self.send(_request(next(self._ids), method, whole))
            result = reply.get("result", {})
            if result.get("resultType") != "input_required":
                return dict(reply)
            answers = _answers(result.get("inputRequests", {}), person)
            if answers is None:
                return None
            await trio.sleep(result.get("_meta", {}).get(META_RETRY_MS, 0) / 1000)
            again = {"inputResponses": answers, "requestState": result["requestState"]}

    def rest(self) -> int:
        return 0  # nothing is open between two rounds


def _answers(questions: Mapping[str, Message], person: Person) -> Message | None:
    answers: Message = {}
    for key, question in questions.items():
        try:
            answer = person(question)
        except Left:
            return None
        if answer is None:
            return None
        answers[key] = answer
    return answers


def _request(id: int, method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


@asynccontextmanager
async def _modern_lines(
    server: RequestHandler, era: str, capabilities: Message
) -> AsyncGenerator[Client, None]:
    del era
    async with served(server) as peer:
        yield _Rounds(lambda message: _said(peer, message), capabilities)


async def _said(peer: Peer, message: Message) -> Message:
    await peer.say(message)
    while "id" not in (heard := await peer.hear()):
        pass
    return dict(heard)


@asynccontextmanager
async def _modern_http(
    server: RequestHandler, era: str, capabilities: Message
) -> AsyncGenerator[Client, None]:
    del era
    async with hosting(server) as here:
        yield _Rounds(lambda message: _posted(here.app, message), capabilities)


async def _posted(app: HttpApp, message: Message) -> Message:
    request = Request(message["id"], message["method"], message["params"])
    answer = await Visit(head_of(request), [json.dumps(message).encode()]).run(app)
    streams = answer.headers[b"content-type"] == b"text/event-stream"
    return dict(answer.events[-1] if streams else answer.json)


# -- earlier revisions: one open call ---------------------------------------------------------


@define
class _OpenLines:
    peer: OlderPeer

    async def call(self, method: str, params: Message, person: Person) -> Message | None:
        id = await self.peer.send(method, params)
        while (message := await self.peer.hear()) is not None:
            if message.get("id") == id and "method" not in message:
                return dict(message)
            if "method" in message and "id" in message:
                try:
                    answer = person(message)
                except Left:
                    await self.peer.hang_up()
                    continue
                if answer is not None:
                    await self.peer.reply(message["id"], answer)
        return None

    def rest(self) -> int:
        return 0  # the connection ends with the block, which waits for its calls


@asynccontextmanager
async def _older_lines(
    server: RequestHandler, era: str, capabilities: Message
) -> AsyncGenerator[Client, None]:
    async with in_session(server, era, capabilities) as peer:
        assert peer.version == era
        yield _OpenLines(peer)


@define
class _OpenHttp:
    guest: Guest
    _ids: Any = field(factory=lambda: count(1000))

    async def call(self, method: str, params: Message, person: Person) -> Message | None:
        visit = await self.guest.start(Request(next(self._ids), method, params))
        seen = 0
        while True:
            events = _events(visit)
            for event in events[seen:]:
                if "method" not in event:
                    return dict(event)
                if "id" in event and not await self._answered(visit, event, person):
                    return None
            seen = len(events)
            await _more(visit)

    async def _answered(self, visit: Visit, question: Message, person: Person) -> bool:
        try:
            answer = person(question)
        except Left:
            visit.left.set()
            return False
        if answer is not None:
            sent = await self.guest.send(Success(question["id"], answer))
            assert sent.status == 202
        return True

    def rest(self) -> int:
        return len(self.guest.nursery.child_tasks)


def _events(visit: Visit) -> list[Any]:
    answer = visit.answer
    if answer.headers.get(b"content-type") == b"text/event-stream":
        return answer.events
    return [answer.json] if answer.ended else []


async def _more(visit: Visit) -> None:
    """Wait until the application sends something more, and it has arrived."""
    sent = trio.Event()

    async def note(_: Mapping[str, Any]) -> None:
        sent.set()

    visit.on_send = note
    await sent.wait()
    await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def _older_http(
    server: RequestHandler, era: str, capabilities: Message
) -> AsyncGenerator[Client, None]:
    async with hosting(server) as here:
        guest = await here.guest(era)
        assert guest.version == era
        del capabilities
        yield _OpenHttp(guest)


_MAKERS: Final = {
    (True, "stdio"): _modern_lines,
    (True, "http"): _modern_http,
    (False, "stdio"): _older_lines,
    (False, "http"): _older_http,
}
