"""The ASGI events of one HTTP request: its body as it comes in, a whole response going out.

Specification: ASGI 3.0, "HTTP & WebSocket ASGI Message Format".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from typing import Any, Final, TypeAlias

import trio
from attrs import define

from ..engine.limits import raising
from .http_errors import Refused

# Every server and framework has its own types for these; such wide ones fit all of them.
Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]

LINGER_SECONDS: Final = 2.0
"""How long the rest of a refused body is read, so that its sender lives to see the refusal."""


@define(eq=False)
class RequestBody:
    """The body of one request, as it comes in.

    Attributes:
        ended: whether nothing more comes.
        gone: whether that is because the client has left.
    """

    _receive: Receive
    ended: bool = False
    gone: bool = False

    async def read(self, limit: int) -> bytearray | None:
        """The whole body, or None when the client leaves first.

        Raises:
            Refused: 413, as soon as more than ``limit`` bytes have come.
        """
        content = bytearray()
        while not self.ended:
            part = await self._part()
            if len(content) + len(part) > limit:
                raise too_large(limit)
            content += part
        return None if self.gone else content

    async def drop(self, limit: float, dropped: trio.Event) -> None:
        """Drop the rest; ``dropped`` is set at its end, or after more than ``limit`` bytes."""
        size = 0
        while not self.ended:
            size += len(await self._part())
            if size > limit:
                dropped.set()
        dropped.set()

    async def _part(self) -> bytes:
        event = await self._receive()
        self.gone = event["type"] == "http.disconnect"
        self.ended = self.gone or not event.get("more_body", False)
        part: bytes = event.get("body", b"")
        return part


def too_large(limit: int) -> Refused:
    """The refusal of a body that passes ``Limits.message_bytes``."""
    how = raising("message_bytes")
    return Refused(413, f"The body is too large; limit message_bytes is {limit} {how}")


async def until_disconnect(receive: Receive) -> None:
    """Return when the client has left; whatever else it sends is dropped."""
    while (await receive())["type"] != "http.disconnect":
        await trio.lowlevel.checkpoint()  # Whatever the server does, we do not spin.


async def send_whole(
    send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes], more: bool = False
) -> None:
    """Send a response that is one body of known length.

    Args:
        more: leave the message open, so that the server goes on reading the request.
    """
    await send_head(send, status, (*headers, (b"content-length", b"%d" % len(body))))
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def send_head(send: Send, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Send the head of a response."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def refuse(scope: Scope, body: RequestBody, send: Send, refusal: Refused, limit: int) -> None:
    """Answer a request before its body was read.

    The answer goes out at once. Then at most ``limit`` bytes of the body are dropped, for at
    most :data:`LINGER_SECONDS`: a server that closes on a client that is still sending resets
    the connection, and the client sees that in place of the answer. A body that ends by then
    leaves the connection usable.
    """
    # From HTTP/2 on the body is dropped to its end. There a stream costs little, and all of
    # hypercorn's trio worker falls over data for a stream that has ended (its issue 329).
    patient = not scope.get("http_version", "1.1").startswith("1")
    dropped = trio.Event()
    async with trio.open_nursery() as nursery:
        # Past the limit it goes on to the very end: hypercorn's last send waits for room in
        # the queue of events, which nobody else reads now.
        nursery.start_soon(body.drop, inf if patient else limit, dropped)
        await send_whole(send, refusal.status, refusal.body, *refusal.headers, more=True)
        with trio.move_on_after(inf if patient else LINGER_SECONDS):
            await dropped.wait()
        if not body.gone:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        nursery.cancel_scope.cancel()
