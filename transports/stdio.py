"""Serving on standard input and output. Specification: basic/transports/stdio.

While it serves, the process's own standard input is the null device and its standard output is
standard error: a handler that prints, or a child that reads, reaches neither requests nor
replies.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, cast

import trio

from ..engine.background import background
from ..engine.closing import Closing
from ..engine.errors import UsageError
from ..engine.exchange import RequestHandler
from .descriptors import duplicate, open_receive, open_send
from .line_server import serve_lines

__all__ = ["run_stdio", "serve_lines", "serve_stdio"]

INTERRUPTED: Final = 130
"""Exit status of a process that was interrupted from the keyboard: 128 and SIGINT."""

_STDERR: Final = 2


def run_stdio(server: RequestHandler, *, grace: float = 2.0) -> None:
    """Serve standard input and output until the client is done. For a program's last line.

    SIGTERM ends it as the end of the input does: subscriptions end with their result, calls
    under way have ``grace`` seconds, and it returns. A second one cancels them at once. A program
    that has a handler of its own for SIGTERM, or ignores it, keeps that.

    Raises:
        SystemExit: with status 130, after an interrupt from the keyboard.
        UsageError: the process was started without a standard input or output.
    """
    # Before trio opens descriptors of its own, which would take a closed one's number.
    _prepare(0, 1)
    interrupted = False
    try:
        trio.run(_serve_until_terminated, server, grace)
    except* KeyboardInterrupt:
        interrupted = True
    if interrupted:
        raise SystemExit(INTERRUPTED)


async def _serve_until_terminated(server: RequestHandler, grace: float) -> None:
    async with _terminating() as closing:
        await serve_stdio(server, grace=grace, closing=closing)


@asynccontextmanager
async def _terminating() -> AsyncGenerator[Closing, None]:
    """What closes at SIGTERM; at a second one the body is cancelled."""
    closing = Closing()
    if not _may_handle_sigterm():
        yield closing
        return
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async with background() as nursery:
            nursery.start_soon(_heed, signals, closing, nursery.cancel_scope)
            yield closing
            nursery.cancel_scope.cancel()


def _may_handle_sigterm() -> bool:
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def _heed(signals: AsyncIterator[int], closing: Closing, serving: trio.CancelScope) -> None:
    async for _ in signals:
        if closing.closed:
            serving.cancel()
        closing.close()


async def serve_stdio(
    server: RequestHandler,
    *,
    grace: float = 2.0,
    stdin_fd: int = 0,
    stdout_fd: int = 1,
    closing: Closing | None = None,
) -> None:
    """Serve one client on two file descriptors: pipes, sockets, terminals, files, devices.

    Returns when the client closes its end, or ``closing`` is closed, as :func:`serve_lines` does.
    Until then the two descriptors are replaced as described above, for the whole process. Their
    flags are never changed.

    Raises:
        UsageError: one of the descriptors is not open.
    """
    _prepare(stdin_fd, stdout_fd)
    async with open_receive(stdin_fd) as receive, open_send(stdout_fd) as send:
        with _out_of_reach(stdin_fd, stdout_fd):
            await serve_lines(server, receive, send, grace=grace, closing=closing)


def _prepare(*descriptors: int) -> None:
    """See that they are open, and that there is a standard error to print to."""
    for fd in descriptors:
        try:
            os.fstat(fd)
        except OSError as error:
            raise UsageError(
                f"Cannot serve on file descriptor {fd}: {error.strerror}. Start the server with "
                "a pipe, a socket, a terminal, a file or /dev/null there"
            ) from None
    try:
        os.fstat(_STDERR)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != _STDERR:
            os.dup2(null, _STDERR)
            os.close(null)


@contextmanager
def _null_device() -> Generator[int, None, None]:
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield null
    finally:
        os.close(null)


@contextmanager
def _out_of_reach(stdin_fd: int, stdout_fd: int) -> Generator[None, None, None]:
    """Put other files in the place of the client's."""
    with (
        _null_device() as null,
        _replaced(stdin_fd, null),
        _replaced(stdout_fd, _STDERR),
        _prompt_stdout(stdout_fd),
    ):
        yield


@contextmanager
def _replaced(fd: int, by: int) -> Generator[None, None, None]:
    inheritable = os.get_inheritable(fd)
    before = duplicate(fd)
    os.dup2(by, fd)
    try:
        yield
    finally:
        os.dup2(before, fd, inheritable)
        os.close(before)


@contextmanager
def _prompt_stdout(fd: int) -> Generator[None, None, None]:
    """Let ``print`` show at once, and leave nothing in its buffer that the client would get.

    What was printed before, and is still in the buffer, goes to standard error as well.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        yield
        return
    stream = cast("io.TextIOWrapper[io.BufferedWriter]", stream)
    if not _writes_to(stream, fd):
        yield
        return
    before = stream.line_buffering
    try:
        _buffer_lines(stream, True)
        yield
    finally:
        _buffer_lines(stream, before)


def _buffer_lines(stream: io.TextIOWrapper, by_line: bool) -> None:
    with suppress(OSError, ValueError):  # nobody reads it, or a handler has closed it
        stream.reconfigure(line_buffering=by_line)  # which flushes


def _writes_to(stream: io.TextIOWrapper, fd: int) -> bool:
    try:
        return stream.fileno() == fd
    except (OSError, ValueError):
        return False
