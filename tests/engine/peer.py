"""A client's side of the wire, as bare as it can be: bytes in, bytes out, nothing remembered."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Final, cast

from attrs import define, field

from antiphon import Principal, Server
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    Success,
    read_message,
    write_message,
)

KEY: Final = "a-key-that-nobody-would-ever-guess-0001"
EVERYTHING: Final[JsonObject] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
}
_PREFIX: Final = "io.modelcontextprotocol/"


def meta(capabilities: JsonValue = EVERYTHING, **more: JsonValue) -> JsonObject:
    """The ``_meta`` of a well-behaved client."""
    return {
        _PREFIX + "protocolVersion": "2026-07-28",
        _PREFIX + "clientInfo": {"name": "peer", "version": "1"},
        _PREFIX + "clientCapabilities": capabilities,
        **more,
    }


def accept(**content: JsonValue) -> JsonObject:
    """The response of a person who filled in a form."""
    return {"action": "accept", "content": content}


DECLINE: Final[JsonObject] = {"action": "decline"}
CANCEL: Final[JsonObject] = {"action": "cancel"}


def members(value: JsonValue) -> dict[str, Any]:
    """A JSON object, taken for one."""
    assert isinstance(value, dict)
    return cast("dict[str, Any]", value)


@define
class Peer:
    """Sends requests to a server, through the JSON door in both directions."""

    server: Server
    capabilities: JsonObject = EVERYTHING
    principal: Principal | None = None
    notifications: list[JsonObject] = field(factory=list[JsonObject])
    _ids: count[int] = field(factory=lambda: count(1))

    async def exchange(self, method: str, params: JsonObject) -> Reply:
        """One request, as it is."""
        line = write_message(Request(next(self._ids), method, params))
        request = read_message(line)
        assert isinstance(request, Request)
        reply = await self.server.handle(request, Exchange(self.principal, self._notify))
        read = read_message(write_message(reply))
        assert isinstance(read, Success | Failure)
        assert read.id == request.id
        return read

    async def _notify(self, notification: Notification) -> None:
        read = read_message(write_message(notification))
        assert isinstance(read, Notification)
        self.notifications.append({"method": read.method, **read.params})

    async def ask(self, method: str, params: JsonObject | None = None) -> dict[str, Any]:
        """One request with a proper ``_meta``; its result."""
        reply = await self.exchange(method, {"_meta": meta(self.capabilities), **(params or {})})
        assert isinstance(reply, Success), reply
        return members(reply.result)

    async def call(
        self,
        name: str,
        arguments: object = None,
        *,
        state: object = None,
        responses: object = None,
        **more: JsonValue,
    ) -> dict[str, Any]:
        """The result of a ``tools/call``."""
        return await self.ask("tools/call", call_params(name, arguments, state, responses, **more))

    async def refused(
        self,
        name: str,
        arguments: object = None,
        *,
        state: object = None,
        responses: object = None,
        **more: JsonValue,
    ) -> Failure:
        """The error of a ``tools/call``."""
        params = call_params(name, arguments, state, responses, **more)
        reply = await self.exchange("tools/call", {"_meta": meta(self.capabilities), **params})
        assert isinstance(reply, Failure), reply
        return reply


def call_params(
    name: str, arguments: object, state: object, responses: object, **more: JsonValue
) -> JsonObject:
    """The parameters of ``tools/call``, without those that are None."""
    given = {"arguments": arguments, "requestState": state, "inputResponses": responses}
    sent = cast(JsonObject, {k: v for k, v in given.items() if v is not None})
    return {"name": name, **sent, **more}


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a result's first block."""
    return str(result["content"][0]["text"])


def told(result: Mapping[str, Any]) -> str:
    """The text of a result that is an error for the model."""
    assert result["isError"] is True, result
    assert result["resultType"] == "complete"
    return text_of(result)


def asked(result: Mapping[str, Any]) -> list[str]:
    """The keys of the questions of an interim result."""
    assert result["resultType"] == "input_required", result
    return list(result.get("inputRequests", {}))
