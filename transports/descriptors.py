"""Any file descriptor as a trio stream, with its flags left as they were found.

O_NONBLOCK belongs to the open file description, which a server shares with whoever started it:
a shell whose terminal became non-blocking loses its next reader. So nothing here ever sets it on
what was given. Instead, by kind of file:

* Pipes and terminals are opened anew through /proc, which makes a description of our own.
* Sockets take a flag with each call.
* Where opening anew is impossible, reads wait until there is something to read, and writes go
  to a thread.
* Regular files and other devices cannot be waited for: they are served by a thread. It is left
  behind when a read is cancelled, and holds up neither the task nor the end of the process.

Closing a stream closes what it opened; the given descriptor stays as it is.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import select
import socket
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import trio

from .lines import CHUNK

_PTY_MASTERS: Final = (5, 2)
"""Device number of /dev/ptmx on Linux: opening one anew makes a new terminal."""


def open_receive(fd: int) -> trio.abc.ReceiveStream:
    """A stream that reads from ``fd`` and can be cancelled at any time.

    Raises:
        OSError: there is no such descriptor.
    """
    mode = os.fstat(fd)
    if stat.S_ISSOCK(mode.st_mode):
        return _SocketStream(fd)
    if not _can_wait(fd, mode):
        return _ThreadReceive(fd)
    return _opened_anew(fd, mode, os.O_RDONLY) or _PolledReceive(fd)


def open_send(fd: int) -> trio.abc.SendStream:
    """A stream that writes to ``fd`` and can be cancelled at any time.

    Raises:
        OSError: there is no such descriptor.
    """
    mode = os.fstat(fd)
    if stat.S_ISSOCK(mode.st_mode):
        return _SocketStream(fd)
    anew = _opened_anew(fd, mode, os.O_WRONLY) if _can_wait(fd, mode) else None
    return anew or _ThreadSend(fd)


def duplicate(fd: int) -> int:
    """A second descriptor for the same description, above the standard ones, not inherited."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _can_wait(fd: int, mode: os.stat_result) -> bool:
    return stat.S_ISFIFO(mode.st_mode) or (stat.S_ISCHR(mode.st_mode) and os.isatty(fd))


def _opened_anew(fd: int, mode: os.stat_result, access: int) -> trio.lowlevel.FdStream | None:
    device = (os.major(mode.st_rdev), os.minor(mode.st_rdev))
    if not sys.platform.startswith("linux") or device == _PTY_MASTERS:
        return None
    flags = access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return trio.lowlevel.FdStream(os.open(f"/proc/self/fd/{fd}", flags))
    except OSError:  # no /proc, another user's terminal, nobody at the other end
        return None


@contextmanager
def _as_trio_errors() -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EBADF:
            raise trio.ClosedResourceError("this stream was already closed") from None
        raise trio.BrokenResourceError(str(error)) from error


class _SocketStream(trio.abc.Stream):
    """A socket that somebody else may share: MSG_DONTWAIT concerns one call alone."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=duplicate(fd))

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        with _as_trio_errors():
            while True:
                try:
                    return self._socket.recv(max_bytes or CHUNK, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    await trio.lowlevel.wait_readable(self._socket)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        rest = memoryview(data)
        with _as_trio_errors():
            while rest:
                try:
                    rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT) :]
                except BlockingIOError:
                    await trio.lowlevel.wait_writable(self._socket)

    async def wait_send_all_might_not_block(self) -> None:
        with _as_trio_errors():
            await trio.lowlevel.wait_writable(self._socket)

    async def aclose(self) -> None:
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
        await trio.lowlevel.checkpoint()


class _FileStream(trio.abc.AsyncResource):
    """A duplicate of a descriptor, in a file object that refuses use after it was closed."""

    def __init__(self, fd: int, mode: str) -> None:
        self._file = io.FileIO(duplicate(fd), mode)
        # One thread at a time, and never one that a handler's threads have taken.
        self._threads = trio.CapacityLimiter(1)

    async def aclose(self) -> None:
        if not self._file.closed:
            trio.lowlevel.notify_closing(self._file)
            self._file.close()
        await trio.lowlevel.checkpoint()

    def _check_open(self) -> None:
        if self._file.closed:
            raise trio.ClosedResourceError("this stream was already closed")


class _PolledReceive(_FileStream, trio.abc.ReceiveStream):
    """A pipe or terminal of which no description of our own can be had.

    Where another process reads from it too, and is faster, a read may hold up everything.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "rb")

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        self._check_open()
        with _as_trio_errors():
            while True:
                await trio.lowlevel.wait_readable(self._file)
                data = self._file.read(max_bytes or CHUNK)
                # None: non-blocking as it was given, and another reader was faster.
                if data is not None:
                    return data


class _ThreadReceive(_FileStream, trio.abc.ReceiveStream):
    """A file that cannot be waited for."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "rb")

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        self._check_open()
        with _as_trio_errors():
            return await trio.to_thread.run_sync(
                _read, self._file, max_bytes or CHUNK, abandon_on_cancel=True, limiter=self._threads
            )


class _ThreadSend(_FileStream, trio.abc.SendStream):
    """A file whose writes may block."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "wb")

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self._check_open()
        with _as_trio_errors():
            await trio.to_thread.run_sync(
                _write, self._file, bytes(data), abandon_on_cancel=True, limiter=self._threads
            )

    async def wait_send_all_might_not_block(self) -> None:
        self._check_open()
        await trio.lowlevel.checkpoint()


def _read(file: io.FileIO, size: int) -> bytes:
    while (data := file.read(size)) is None:
        select.select([file], [], [])
    return data


def _write(file: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = file.write(rest)
        if written is None:
            select.select([], [file], [])
        else:
            rest = rest[written:]
