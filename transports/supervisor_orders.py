"""What a supervisor and its workers say to each other.

A worker gets its orders as an argument, and reports once, on one line: that it serves, or why
it cannot. The line goes over a socket whose other end closes when the supervisor ends.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from attrs import frozen

REPORT_BYTES: Final = 65_536
"""A report is no longer than this."""

UNWINDING: Final = 5.0
"""Seconds for cancelled calls to unwind, after the grace and before SIGKILL."""

T = TypeVar("T", bound="Orders | Report")


@frozen(kw_only=True)
class Orders:
    """What a worker is to do.

    Attributes:
        app: what it serves, as ``module:object``.
        path: the endpoint, where it was chosen.
        grace: seconds for open requests at the end.
        workers: how many serve side by side.
        number: which of them this is, from 0.
        debug: whether to show tracebacks.
        listener: the descriptor of the socket that it takes connections from.
        channel: the descriptor of the socket to the supervisor.
        folder: of the sockets at which workers reach each other.
    """

    app: str
    path: str | None
    grace: float
    workers: int
    number: int
    debug: bool
    listener: int
    channel: int
    folder: str


@frozen(kw_only=True)
class Report:
    """What became of a worker's start.

    Attributes:
        before, path: what stands around the address where it serves.
        status: the exit status that the failure stands for; 0 where there is none.
        failure: why it cannot serve, in one sentence.
    """

    before: str = ""
    path: str = ""
    status: int = 0
    failure: str = ""


def written(message: Orders | Report) -> str:
    """The message on one line."""
    return msgspec.json.encode(message).decode()


def read(line: str | bytes, kind: type[T]) -> T:
    """Read it again."""
    return msgspec.json.decode(line, type=kind)
