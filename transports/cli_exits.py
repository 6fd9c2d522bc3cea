"""How a command ends: its exit status, and its error in one line."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, cast

from ..engine.call_errors import AnswerInvalid, DeadlineExceeded, LegTimeout, ServerError
from ..engine.errors import MISSING_CAPABILITY, AntiphonError, UsageError, WorldError
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
_UNAUTHORIZED: Final = 401


def exit_of(error: BaseException) -> int:
    """The exit status for what ended a command."""
    error = root_of(error)
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED
    if isinstance(error, AnswerInvalid) or _asks_too_much(error):
        return Exit.UNANSWERED
    if isinstance(error, DeadlineExceeded | LegTimeout | TimeoutError):
        return Exit.DEADLINE
    if isinstance(error, UsageError):
        return Exit.USAGE
    if isinstance(error, WorldError | OSError):
        return Exit.TRANSPORT
    return Exit.PROTOCOL if isinstance(error, AntiphonError) else Exit.INTERNAL


def sentence_of(error: BaseException) -> str:
    """The error on one line that a terminal can show, with its notes and what to do here."""
    error = root_of(error)
    notes = getattr(error, "__notes__", []) if isinstance(error, AntiphonError) else []
    # Of a note the first line: below it stand words that were shown already.
    more = [*_advice(error), *(one_line(str(note).partition("\n")[0], _LONGEST) for note in notes)]
    sentence = one_line(_words_of(error), _LONGEST)
    return ". ".join([sentence.rstrip("."), *more]) if more else sentence


def _words_of(error: BaseException) -> str:
    if isinstance(error, TransportLost) and error.detail:
        # Of a dead child's last words the last are the reason; all of them were shown already.
        return f"{error.reason}: {error.detail.splitlines()[-1]}"
    if isinstance(error, AntiphonError | OSError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _advice(error: BaseException) -> list[str]:
    """What helps at a command line, where the error itself speaks to a program's author."""
    if getattr(error, "status", None) == _UNAUTHORIZED:
        return ["On the command line these are --token-env and --header"]
    if _asks_too_much(error):
        return ["A terminal answers forms and pages, and nothing else"]
    return []


def _asks_too_much(error: BaseException) -> bool:
    """Whether the server has to ask what no terminal can answer."""
    return isinstance(error, ServerError) and error.code == MISSING_CAPABILITY


def root_of(error: BaseException) -> BaseException:
    """What a group is about; an interrupt before anything else."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    roots = [root_of(inner) for inner in group.exceptions]
    return next((root for root in roots if isinstance(root, KeyboardInterrupt)), roots[0])
