"""One subscription as its streams come and go: what each says becomes changes.

Specification: basic/patterns/subscriptions, "Acknowledgment" and "Receiving Notifications";
basic/patterns/cancellation.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Final

import trio
from attrs import define, field, frozen

from .call_errors import quoted
from .change_box import ChangeBox
from .changes import Change, OnChange, Reconnected, Watched
from .errors import InvalidReply
from .hearing import Hearing
from .jsonrpc import Notification
from .protocol import CANCELLED
from .subscriptions import ACKNOWLEDGED, META_SUBSCRIPTION

_log = logging.getLogger(__name__)


LAST_WORD: Final = 1.0
"""Seconds for the result of a subscription whose end its server has told by a notification.

The page on cancellation wants that notification of every server, the page on subscriptions the
result of one that ends in good order."""


@define(eq=False)
class Feed:
    """A subscription, whichever stream carries it now.

    Attributes:
        server: names the server, for logs and errors.
        asked: what is to be told of.
        heard: is told of each change as it arrives, whether or not somebody takes it.
        box: where changes wait.
        honoured: what the server has acknowledged last.
        settled: set at the first acknowledgement, or when there will be none.
        since: when the present stream was acknowledged; None before.
        torn: whether the server has cancelled the present stream.
    """

    server: Callable[[], str]
    asked: Watched
    heard: OnChange
    box: ChangeBox
    honoured: Watched = field(factory=Watched)
    settled: trio.Event = field(factory=trio.Event)
    since: float | None = None
    torn: bool = False
    _lost: tuple[float, str] | None = None

    @property
    def stood(self) -> float | None:
        """For how many seconds the present stream has stood; None where it never did."""
        return None if self.since is None else trio.current_time() - self.since

    def lose(self, reason: str) -> None:
        """The present stream is gone."""
        if self.since is not None:
            self._lost = (trio.current_time(), reason)
        self.since = None
        self.torn = False

    def acknowledge(self, honoured: Watched) -> None:
        """A stream stands."""
        self.honoured, self.since = honoured, trio.current_time()
        if self._lost is not None:
            at, reason = self._lost
            self._lost = None
            self.tell(Reconnected(self.since - at, reason))
        self.settled.set()

    def tell(self, change: Change) -> None:
        """Something changed."""
        self.box.put(change)
        self.heard(change)


@frozen
class Listening(Hearing):
    """Hears a stream for a feed; log messages and progress of others are none of its business."""

    feed: Feed = field(kw_only=True)

    def ear(self, token: str, scope: trio.CancelScope, timeout: float) -> StreamEar:
        """Hear the stream of one request, which has ``timeout`` for its acknowledgement alone."""
        del timeout
        return StreamEar(token, scope, self.feed)


@define(eq=False)
class StreamEar:
    """Takes what one stream says: first the acknowledgement, then what was asked for.

    Attributes:
        failure: why the stream cannot go on, to be raised where it was asked for.
    """

    id: str
    scope: trio.CancelScope
    feed: Feed
    failure: Exception | None = None
    _acknowledged: bool = False
    _open: bool = True
    _warned: bool = False

    def __call__(self, notification: Notification) -> None:
        """Hear one notification."""
        if not self._open:
            return
        try:
            self._hear(notification)
        except Exception as error:  # noqa: BLE001  # a listener may raise anything
            # It must not hurt the transport's task.
            self.close()
            self.failure = error
            self.scope.cancel()

    def close(self) -> None:
        """What comes later belongs to no stream."""
        self._open = False

    def _hear(self, notification: Notification) -> None:
        if notification.method == CANCELLED:
            self._cancelled(notification)
        elif not self._is_ours(notification):
            self._drop(notification, "which does not belong to the subscription")
        elif notification.method == ACKNOWLEDGED:
            self._acknowledge(notification)
        elif not self._acknowledged:
            self._drop(notification, "before it acknowledged the subscription")
        elif (change := self.feed.asked.change(notification)) is None:
            self._drop(notification, "which was not asked for")
        else:
            self.feed.tell(change)

    def _is_ours(self, notification: Notification) -> bool:
        meta = notification.params.get("_meta")
        return isinstance(meta, dict) and meta.get(META_SUBSCRIPTION) == self.id

    def _acknowledge(self, notification: Notification) -> None:
        if self._acknowledged:
            self._drop(notification, "for the second time")
            return
        try:
            honoured = self.feed.asked.within(notification.params.get("notifications"))
        except ValueError as error:
            raise InvalidReply(
                f"{quoted(self.feed.server())} acknowledged the subscription wrongly: {error}"
            ) from None
        self._acknowledged = True
        # From here on it may be silent for days.
        self.scope.deadline = math.inf
        self.feed.acknowledge(honoured)

    def _cancelled(self, notification: Notification) -> None:
        if notification.params.get("requestId") == self.id and not self.feed.torn:
            self.feed.torn = True
            self.scope.deadline = min(self.scope.deadline, trio.current_time() + LAST_WORD)

    def _drop(self, notification: Notification, why: str) -> None:
        # Once a stream: it can hold any number of them.
        if not self._warned:
            self._warned = True
            _log.warning(
                "%s sent %s %s; it is ignored, and so are further ones like it",
                quoted(self.feed.server()),
                quoted(notification.method),
                why,
            )
