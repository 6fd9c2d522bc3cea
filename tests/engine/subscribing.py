"""Subscribers, and a server that has nothing but subscriptions to offer."""

from __future__ import annotations

from typing import Any, cast

import trio
from attrs import define, field

from antiphon.engine.closing import ClosableExchange, Closing
from antiphon.engine.errors import METHOD_NOT_FOUND, ProtocolError
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    failure,
)
from antiphon.engine.limits import Limits
from antiphon.engine.protocol import META_CAPABILITIES, META_VERSION, VERSION
from antiphon.engine.subscription_filter import Honoured
from antiphon.engine.subscriptions import LISTEN, META_SUBSCRIPTION, Subscriptions

ALL = Honoured(tools=True, prompts=True, resources=True, updates=True)
EVERYTHING: JsonObject = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["file:///a", "file:///b"],
}
TOOLS: JsonObject = {"toolsListChanged": True}


def listen(id: RequestId = 1, **filter: JsonValue) -> Request:
    meta: JsonObject = {META_VERSION: VERSION, META_CAPABILITIES: {}}
    return Request(id, LISTEN, {"_meta": meta, "notifications": filter or {**TOOLS}})


def tagged(id: RequestId, method: str, **params: JsonValue) -> Notification:
    """A notification as a subscription gets it; ``method`` without its first word."""
    return Notification(f"notifications/{method}", {"_meta": {META_SUBSCRIPTION: id}, **params})


def acknowledged(id: RequestId = 1, /, **filter: JsonValue) -> Notification:
    return tagged(id, "subscriptions/acknowledged", notifications=filter)


def tools_changed(id: RequestId = 1) -> Notification:
    return tagged(id, "tools/list_changed")


def updated(uri: str, id: RequestId = 1) -> Notification:
    return tagged(id, "resources/updated", uri=uri)


def ended(id: RequestId = 1) -> JsonObject:
    """The result of a subscription that ended gracefully."""
    return {"resultType": "complete", "_meta": {META_SUBSCRIPTION: id}}


def ended_gracefully(result: JsonValue, id: RequestId) -> bool:
    """Whether a whole server, which names itself in what it sends, ended a subscription."""
    assert isinstance(result, dict)
    meta = result["_meta"]
    assert isinstance(meta, dict)
    return result.keys() == {"resultType", "_meta"} and meta[META_SUBSCRIPTION] == id


class Watched:
    """Subscriptions and calls that do what their name says, as a server would serve them."""

    def __init__(self, limits: Limits | None = None, honoured: Honoured = ALL) -> None:
        self.name = "watched"
        self.limits = limits or Limits()
        self.hub = Subscriptions(self.limits, lambda: honoured)
        self.cancelled: list[RequestId] = []
        self.go_on = trio.Event()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        try:
            return await self._serve(request, exchange)
        except ProtocolError as error:
            return failure(error, request.id)
        except trio.Cancelled:
            self.cancelled.append(request.id)
            raise

    async def _serve(self, request: Request, exchange: Exchange) -> Reply:
        if request.method == LISTEN:
            result = await self.hub.listen(request.id, request.params, exchange)
            return Success(request.id, result)
        if request.method != "tools/call":
            return Failure(request.id, METHOD_NOT_FOUND, "Method not found")
        name = request.params.get("name")
        if name == "change":
            self.hub.tools_changed()
        elif name == "park":
            await self.go_on.wait()
        elif name == "cleanup":
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await self.go_on.wait()
        return Success(request.id, {"resultType": "complete", "content": []})


@define
class Subscriber:
    """One who subscribes, hears, and may be slow.

    Attributes:
        reads: while it is not set, whatever is sent waits.
    """

    hub: Subscriptions
    id: RequestId = 1
    heard: list[Notification] = field(factory=list[Notification])
    reads: trio.Event = field(factory=trio.Event)
    closing: Closing = field(factory=Closing)
    result: JsonObject | None = None
    error: ProtocolError | None = None

    def __attrs_post_init__(self) -> None:
        self.reads.set()

    def stop_reading(self) -> trio.Event:
        """Take nothing more until the event is set."""
        self.reads = trio.Event()
        return self.reads

    async def subscribe(self, **filter: JsonValue) -> None:
        """Listen until the end; keeps the result or the error."""
        exchange = ClosableExchange(notify=self._hear, closing=self.closing)
        try:
            params = listen(self.id, **filter).params
            self.result = await self.hub.listen(self.id, params, exchange)
        except ProtocolError as error:
            self.error = error

    async def _hear(self, notification: Notification) -> None:
        await self.reads.wait()
        await trio.lowlevel.checkpoint()
        self.heard.append(notification)

    @property
    def told(self) -> list[str]:
        """What was heard after the acknowledgement: list or URI."""
        return [str(n.params.get("uri", n.method.split("/")[1])) for n in self.heard[1:]]


def data_of(error: ProtocolError | None) -> dict[str, Any]:
    assert error is not None
    return cast("dict[str, Any]", error.data)
