"""A response that streams: server-sent events, one message each, and keep-alive comments.

Specification: basic/transports/streamable-http, "Receiving Messages"; the WHATWG's
"Server-sent events".
"""

from __future__ import annotations

from typing import Final

import trio
from attrs import define, field

from ..engine.jsonrpc import Notification, Request, write_message
from .asgi_messages import Send, send_head

HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
COMMENT: Final = b": keep-alive\n\n"


def event(message: bytes) -> bytes:
    """One event. The JSON door writes no line ends, so a message is one ``data:`` line."""
    return b"data: %b\n\n" % message


@define(eq=False)
class EventStream:
    """The stream that a request's reply becomes when anything is said before it.

    Attributes:
        opened: whether the head has been sent, so that the reply must be an event too.
        closed: whether nothing more may be sent: the reply is out, or the client has left.
    """

    _send: Send
    opened: bool = False
    closed: bool = False
    # Tasks of one handler may speak at the same time as each other and as the keep-alive.
    _turn: trio.Lock = field(factory=trio.Lock)
    _spoke: float = field(factory=trio.current_time)

    async def notify(self, message: Notification | Request) -> None:
        """Send a notification, or a request of the server's own to a client of an earlier revision.

        After the reply, or without a client, it is dropped.

        Raises:
            UsageError: it cannot be said in JSON.
        """
        await self._write(event(write_message(message)))

    async def open(self) -> None:
        """Send the head, although there is nothing to say yet."""
        async with self._turn:
            try:
                await self._open()
            except OSError:
                self.closed = True

    async def keep_alive(self, every: float) -> None:
        """Send a comment whenever nothing was sent for ``every`` seconds."""
        while not self.closed:
            due = self._spoke + every
            if trio.current_time() >= due:
                await self._write(COMMENT)
            else:
                await trio.sleep_until(due)

    async def end(self, message: bytes) -> None:
        """Send the reply as the last event."""
        async with self._turn:
            self.closed = True
            await self._send({"type": "http.response.body", "body": event(message)})

    async def finish(self) -> None:
        """End the stream without a reply."""
        await self.open()
        async with self._turn:
            if not self.closed:
                self.closed = True
                await self._send({"type": "http.response.body", "body": b""})

    async def _write(self, data: bytes) -> None:
        async with self._turn:
            if self.closed:
                return
            try:
                await self._open()
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
            except OSError:
                # So an ASGI server may say that the client has left; a disconnect follows.
                self.closed = True
            self._spoke = trio.current_time()

    async def _open(self) -> None:
        if self.opened:
            return
        # A handler's own deadline around a notification must not leave half a head behind.
        with trio.CancelScope(shield=True):
            await send_head(self._send, 200, HEADERS)
        self.opened = True
