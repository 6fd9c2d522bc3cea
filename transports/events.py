"""Server-sent events, as far as a reply needs them: bytes in, the data of messages out.

Standard: https://html.spec.whatwg.org/multipage/server-sent-events.html, "Interpreting an event
stream". httpx2 has a reader too. It holds an event that ends in CR back until more bytes come,
takes a byte order mark for a part of a field's name, and decodes text which the JSON door would
want as bytes again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..engine.errors import InvalidReply
from ..engine.limits import raising

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_FIELD_NAME_ROOM: Final = 64
"""What a line may have beyond the limit, so that a name before the data never counts."""
_RETRY_DIGITS: Final = 12
"""Of a number of milliseconds; with more of them it is no time that anybody waits."""


class EventReader:
    """Takes a stream apart; memory stays within the limit, whatever comes.

    Args:
        limit: the largest data of one event, in bytes (``Limits.message_bytes``).

    Attributes:
        last_id: the id of the last event that came whole; None where none had one.
        retry: for how many seconds the server wants the stream not to be asked for again, once
            it has broken off; None where it did not say so.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._data = bytearray()
        self._foreign = False
        self._after_cr = False
        self._at_start = True
        self._id: bytes | None = None
        self.last_id: bytes | None = None
        self.retry: float | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of each message that the chunk completes.

        Comments, events without data and events of another type than ``message`` are passed
        over. An event that the stream's end cuts off never comes, as the standard asks.

        Raises:
            InvalidReply: an event, or a line of one, passes the limit.
        """
        for line in self._lines(chunk):
            if line:
                self._take_field(line)
            else:
                yield from self._dispatch()

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        # A CR ends its line at once; the LF that may follow in the next chunk belongs to it.
        if not chunk:
            return
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = _LINE_END.split(chunk)
        for piece in ended:
            yield self._completed(piece)
        self._line += rest
        self._check(len(self._line) - _FIELD_NAME_ROOM)

    def _completed(self, piece: bytes) -> bytes:
        line = bytes(self._line) + piece if self._line else piece
        self._line.clear()
        if self._at_start:
            self._at_start = False
            return line.removeprefix(_BYTE_ORDER_MARK)
        return line

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data += value + b"\n"
            self._check(len(self._data) - 1)
        elif name == b"event":
            self._foreign = value not in {b"", b"message"}
        elif name == b"id" and b"\0" not in value:
            self._id = value or None
        elif name == b"retry" and value.isdigit():
            self.retry = int(value[:_RETRY_DIGITS]) / 1000

    def _dispatch(self) -> Iterator[bytes]:
        data, foreign = bytes(self._data).removesuffix(b"\n"), self._foreign
        self._data.clear()
        self._foreign = False
        self.last_id = self._id
        if data and not foreign:
            yield data

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise InvalidReply(
                "The server sent an event with more bytes than limit message_bytes, "
                f"{self._limit} {raising('message_bytes')}"
            )
