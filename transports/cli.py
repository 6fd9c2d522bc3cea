"""``antiphon``: call and list a server's tools, serve one, make a key."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from ..engine.errors import UsageError
from .cli_exits import EXITS, exit_of, root_of, sentence_of
from .cli_screen import write_line
from .cli_text import harmless

_USAGE: Final = f"""\
usage: antiphon COMMAND ...

  antiphon call TARGET TOOL [key=value ...]   call a tool, and answer what it asks
  antiphon list TARGET                        list a server's tools
  antiphon serve MODULE:OBJECT [--http [--workers N]]   serve on stdio, or over HTTP
  antiphon keygen                             make a key to seal state with

antiphon COMMAND --help says more; antiphon --version says which version this is.

{EXITS}"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default this process's own; the exit status.

    Errors are told in one line on standard error, with ``--debug`` after their traceback.
    """
    status = _run(list(sys.argv[1:] if argv is None else argv))
    _let_go_of(sys.stderr)
    return status


def _run(words: list[str]) -> int:
    command, rest = (words[0], words[1:]) if words else ("", [])
    debug = "--debug" in (rest[: rest.index("--")] if "--" in rest else rest)
    try:
        return _COMMANDS.get(command, _unknown)(rest, debug)
    except SystemExit as leaving:
        # argparse has printed its help, or a server was interrupted.
        return leaving.code if isinstance(leaving.code, int) else 0
    except BrokenPipeError:
        return _nobody_reads()
    except BaseException as error:  # noqa: BLE001  # the one place where errors become words
        if debug:
            write_line(sys.stderr, harmless(traceback.format_exc()))
        if not isinstance(root_of(error), KeyboardInterrupt):
            write_line(sys.stderr, f"antiphon: {sentence_of(error)}")
        return exit_of(error)


def _nobody_reads() -> int:
    """End as a program does whose output was closed, without a second error at exit."""
    _discard(sys.stdout)
    return 128 + 13


def _let_go_of(stream: TextIO) -> None:
    """Flush what is left; where nobody reads it, drop it: Python would exit with 120 over it."""
    try:
        stream.flush()
    except OSError:
        _discard(stream)


def _discard(stream: TextIO) -> None:
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), stream.fileno())


def _call(argv: list[str], debug: bool) -> int:
    from .cli_call import run_call
    from .cli_options import read_call

    return run_call(read_call(argv), debug=debug)


def _list(argv: list[str], debug: bool) -> int:
    from .cli_call import run_list
    from .cli_options import read_list

    return run_list(read_list(argv), debug=debug)


def _serve(argv: list[str], debug: bool) -> int:
    from .cli_options import read_serve
    from .serve import serve

    return serve(read_serve(argv), debug=debug)


def _keygen(argv: list[str], _: bool) -> int:
    from ..engine.sealing.keys import generate_key
    from .cli_options import keygen_parser

    keygen_parser().parse_args(argv)
    print(generate_key())  # noqa: T201
    return 0


def _help(_: list[str], __: bool) -> int:
    print(_USAGE)  # noqa: T201
    return 0


def _version(_: list[str], __: bool) -> int:
    from .. import __version__

    print(f"antiphon {__version__}")  # noqa: T201
    return 0


def _unknown(_: list[str], __: bool) -> int:
    raise UsageError("Which command? call, list, serve or keygen; antiphon --help tells them apart")


_COMMANDS: Final[dict[str, Callable[[list[str], bool], int]]] = {
    "call": _call,
    "list": _list,
    "serve": _serve,
    "keygen": _keygen,
    "help": _help,
    "-h": _help,
    "--help": _help,
    "--version": _version,
}
