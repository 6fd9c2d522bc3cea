"""Any file descriptor as a stream, its flags left alone."""

from __future__ import annotations

import fcntl
import os
import socket
import tty
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from antiphon.transports.descriptors import open_receive, open_send
from tests.stdio.harness import descriptors

Pair = tuple[int, int]
"""A descriptor to read from, and one to write to it."""

KINDS = ["pipe", "pty", "socket"]


@contextmanager
def pair(kind: str) -> Generator[Pair, None, None]:
    with ExitStack() as stack:
        if kind == "socket":
            a, b = socket.socketpair()
            ends = a.detach(), b.detach()
        elif kind == "pty":
            master, slave = os.openpty()
            tty.setraw(slave)
            ends = slave, master
        else:
            ends = os.pipe()
        for fd in ends:
            stack.callback(os.close, fd)
        yield ends


def flags(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_GETFL)


def refuse_opening_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., int] = os.open

    def refuse(path: str, *args: int, **kwargs: int) -> int:
        if str(path).startswith("/proc/self/fd/"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)


@pytest.fixture(params=["opened anew", "as given"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "as given":
        refuse_opening_anew(monkeypatch)
    return str(request.param)


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_bytes_pass_and_the_flags_stay(kind: str, blocking: bool, way: str) -> None:
    with pair(kind) as (source, sink):
        os.set_blocking(source, blocking)
        os.set_blocking(sink, blocking)
        before, opened = (flags(source), flags(sink)), descriptors()
        async with (
            open_receive(source) as receive,
            open_send(sink) as send,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(send.send_all, b"0123456789" * 20_000)
            total = 0
            while total < 200_000:
                total += len(await receive.receive_some())
                assert (flags(source), flags(sink)) == before
        assert (flags(source), flags(sink)) == before
        assert descriptors() == opened


@pytest.mark.parametrize("kind", KINDS)
async def test_a_waiting_read_can_be_cancelled_and_loses_nothing(kind: str, way: str) -> None:
    with pair(kind) as (source, sink):
        async with open_receive(source) as receive:
            for _ in range(3):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(receive.receive_some)
                    await trio.testing.wait_all_tasks_blocked()
                    nursery.cancel_scope.cancel()
            os.write(sink, b"still here")
            assert await receive.receive_some(5) == b"still"
            assert await receive.receive_some() == b" here"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_write_that_nobody_reads_can_be_cancelled(kind: str, way: str) -> None:
    with pair(kind) as (_, sink):
        before = flags(sink)
        async with open_send(sink) as send, trio.open_nursery() as nursery:
            nursery.start_soon(send.send_all, bytes(4 * 1024 * 1024))
            await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()
        assert flags(sink) == before


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_the_end_of_the_input_is_told(kind: str, way: str) -> None:
    with ExitStack() as stack:
        source, sink = stack.enter_context(pair(kind))
        async with open_receive(source) as receive:
            os.write(sink, b"last")
            null = os.open(os.devnull, os.O_RDWR)
            stack.callback(os.close, null)
            os.dup2(null, sink)  # the other end is gone
            assert await receive.receive_some() == b"last"
            assert await receive.receive_some() == b""


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_a_reader_that_is_gone_breaks_the_stream(kind: str, way: str) -> None:
    with ExitStack() as stack:
        source, sink = stack.enter_context(pair(kind))
        async with open_send(sink) as send:
            null = os.open(os.devnull, os.O_RDWR)
            stack.callback(os.close, null)
            os.dup2(null, source)
            with pytest.raises(trio.BrokenResourceError):
                await send.send_all(b"x")


async def test_a_pipe_without_a_reader_can_be_opened_and_breaks() -> None:
    source, sink = os.pipe()
    os.close(source)
    async with open_send(sink) as send:
        with pytest.raises(trio.BrokenResourceError):
            await send.send_all(b"x")
    os.close(sink)


async def test_a_regular_file_is_read_from_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    path.write_bytes(b"skipped" + b"x" * 100_000)
    with path.open("rb", buffering=0) as file:
        file.read(7)
        before = flags(file.fileno())
        async with open_receive(file.fileno()) as receive:
            total = 0
            while data := await receive.receive_some():
                total += len(data)
        assert total == 100_000
        assert file.tell() == 100_007
        assert flags(file.fileno()) == before


async def test_a_regular_file_is_written_behind_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "replies"
    path.write_bytes(b"old ")
    with path.open("ab", buffering=0) as file:
        async with open_send(file.fileno()) as send:
            await send.send_all(b"new")
    assert path.read_bytes() == b"old new"


async def test_the_null_device_is_empty_and_takes_everything() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    before = flags(null)
    async with open_receive(null) as receive, open_send(null) as send:
        assert await receive.receive_some() == b""
        await send.send_all(bytes(1_000_000))
    assert flags(null) == before
    os.close(null)


async def test_a_full_device_breaks_the_stream() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    async with open_send(full) as send:
        with pytest.raises(trio.BrokenResourceError):
            await send.send_all(b"x")
    os.close(full)


async def test_a_master_of_a_pty_is_not_mistaken_for_a_new_one() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    async with open_receive(master) as receive, open_send(master) as send:
        os.write(slave, b"up")
        assert await receive.receive_some() == b"up"
        await send.send_all(b"down")
        assert os.read(slave, 100) == b"down"
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize("kind", [*KINDS, "file"])
async def test_a_closed_stream_says_so(kind: str, way: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        if kind == "file":
            source = sink = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)
            stack.callback(os.close, source)
        else:
            source, sink = stack.enter_context(pair(kind))
        receive, send = open_receive(source), open_send(sink)
        await receive.aclose()
        await send.aclose()
        await receive.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await receive.receive_some()
        with pytest.raises(trio.ClosedResourceError):
            await send.send_all(b"x")


def test_a_descriptor_that_is_not_open_is_refused() -> None:
    source, sink = os.pipe()
    os.close(source)
    os.close(sink)
    with pytest.raises(OSError, match="Bad file descriptor"):
        open_receive(source)
    with pytest.raises(OSError, match="Bad file descriptor"):
        open_send(sink)
