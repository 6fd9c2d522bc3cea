"""An ASGI application that says what a server of the flow would, and does no work for it.

What hypercorn and the client cost by themselves: nothing behind them can be faster.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.bench.canned_replies import reply_to


async def app(
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Answer a request that carries a state with the result, and any other with the question."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    body = b""
    more = True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    reply = reply_to(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(reply))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})
