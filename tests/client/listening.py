"""A transport whose streams follow scripts, and a subscriber that takes what they tell."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import trio
from attrs import define, field

from antiphon.engine.changes import Change
from antiphon.engine.client import Client
from antiphon.engine.client_subscriptions import Changes
from antiphon.engine.exchange import OnNotification, TransportLost
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
)
from antiphon.engine.retrying import RetryPolicy
from antiphon.engine.subscriptions import LISTEN
from tests.engine.subscribing import ended, tagged

STEADY_WAITS = RetryPolicy(attempts=5, initial=1.0, maximum=8.0, chance=lambda: 1.0)
"""Waits 1, 2, 4, 8 s; a loss and four attempts."""


@define(eq=False)
class Stream:
    """One stream, from the server's side."""

    request: Request
    hear: OnNotification

    @property
    def id(self) -> RequestId:
        return self.request.id

    @property
    def asked(self) -> JsonValue:
        return self.request.params["notifications"]

    def acknowledge(self, **filter: JsonValue) -> None:
        """Acknowledge this filter, or what was asked for."""
        self.say("subscriptions/acknowledged", notifications=filter or self.asked)

    def say(self, method: str, id: RequestId | None = None, **params: JsonValue) -> None:
        self.hear(tagged(self.id if id is None else id, method, **params))

    def changed(self, *lists: str) -> None:
        for which in lists:
            self.say(f"{which}/list_changed")

    def updated(self, *uris: str) -> None:
        for uri in uris:
            self.say("resources/updated", uri=uri)

    def cancel(self, id: RequestId | None = None) -> None:
        params: JsonObject = {"requestId": self.id if id is None else id}
        self.hear(Notification("notifications/cancelled", params))


Script: TypeAlias = Callable[[Stream], Awaitable[JsonObject | Failure]]


@define(eq=False)
class Streams:
    """Each stream follows the next script; the last one is followed again and again.

    Attributes:
        times: when each was asked for.
        open: how many there are.
        cancelled: how many were cancelled.
    """

    scripts: list[Script]
    name: str = "scripted"
    requests: list[Request] = field(factory=list[Request])
    times: list[float] = field(factory=list[float])
    open: int = 0
    cancelled: int = 0

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        assert request.method == LISTEN
        self.requests.append(request)
        self.times.append(trio.current_time())
        self.open += 1
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        try:
            await trio.lowlevel.checkpoint()
            answer = await script(Stream(request, on_notification))
        except trio.Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1
        if isinstance(answer, Failure):
            return Failure(request.id, answer.code, answer.message, answer.data)
        return Success(request.id, answer)

    @property
    def waits(self) -> list[float]:
        """The seconds between one and the next, rounded."""
        return [round(b - a, 6) for a, b in itertools.pairwise(self.times)]


def client_of(*scripts: Script, **options: Any) -> tuple[Client, Streams]:
    """A client whose streams follow these scripts."""
    streams = Streams(list(scripts))
    options.setdefault("reconnect", STEADY_WAITS)
    options.setdefault("retry", None)
    return Client(streams, **options), streams


def lost(reason: str = "the line is cut", *, sent: bool = True) -> TransportLost:
    return TransportLost(reason, sent=sent)


# -- scripts ----------------------------------------------------------------------------------


async def silent(stream: Stream) -> JsonObject:
    """Acknowledges, and says nothing for ever."""
    stream.acknowledge()
    await trio.sleep_forever()
    raise AssertionError


async def ending(stream: Stream) -> JsonObject:
    """Acknowledges, and ends in good order."""
    stream.acknowledge()
    return ended(stream.id)


async def cut(stream: Stream) -> JsonObject:
    """Acknowledges, and is cut off at once."""
    stream.acknowledge()
    raise lost()


async def never(stream: Stream) -> JsonObject:
    """Does not come about."""
    raise lost("nobody is there", sent=False)


def raising(error: Exception, after: float = 0.0) -> Script:
    """Does not come about, for this."""

    async def script(_: Stream) -> JsonObject:
        await trio.sleep(after)
        raise error

    return script


def standing(seconds: float) -> Script:
    """Acknowledges, and is cut off after so long."""

    async def script(stream: Stream) -> JsonObject:
        stream.acknowledge()
        await trio.sleep(seconds)
        raise lost()

    return script


def failing(code: int) -> Script:
    """Answers with an error."""

    async def script(_: Stream) -> Failure:
        await trio.lowlevel.checkpoint()
        return Failure(None, code, "no")

    return script


async def take(changes: Changes, count: int) -> list[Change]:
    """The next so many changes."""
    return [await anext(changes) for _ in range(count)]


async def take_all(changes: Changes) -> list[Change]:
    """All that comes until the end."""
    return [change async for change in changes]
