"""Subscriptions: requests that stay open, and hear what changes until one side ends them.

Specification: basic/patterns/subscriptions; server/tools, server/prompts and server/resources,
"List Changed Notification".
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

import trio
from attrs import define, field

from .closing import ClosableExchange, Closing
from .errors import BUSY, INVALID_PARAMS, ProtocolError
from .exchange import Exchange
from .jsonrpc import JsonObject, JsonValue, Notification, RequestId
from .limits import Limits, raising
from .protocol import COMPLETE, META_PREFIX
from .subscription_filter import (
    PROMPTS,
    RESOURCES,
    TOOLS,
    UPDATED,
    Change,
    Filter,
    Honoured,
    WantedChanges,
)

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
META_SUBSCRIPTION: Final = META_PREFIX + "subscriptionId"
"""In the ``_meta`` of all that a subscription is sent: the id of the request that opened it."""


class Subscriptions:
    """The open subscriptions of one server, and what it tells them.

    The methods that tell of a change wait for nobody, and any thread may call them, with trio
    or without. What a subscriber has not been sent yet counts once however often it changes
    meanwhile: one that reads slowly costs no more memory than its filter has entries.
    """

    def __init__(self, limits: Limits, honoured: Callable[[], Honoured]) -> None:
        """``honoured`` is asked at each subscription, for servers that grow while they run."""
        self._limits: Final = limits
        self._honoured: Final = honoured
        self._closing: Final = Closing()
        self._open: Final[set[_Subscription]] = set()

    async def listen(self, id: RequestId, params: JsonObject, exchange: Exchange) -> JsonObject:
        """Serve a ``subscriptions/listen`` request until it is cancelled or all is closed.

        Args:
            id: the request's, which is the subscription's too.
            params: the request's.
            exchange: takes what the subscription is sent. Where it is a
                :class:`~.closing.ClosableExchange`, its closing ends the subscription.

        Returns:
            The ``SubscriptionsListenResult``, after all that had changed was sent.

        Raises:
            ProtocolError: the filter is malformed, or there are as many subscriptions as there
                may be. How large it may be is the transport's to say: see :func:`check_room`.
        """
        asked = _asked(params)
        check_number(self._limits, len(self._open))
        granted = Filter.read(asked).granted(self._honoured())
        with self._opened(granted.changes(), exchange) as subscription:
            await exchange.notify(_tagged(id, ACKNOWLEDGED, notifications=granted.wire()))
            while (change := await subscription.next_change()) is not None:
                method, uri = change
                about: JsonObject = {} if uri is None else {"uri": uri}
                await exchange.notify(_tagged(id, method, **about))
        return {"resultType": COMPLETE, "_meta": {META_SUBSCRIPTION: id}}

    async def tell(self, wanted: WantedChanges, exchange: Exchange) -> None:
        """Tell a client that has asked for no subscription, until all is closed.

        Args:
            wanted: what it is to hear of.
            exchange: as for :meth:`listen`.
        """
        with self._opened(wanted, exchange) as subscription:
            while (change := await subscription.next_change()) is not None:
                method, uri = change
                about: JsonObject = {} if uri is None else {"uri": uri}
                await exchange.notify(Notification(method, about))

    @contextmanager
    def _opened(
        self, wanted: WantedChanges, exchange: Exchange
    ) -> Generator[_Subscription, None, None]:
        subscription = _Subscription(wanted)
        transport = exchange.closing if isinstance(exchange, ClosableExchange) else Closing()
        with self._closing.telling(subscription.end), transport.telling(subscription.end):
            self._open.add(subscription)
            try:
                yield subscription
            finally:
                self._open.remove(subscription)

    # -- what changes -------------------------------------------------------------------------

    def tools_changed(self) -> None:
        """Tell those who asked for it that ``tools/list`` gives another list now."""
        self._tell(TOOLS)

    def prompts_changed(self) -> None:
        """Tell those who asked for it that ``prompts/list`` gives another list now."""
        self._tell(PROMPTS)

    def resources_changed(self) -> None:
        """Tell those who asked for it that ``resources/list`` gives another list now."""
        self._tell(RESOURCES)

    def resource_updated(self, uri: str) -> None:
        """Tell those who watch this very URI that reading it gives something else now."""
        self._tell(UPDATED, uri)

    def close(self) -> None:
        """End every subscription with its result, and later ones as soon as they are opened."""
        self._closing.close()

    def _tell(self, method: str, uri: str | None = None) -> None:
        for subscription in list(self._open):
            subscription.tell((method, uri))


@define(eq=False)
class _Subscription:
    """One subscriber: what it wants to hear, and what of that it has still to be sent."""

    wanted: WantedChanges
    _pending: dict[Change, None] = field(factory=dict[Change, None], init=False)  # a set in order
    _ended: bool = field(default=False, init=False)
    _waiting: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    _home: trio.lowlevel.TrioToken = field(factory=trio.lowlevel.current_trio_token, init=False)

    def tell(self, change: Change) -> None:
        if change in self.wanted:
            self._at_home(self._add, change)

    def end(self) -> None:
        self._at_home(self._end)

    async def next_change(self) -> Change | None:
        """What it is to be sent next, or None at the end."""
        while not self._pending:
            if self._ended:
                return None
            await self._waiting.park()
        change = next(iter(self._pending))
        del self._pending[change]
        return change

    def _add(self, change: Change) -> None:
        if not self._ended:
            self._pending[change] = None
            self._waiting.unpark_all()

    def _end(self) -> None:
        self._ended = True
        self._waiting.unpark_all()

    def _at_home(self, act: Callable[..., None], *args: object) -> None:
        """Act in the subscriber's event loop: at once where that is here, and else soon."""
        if _current_token() is self._home:
            act(*args)
            return
        with suppress(trio.RunFinishedError):
            # A loop that is busy meanwhile keeps equal acts once, in the order of the first.
            self._home.run_sync_soon(act, *args, idempotent=True)


