"""The command line: what it may say, and what that means."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from attrs import field, frozen

from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject
from .cli_exits import EXITS
from .cli_values import Pair, read_json, split_pair

_TARGET: Final = """\
TARGET is a URL, a command line in quotes ("python examples/provision.py"), or left out where
the command stands at the end, after --.
"""
_VALUES: Final = """\
key=value is typed by the tool's schema, and is text where the schema allows text; key:=json
is JSON whatever it says. Questions are asked at the terminal, which is standard input and
standard error; --answer answers them for scripts, by the name of a field, by question.field
where several questions have such a field, or by question=accept|decline|cancel.
"""


@frozen(kw_only=True)
class Connection:
    """Which server, and how to reach it."""

    target: str | Sequence[str]
    headers: Mapping[str, str] = field(repr=False)
    token: str | None = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    timeout: float | None
    deadline: float
    json: bool


@frozen(kw_only=True)
class CallOptions:
    """What ``antiphon call`` is asked to do."""

    connection: Connection
    tool: str
    pairs: Sequence[Pair]
    whole: JsonObject = field(repr=False)
    answers: Sequence[Pair]
    decline: bool
    open_links: bool


@frozen(kw_only=True)
class ServeOptions:
    """What ``antiphon serve`` is asked to do."""

    app: str
    http: bool
    bind: str = "127.0.0.1:8000"
    path: str | None = None
    workers: int = 1
    grace: float = 10.0


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


# -- call and list ----------------------------------------------------------------------------


def call_parser() -> Parser:
    """The parser of ``antiphon call``."""
    parser = Parser(
        "antiphon call",
        "antiphon call TARGET TOOL [key=value ...] [options]\n"
        "       antiphon call TOOL [key=value ...] [options] -- COMMAND [ARGUMENT ...]",
        "Call a tool, answer what it asks, and print its result.",
        f"{_TARGET}\n{_VALUES}\n{EXITS}",
    )
    parser.add_argument("words", nargs="*", metavar="TARGET TOOL key=value", help="see below")
    _add_connection(parser)
    add = parser.add_argument
    add("--arg-json", metavar="{...}", help="arguments as a JSON object; key=value adds to it")
    add("--answer", metavar="key=value", action="append", default=[], help="repeatable")
    add("--decline", action="store_true", help="decline what --answer does not answer")
    add("--open", action="store_true", help="open a page in a browser once you agreed to it")
    return parser


def list_parser() -> Parser:
    """The parser of ``antiphon list``."""
    parser = Parser(
        "antiphon list",
        "antiphon list TARGET [options]\n       antiphon list [options] -- COMMAND [ARGUMENT ...]",
        "List the tools of a server, with their arguments.",
        f"{_TARGET}\n{EXITS}",
    )
    parser.add_argument("words", nargs="*", metavar="TARGET", help="see below")
    _add_connection(parser)
    return parser


def _add_connection(parser: Parser) -> None:
    add = parser.add_argument
    add("--json", action="store_true", help="print only the result, as JSON")
    add("--deadline", metavar="S", type=_seconds, default=math.inf, help="seconds for all of it")
    add(
        "--timeout",
        metavar="S",
        type=_seconds,
        default=60.0,
        help="seconds for one request, people apart (default 60; 0 for no end)",
    )
    add("--header", metavar="'Name: value'", action="append", default=[], help="repeatable")
    add("--token-env", metavar="VAR", help="the variable that holds the bearer token")
    add(
        "--env",
        metavar="VAR[=value]",
        action="append",
        default=[],
        help="a variable for the command, which gets few by itself; repeatable",
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise ValueError
    return seconds


def read_call(argv: Sequence[str]) -> CallOptions:
    """Read the command line of ``antiphon call``.

    Raises:
        UsageError: it is wrong.
    """
    words, command = split_command(argv)
    given = call_parser().parse_intermixed_args(words)
    rest = list(given.words)
    connection = _connection(given, _target(rest, command))
    if not rest:
        raise UsageError("Which tool? antiphon call TARGET TOOL; antiphon list TARGET names them")
    return CallOptions(
        connection=connection,
        tool=rest[0],
        pairs=[split_pair(word) for word in rest[1:]],
        whole=_whole(given.arg_json),
        answers=[split_pair(word) for word in given.answer],
        decline=given.decline,
        open_links=given.open,
    )


def read_list(argv: Sequence[str]) -> Connection:
    """Read the command line of ``antiphon list``.

    Raises:
        UsageError: it is wrong.
    """
    words, command = split_command(argv)
    given = list_parser().parse_intermixed_args(words)
    rest = list(given.words)
    connection = _connection(given, _target(rest, command))
    if rest:
        raise UsageError("antiphon list takes one TARGET; a command of several words is quoted")
    return connection


def _target(words: list[str], command: list[str] | None) -> str | list[str]:
    """Take the target from the words, where it does not stand after ``--``."""
    if command is None:
        if not words or not words[0].strip():
            raise UsageError("Which server? TARGET is a URL or a command in quotes")
        return words.pop(0)
    if not command:
        raise UsageError("After -- comes the command that starts the server")
    return command


def _connection(given: argparse.Namespace, target: str | list[str]) -> Connection:
    return Connection(
        target=target,
        headers=dict(map(_header, given.header)),
        token=None if given.token_env is None else _variable(given.token_env),
        env=dict(map(_assignment, given.env)),
        timeout=given.timeout or None,
        deadline=given.deadline,
        json=given.json,
    )


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


def _whole(text: str | None) -> JsonObject:
    value = {} if text is None else read_json(text, "--arg-json")
    if not isinstance(value, dict):
        raise UsageError("--arg-json takes a JSON object")
    return value


# -- serve and keygen -------------------------------------------------------------------------


def serve_parser() -> Parser:
    """The parser of ``antiphon serve``."""
    parser = Parser(
        "antiphon serve",
        "antiphon serve MODULE:OBJECT\n"
        "       antiphon serve MODULE:OBJECT --http [--bind HOST:PORT] [--path /mcp]"
        " [--workers N] [--grace S]",
        "Serve a Server object, or what returns one, on stdio or over HTTP; with --http also any"
        "\nASGI application. Modules are looked for in the current directory first.",
        EXITS,
    )
    add = parser.add_argument
    add("app", metavar="MODULE:OBJECT", help="as examples.provision:server")
    add("--http", action="store_true", help="serve over HTTP, by hypercorn's trio worker")
    add(
        "--bind",
        metavar="HOST:PORT",
        help="default 127.0.0.1:8000; port 0 takes a free one; or unix:PATH",
    )
    add("--path", help="the endpoint, default /mcp")
    add(
        "--workers",
        metavar="N",
        type=_count,
        help="processes that serve side by side; one that dies is replaced, SIGHUP replaces all",
    )
    add(
        "--grace",
        metavar="S",
        type=_seconds,
        help="seconds for open requests to end once it is told to stop (default 10)",
    )
    return parser


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count


def read_serve(argv: Sequence[str]) -> ServeOptions:
    """Read the command line of ``antiphon serve``.

    Raises:
        UsageError: it is wrong.
    """
    given = serve_parser().parse_intermixed_args(argv)
    names = ("bind", "path", "workers", "grace")
    chosen = {name: value for name in names if (value := getattr(given, name)) is not None}
    if chosen and not given.http:
        raise UsageError(f"--{next(iter(chosen))} is for --http")
    return ServeOptions(app=given.app, http=given.http, **chosen)


def keygen_parser() -> Parser:
    """The parser of ``antiphon keygen``."""
    return Parser(
        "antiphon keygen",
        "antiphon keygen",
        "Print a new key for Server(..., keys=[...]), and nothing else.",
    )
