"""How a command ends: its exit status, and its error in one line."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, cast

from ..engine.call_errors import AnswerInvalid, DeadlineExceeded, LegTimeout
from ..engine.errors import AntiphonError, UsageError, WorldError
from ..engine.exchange import TransportLost
from .cli_text import one_line


class Exit(IntEnum):
    """The exit statuses; :data:`EXITS` says what they mean."""

    OK = 0
    TOOL = 1
    USAGE = 2
    UNANSWERED = 3
    TRANSPORT = 4
    PROTOCOL = 5
    DEADLINE = 6
    PAUSED = 7
    INTERNAL = 70
    INTERRUPTED = 130


EXITS: Final = """\
exit status:
  0    the result is there
  1    the tool answered that it failed (isError)
  2    the command line is wrong, or an argument does not fit
  3    a question of the server could not be answered here
  4    the server, or the store of paused calls, cannot be reached; or the connection broke
  5    the server answered with an error, or broke the protocol
  6    the deadline passed, or a request had no reply in time
  7    the call was put away with its question; antiphon resume goes on with it
  70   a fault of this program; --debug shows where
  130  ctrl-C (and 128 + the number of any other signal)
"""

_LONGEST: Final = 2000


def exit_of(error: BaseException) -> int:
    """The exit status for what ended a command."""
    error = root_of(error)
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED
    if isinstance(error, AnswerInvalid):
        return Exit.UNANSWERED
    if isinstance(error, DeadlineExceeded | LegTimeout | TimeoutError):
        return Exit.DEADLINE
    if isinstance(error, UsageError):
        return Exit.USAGE
    if isinstance(error, WorldError | OSError):
        return Exit.TRANSPORT
    return Exit.PROTOCOL if isinstance(error, AntiphonError) else Exit.INTERNAL


def sentence_of(error: BaseException) -> str:
    """The error on one line that a terminal can show."""
    error = root_of(error)
    if isinstance(error, TransportLost) and error.detail:
        # Of a dead child's last words the last are the reason; all of them were shown already.
        return one_line(f"{error.reason}: {error.detail.splitlines()[-1]}", _LONGEST)
    if isinstance(error, AntiphonError | OSError):
        return one_line(str(error), _LONGEST)
    return one_line(f"{type(error).__name__}: {error}", _LONGEST)


def root_of(error: BaseException) -> BaseException:
    """What a group is about; an interrupt before anything else."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    roots = [root_of(inner) for inner in group.exceptions]
    return next((root for root in roots if isinstance(root, KeyboardInterrupt)), roots[0])
