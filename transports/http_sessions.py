"""The sessions of clients of earlier revisions over HTTP: who they are, and how long they last.

A session belongs to the principal who began it: to anybody else it is unknown. Its id is a secret,
made here and never taken from a client. One that has been silent for long is forgotten when it is
next asked for, or when another begins, so nothing has to watch over them; where there are too many,
one that is idle gives way.
Specification: 2025-11-25, basic/transports, "Session Management".
"""

from __future__ import annotations

import logging
import re
import secrets
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import trio
from attrs import define, field

from ..engine.closing import Closing
from ..engine.errors import UsageError
from ..engine.exchange import Principal
from ..engine.jsonrpc import Failure, Reply, RequestId, Success
from ..engine.limits import Limits, raising
from ..engine.protocol import INPUT_REQUIRED

if TYPE_CHECKING:
    from ..engine.handshake_session import HandshakeSession

ID_BYTES: Final = 32
"""Of chance, in each id."""

_log: Final = logging.getLogger("antiphon.http")
_VISIBLE: Final = re.compile(r"[!-~]*")


def check_prefix(prefix: str) -> None:
    """See that session ids may begin so.

    Raises:
        UsageError: they are sent in a header, as visible ASCII.
    """
    if not _VISIBLE.fullmatch(prefix):
        raise UsageError(f"http_app(session_prefix={prefix!r}): visible ASCII, without spaces")


@define(eq=False)
class OpenCall:
    """A request of a session, from its arrival until its reply.

    Attributes:
        last_word: the reply where it was ended from outside; None where its client has cancelled
            it, and wants none.
    """

    _id: RequestId
    _closing: Closing
    scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    last_word: Failure | None = field(default=None, init=False)
    _waits: bool = field(default=False, init=False)

    def end(self, code: int, text: str) -> None:
        """End it with an error, unless it was ended before."""
        if not self.scope.cancel_called:
            self.last_word = Failure(self._id, code, text)
            self.scope.cancel()

    def cancel(self) -> None:
        """End it without a word."""
        self.scope.cancel()

    def resumed(self) -> None:
        """Another round of it begins."""
        self._waits = False

    def waits(self, reply: Reply) -> bool:
        """Take note of the reply to a round; whether its client is to answer now."""
        self._waits = isinstance(reply, Success) and _asks(reply)
        return self._waits

    def end_if_waiting(self, code: int, text: str) -> None:
        """End it where nothing but the client's answer is missing."""
        if self._waits:
            self.end(code, text)


def _asks(reply: Success) -> bool:
    interim = reply.result.get("resultType") == INPUT_REQUIRED
    return interim and bool(reply.result.get("inputRequests"))


@define(eq=False)
class Session:
    """One session.

    Attributes:
        id: its id, as the client sends it.
        talk: what the engine knows of the client.
        principal: who began it.
        size: the bytes of its ``initialize``, of which parts are kept.
        calls: its requests that are not answered yet, by id.
        stream: what its one stream runs in.
    """

    id: str = field(repr=False)
    talk: HandshakeSession = field(repr=False)
    principal: Principal | None
    size: int
    calls: dict[RequestId, OpenCall] = field(factory=dict[RequestId, OpenCall], init=False)
    stream: trio.CancelScope | None = field(default=None, init=False)
    _uses: int = field(default=0, init=False)
    _heard: float = field(factory=trio.current_time, init=False)

    @contextmanager
    def in_use(self) -> Generator[None, None, None]:
        """Around a request, or a stream: the session is not idle meanwhile."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self._heard = trio.current_time()

    def idle(self, seconds: float) -> bool:
        """Whether nothing was heard of its client for so long."""
        return self.silence >= seconds

    @property
    def silence(self) -> float:
        """Seconds since something was heard of its client; less than none while it is in use."""
        return -1.0 if self._uses else trio.current_time() - self._heard

    @contextmanager
    def opened(self, id: RequestId, call: OpenCall) -> Generator[None, None, None]:
        """Around a call whose id no other one has."""
        self.calls[id] = call
        try:
            yield
        finally:
            del self.calls[id]

    def end(self, code: int, text: str) -> None:
        """End all that is open, calls with this error."""
        for call in self.calls.values():
            call.end(code, text)
        if self.stream is not None:
            self.stream.cancel()


class Sessions:
    """All sessions of one application, within ``Limits.sessions`` and ``pending_bytes``."""

    def __init__(self, limits: Limits, prefix: str) -> None:
        """``prefix`` stands before each id."""
        self._limits: Final = limits
        self._prefix: Final = prefix
        self._known: Final[dict[str, Session]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._known)

    def make_room(self, size: int) -> str | None:
        """The limit that one more would pass, whose ``initialize`` has so many bytes.

        Idle sessions give way to it: many a client leaves without a word, and one whose session
        is gone can begin another. A client may have said much of itself, and it is kept: as much
        in all as of calls.
        """
        for session in list(self._known.values()):
            if session.idle(self._limits.session_seconds):
                self.forget(session)
        while (passed := self._passed(size)) is not None:
            first = self._first_to_go()
            if first is None:
                return passed
            _log.info("A session gives way to another; limit %s %s", passed, raising(passed))
            self.forget(first)
        return None

    def _passed(self, size: int) -> str | None:
        if len(self._known) >= self._limits.sessions:
            return "sessions"
        if self._known and self._size + size > self._limits.pending_bytes:
            return "pending_bytes"
        return None

    def _first_to_go(self) -> Session | None:
        """Of the idle ones of whoever has most sessions, the one that was silent for longest."""
        of_each = Counter(session.principal for session in self._known.values())
        idle = [session for session in self._known.values() if session.silence >= 0]
        return max(idle, key=lambda s: (of_each[s.principal], s.silence), default=None)

    def begin(self, talk: HandshakeSession, principal: Principal | None, size: int) -> Session:
        """Begin a session, where no limit is passed."""
        id = self._prefix + secrets.token_urlsafe(ID_BYTES)
        session = self._known[id] = Session(id, talk, principal, size)
        self._size += size
        return session

    def find(self, id: str, principal: Principal | None) -> Session | None:
        """The session of this id, if it is there and the principal's."""
        session = self._known.get(id)
        if session is None or session.principal != principal:
            return None
        if session.idle(self._limits.session_seconds):
            self.forget(session)
            return None
        return session

    def forget(self, session: Session) -> None:
        """Know a session no more."""
        if self._known.pop(session.id, None) is not None:
            self._size -= session.size

    def clear(self) -> None:
        """Know none any more."""
        for session in list(self._known.values()):
            self.forget(session)
