"""``antiphon``: use a server from the terminal, serve one, make a key."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from ..engine.errors import UsageError
from .cli_exits import EXITS, Exit, exit_of, root_of, sentence_of
from .cli_screen import write_line
from .cli_text import harmless, one_line

_USAGE: Final = f"""\
usage: antiphon COMMAND ...

  antiphon call TARGET TOOL [key=value ...]     call a tool, and answer what it asks
  antiphon prompt TARGET NAME [key=value ...]   get a prompt
  antiphon read TARGET URI                      read a resource
  antiphon list TARGET [--all]                  list a server's tools, or all that it has
  antiphon watch TARGET [URI ...]               tell what changes at a server
  antiphon resume [ID]                          go on with a call that was put away
  antiphon serve MODULE:OBJECT [--http [--workers N]]   serve on stdio, or over HTTP
  antiphon keygen                               make a key to seal state with

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
        if command not in _COMMANDS:
            raise _unknown(command)
        return _COMMANDS[command](rest, debug)
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


def _prompt(argv: list[str], debug: bool) -> int:
    from .cli_call import run_prompt
    from .cli_options import read_prompt

    return run_prompt(read_prompt(argv), debug=debug)


def _read(argv: list[str], debug: bool) -> int:
    from .cli_call import run_read
    from .cli_options import read_read

    return run_read(read_read(argv), debug=debug)


def _list(argv: list[str], debug: bool) -> int:
    from .cli_list import run_list
    from .cli_options import read_list

    return run_list(read_list(argv), debug=debug)


def _watch(argv: list[str], debug: bool) -> int:
    from .cli_watch import read_watch, run_watch

    return run_watch(read_watch(argv), debug=debug)


def _resume(argv: list[str], debug: bool) -> int:
    from .cli_resume import read_resume, run_resume

    return run_resume(read_resume(argv), debug=debug)


def _serve(argv: list[str], debug: bool) -> int:
    from .cli_serve_options import read_serve
    from .serve import serve

    return serve(read_serve(argv), debug=debug)


def _keygen(argv: list[str], _: bool) -> int:
    from ..engine.sealing.keys import generate_key
    from .cli_serve_options import keygen_parser

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


def _nothing(_: list[str], __: bool) -> int:
    """What a first look gets; not on standard output, where a script expects a result."""
    write_line(sys.stderr, _USAGE)
    return Exit.USAGE


def _unknown(command: str) -> UsageError:
    import difflib

    near = difflib.get_close_matches(command, _NAMED, n=1)
    meant = f"do you mean {near[0]}?" if near else f"they are {', '.join(_NAMED)}"
    return UsageError(f"There is no command {one_line(command, 40)!r}; {meant}")


_NAMED: Final[dict[str, Callable[[list[str], bool], int]]] = {
    "call": _call,
    "prompt": _prompt,
    "read": _read,
    "list": _list,
    "watch": _watch,
    "resume": _resume,
    "serve": _serve,
    "keygen": _keygen,
}
_COMMANDS: Final[dict[str, Callable[[list[str], bool], int]]] = {
    **_NAMED,
    "": _nothing,
    "help": _help,
    "-h": _help,
    "--help": _help,
    "--version": _version,
}
