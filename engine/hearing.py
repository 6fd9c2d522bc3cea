"""What a server says besides its reply: progress and log messages, and who hears them.

Specification: basic/patterns/progress, server/utilities/logging.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeGuard

import trio
from attrs import define, field, frozen

from .jsonrpc import JsonValue, Notification
from .protocol import LOG, PROGRESS, LogLevel, is_at_least, is_log_level

ProgressCallback: TypeAlias = Callable[[float, float | None, str | None], None]
"""Called with what is done, the total where it is known, and a message where there is one.

A plain function that returns at once: it runs where the transport reads. To do more, let it put
the numbers into a memory channel that another task reads. What it raises ends the call.
"""


@frozen
class LogMessage:
    """A log message of a server; everything in it is the server's own claim.

    Attributes:
        level: how severe it is.
        data: any JSON value.
        logger: which part of the server speaks, where it says so.
    """

    level: LogLevel
    data: JsonValue = field(repr=False)
    logger: str | None = None


LogCallback: TypeAlias = Callable[[LogMessage], None]
"""Called with each log message; a plain function, as :data:`ProgressCallback` is."""


class Listener(Protocol):
    """Hears what is said before one reply.

    Attributes:
        failure: what is to be raised in place of taking the reply.
    """

    failure: Exception | None

    def __call__(self, notification: Notification) -> None:
        """Hear one notification; it raises nothing and returns at once."""
        ...

    def close(self) -> None:
        """Hear nothing more."""
        ...


@frozen
class Hearing:
    """Who hears what is said during a call.

    Attributes:
        progress: is told of progress; without it none is asked for.
        log: is told of log messages; without it none are asked for.
        log_level: from which level on they are asked for.
    """

    progress: ProgressCallback | None = None
    log: LogCallback | None = None
    log_level: LogLevel = "info"

    def ear(self, token: str, scope: trio.CancelScope, timeout: float) -> Listener:
        """Who hears one leg.

        Args:
            token: the leg's id, and its progress token.
            scope: ends the leg.
            timeout: the seconds that it was given.
        """
        return Ear(token, self, scope, timeout)


DEAF: Final = Hearing()

_BURST: Final = 1000
_PER_SECOND: Final = 100
"""A flood reaches a callback at this rate once the burst is used up."""

_MOST: Final = sys.float_info.max


@define
class Ear:
    """Passes on what is said during one leg: only what was asked for, and never a flood.

    Progress is a sign of life: it gives the leg its whole time again.
    """

    token: str
    hearing: Hearing
    scope: trio.CancelScope
    timeout: float
    failure: Exception | None = None
    _open: bool = True
    _reached: float = -math.inf
    _allowance: float = _BURST
    _refilled: float = field(factory=trio.current_time)

    def __call__(self, notification: Notification) -> None:
        """Hear one notification."""
        if not self._open:
            return
        if notification.method == PROGRESS:
            self._progress(notification)
        elif notification.method == LOG:
            self._message(notification)

    def close(self) -> None:
        """What comes later belongs to no leg."""
        self._open = False

    def _progress(self, notification: Notification) -> None:
        callback = self.hearing.progress
        done, total, message = map(notification.params.get, ("progress", "total", "message"))
        if callback is None or notification.params.get("progressToken") != self.token:
            return
        if not _is_number(done) or done <= self._reached:
            return
        self._reached = done
        if self.timeout != math.inf:
            self.scope.deadline = trio.current_time() + self.timeout
        if self._admits():
            told = total if _is_number(total) else None
            words = message if isinstance(message, str) else None
            self._tell(lambda: callback(done, told, words))

    def _message(self, notification: Notification) -> None:
        callback, params = self.hearing.log, notification.params
        level, logger = params.get("level"), params.get("logger")
        if callback is None or not is_log_level(level) or "data" not in params:
            return
        if not is_at_least(level, self.hearing.log_level):
            return
        if self._admits():
            named = logger if isinstance(logger, str) else None
            self._tell(lambda: callback(LogMessage(level, params["data"], named)))

    def _tell(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception as error:  # noqa: BLE001  # a callback may raise anything
            # It must not hurt the transport's task: it is raised where the call was made.
            self.close()
            self.failure = error
            self.scope.cancel()

    def _admits(self) -> bool:
        now = trio.current_time()
        refill = (now - self._refilled) * _PER_SECOND
        self._allowance = min(self._allowance + refill, _BURST)
        self._refilled = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True


def _is_number(value: JsonValue) -> TypeGuard[float]:
    # JSON has integers that no float holds; a callback that divides by one would fail.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST
