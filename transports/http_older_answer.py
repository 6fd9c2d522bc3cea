"""Reading answers of servers of earlier revisions, whose streams carry requests and break off.

Specification: 2025-11-25, basic/transports, "Sending Messages to the Server" and "Resumability
and Redelivery"; 2025-03-26, basic/index, "Batching".
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

import trio
from attrs import define, field, frozen

from ..engine.errors import PARSE_ERROR, ProtocolError
from ..engine.exchange import OnNotification
from ..engine.handshake_link import OnRequest, SessionLost
from ..engine.jsonrpc import (
    Failure,
    InvalidJson,
    Message,
    Notification,
    Reply,
    Request,
    Success,
    as_message,
    loads,
)
from ..engine.reconnecting import STEADY
from ..engine.retrying import RetryPolicy
from .http_answer import Answer

SOONEST: Final = 0.1
"""Seconds before a stream is asked for again, whatever its server says."""

_EVENT_ID: Final = re.compile(rb"[!-~\x80-\xff](?:[ -~\x80-\xff]{0,1022}[!-~\x80-\xff])?")
"""Ids that can be sent back in a header. No server makes them longer than that takes."""


@frozen
class Hearing:
    """Who is told what comes besides a reply."""

    on_notification: OnNotification
    on_request: OnRequest


@define
class Cursor:
    """Where a stream that broke off is taken up again, and when.

    Attributes:
        id: the last event that came whole; None where it cannot be named.
    """

    _policy: RetryPolicy
    id: bytes | None = None
    _retry: float | None = None
    _failures: int = 0

    def broke_off(self, id: bytes | None, retry: float | None, *, worked: bool) -> None:
        """A stream has ended.

        Args:
            id: the last event that it brought whole; None where it brought none with an id.
            retry: for how many seconds its server wants no other, where it said so.
            worked: whether it brought anything, or stood for a while.
        """
        if worked or (id is not None and id != self.id):
            self._failures = 0
        if id is not None:
            self.id = id if _EVENT_ID.fullmatch(id) else None
        self._retry = self._retry if retry is None else retry

    def wait(self, asked: float | None = None) -> float | None:
        """The seconds until the stream is asked for again; None where it is given up.

        A server that says when, and whose streams work, is asked at that very time.

        Args:
            asked: for how many seconds the server wants no request, where it said so.
        """
        told = max((value for value in (self._retry, asked) if value is not None), default=None)
        self._failures += 1
        if told is not None and self._failures == 1:
            return None if told > self._policy.max_retry_after else max(told, SOONEST)
        wait = self._policy.wait(self._failures, told)
        return None if wait is None else max(wait, SOONEST)


@define(eq=False, repr=False)
class OlderAnswer(Answer):
    """An answer to a POST, or the stream that a GET opens.

    Where it was asked for no reply (its id is None), :meth:`reply` only ends by an error.
    """

    _on_request: OnRequest
    _cursor: Cursor
    _in_session: bool
    _worked: bool = field(default=False, init=False)

    async def accepted(self) -> None:
        """See that the server has taken a message that gets no reply.

        Raises:
            SessionLost: it does not know the session any more.
            InvalidReply, BadStatus: it refused the message.
            httpx2.HTTPError: the connection broke.
        """
        await self._through(self._accept)

    async def _accept(self, chunks: AsyncIterator[bytes]) -> None:
        self._refuse_lost_session()
        self._refuse_redirect()
        if not self._response.is_success:
            raise self._refusal("a refusal", await self._beginning(chunks))

    async def _judge(self, chunks: AsyncIterator[bytes]) -> Reply:
        self._refuse_lost_session()
        streams = self._response.is_success and self._media_type() == "text/event-stream"
        if self._post.method == "GET" and not streams:
            self._refuse_redirect()
            raise self._refusal("no event stream", await self._beginning(chunks))
        return await super()._judge(chunks)

    def _refuse_lost_session(self) -> None:
        if self._in_session and self._response.status_code == 404:
            raise SessionLost(f"{self._name} does not know the session any more (HTTP 404)")

    # -- a stream ---------------------------------------------------------------------------

    async def _streamed(self, chunks: AsyncIterator[bytes]) -> Reply:
        began = trio.current_time()
        try:
            return await super()._streamed(chunks)
        finally:
            worked = self._worked or trio.current_time() - began >= STEADY
            self._cursor.broke_off(self._events.last_id, self._events.retry, worked=worked)

    def _messages(self, data: bytes) -> Sequence[Message]:
        messages = super()._messages(data)
        if self._id is None:
            self._fault = ""
            messages = [m for m in messages if not isinstance(m, Success | Failure)]
        self._worked = self._worked or bool(messages)
        return messages

    def _read(self, data: bytes) -> Sequence[Message]:
        # Servers of 2025-03-26 may send several messages as one.
        try:
            value = loads(data, self._limits)
        except InvalidJson as error:
            raise ProtocolError(PARSE_ERROR, f"Parse error: {error}") from None
        return [as_message(part) for part in (value if isinstance(value, list) else [value])]

    def _heard(self, message: Request | Notification) -> None:
        if isinstance(message, Request):
            self._on_request(message)
        else:
            self._on_notification(message)
