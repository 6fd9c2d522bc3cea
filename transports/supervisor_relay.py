"""Between the workers of a supervisor: a session lives in one of them, and connections reach any.

Each worker also listens on a Unix socket in a folder that nobody else may enter. One that is sent
a request of another's session passes it on to that one, and passes the answer back. What lets the
request in is looked at there, as if it had come there at first. Where the other worker is gone,
its sessions are too: then the request is served here, where they are as unknown as they are there.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import httpcore2
import msgspec
import trio
from attrs import define, field, frozen

from .asgi_lifespan import live
from .asgi_messages import Receive, Scope, Send, send_head, send_whole, until_disconnect
from .headers import SESSION_HEADER
from .http_errors import TEXT
from .stopping import App

_SESSION: Final = SESSION_HEADER.lower().encode()
_WORKER: Final = re.compile(rb"w([0-9]{1,5})-")
_SEEN: Final = b"antiphon-seen"
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"expect",
    }
)
_LENGTH: Final = frozenset({b"content-length"})
_NOT_ON: Final = _HOP_BY_HOP | {_SEEN}
_NOT_BACK: Final = _HOP_BY_HOP | {b"date", b"server"}
"""The server that sends a response to the client says the latter again."""

_RESTORED: Final = ("server", "client", "scheme")


def socket_of(folder: str, number: int) -> str:
    """Where the worker of this number listens for the others."""
    return str(Path(folder) / f"{number}.sock")


@frozen(eq=False)
class Relay:
    """An ASGI application that is ``app``, except for the sessions of other workers.

    Attributes:
        app: what is served here.
        folder: of the sockets.
        workers: how many there are.
        number: which of them this is.
    """

    app: App
    folder: str
    workers: int
    number: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send, *more: object) -> None:
        """Serve one ASGI connection."""
        owner = _owner(scope) if scope["type"] == "http" else None
        if owner is not None and owner != self.number and owner < self.workers:
            passed = _Passed(socket_of(self.folder, owner), scope, receive, send)
            if await passed.on():
                return
        await self.app(scope, receive, send, *more)


def _owner(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name.lower() == _SESSION and (match := _WORKER.match(value)):
            return int(match[1])
    return None


@define(eq=False)
class _Passed:
    """One request that another worker serves."""

    _socket: str
    _scope: Scope
    _receive: Receive
    _send: Send
    _opened: bool = field(default=False, init=False)
    _ended: bool = field(default=False, init=False)
    _reached: bool = field(default=True, init=False)
    # Nobody else reads what the client sends.
    _unread: trio.Event = field(factory=trio.Event, init=False)

    async def on(self) -> bool:
        """Pass the request on, and its answer back; False where there is nobody to serve it.

        Nothing of it was read then, and nothing said.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._leave, nursery.cancel_scope)
                await self._exchange()
                nursery.cancel_scope.cancel()
        except* OSError:
            pass  # So may a server say of a send that the client has left (ASGI 2.4).
        return self._reached

    async def _leave(self, passing: trio.CancelScope) -> None:
        await self._unread.wait()
        # What is left of a body that was answered before its end is dropped: hypercorn's last
        # send waits for room in the queue of events.
        await until_disconnect(self._receive)
        if not self._ended:
            passing.cancel()

    async def _exchange(self) -> None:
        try:
            async with httpcore2.AsyncConnectionPool(uds=self._socket) as pool:
                await self._answered(pool)
        except httpcore2.ConnectError:
            self._reached = False
        except (httpcore2.NetworkError, httpcore2.ProtocolError):
            self._unread.set()
            # A response that has begun is left without its end, which the client is told.
            if not self._opened:
                self._ended = True
                text = b"The worker that has this session died"
                await send_whole(self._send, 502, text, TEXT)

    async def _answered(self, pool: httpcore2.AsyncConnectionPool) -> None:
        target = self._scope["raw_path"]
        if query := self._scope["query_string"]:
            target += b"?" + query
        async with pool.stream(
            self._scope["method"].encode(),
            httpcore2.URL(scheme=b"http", host=b"worker", target=target),
            headers=_to_pass(self._scope),
            content=self._body(),
        ) as response:
            self._opened = True
            self._unread.set()
            kept = [(n, v) for n, v in response.headers if n.lower() not in _NOT_BACK]
            await send_head(self._send, response.status, kept)
            async for chunk in response.aiter_stream():
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        # hypercorn says that the client has left before it has done all that this asks for.
        self._ended = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _body(self) -> AsyncGenerator[bytes, None]:
        more = True
        while more:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                # The other one sees a request that breaks off.
                raise httpcore2.ReadError("the client has left")
            more = event.get("more_body", False)
            yield event.get("body", b"")
        self._unread.set()


def _to_pass(scope: Scope) -> list[tuple[bytes, bytes]]:
    seen = {name: scope.get(name) for name in _RESTORED}
    names = {name.lower() for name, _ in scope["headers"]}
    # A length beside a transfer coding says nothing, and is not passed on (RFC 9112, 6.3).
    kept = names - _NOT_ON - (_LENGTH if b"transfer-encoding" in names else set())
    headers = [(n, v) for n, v in scope["headers"] if n.lower() in kept]
    return [*headers, (_SEEN, msgspec.json.encode(seen))]


# -- the other end ----------------------------------------------------------------------------


def inbox(app: App) -> App:
    """What serves the requests that others pass on: ``app``, which is held open elsewhere."""

    async def receiving(scope: Scope, receive: Receive, send: Send, *more: object) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await live(nullcontext(), "relay", receive, send)
        elif scope["type"] == "http":
            await app(_restored(scope), receive, send, *more)

    return receiving


def _restored(scope: Scope) -> Scope:
    """The scope as it was where the request came in: of guards it is the address that matters."""
    (seen,) = [value for name, value in scope["headers"] if name == _SEEN]
    headers = [(n, v) for n, v in scope["headers"] if n != _SEEN]
    return {**scope, **msgspec.json.decode(seen, type=dict[str, Any]), "headers": headers}
