"""A transport that answers each leg from a list, and short words for what servers say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import trio

from antiphon.engine.changes import Change
from antiphon.engine.client import Client
from antiphon.engine.client_options import ClientOptions
from antiphon.engine.exchange import OnNotification
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    Notification,
    Reply,
    Request,
    Success,
    loads,
    write_message,
)

Answer: TypeAlias = (
    JsonObject | Failure | BaseException | Callable[[Request], Awaitable[JsonObject]]
)
"""A result, an error, something to raise, or a function that makes the result."""

REGION: JsonObject = {
    "type": "object",
    "properties": {"name": {"type": "string", "enum": ["dev", "prod"]}},
    "required": ["name"],
}


class ScriptedTransport:
    """Answers leg after leg, and keeps every request as it went over the wire."""

    name = "scripted"

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self.answers = iter(answers)
        self.requests: list[JsonObject] = []
        self.notes: Callable[[Notification], None] | None = None
        self.open = 0
        self.cancelled = 0

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        # What is kept are the bytes' own words, so that nothing later can change them.
        sent = loads(write_message(request))
        assert isinstance(sent, dict)
        self.requests.append(sent)
        self.notes = on_notification
        self.open += 1
        try:
            await trio.lowlevel.checkpoint()
            return await self._reply(next(self.answers), request)
        except trio.Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1

    async def _reply(self, answer: Answer, request: Request) -> Reply:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Failure):
            return Failure(request.id, answer.code, answer.message, answer.data)
        result = await answer(request) if callable(answer) else answer
        return Success(request.id, result)

    @property
    def params(self) -> list[dict[str, Any]]:
        """The parameters of each leg."""
        return [request["params"] for request in self.requests]  # type: ignore[misc]


def client_of(*answers: Answer, **options: Any) -> tuple[Client, ScriptedTransport]:
    """A client whose server says these things, one a leg."""
    transport = ScriptedTransport(answers)
    given: ClientOptions = {**options}  # type: ignore[typeddict-item]
    return Client(transport, **given), transport


def done(text: str = "done", **members: Any) -> JsonObject:
    """A complete result."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], **members}


def form(message: str = "Which?", schema: JsonObject = REGION, **params: Any) -> JsonObject:
    """A question by form."""
    members = {"message": message, "requestedSchema": schema, **params}
    return {"method": "elicitation/create", "params": members}


def link(url: str = "https://example.com/pay", **params: Any) -> JsonObject:
    """A question by link."""
    members = {"mode": "url", "message": "Open this", "url": url, **params}
    return {"method": "elicitation/create", "params": members}


def sampling(**params: Any) -> JsonObject:
    """A question to a language model."""
    message = {"role": "user", "content": {"type": "text", "text": "Capital of France?"}}
    members: Any = {"messages": [message], "maxTokens": 100, **params}
    return {"method": "sampling/createMessage", "params": members}


ROOTS: JsonObject = {"method": "roots/list"}


def asks(
    questions: JsonObject | None = None, state: str | None = None, **members: Any
) -> JsonObject:
    """An interim result; without questions and state, a form and no state."""
    result: JsonObject = {"resultType": "input_required", **members}
    if questions is None and state is None:
        questions = {"region": form()}
    if questions is not None:
        result["inputRequests"] = questions
    if state is not None:
        result["requestState"] = state
    return result


def poll(state: str = "s", *, retry_ms: int | None = None) -> JsonObject:
    """An interim result that says "not ready", and when it may be."""
    members: Any = {} if retry_ms is None else {"_meta": {"antiphon/retryAfterMs": retry_ms}}
    return asks(state=state, **members)


async def accept_prod(_: object) -> dict[str, object]:
    """A callback that answers each region form with prod."""
    return {"name": "prod"}


def tell(client: Client, change: Change) -> None:
    """Have a client hear of a change, as from a subscription of its own."""
    client._tell_change(change)  # pyright: ignore[reportPrivateUsage]
