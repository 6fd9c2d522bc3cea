"""The ASGI events of one HTTP request: its body as it comes in, a whole response going out.

Specification: ASGI 3.0, "HTTP & WebSocket ASGI Message Format".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from typing import Any, Final, TypeAlias

import trio
from attrs import define, field

from .http_errors import Refused

# Every server and framework has its own types for these; such wide ones fit all of them.
Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]

LINGER_SECONDS: Final = 2.0
"""How long the rest of a refused body is read, so that its sender lives to see the refusal."""


async def read_body(receive: Receive, limit: int) -> bytearray | None:
    """Read the whole body, or None when the client leaves first.

    Raises:
        Refused: 413, as soon as more than ``limit`` bytes have come.
    """
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        chunk: bytes = event.get("body", b"")
        if len(body) + len(chunk) > limit:
            raise too_large(limit)
        body += chunk
        if not event.get("more_body", False):
            return body


def too_large(limit: int) -> Refused:
    """The refusal of a body that passes ``Limits.message_bytes``."""
    return Refused(413, f"The body is too large; limit message_bytes is {limit}")


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


@define(eq=False)
class _Rest:
    """What a client still sends of a body that nobody wants."""

    receive: Receive
    limit: float
    over: trio.Event = field(factory=trio.Event)
    gone: bool = False

    async def drop(self) -> None:
        size = 0
        more = True
        while more:
            event = await self.receive()
            size += len(event.get("body", b""))
            more = event.get("more_body", False)
            self.gone = event["type"] == "http.disconnect"
            if not more or size > self.limit:
                self.over.set()


async def refuse(scope: Scope, receive: Receive, send: Send, refusal: Refused, limit: int) -> None:
    """Answer a request before its body was read.

    The answer goes out at once. Then at most ``limit`` bytes of the body are dropped, for at
    most :data:`LINGER_SECONDS`: a server that closes on a client that is still sending resets
    the connection, and the client sees that in place of the answer. A body that ends by then
    leaves the connection usable.
    """
    # From HTTP/2 on the body is dropped to its end. There a stream costs little, and all of
    # hypercorn's trio worker falls over data for a stream that has ended (its issue 329).
    patient = not scope.get("http_version", "1.1").startswith("1")
    rest = _Rest(receive, inf if patient else limit)
    async with trio.open_nursery() as nursery:
        # Past the limit it goes on to the very end: hypercorn's last send waits for room in
        # the queue of events, which nobody else reads now.
        nursery.start_soon(rest.drop)
        await send_whole(send, refusal.status, refusal.body, *refusal.headers, more=True)
        with trio.move_on_after(inf if patient else LINGER_SECONDS):
            await rest.over.wait()
        if not rest.gone:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        nursery.cancel_scope.cancel()
