"""A subscription at a server of an earlier revision, as its client has it.

Those servers tell every session of lists that change, and of each resource that it subscribed to.

Specification: 2025-11-25, server/resources, "Subscriptions"; server/tools and server/prompts,
"List Changed Notification".
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import Final

import attrs
import trio
from attrs import define, field

from .changes import Watched
from .errors import CallError, ProtocolError
from .exchange import OnNotification
from .handshake_client_session import Session, over
from .handshake_client_shared import Shared
from .jsonrpc import Failure, JsonObject, Notification, Request, RequestId, failure
from .subscription_filter import Filter
from .subscriptions import ACKNOWLEDGED, META_SUBSCRIPTION

_log = logging.getLogger(__name__)

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"


@define(eq=False)
class Subscription:
    """One ``subscriptions/listen`` request; what is told before its acknowledgement waits."""

    id: RequestId
    wanted: Watched
    on_notification: OnNotification
    over: trio.Event = field(factory=trio.Event, init=False)
    error: CallError = field(init=False)
    _early: dict[object, Notification] | None = field(
        factory=dict[object, Notification], init=False
    )

    def hear(self, notification: Notification) -> None:
        """Pass on what was asked for."""
        change = self.wanted.change(notification)
        if change is None:
            return
        if self._early is not None:
            self._early[change] = notification
        else:
            self._tell(notification)

    def lose(self, error: CallError) -> None:
        """The session is over, and the subscription with it."""
        self.error = error
        self.over.set()

    def acknowledge(self, honoured: Filter) -> None:
        """Say what can be told, then what came before."""
        self._tell(Notification(ACKNOWLEDGED, {"notifications": honoured.wire()}))
        early, self._early = self._early or {}, None
        for notification in early.values():
            self._tell(notification)

    def _tell(self, notification: Notification) -> None:
        meta = notification.params.get("_meta")
        tagged: JsonObject = {
            **(meta if isinstance(meta, dict) else {}),
            META_SUBSCRIPTION: self.id,
        }
        self.on_notification(
            Notification(notification.method, {**notification.params, "_meta": tagged})
        )


@define(eq=False)
class _Resource:
    """A resource, how many want to hear of it, and whether the server tells; None while it is
    being asked for that, in the name of all of them."""

    asking: Shared[None]
    users: int = 0
    subscribed: bool | None = None


@define(eq=False)
class Subscriptions:
    """Those of one session: a resource is subscribed to once, for all who want to hear of it.

    Attributes:
        session: the session.
        nursery: subscribes and unsubscribes in nobody's name.
    """

    session: Session
    nursery: trio.Nursery
    _resources: dict[str, _Resource] = field(factory=dict[str, "_Resource"], init=False)

    async def listen(self, request: Request, on_notification: OnNotification) -> Failure:
        """Serve a ``subscriptions/listen`` request until it is cancelled; its refusal.

        Raises:
            TransportLost: the session is over.
        """
        asked = request.params.get("notifications")
        try:
            wanted = Filter.read(asked if isinstance(asked, dict) else {})
        except ProtocolError as error:
            return failure(error, request.id)
        granted = wanted.granted(self.session.agreed.honoured())
        subscription = Subscription(request.id, _watched(granted), on_notification)
        self.session.watching.append(subscription)
        taken: list[str] = []
        try:
            await self._subscribe(granted.uris, taken)
            subscription.acknowledge(attrs.evolve(granted, uris=tuple(taken)))
            await subscription.over.wait()
        finally:
            self.session.watching.remove(subscription)
            self._release(taken)
        raise over(subscription.error)

    async def _subscribe(self, uris: Iterable[str], taken: list[str]) -> None:
        for uri in uris:
            resource = self._resources.get(uri)
            if resource is None:
                asking = Shared[None](self.nursery, "A subscription to a resource", patience=0.0)
                resource = self._resources[uri] = _Resource(asking)
            resource.users += 1
            taken.append(uri)
            if resource.subscribed is None:
                await resource.asking.get(partial(self._ask_for, resource, uri))
            if not resource.subscribed:
                taken.remove(uri)
                self._leave(uri)

    async def _ask_for(self, resource: _Resource, uri: str) -> None:
        resource.subscribed = await self._ask(SUBSCRIBE, uri)

    async def _ask(self, method: str, uri: str) -> bool:
        request = Request(self.session.new_id(), method, {"uri": uri})
        reply = await self.session.send(request, _unheard)
        if isinstance(reply, Failure):
            _log.info("%s refuses %s: error %d", self.session.link.name, method, reply.code)
        return not isinstance(reply, Failure)

    def _release(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._leave(uri)

    def _leave(self, uri: str) -> None:
        resource = self._resources[uri]
        resource.users -= 1
        if resource.users:
            return
        del self._resources[uri]
        if resource.subscribed is not False and self.session.lost is None:
            self._in_background(uri)

    def _in_background(self, uri: str) -> None:
        if not self.nursery.cancel_scope.cancel_called:
            self.nursery.start_soon(self._unsubscribe, uri)

    async def _unsubscribe(self, uri: str) -> None:
        try:
            await self._ask(UNSUBSCRIBE, uri)
        except Exception as error:  # noqa: BLE001  # what gives a token may raise anything
            self.session.untold("The end of a subscription", error)


def _watched(granted: Filter) -> Watched:
    everything = Watched(tools=True, prompts=True, resources=True, uris=granted.uris)
    return everything.within(granted.wire())


def _unheard(notification: Notification) -> None:
    del notification
