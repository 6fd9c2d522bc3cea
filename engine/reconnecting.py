"""Whether and when a lost subscription is made again; only computed, never waited for."""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from attrs import define

from .call_errors import LegTimeout, ServerError
from .errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    CallError,
)
from .retrying import RetryPolicy, may_repeat

RECONNECT: Final = RetryPolicy(attempts=20, initial=1.0, maximum=30.0, max_retry_after=300.0)
"""When a client makes a lost subscription again. The loss counts as the first of the attempts,
which reach over some minutes."""

STEADY: Final = 10.0
"""Seconds after which an acknowledged stream counts as one that works: when that is lost, the
attempts are counted anew. Shorter-lived ones are attempts that failed, so that a server which
acknowledges and hangs up is not asked for ever."""

_LASTING: Final = frozenset(
    {
        PARSE_ERROR,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        INVALID_PARAMS,
        HEADER_MISMATCH,
        MISSING_CAPABILITY,
        UNSUPPORTED_VERSION,
    }
)
"""Codes of errors that come again however often the same is asked."""


@runtime_checkable
class _HasStatus(Protocol):
    """A transport's error that knows the status of HTTP; engine knows nothing more of it."""

    status: int


def may_pass(error: CallError) -> bool:
    """Whether a stream that could not be had, for this, may be had later."""
    if isinstance(error, ServerError):
        return error.code not in _LASTING
    if isinstance(error, _HasStatus):
        return error.status >= 500 or may_repeat(error, reads=True)
    return isinstance(error, LegTimeout) or may_repeat(error, reads=True)


@define
class Losses:
    """The losses of one subscription, and what to do after each.

    Attributes:
        first: how often and when the first stream is tried; None for once.
        later: the same of those that take the place of a lost one; None for never.
    """

    first: RetryPolicy | None
    later: RetryPolicy | None
    _tries: int = 0
    _in_a_row: int = 0

    def before_the_first(self, error: CallError) -> float | None:
        """The seconds until a first stream is asked for again; None where it is not.

        A caller who waits for it is told of a fault as soon as by any other request.
        """
        self._tries += 1
        if not may_repeat(error, reads=True):
            return None
        return _wait(self.first, self._tries, error)

    def after_one(self, error: CallError, stood: float | None) -> float | None:
        """The seconds until a lost stream is asked for again; None where it is not.

        Args:
            error: how it ended.
            stood: for how many seconds it had stood; None where it was never acknowledged.
        """
        if not self._mendable(error, stood):
            return None
        steady = stood is not None and stood >= STEADY
        self._in_a_row = 1 if steady else self._in_a_row + 1
        return _wait(self.later, self._in_a_row, error)

    def _mendable(self, error: CallError, stood: float | None) -> bool:
        # However a stream that stood was broken off, another one may do better.
        broken = stood is not None and not isinstance(error, ServerError)
        return broken or may_pass(error)


def _wait(policy: RetryPolicy | None, failures: int, error: CallError) -> float | None:
    asked = None if error.deferral is None else error.deferral.after
    return None if policy is None else policy.wait(failures, asked)
