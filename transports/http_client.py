"""The client's end of Streamable HTTP: each request is its own POST.

Nothing is tried twice here: :class:`~antiphon.engine.exchange.TransportLost` says whether the
request may have arrived, and whoever drives the conversation decides. Nothing has a read timeout
here either: a stream may be silent for hours, and a cancel scope around ``exchange`` ends it.
Cancelling closes the connection that carries the answer, which is how HTTP tells the server.

Specification: basic/transports/streamable-http, basic/patterns/cancellation.
"""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias

import httpx2
import trio
from attrs import define, field

from ..engine.errors import UsageError
from ..engine.exchange import MirroredRequest, OnNotification, TransportLost
from ..engine.jsonrpc import DEFAULT_LIMITS, Reply, Request, write_message
from ..engine.limits import Limits
from ..engine.mirrored import PREFIX
from .headers import metadata_headers
from .http_answer import Answer, quoted
from .http_causes import cause_of
from .http_older import OlderHttp, OnStatus, Opened, RawHeaders
from .http_steps import Handshake
from .mirrored_headers import mirrored_headers

Token: TypeAlias = str | Callable[[], Awaitable[str]]
_Trace: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[None]]
_Send: TypeAlias = Callable[[httpx2.Request], Awaitable[httpx2.Response]]

_FIXED: Final[RawHeaders] = [
    (b"Accept", b"application/json, text/event-stream"),
    # A coded body could grow without bound while it is decoded: none is asked for, none taken.
    (b"Accept-Encoding", b"identity"),
    (b"Content-Type", b"application/json"),
]
_RESERVED: Final = frozenset(
    b"accept accept-encoding content-type content-length content-encoding transfer-encoding"
    b" mcp-protocol-version mcp-method mcp-name mcp-session-id last-event-id".split()
)
_RESERVED_PREFIX: Final = PREFIX.lower().encode()

_CONNECTIONS: Final = 100
_IDLE_SECONDS: Final = 4.0
"""hypercorn, uvicorn and Node close a connection that was idle for 5 s. Leaving it before they
do, a request is hardly ever lost on a connection that is just being closed."""

