"""The command lines of ``antiphon serve`` and ``antiphon keygen``."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from ..engine.errors import UsageError
from .cli_exits import EXITS
from .cli_parser import Parser, count, seconds


@frozen(kw_only=True)
class ServeOptions:
    """What ``antiphon serve`` is asked to do."""

    app: str
    http: bool
    bind: str = "127.0.0.1:8000"
    path: str | None = None
    workers: int = 1
    grace: float = 10.0


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
        type=count,
        help="processes that serve side by side; one that dies is replaced, SIGHUP replaces all",
    )
    add(
        "--grace",
        metavar="S",
        type=seconds,
        help="seconds for open requests to end once it is told to stop (default 10)",
    )
    return parser


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
