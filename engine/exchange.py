"""The seam between the engine and the transports.

A server sees an :class:`Exchange`: one request, as the transport received it. A client sees a
:class:`ClientTransport`: something that takes a request and brings its reply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from attrs import define, field, frozen

from .errors import CallError, WorldError, printable
from .jsonrpc import Failure, JsonObject, Notification, Reply, Request, Success, dumps
from .limits import Limits
from .mirrored import Mirrored

if TYPE_CHECKING:
    from .handshake_session import HandshakeSession


@frozen
class Principal:
    """Who sends a request, as a verifier of credentials has established it.

    Never made from anything that the request itself claims.
    """

    client: str
    issuer: str | None = None
    subject: str | None = None


async def _dropped(notification: Notification) -> None:
    """Nobody listens: what a server says besides its reply is lost, as the protocol allows."""


@define
class Exchange:
    """One request as the transport sees it.

    Attributes:
        principal: the verified sender, or None where nobody was asked for credentials.
        notify: sends a notification that belongs to this request; it waits while the peer does
            not read.
        transport: the transport's name, for logs.
        lifespan: what the server's lifespan gave while this transport serves.
    """

    principal: Principal | None = None
    notify: Callable[[Notification], Awaitable[None]] = _dropped
    transport: str = "memory"
    lifespan: object = None


def verified_principal(exchange: Exchange) -> str | None:
    """What a token is bound to by default: the verified client, issuer and subject."""
    principal = exchange.principal
    if principal is None:
        return None
    return dumps([principal.client, principal.issuer, principal.subject]).decode()


class RequestHandler(Protocol):
    """What a server end of a transport asks for the reply to a request."""

    @property
    def name(self) -> str:
        """The server's name, for logs."""
        ...

    @property
    def limits(self) -> Limits:
        """What the transport holds its peer to."""
        ...

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        """Serve one request. Every fault becomes a reply: only cancellation is raised."""
        ...


@runtime_checkable
class Running(Protocol):
    """A request handler that has to be held open while a transport serves it."""

    @property
    def has_lifespan(self) -> bool:
        """Whether its handlers count on what ``running`` opens."""
        ...

    def running(self) -> AbstractAsyncContextManager[object]:
        """Gives the value for :attr:`Exchange.lifespan`."""
        ...


@runtime_checkable
class Handshaking(Protocol):
    """A server that peers of earlier revisions can begin a session with.

    Attributes:
        handshake: whether it serves them.
    """

    @property
    def handshake(self) -> bool:  # documented above
        ...

    def open_session(self, params: JsonObject) -> HandshakeSession:
        """Take the parameters of ``initialize``; raises ProtocolError where it is refused."""
        ...

    def sessionless(self, version: str) -> HandshakeSession:
        """Serve single requests of an earlier revision whose ``initialize`` was forgotten."""
        ...


def held_open(handler: RequestHandler) -> AbstractAsyncContextManager[object]:
    """Hold a handler open for as long as a transport serves it."""
    return handler.running() if isinstance(handler, Running) else nullcontext()


def has_lifespan(handler: RequestHandler) -> bool:
    """Whether a handler must not be asked anything unless it is held open."""
    return isinstance(handler, Running) and handler.has_lifespan


OnNotification: TypeAlias = Callable[[Notification], None]


class ClientTransport(Protocol):
    """What carries a client's requests.

    Requests may run concurrently. Cancelling an :meth:`exchange` tells the server so, in the
    transport's own way, and never breaks the others.
    """

    name: str
    """For messages and logs: the command or the address, without secrets."""

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """Send a request and wait for its reply.

        Notifications that belong to the request go to ``on_notification``, which must not
        block.

        Raises:
            TransportLost: the connection broke, or could not be made.
            InvalidReply: the server answered with something that is no reply to this request.
        """
        ...


@runtime_checkable
class Mirroring(Protocol):
    """A client's transport that repeats arguments of tools beside the body: HTTP, in headers.

    Its client leaves tools out of lists that do not say properly which arguments those are
    (server/tools, "x-mcp-header").
    """

    mirrors: bool
    """Whether it does; what stands around another transport says what that one says."""


@frozen
class MirroredRequest(Request):
    """A ``tools/call`` that such a transport repeats these parameters of, and others do not."""

    mirrored: tuple[Mirrored, ...] = field(default=(), repr=False)


@frozen
class Deferral:
    """What is known of a request that a server would not serve now.

    Attributes:
        unserved: whether it certainly did nothing, so that any request may be sent again.
        after: for how many seconds it wants no request, where it said so.
    """

    unserved: bool
    after: float | None = None


@frozen
class Deferred(Failure):
    """An error reply of which the transport knows that it means "not now"."""

    deferral: Deferral = field(kw_only=True)


@runtime_checkable
class FullyNamed(Protocol):
    """A client's transport whose name leaves out a part of its target, such as what is secret.

    Two transports with one ``full_target`` lead to one server. Others are told apart by ``name``.
    """

    full_target: str
    """The whole command or address. It is compared, and never shown, logged or stored."""


@runtime_checkable
class Negotiating(Protocol):
    """A client's transport that finds out by itself which revision its server speaks."""

    negotiates: bool
    """Whether it does; what stands around another transport says what that one says."""


@runtime_checkable
class HoldingOpen(Protocol):
    """A client's transport that keeps calls open between an interim result and the next leg."""

    def abandon(self, state: str) -> None:
        """Nobody will come back with this state. A state of another's is none of its business."""
        ...


AnswerRoots: TypeAlias = Callable[[Request], Awaitable[Success | Failure]]
"""Answers a ``roots/list`` of a server; it raises nothing but its cancellation."""


@runtime_checkable
class AskedForRoots(Protocol):
    """A client's transport whose server may ask for the client's roots outside of any call."""

    def answer_roots(self, answer: AnswerRoots) -> None:
        """Have them told so. Where nobody says this, there are none to be told."""
        ...


class TransportLost(CallError, WorldError):
    """The connection to the server broke before a reply came.

    Attributes:
        sent: whether the server may have received the request. Where it is False, asking again
            is safe; where it is True, a tool may have run.
        reason: what happened, in one sentence.
        detail: what the operating system or the child process said last, as it came; the text of
            this error has its lines without what a terminal would obey.
    """

    def __init__(self, message: str, *, sent: bool, detail: str = "") -> None:
        told = "".join(f"\n{printable(line)}" for line in detail.splitlines())
        super().__init__(f"{message}{told}")
        self.sent = sent
        self.reason = message
        self.detail = detail