def _current_token() -> trio.lowlevel.TrioToken | None:
    try:
        return trio.lowlevel.current_trio_token()
    except RuntimeError:
        return None


def _asked(params: JsonObject) -> JsonObject:
    asked = params.get("notifications")
    if not isinstance(asked, dict):
        raise ProtocolError(INVALID_PARAMS, 'Invalid params: "notifications" must be an object')
    return asked


def _tagged(id: RequestId, method: str, **params: JsonValue) -> Notification:
    return Notification(method, {"_meta": {META_SUBSCRIPTION: id}, **params})


def check_room(limits: Limits, open: int, size: int) -> None:
    """See whether there is room for one more subscription on a transport.

    Args:
        limits: what is allowed.
        open: how many there are.
        size: the bytes of the request, which are kept as long as it is open.

    Raises:
        ProtocolError: there is none; it names the limit.
    """
    if size > limits.subscription_bytes:
        raise ProtocolError(
            INVALID_PARAMS,
            f"Invalid params: the subscription has {size} bytes; limit subscription_bytes is "
            f"{limits.subscription_bytes} {raising('subscription_bytes')}. Watch fewer resources "
            "with each subscription",
            {"limit": "subscription_bytes", "value": limits.subscription_bytes},
        )
    check_number(limits, open)


def check_number(limits: Limits, open: int) -> None:
    """See whether there may be one more subscription, where ``open`` are there.

    Raises:
        ProtocolError: there may not; it names the limit.
    """
    if open >= limits.subscriptions:
        raise ProtocolError(
            BUSY,
            f"Too many subscriptions at once: limit subscriptions is {limits.subscriptions} "
            f"{raising('subscriptions')}; send it again later",
            {"limit": "subscriptions", "value": limits.subscriptions},
        )
