"""A client's subscription: it is kept, made again when it is lost, and says so.

Specification: basic/patterns/subscriptions.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias, final

import trio
from attrs import define

from .background import background
from .call_errors import LegTimeout, quoted
from .change_feed import Feed
from .changes import Change, Watched
from .client_wire import Outgoing
from .conversation import result_type
from .errors import CallError, InvalidReply
from .exchange import TransportLost
from .jsonrpc import JsonObject
from .protocol import COMPLETE
from .reconnecting import Losses

_log = logging.getLogger(__name__)

Send: TypeAlias = Callable[[Outgoing], Awaitable[JsonObject]]


@final
class Changes:
    """What changes at a server, by ``async for``; made by ``client.subscribe(...)``.

    The iteration ends when the server ends the subscription in good order, see :attr:`ended`.
    Several changes may be told as one, and after each a read sees at least that change. One that
    is slow to take them costs no more memory than there are things to hear of.

    Raises, as it goes:
        CallError: the stream was lost, and cannot be had again: what ended the last attempt.
        UsageError: the block of the subscription, or the client, is closed.
    """

    def __init__(self, feed: Feed) -> None:
        """Closed to others: ``client.subscribe(...)`` makes it."""
        self._feed = feed

    @property
    def asked(self) -> Watched:
        """What was asked for."""
        return self._feed.asked

    @property
    def honoured(self) -> Watched:
        """The part of it that the server tells of, as it has acknowledged last."""
        return self._feed.honoured

    @property
    def ended(self) -> bool:
        """Whether the server has ended the subscription, in good order."""
        return self._feed.box.ended

    def __aiter__(self) -> Changes:
        return self

    async def __anext__(self) -> Change:
        change = await self._feed.box.take()
        if change is None:
            raise StopAsyncIteration
        return change


@asynccontextmanager
async def subscription(
    send: Send, request: Outgoing, feed: Feed, losses: Losses
) -> AsyncGenerator[Changes, None]:
    """Keep a subscription for the length of a block, which begins when it is acknowledged.

    What the block raises comes out as it is, in no group.

    Args:
        send: sends the request; cancelling it ends the stream.
        request: what opens a stream that ``feed`` hears.
        feed: takes the changes.
        losses: says what to do when a stream is lost.

    Raises:
        CallError: the first stream could not be had.
    """
    keeper = _Keeper(send, request, feed, losses)
    async with background() as nursery:
        nursery.start_soon(keeper.run)
        try:
            await feed.settled.wait()
            if feed.since is None and feed.box.failure is not None:
                raise feed.box.failure
            yield Changes(feed)
        finally:
            feed.box.close()
            nursery.cancel_scope.cancel()


@define(eq=False)
class _Keeper:
    """The task that keeps a subscription. It raises nothing: whoever takes changes is told."""

    send: Send
    request: Outgoing
    feed: Feed
    losses: Losses

    async def run(self) -> None:
        try:
            await self._keep()
        except Exception as error:  # noqa: BLE001  # whatever it is, the taker is to know it
            self.feed.box.fail(error)
        else:
            self.feed.box.end()
        finally:
            self.feed.settled.set()

    async def _keep(self) -> None:
        while (error := await self._listen()) is not None:
            wait = self._wait(error)
            if wait is None:
                raise error
            self.feed.lose(_reason(error))
            await trio.sleep(wait)

    async def _listen(self) -> CallError | None:
        """Hear one stream to its end: None where that was in good order."""
        try:
            result = await self.send(self.request)
        except LegTimeout as error:
            return self._cancelled() if self.feed.torn else error
        except CallError as error:
            return error
        self._check(result)
        return None

    def _cancelled(self) -> CallError:
        text = f"{quoted(self.feed.server())} cancelled the subscription"
        return TransportLost(text, sent=True)

    def _check(self, result: JsonObject) -> None:
        who = f"subscriptions/listen of {quoted(self.feed.server())}"
        if result_type(result, who) != COMPLETE:
            raise InvalidReply(f"{who} sent an interim result, which this method cannot have")
        if self.feed.since is None:
            raise InvalidReply(f"{who} sent a result without having acknowledged the subscription")

    def _wait(self, error: CallError) -> float | None:
        if not self.feed.settled.is_set():
            return self.losses.before_the_first(error)
        wait = self.losses.after_one(error, self.feed.stood)
        if wait is not None:
            _log.warning(
                "The subscription at %s was lost (%s); it is made again in %.1f s",
                quoted(self.feed.server()),
                _reason(error),
                wait,
            )
        return wait


def _reason(error: CallError) -> str:
    return error.reason if isinstance(error, TransportLost) else str(error)
