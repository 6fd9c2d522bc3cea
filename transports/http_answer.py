"""Judging one HTTP answer: it is the reply to a request, or an error that says why not.

The body is judged before the status, for a JSON-RPC error comes with 400 and 404 as well as 200.
Whatever the answer is, what is kept of it stays within the limits.

Specification: basic/transports/streamable-http, "Receiving Messages".
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, TypeVar, cast

import httpx2
import trio
from attrs import define, field

from ..engine.errors import InvalidReply, ProtocolError, printable
from ..engine.exchange import Deferral, Deferred, OnNotification, TransportLost
from ..engine.handshake_link import RefusedBy
from ..engine.jsonrpc import (
    Failure,
    Message,
    Notification,
    Reply,
    Request,
    RequestId,
    Success,
    read_message,
)
from ..engine.limits import Limits, raising
from .events import EventReader
from .http_leftovers import drop_if_more_came

T = TypeVar("T")

_log = logging.getLogger(__name__)

_LINGER_SECONDS: Final = 0.01
"""How long an answer may take to end after its reply, so that its connection is used again."""

_QUOTE_LENGTH: Final = 200
_QUOTE_SOURCE: Final = 4096
_SECRET_LENGTH: Final = 8
"""Shorter words of a header or a query are taken for no secret."""

_HARMLESS: Final = frozenset(
    b"accept accept-encoding content-length content-type host mcp-method mcp-name"
    b" mcp-protocol-version user-agent".split()
)

_QUERY_PARTS: Final = re.compile(r"[&=]")

_ADVICE: Final = {
    401: "; it asks for credentials: give token= or headers=",
    403: "; it lets in neither these credentials nor this origin",
    404: "; nothing is served there: check the address",
    405: "; nothing takes a POST there: check the address",
    429: "; it has had too many requests",
    503: "; it cannot serve now",
}


_ABOUT_US: Final = frozenset({401, 403, 429})
"""Statuses that say whether this client is served at all, whatever the body says of it."""


_NOT_NOW: Final = frozenset({429, 502, 503, 504})


class BadStatus(InvalidReply):
    """The server answered with an error status and without a JSON-RPC reply.

    Attributes:
        status: the HTTP status, 400 or above.
        retry_after: for how many seconds the server wants no request, where it said so.
    """

    def __init__(self, message: str, *, status: int, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.deferral = deferral_of(status, retry_after)


@define(eq=False, repr=False)
class Answer:
    """One answer, from its head on. :meth:`reply` is called once and leaves it closed."""

    _name: str
    _post: httpx2.Request
    _response: httpx2.Response
    _id: RequestId | None
    _on_notification: OnNotification
    _limits: Limits
    _warned: bool = field(default=False, init=False)
    _ended: bool = field(default=False, init=False)
    _fault: str = field(default="", init=False)
    _events: EventReader = field(init=False)

    async def reply(self) -> Reply:
        """Read as far as the reply.

        Raises:
            InvalidReply, BadStatus: the answer is no reply to the request.
            TransportLost: the stream ended before the reply.
            httpx2.HTTPError: the connection broke.
        """
        return await self._through(self._judge)

    async def _through(self, read: Callable[[AsyncIterator[bytes]], Awaitable[T]]) -> T:
        # A client of the caller's may have read it, for its authentication or in a hook.
        consumed = self._response.is_stream_consumed
        stream = httpx2.ByteStream(self._response.content) if consumed else self._response.stream
        chunks = aiter(cast(httpx2.AsyncByteStream, stream))
        patience = 0.0
        try:
            found = await read(chunks)
            patience = _LINGER_SECONDS
            return found
        finally:
            await self._leave(chunks, patience)

    async def _leave(self, chunks: AsyncIterator[bytes], patience: float) -> None:
        # An answer that is read to its end gives its connection back to the pool; any other is
        # cut off. Running into the deadline also ends the generators that httpx2 nests in each
        # other; it does not close them all by itself when reading stops half-way.
        if not self._ended:
            with trio.move_on_after(patience) as scope, suppress(httpx2.HTTPError):
                scope.shield = True
                async for _ in chunks:
                    pass
        if not self._response.is_stream_consumed:  # else the connection may serve others by now
            drop_if_more_came(self._response)
        await self._response.aclose()

    async def _judge(self, chunks: AsyncIterator[bytes]) -> Reply:
        self._refuse_coding()
        self._refuse_redirect()
        kind = self._media_type()
        if kind == "text/event-stream" and self._response.is_success:
            return await self._streamed(chunks)
        if kind == "application/json":
            return self._from_body(await self._whole(chunks))
        body = await self._beginning(chunks)
        what = repr(quoted(kind, self._post, 60)) if kind else "no content type"
        raise self._refusal(f"{what} in place of JSON or an event stream", body)

    # -- the head ---------------------------------------------------------------------------

    def _refuse_coding(self) -> None:
        coding = self._response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in {"", "identity"}:
            shown = quoted(coding, self._post, 60)
            raise self._refusal(f"Content-Encoding {shown!r}, though only identity was accepted")

    def _refuse_redirect(self) -> None:
        if 300 <= self._response.status_code < 400:
            where = self._response.headers.get("location", "")
            raise self._refusal(f"a redirect{self._destination(where)}, which is not followed")

    def _destination(self, location: str) -> str:
        """Where a redirect leads, without the parts of an address that may hold a secret."""
        try:
            target = self._post.url.join(location)
        except (httpx2.InvalidURL, ValueError):
            return ""
        if not location or not target.host:
            return ""
        target = target.copy_with(username=None, password=None, query=None, fragment=None)
        return f" to {quoted(str(target), self._post)}"

    def _media_type(self) -> str:
        return self._response.headers.get("content-type", "").partition(";")[0].strip().lower()

    # -- a single body ----------------------------------------------------------------------

    async def _whole(self, chunks: AsyncIterator[bytes]) -> bytes:
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > self._limits.message_bytes:
                limit = f"limit message_bytes, {self._limits.message_bytes}"
                raise self._refusal(f"a body of more bytes than {limit} {raising('message_bytes')}")
        self._ended = True
        return bytes(body)

    async def _beginning(self, chunks: AsyncIterator[bytes]) -> bytes:
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) >= _QUOTE_SOURCE:
                break
        return bytes(body[:_QUOTE_SOURCE])

    def _from_body(self, body: bytes) -> Reply:
        if not body:
            raise self._refusal("an empty body")
        try:
            message = read_message(body, self._limits)
        except ProtocolError as error:
            raise self._refusal(f"no JSON-RPC reply ({error.message})", body) from None
        if isinstance(message, Success | Failure):
            return self._accepted(message)
        raise self._refusal("a call in place of a reply")

    # -- a stream ---------------------------------------------------------------------------

    async def _streamed(self, chunks: AsyncIterator[bytes]) -> Reply:
        self._events = EventReader(self._limits.message_bytes)
        async for chunk in chunks:
            for data in self._events.feed(chunk):
                for message in self._messages(data):
                    if isinstance(message, Success | Failure):
                        return self._accepted(message)
                    self._heard(message)
        if self._fault:
            what = f"a stream without a reply, but with an event unread ({self._fault})"
            raise self._refusal(what)
        raise TransportLost(f"{self._name} ended the stream before the reply", sent=True)

    def _messages(self, data: bytes) -> Sequence[Message]:
        try:
            return self._read(data)
        except ProtocolError as error:
            # Some servers keep a stream alive with data; the reply may yet come.
            self._fault = error.message
            self._warn("sent an event that is no message", error.message)
            return ()

    def _read(self, data: bytes) -> Sequence[Message]:
        return (read_message(data, self._limits),)

    def _heard(self, message: Request | Notification) -> None:
        if isinstance(message, Notification):
            self._on_notification(message)
        else:
            self._warn("sent a request, which this revision forbids", message.method)

    def _warn(self, what: str, detail: str) -> None:
        # Once an answer: a stream can hold any number of them.
        if not self._warned:
            self._warned = True
            _log.warning("%s %s; ignored: %s", self._name, what, quoted(detail, self._post))

    # -- the verdict ------------------------------------------------------------------------

    def _accepted(self, reply: Reply) -> Reply:
        if reply.id == self._id:
            return self._deferred(reply) if isinstance(reply, Failure) else reply
        if isinstance(reply, Failure) and reply.id is None:
            if self._response.is_client_error and self._response.status_code not in _ABOUT_US:
                return self._deferred(reply)
            said = quoted(reply.message, self._post)
            raise self._refusal(f"an error that names no request: {reply.code} {said}")
        theirs = quoted(repr(reply.id), self._post, 60)
        raise self._refusal(f"a reply to request {theirs}, not to {self._id!r}")

    def _deferred(self, error: Failure) -> Failure:
        deferral = deferral_of(self._response.status_code, self._retry_after())
        if deferral is not None:
            return Deferred(error.id, error.code, error.message, error.data, deferral=deferral)
        if not self._response.is_client_error:
            return error
        status = self._response.status_code
        return RefusedBy(error.id, error.code, error.message, error.data, status=status)

    def _retry_after(self) -> float | None:
        return seconds_to_wait(self._response.headers.get("retry-after", ""), time.time())

    def _refusal(self, what: str, body: bytes = b"") -> InvalidReply:
        status = self._response.status_code
        text = f"{self._name} answered HTTP {status} with {what}{_ADVICE.get(status, '')}"
        text += self._quote(body)
        if status < 400:
            return InvalidReply(text)
        retry_after = self._retry_after()
        if retry_after is not None:
            text += f" (wants no request for {retry_after:g} s)"
        return BadStatus(text, status=status, retry_after=retry_after)

    def _quote(self, body: bytes) -> str:
        # What speaks JSON-RPC may be our own request sent back, with answers and state in it.
        if b"jsonrpc" in body:
            return ""
        said = quoted(body[:_QUOTE_SOURCE].decode("utf-8", "replace"), self._post)
        return f". It said: {said}" if said else ""


def deferral_of(status: int, retry_after: float | None) -> Deferral | None:
    """What an error status says about sending the same request again; None for nothing.

    429 refuses a request. So does 503 with a time to come back at; without one it may also come
    from a gateway that has lost an answer, as 502 and 504 do (RFC 9110, 15.6; RFC 6585, 4).
    """
    if status not in _NOT_NOW:
        return None
    refused = status == 429 or (status == 503 and retry_after is not None)
    return Deferral(unserved=refused, after=retry_after)


def seconds_to_wait(retry_after: str, now: float) -> float | None:
    """Read a ``Retry-After`` header, which is a number of seconds or a date (RFC 9110, 10.2.3).

    Args:
        retry_after: the header's value; anything else than the two forms is None.
        now: the wall clock, in seconds since 1970.
    """
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except (ValueError, IndexError, OverflowError):
        return None
    return max(0.0, date.replace(tzinfo=date.tzinfo or UTC).timestamp() - now)


def quoted(text: str, post: httpx2.Request | None = None, length: int = _QUOTE_LENGTH) -> str:
    """A foreign text, fit for a message: one line, printable, short, without our credentials."""
    # The longest first: one secret may begin with another.
    for secret in sorted(_secrets(post), key=len, reverse=True) if post is not None else ():
        text = text.replace(secret, "***")
    return printable(text)[:length]


def _secrets(post: httpx2.Request) -> set[str]:
    query = post.url.query.decode("ascii")
    values = [*_QUERY_PARTS.split(query), *post.url.params.values()]
    values += [v.decode("latin-1") for n, v in post.headers.raw if n.lower() not in _HARMLESS]
    return {word for value in values for word in value.split() if len(word) >= _SECRET_LENGTH}
