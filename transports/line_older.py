"""A stream of lines as earlier revisions have it: the server sends requests of its own on it.

Specification: 2025-11-25, basic/transports, "stdio".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import trio
from attrs import define, field

from ..engine.exchange import OnNotification, TransportLost
from ..engine.handshake_link import OnRequest, SessionLost
from ..engine.handshake_versions import INITIALIZE
from ..engine.jsonrpc import Failure, Notification, Reply, Request, Success

if TYPE_CHECKING:
    from .line_client import LineTransport

_Heard: TypeAlias = tuple[OnNotification, OnRequest]


@define(eq=False)
class LineLink:
    """A :class:`~antiphon.engine.handshake_link.HandshakeLink` over lines.

    Only progress says which request it belongs to. All else goes to whoever attends, or to the
    oldest open exchange before anybody does.

    Attributes:
        name: of the stream, for messages and logs.
    """

    name: str
    _connect: Callable[[], Awaitable[LineTransport]]
    _wire: LineTransport | None = field(default=None, init=False)
    _open: list[_Heard] = field(factory=list[_Heard], init=False)
    _attending: _Heard | None = field(default=None, init=False)
    _begun: bool = field(default=False, init=False)

    async def exchange(
        self, request: Request, on_notification: OnNotification, on_request: OnRequest
    ) -> Reply:
        """Send one request and wait for its reply; ``initialize`` takes the connection first.

        Raises:
            SessionLost: the connection was over before.
            TransportLost, InvalidReply: as :meth:`LineTransport.exchange`.
        """
        if request.method == INITIALIZE and self._wire is None:
            self._wire = await self._connect()
            self._wire.take_all(self._heard, self._asked)
        wire = self._living()
        heard = (on_notification, on_request)
        self._open.append(heard)
        try:
            return await wire.exchange(request, on_notification)
        finally:
            self._open.remove(heard)

    async def say(self, message: Notification | Success | Failure) -> None:
        """Send a notification, or the answer to a request of the server's.

        Raises:
            SessionLost: the connection is over.
        """
        await self._living().say(message)

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Take all that says of no request that it belongs to it, until it is cancelled.

        Raises:
            TransportLost: the connection is over.
        """
        self._attending = (on_notification, on_request)
        task_status.started()
        try:
            raise await self._living().over()
        finally:
            self._attending = None

    def begun(self, version: str) -> None:
        """Lines do not say which revision they are in."""
        del version
        self._begun = True

    async def end(self) -> None:
        """The end of the stream says it. Where there was no handshake, the server may yet turn out
        to speak this revision."""
        if self._wire is not None and not self._begun:
            self._wire.take_own()
        await trio.lowlevel.checkpoint()

    def _living(self) -> LineTransport:
        if self._wire is None:
            raise TransportLost(f"There is no connection to {self.name} yet", sent=False)
        if (loss := self._wire.loss()) is not None:
            raise SessionLost(loss.reason, sent=False, detail=loss.detail)
        return self._wire

    def _heard(self, notification: Notification) -> None:
        on_notification, _ = self._hearing()
        on_notification(notification)

    def _asked(self, request: Request) -> None:
        _, on_request = self._hearing()
        on_request(request)

    def _hearing(self) -> _Heard:
        if self._attending is not None:
            return self._attending
        return self._open[0] if self._open else (_nobody, _nobody)


def _nobody(message: Notification | Request) -> None:
    """What comes before the handshake or after the session is about nothing."""
