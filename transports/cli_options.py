"""The command lines of ``antiphon call``, ``prompt``, ``read`` and ``list``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import field, frozen

from ..engine.errors import UsageError
from ..engine.jsonrpc import JsonObject
from .cli_asking import Manner
from .cli_exits import EXITS
from .cli_parser import (
    TARGET,
    Connection,
    Parser,
    add_connection,
    read_connection,
    split_command,
    take_target,
)
from .cli_values import Pair, read_json, split_pair

ANSWERS: Final = """\
Questions are asked at the terminal, which is standard input and standard error; ctrl-Z puts
the call away, for antiphon resume. --answer answers them for scripts, by the name of a field,
by question.field where several questions have such a field, or by
question=accept|decline|cancel.
"""
_TYPED: Final = """\
key=value is typed by the tool's schema, and is text where the schema allows text; key:=json
is JSON whatever it says.
"""
KINDS: Final = ("tools", "prompts", "resources", "templates")
"""What a server lists."""


@frozen(kw_only=True)
class Called:
    """A request that may ask: the server, and how its questions are answered.

    Attributes:
        output: the file that gets what was read, byte for byte; ``-`` is standard output.
    """

    connection: Connection
    answers: Sequence[Pair]
    manner: Manner
    output: str | None = None


@frozen(kw_only=True)
class CallOptions(Called):
    """What ``antiphon call`` is asked to do."""

    tool: str
    pairs: Sequence[Pair]
    whole: JsonObject = field(repr=False)


@frozen(kw_only=True)
class PromptOptions(Called):
    """What ``antiphon prompt`` is asked to do."""

    name: str
    arguments: Mapping[str, str] = field(repr=False)


@frozen(kw_only=True)
class ReadOptions(Called):
    """What ``antiphon read`` is asked to do."""

    uri: str


@frozen(kw_only=True)
class ListOptions:
    """What ``antiphon list`` is asked to do; without kinds it lists whatever the server has."""

    connection: Connection
    kinds: Sequence[str]


# -- the parsers ------------------------------------------------------------------------------


def call_parser() -> Parser:
    """The parser of ``antiphon call``."""
    parser = Parser(
        "antiphon call",
        "antiphon call TARGET TOOL [key=value ...] [options]\n"
        "       antiphon call TOOL [key=value ...] [options] -- COMMAND [ARGUMENT ...]",
        "Call a tool, answer what it asks, and print its result.",
        f"{TARGET}\n{_TYPED}\n{ANSWERS}\n{EXITS}",
    )
    _add_words(parser, "TARGET TOOL key=value")
    parser.add_argument(
        "--arg-json", metavar="{...}", help="arguments as a JSON object; key=value adds to it"
    )
    add_answering(parser)
    return parser


def prompt_parser() -> Parser:
    """The parser of ``antiphon prompt``."""
    parser = Parser(
        "antiphon prompt",
        "antiphon prompt TARGET NAME [key=value ...] [options]\n"
        "       antiphon prompt NAME [key=value ...] [options] -- COMMAND [ARGUMENT ...]",
        "Get a prompt, answer what it asks, and print its messages. Its arguments are texts.",
        f"{TARGET}\n{ANSWERS}\n{EXITS}",
    )
    _add_words(parser, "TARGET NAME key=value")
    add_answering(parser)
    return parser


def read_parser() -> Parser:
    """The parser of ``antiphon read``."""
    parser = Parser(
        "antiphon read",
        "antiphon read TARGET URI [options]\n"
        "       antiphon read URI [options] -- COMMAND [ARGUMENT ...]",
        "Read a resource, answer what it asks, and print what it holds.",
        f"{TARGET}\n{ANSWERS}\n{EXITS}",
    )
    _add_words(parser, "TARGET URI")
    add_answering(parser)
    add_output(parser)
    return parser


def list_parser() -> Parser:
    """The parser of ``antiphon list``."""
    parser = Parser(
        "antiphon list",
        "antiphon list TARGET [options]\n       antiphon list [options] -- COMMAND [ARGUMENT ...]",
        "List what a server has: its tools with their arguments, or whatever is asked for. In"
        "\nJSON one kind is an array, and several are an object with an array for each.",
        f"{TARGET}\n{EXITS}",
    )
    _add_words(parser, "TARGET")
    for kind in KINDS:
        parser.add_argument(f"--{kind}", action="store_true", help=f"list the {kind}")
    parser.add_argument("--all", action="store_true", help="list everything that the server has")
    return parser


def _add_words(parser: Parser, words: str) -> None:
    parser.add_argument("words", nargs="*", metavar=words, help="see below")
    add_connection(parser)


def add_answering(parser: Parser) -> None:
    """Add the options of every command whose request may ask."""
    add = parser.add_argument
    add(
        "--answer",
        metavar="key=value",
        action="append",
        default=[],
        help="the answer to a question; repeatable",
    )
    add("--decline", action="store_true", help="decline what --answer does not answer")
    add("--pause", action="store_true", help="put the call away where --answer does not answer")
    add("--open", action="store_true", help="open a page in a browser once you agreed to it")


def add_output(parser: Parser) -> None:
    """Add the option that says where the bytes of a resource go."""
    parser.add_argument(
        "--output", metavar="FILE", help="write what was read, byte for byte; - is standard output"
    )


# -- reading them -----------------------------------------------------------------------------


def read_call(argv: Sequence[str]) -> CallOptions:
    """Read the command line of ``antiphon call``.

    Raises:
        UsageError: it is wrong.
    """
    given, rest, connection = _taken(call_parser(), argv)
    if not rest:
        raise UsageError("Which tool? antiphon call TARGET TOOL; antiphon list TARGET names them")
    return CallOptions(
        connection=connection,
        answers=read_answers(given),
        manner=read_manner(given),
        tool=rest[0],
        pairs=[split_pair(word) for word in rest[1:]],
        whole=_whole(given.arg_json),
    )


def read_prompt(argv: Sequence[str]) -> PromptOptions:
    """Read the command line of ``antiphon prompt``.

    Raises:
        UsageError: it is wrong.
    """
    given, rest, connection = _taken(prompt_parser(), argv)
    if not rest:
        raise UsageError("Which prompt? antiphon list TARGET --prompts names them")
    return PromptOptions(
        connection=connection,
        answers=read_answers(given),
        manner=read_manner(given),
        name=rest[0],
        arguments=_texts(rest[1:]),
    )


def read_read(argv: Sequence[str]) -> ReadOptions:
    """Read the command line of ``antiphon read``.

    Raises:
        UsageError: it is wrong.
    """
    given, rest, connection = _taken(read_parser(), argv)
    if len(rest) != 1:
        raise UsageError("Which resource? antiphon read TARGET URI takes one URI")
    if given.output and given.json:
        raise UsageError("--output writes the bytes and --json prints the result: keep one")
    return ReadOptions(
        connection=connection,
        answers=read_answers(given),
        manner=read_manner(given),
        uri=rest[0],
        output=given.output,
    )


def read_list(argv: Sequence[str]) -> ListOptions:
    """Read the command line of ``antiphon list``.

    Raises:
        UsageError: it is wrong.
    """
    given, rest, connection = _taken(list_parser(), argv)
    if rest:
        raise UsageError("antiphon list takes one TARGET; a command of several words is quoted")
    named = [kind for kind in KINDS if getattr(given, kind)]
    if named and given.all:
        raise UsageError(f"--all lists everything, --{named[0]} one kind: keep one")
    return ListOptions(connection=connection, kinds=() if given.all else named or ("tools",))


def _taken(parser: Parser, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str], Connection]:
    """The options, the words behind the target, and the connection to it."""
    words, command = split_command(argv)
    given = parser.parse_intermixed_args(words)
    rest = list(given.words)
    return given, rest, read_connection(given, take_target(rest, command))


def read_answers(given: argparse.Namespace) -> list[Pair]:
    """What ``--answer`` gave.

    Raises:
        UsageError: one is no pair.
    """
    return [split_pair(word) for word in given.answer]


def read_manner(given: argparse.Namespace) -> Manner:
    """How the questions that it does not answer are met.

    Raises:
        UsageError: they are to be declined and kept at once.
    """
    if given.pause and given.decline:
        raise UsageError("--pause keeps a question and --decline declines it: keep one")
    return Manner(decline=given.decline, pause=given.pause, open_links=given.open)


def _texts(words: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise UsageError(f"{word[:40]!r} is not of the form key=value")
        if key in texts:
            raise UsageError(f"Argument {key!r} is given twice")
        texts[key] = text
    return texts


def _whole(text: str | None) -> JsonObject:
    value = {} if text is None else read_json(text, "--arg-json")
    if not isinstance(value, dict):
        raise UsageError("--arg-json takes a JSON object")
    return value
