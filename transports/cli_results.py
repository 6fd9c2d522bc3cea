"""The result of a conversation on standard output, or in a file, and the status that it means."""

from __future__ import annotations

import sys
from pathlib import Path

from ..engine.client_messages import CallToolResult, ReadResourceResult
from ..engine.errors import UsageError
from .cli_exits import Exit
from .cli_run import print_out
from .cli_screen import Screen
from .cli_show import Result, as_json, contents_bytes, result_json, result_text


def deliver(result: Result, screen: Screen, *, json: bool, output: str | None = None) -> Exit:
    """Print a result, or write its bytes to ``output``; the exit status.

    Raises:
        BrokenPipeError: nobody reads it any more.
        UsageError: the file cannot be written.
        InvalidReply: the bytes that were sent are none.
    """
    failed = isinstance(result, CallToolResult) and result.is_error
    if json:
        print_out(as_json(result_json(result)))
    elif isinstance(result, ReadResourceResult) and output is not None:
        _write(contents_bytes(result), output)
    elif failed:
        screen.say(f"The tool failed: {result_text(result)}")
    else:
        print_out(result_text(result))
    return Exit.TOOL if failed else Exit.OK


def _write(data: bytes, output: str) -> None:
    if output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise UsageError(f"--output {output!r} cannot be written: {error.strerror}") from None
