"""What carries messages to a server of an earlier revision, after ``initialize``: the seam.

Above it stands :class:`~.handshake_client.OlderTransport`, which speaks the current revision to
its client; beneath it lines or HTTP, which know how messages travel and nothing of what they say.

Specification: 2025-11-25, basic/lifecycle and basic/transports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, runtime_checkable

import trio
from attrs import field, frozen

from .exchange import OnNotification, TransportLost
from .jsonrpc import Failure, Notification, Reply, Request, Success

META_OPEN_CALL: Final = "antiphon/openCall"
"""In the ``_meta`` of an interim result whose state names a call that is open on a connection: it
means nothing to any other process, and cannot be stored."""

OnRequest: TypeAlias = Callable[[Request], None]
"""Takes a request of the server's; it must not block, and raises nothing."""


class HandshakeLink(Protocol):
    """One connection, or one session, with a server of an earlier revision.

    Exchanges may run concurrently. What the server sends of its own accord is delivered once:
    to the exchange that it certainly belongs to (HTTP: on whose stream it came; lines: whose
    progress token it carries), else to :meth:`attend`, and where that does not run, to the
    oldest open exchange. The callbacks raise nothing.
    """

    name: str
    """For messages and logs: the command or the address, without secrets."""

    async def exchange(
        self, request: Request, on_notification: OnNotification, on_request: OnRequest
    ) -> Reply:
        """Send one request and wait for its reply, as long as it takes.

        Cancelling it tells the server by ``notifications/cancelled`` (best effort, shielded and
        bounded; never of ``initialize``), and over HTTP closes its stream.

        An ``initialize`` begins a new session: it is sent without the headers of a former one.

        Raises:
            SessionLost: the server does not know the session any more (HTTP: 404 to a request
                with a session; lines: the connection was over before the request was sent).
            TransportLost: the connection broke, or could not be made.
            InvalidReply: the server answered with something that is no reply to this request.
        """
        ...

    async def say(self, message: Notification | Success | Failure) -> None:
        """Send a notification, or the answer to a request of the server's.

        Raises:
            TransportLost, InvalidReply: as for :meth:`exchange`.
        """
        ...

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Take what belongs to no open exchange, until it is cancelled.

        It returns where nothing of the kind can come: HTTP, where the server answers 405 to GET.
        A stream that breaks is taken up again. ``task_status`` is told at once, before any
        answer of the server.

        Raises:
            SessionLost, TransportLost: the session or the connection is over for good.
        """
        ...

    def begun(self, version: str) -> None:
        """The handshake is done: from now on every request says so, where the transport does.

        HTTP sends ``MCP-Protocol-Version`` and the ``Mcp-Session-Id`` that came with the reply
        to ``initialize``.
        """
        ...

    async def end(self) -> None:
        """Tell the server that the session is over, best effort and bounded; it raises nothing."""
        ...


class SessionLost(TransportLost):
    """The server does not know the session any more; a new handshake begins another one."""

    def __init__(self, message: str, *, sent: bool = True, detail: str = "") -> None:
        super().__init__(message, sent=sent, detail=detail)


@runtime_checkable
class SpeaksOlder(Protocol):
    """A client's transport that can also carry the messages of earlier revisions.

    Attributes:
        probes: whether the server's revision is found out by a request of its own, before the
            first one (lines), or by the first one itself (HTTP).
    """

    probes: bool

    def older(self) -> HandshakeLink:
        """A link over the same connection, or to the same address; called once a handshake."""
        ...


@runtime_checkable
class WithStatus(Protocol):
    """A failure that came with a status of HTTP: an error reply, or what is raised for none."""

    status: int


@frozen
class RefusedBy(Failure):
    """An error reply that came with a status of HTTP below 500: the server did nothing."""

    status: int = field(kw_only=True)
