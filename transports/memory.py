"""A server in the same process: nothing is copied over a wire, and all behaves as if it were.

Requests, notifications and replies pass the JSON door in both directions, so that what works
here works everywhere, and what could not be sent fails here too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import trio
from attrs import define, field

from ..engine.errors import InvalidReply, ProtocolError, UsageError
from ..engine.exchange import (
    Exchange,
    OnNotification,
    Principal,
    RequestHandler,
    TransportLost,
    has_lifespan,
)
from ..engine.jsonrpc import (
    DEFAULT_LIMITS,
    Failure,
    Message,
    Notification,
    Reply,
    Request,
    Success,
    failure,
    read_message,
    write_message,
)
from ..engine.limits import Limits
from .holding import Held, holding

TRANSPORT: Final = "memory"


@asynccontextmanager
async def open_memory(
    server: RequestHandler,
    *,
    principal: Principal | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> AsyncGenerator[MemoryTransport, None]:
    """A transport to a server object whose lifespan is held open, for the length of a block.

    Where the server has a lifespan, calls that other tasks still make at its end are cancelled,
    and raise TransportLost there; then the lifespan ends. The arguments are those of
    :class:`MemoryTransport`.
    """
    async with holding(server) as held:
        transport = MemoryTransport(server, principal, limits)
        transport.hold(held)
        yield transport


@define
class MemoryTransport:
    """A :class:`~antiphon.engine.exchange.ClientTransport` to a server object.

    A request is served in the task that makes it: cancelling the one cancels the other. A server
    that has a lifespan needs :func:`open_memory`.

    Attributes:
        server: the server.
        principal: whom the server takes for the sender, as if credentials had been checked.
        limits: what the client takes from the server.
    """

    server: RequestHandler
    principal: Principal | None = None
    limits: Limits = DEFAULT_LIMITS
    name: str = field(init=False)
    _held: Held = field(factory=Held, init=False, repr=False)
    _lives: bool = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.name = self.server.name
        self._lives = has_lifespan(self.server)

    def hold(self, held: Held) -> None:
        """Serve within a run of the server."""
        self._held = held

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Have the request served; see :class:`~antiphon.engine.exchange.ClientTransport`.

        Raises:
            UsageError: the server has a lifespan, and it is not held open.
        """
        await trio.lowlevel.checkpoint()
        if self._lives and not self._held.open:
            raise UsageError(
                f"{self.name} has a lifespan, which is not open: give open_client the server, or "
                "a transport of open_memory(server) within its block"
            )
        sent = write_message(request)
        line = _Line(self._arrived, on_notification)
        try:
            serve = self._within_the_run if self._lives else self._served
            reply = await serve(sent, request, line.notify)
        finally:
            line.close()
        arrived = self._arrived(reply)
        if not isinstance(arrived, Success | Failure):
            raise InvalidReply(f"{self.name} answered with something that is no reply")
        return arrived

    async def _within_the_run(
        self, sent: bytes, request: Request, notify: Callable[[Notification], Awaitable[None]]
    ) -> Reply:
        with self._held.call():
            return await self._served(sent, request, notify)
        raise TransportLost(f"{self.name} was closed during the call", sent=True)

    async def _served(
        self, sent: bytes, request: Request, notify: Callable[[Notification], Awaitable[None]]
    ) -> Reply:
        try:
            message = read_message(sent, self.server.limits)
        except ProtocolError as error:
            return failure(error, request.id)
        assert isinstance(message, Request)  # noqa: S101  # it was one when it was written
        exchange = Exchange(self.principal, notify, TRANSPORT, self._held.lifespan)
        return await self.server.handle(message, exchange)

    def _arrived(self, message: Message) -> Message:
        try:
            return read_message(write_message(message), self.limits)
        except (ProtocolError, UsageError) as error:
            raise InvalidReply(f"{self.name} sent what cannot be sent: {error}") from None


@define
class _Line:
    """The way of notifications, open as long as their request."""

    arrived: Callable[[Message], Message]
    on_notification: OnNotification
    open: bool = True

    async def notify(self, notification: Notification) -> None:
        await trio.lowlevel.checkpoint()
        message = self.arrived(notification)
        if self.open and isinstance(message, Notification):
            self.on_notification(message)

    def close(self) -> None:
        self.open = False
