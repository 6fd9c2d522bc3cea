"""What has to be done between the steps of a request, which httpcore2 takes and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import trio
from attrs import define

if TYPE_CHECKING:
    import httpcore2


@define(eq=False)
class Handshake:
    """Keeps a cancellation around a TLS handshake from leaving its connection behind.

    httpcore2 (2.16) closes it when the handshake fails; when the handshake is cancelled, it
    leaves the socket to the garbage collector, and the server waiting. Where the cancellation
    comes after the handshake and before the request is begun, it even keeps the connection in
    the pool, for ever and unused: so there none comes.

    It also keeps the id of a session out of what httpcore2 logs, which are heads of answers too.

    Args:
        scope: around the request.
        session: whether the head of its answer may name a session.
    """

    _scope: trio.CancelScope
    _session: bool
    _socket: httpcore2.AsyncNetworkStream | None = None

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow the steps that httpcore2 names to a request's ``trace`` extension."""
        self._scope.shield = event == "connection.start_tls.complete"
        if event == "connection.connect_tcp.complete":
            self._socket = info["return_value"]
        elif event == "connection.start_tls.failed" and self._socket is not None:
            with trio.CancelScope(shield=True):
                await self._socket.aclose()
        elif self._session and event.endswith(".receive_response_headers.complete"):
            # It is this very object that is logged next.
            cast("dict[str, Any]", info)["return_value"] = "(not shown)"
