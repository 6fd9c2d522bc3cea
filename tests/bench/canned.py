"""An ASGI application that says what a server of the flow would, and does no work for it.

What hypercorn and the client cost by themselves: nothing behind them can be faster.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from antiphon.engine.jsonrpc import dumps

FORM: Final = {
    "type": "object",
    "properties": {"region": {"type": "string", "enum": ["eu-west-1", "us-east-1", "prod"]}},
    "required": ["region"],
}
QUESTION: Final = {
    "method": "elicitation/create",
    "params": {"message": "Which region should 'orders' live in?", "requestedSchema": FORM},
}
META: Final = {"io.modelcontextprotocol/serverInfo": {"name": "Provisioner", "version": "1.0"}}
DATABASE: Final = {"name": "orders", "region": "eu-west-1"}


def _reply(kind: str, **members: object) -> bytes:
    result = {"resultType": kind, **members, "_meta": META}
    return dumps({"jsonrpc": "2.0", "id": 1, "result": result})


INTERIM: Final = _reply(
    "input_required", requestState="x" * 400, inputRequests={"region": QUESTION}
)
COMPLETE: Final = _reply(
    "complete",
    content=[{"type": "text", "text": dumps(DATABASE).decode()}],
    structuredContent=DATABASE,
)


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
    reply = COMPLETE if b'"requestState"' in body else INTERIM
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(reply))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})
