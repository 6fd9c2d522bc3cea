"""What the command lines of all commands have in common: the parser, the target, the connection."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, cast

from attrs import field, frozen

from ..engine.errors import UsageError
from ..engine.handshake_era import MODES, Mode
from ..engine.protocol import LOG_LEVELS, LogLevel

TARGET: Final = """\
TARGET is a URL, a command line in quotes ("python examples/provision.py"), or left out where
the command stands at the end, after --.
"""

_ADDRESS: Final = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:]+\]):[0-9]+(?:/\S*)?$")
"""A host and a port, with a path or without: no program is called so."""


@frozen(kw_only=True)
class Connection:
    """Which server, and how to reach it; a target without words is still to be found."""

    target: str | Sequence[str]
    headers: Mapping[str, str] = field(repr=False)
    token: str | None = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    timeout: float | None
    deadline: float
    json: bool
    log: LogLevel | None
    trace: bool
    mode: Mode = "auto"


class Parser(argparse.ArgumentParser):
    """An argument parser that takes options anywhere, and a command after ``--``."""

    def __init__(self, prog: str, usage: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_argument("--debug", action="store_true", help="show tracebacks and the log")

    def error(self, message: str) -> NoReturn:
        """Raise it as any other mistake of the command line."""
        raise UsageError(f"{message}; see {self.prog} --help")


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The words before ``--``, and the command after it."""
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


# -- kinds of value ---------------------------------------------------------------------------


def seconds(text: str) -> float:
    """Seconds from now, for argparse."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError
    return value


def count(text: str) -> int:
    """A number of things, at least one, for argparse."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


# -- the connection ---------------------------------------------------------------------------


def add_connection(parser: Parser) -> None:
    """Add the options of every command that reaches a server."""
    add = parser.add_argument
    add("--json", action="store_true", help="print only the result, as JSON")
    add("--deadline", metavar="S", type=seconds, default=math.inf, help="seconds for all of it")
    add(
        "--timeout",
        metavar="S",
        type=seconds,
        default=60.0,
        help="seconds for one request, people apart (default 60; 0 for no end)",
    )
    add(
        "--header",
        metavar="'Name: value'",
        action="append",
        default=[],
        help="an HTTP header for each request; repeatable",
    )
    add("--token-env", metavar="VAR", help="the variable that holds the bearer token")
    add(
        "--env",
        metavar="VAR[=value]",
        action="append",
        default=[],
        help="a variable for the command, which gets few by itself; repeatable",
    )
    add(
        "--log",
        metavar="LEVEL",
        choices=LOG_LEVELS,
        help=f"show what the server logs, from a level on: {', '.join(LOG_LEVELS)}",
    )
    add("--trace", action="store_true", help="show each request and its reply, without any value")
    add(
        "--mode",
        choices=MODES,
        default="auto",
        help="the server's revision of the protocol: found out (default), an earlier one, or this",
    )


def read_connection(given: argparse.Namespace, target: str | Sequence[str]) -> Connection:
    """Read the options of :func:`add_connection`.

    Raises:
        UsageError: one is wrong.
    """
    return Connection(
        target=target,
        headers=dict(map(_header, given.header)),
        token=None if given.token_env is None else _variable(given.token_env),
        env=dict(map(_assignment, given.env)),
        timeout=given.timeout or None,
        deadline=given.deadline,
        json=given.json,
        log=cast("LogLevel | None", given.log),
        trace=given.trace,
        mode=cast(Mode, given.mode),
    )


def take_target(words: list[str], command: list[str] | None) -> str | list[str]:
    """Take the target from the words, where it does not stand after ``--``.

    Raises:
        UsageError: there is none.
    """
    if command is None:
        if not words or not words[0].strip():
            raise UsageError("Which server? TARGET is a URL or a command in quotes")
        if _ADDRESS.match(words[0]):
            raise UsageError(f"{words[0][:80]!r} is no URL; do you mean http://{words[0][:80]}?")
        return words.pop(0)
    if not command:
        raise UsageError("After -- comes the command that starts the server")
    return command


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("--header takes 'Name: value'")
    return name.strip(), value.strip()


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    return name, value if equals else _variable(name)


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise UsageError(f"The environment variable {name!r} is not set, or empty")
    return value