_PROBES: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A peer that is gone is noticed after two minutes, however silent a stream may be. Seconds and
times; the first two are one setting, which systems name differently."""

_SOCKET_OPTIONS: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _PROBES.items()
        if hasattr(socket, name)
    ),
]

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")
_TOKEN: Final = re.compile(r"[!-~]+")

_NOT_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)


@asynccontextmanager
async def open_http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    token: Token | None = None,
    limits: Limits = DEFAULT_LIMITS,
    client: httpx2.AsyncClient | None = None,
    connect_timeout: float = 10.0,
) -> AsyncGenerator[HttpTransport]:
    """Open a transport to the MCP endpoint at ``url``; no connection is made before it is needed.

    Redirects are not followed and cookies not kept. The environment's proxies and ``.netrc``
    are not used. Certificates are checked against the system's, or those which
    ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` name. Up to 100 requests are under way at a time;
    further ones wait. A server that vanishes without a word is noticed after two minutes. For a
    proxy, other certificates or other numbers give a ``client``. The end of the block ends the
    exchanges that other tasks still have under way.

    Args:
        url: ``http://`` or ``https://``. A user and password in it are sent as basic
            credentials. They, the query and the fragment appear in no name, log or error.
        headers: sent with each request, besides those that the protocol prescribes.
        token: a bearer token, or what is awaited for one before each request.
        limits: ``message_bytes`` bounds a body and each event of a stream.
        client: sends the requests in place of a pool of our own. Its authentication, default
            headers and hooks apply; its timeouts and cookies do not. It is not closed, and it
            logs addresses in its own way.
        connect_timeout: seconds for a connection, and again for its TLS handshake.

    Raises:
        UsageError: the address, a header or the token cannot be used.
    """
    address = _parse(url)
    common = _common_headers(address, headers or {}, token, client)
    async with _sender(address, client) as send:
        transport = HttpTransport(
            name=_shown(address),
            url=address.copy_with(username=None, password=None, fragment=None),
            headers=common,
            ask_token=token if callable(token) else None,
            limits=limits,
            send=send,
            connect_timeout=connect_timeout,
        )
        try:
            yield transport
        finally:
            transport.close()


@asynccontextmanager
async def _sender(address: httpx2.URL, client: httpx2.AsyncClient | None) -> AsyncGenerator[_Send]:
    if client is not None:
        yield partial(client.send, stream=True, follow_redirects=False)
        return
    limits = httpx2.Limits(
        max_connections=_CONNECTIONS,
        max_keepalive_connections=_CONNECTIONS,
        keepalive_expiry=_IDLE_SECONDS,
    )
    # Reading the system's certificates takes 40 ms, which plain HTTP can spare: a context that
    # has read none trusts nobody.
    verify = True if address.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Beneath httpx2's client there are no cookies, no redirects and no log of addresses.
    async with httpx2.AsyncHTTPTransport(
        verify=verify, limits=limits, socket_options=_SOCKET_OPTIONS
    ) as pool:
        yield pool.handle_async_request


def _unheard(request: Request, status: int) -> None:
    """Nobody wants to know."""


@define(eq=False, kw_only=True)
class HttpTransport:
    """A :class:`~antiphon.engine.exchange.ClientTransport` over HTTP; :func:`open_http` makes it.

    Exchanges may run concurrently. Cancelling one closes its connection and no other.

    Attributes:
        name: the address without user, password, query and fragment.
        full_target: the same with its query.
        mirrors: arguments that a tool marks are repeated in headers.
        probes: the server's revision shows in the answer to any request.
        closed: whether :func:`open_http` has ended.
        on_status: is told the HTTP status of each answer, whichever revision it is of.
    """

    name: str
    mirrors: bool = field(default=True, init=False, repr=False)
    probes: bool = field(default=False, init=False, repr=False)
    closed: bool = field(default=False, init=False, repr=False)
    on_status: OnStatus = field(default=_unheard, init=False, repr=False)
    _url: httpx2.URL = field(alias="url", repr=False)
    _headers: RawHeaders = field(alias="headers", repr=False)
    _ask_token: Callable[[], Awaitable[str]] | None = field(alias="ask_token", repr=False)
    _limits: Limits = field(alias="limits", repr=False)
    _send: _Send = field(alias="send", repr=False)
    _connect_timeout: float = field(alias="connect_timeout", repr=False)
    _under_way: set[trio.CancelScope] = field(factory=set[trio.CancelScope], init=False, repr=False)

    @property
    def full_target(self) -> str:  # documented above
        return str(self._url)

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        """POST a request and wait for its reply, as long as it takes.

        A JSON-RPC error is a reply too, whatever the HTTP status. Where the server could not
        read the request's id, ``Failure.id`` is None.

        Raises:
            TransportLost: no connection came about (``sent`` is False), it broke, or the
                transport was closed meanwhile.
            BadStatus: an error status without a JSON-RPC reply.
            InvalidReply: another answer that is no reply to this request.
            UsageError: the request or the token cannot be sent, or the transport is closed.
        """
        body = write_message(request)
        async with self._opened("POST", _mirroring(request), body, session=False) as opened:
            post, response = opened
            self.on_status(request, response.status_code)
            answer = Answer(self.name, post, response, request.id, on_notification, self._limits)
            return await answer.reply()

    def older(self) -> OlderHttp:
        """A link to the same address for the messages of an earlier revision: a session."""
        return OlderHttp(self.name, self._opened, self._limits, self._told)

    def _told(self, request: Request, status: int) -> None:
        self.on_status(request, status)  # whoever is to be told by then

    def close(self) -> None:
        """End what is under way: the pool would send what waits in it even after its own end."""
        self.closed = True
        for scope in self._under_way:
            scope.cancel()

    @asynccontextmanager
    async def _opened(
        self, method: str, own: RawHeaders, body: bytes | None = None, *, session: bool = True
    ) -> AsyncGenerator[Opened]:
        """Send a request; its answer has to be closed by whoever reads it."""
        if self.closed:
            raise UsageError(f"The transport to {self.name} is closed")
        with trio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                own = [*await self._credentials(), *own]
                request = self._request(method, own, body, self._watch(scope, session=session))
                try:
                    yield request, await self._send(request)
                except httpx2.HTTPError as error:
                    raise self._lost(request, error) from None
            finally:
                self._under_way.remove(scope)
        if scope.cancelled_caught:
            what = f"The connection to {self.name} was closed during the call"
            raise TransportLost(what, sent=True)

    async def authorization(self) -> bytes:
        """A digest of the credentials that the next request will have."""
        own = await self._credentials()
        return hashlib.blake2b(repr([*self._headers, *own]).encode(), digest_size=32).digest()

    async def _credentials(self) -> RawHeaders:
        return [] if self._ask_token is None else [_bearer(await self._ask_token())]

    def _request(
        self, method: str, own: RawHeaders, body: bytes | None, watch: dict[str, _Trace]
    ) -> httpx2.Request:
        if body is None:
            own = [header for header in [*self._headers, *own] if header[0] != b"Content-Type"]
        else:
            own = [*self._headers, *own, (b"Content-Length", b"%d" % len(body))]
        timeout = {"connect": self._connect_timeout, "read": None, "write": None, "pool": None}
        return httpx2.Request(
            method,
            self._url,
            headers=own,
            stream=httpx2.ByteStream(body or b""),
            extensions={"timeout": timeout, **watch},
        )

    def _watch(self, scope: trio.CancelScope, *, session: bool) -> dict[str, _Trace]:
        if session or self._url.scheme == "https":
            return {"trace": Handshake(scope, session).trace}
        return {}

    def _lost(self, request: httpx2.Request, error: httpx2.HTTPError) -> TransportLost:
        # The error itself is not chained: it may quote what the server sent, at any length.
        sent = not isinstance(error, _NOT_SENT)
        what = "The connection broke before the reply of" if sent else "There is no connection to"
        detail = quoted(cause_of(error, self._connect_timeout), request)
        return TransportLost(f"{what} {self.name}", sent=sent, detail=detail)


# -- what is sent -----------------------------------------------------------------------------


def _mirroring(request: Request) -> RawHeaders:
    """The headers that repeat parts of the body."""
    headers = metadata_headers(request)
    arguments = request.params.get("arguments")
    if isinstance(request, MirroredRequest) and isinstance(arguments, dict):
        headers |= mirrored_headers(arguments, request.mirrored)
    return [(name.encode("ascii"), _checked(name, value)) for name, value in headers.items()]


def _checked(name: str, value: str) -> bytes:
    # h11 would refuse it too, and quote the value.
    if not _VALUE.fullmatch(value):
        raise UsageError(f"The value of header {name} must be printable ASCII without outer spaces")
    return value.encode("ascii")


def _common_headers(
    address: httpx2.URL,
    given: Mapping[str, str],
    token: Token | None,
    client: httpx2.AsyncClient | None,
) -> RawHeaders:
    """The headers of every request; of two with one name, the later one here counts."""
    credentials = _credentials(address, given, token)
    headers: RawHeaders = [(b"Host", address.netloc), (b"User-Agent", b"antiphon")]
    headers += [] if client is None else client.headers.raw
    headers += [_given(name, value) for name, value in given.items()]
    headers += [*credentials, *_FIXED]
    merged = {name.lower(): (name, value) for name, value in headers}
    if callable(token):
        merged.pop(b"authorization", None)
    return list(merged.values())


def _credentials(address: httpx2.URL, given: Mapping[str, str], token: Token | None) -> RawHeaders:
    has_header = any(name.lower() == "authorization" for name in given)
    if bool(address.userinfo) + (token is not None) + has_header > 1:
        raise UsageError(
            "Credentials are given twice: keep one of token=, an Authorization header and a user"
            " in the address"
        )
    if address.userinfo:
        pair = f"{address.username}:{address.password}".encode()
        return [(b"Authorization", b"Basic " + b64encode(pair))]
    return [_bearer(token)] if isinstance(token, str) else []


def _bearer(token: str) -> tuple[bytes, bytes]:
    if not _TOKEN.fullmatch(token):
        raise UsageError("The bearer token must be visible ASCII without spaces, and is not")
    return b"Authorization", b"Bearer " + token.encode("ascii")


def _given(name: str, value: str) -> tuple[bytes, bytes]:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{quoted(name)!r} is no name for a header")
    raw = name.encode("ascii")
    if raw.lower() in _RESERVED or raw.lower().startswith(_RESERVED_PREFIX):
        raise UsageError(f"The header {name} is set by the transport; leave it out of headers=")
    return raw, _checked(name, value)


# -- where it is sent -------------------------------------------------------------------------


def _parse(url: str) -> httpx2.URL:
    # No message here quotes the address: it may hold a password, perhaps in the wrong place.
    try:
        address = httpx2.URL(url)
        address.raw_host.decode("ascii").encode("idna")
    except (httpx2.InvalidURL, UnicodeError):
        raise UsageError("The address of the server is no valid URL") from None
    if address.scheme not in {"http", "https"} or not address.host:
        raise UsageError("The address of the server must be http://HOST/… or https://HOST/…")
    if address.port is not None and not 0 < address.port < 65536:
        raise UsageError("The port in the address of the server must be 1 to 65535")
    return address


def _shown(address: httpx2.URL) -> str:
    path, _, _ = address.raw_path.partition(b"?")
    return f"{address.scheme}://{(address.netloc + path).decode('ascii')}"
