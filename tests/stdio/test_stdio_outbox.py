"""The lines on their way out."""

from __future__ import annotations

import select

import pytest
import trio
import trio.testing

from antiphon.transports.outbox import BOUND, Outbox


class Recorder(trio.abc.SendStream):
    """Keeps each send apart; breaks at the one asked for."""

    def __init__(self, *, breaks_at: int | None = None) -> None:
        self.sends: list[bytes] = []
        self._breaks_at = breaks_at

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        if len(self.sends) == self._breaks_at:
            raise trio.BrokenResourceError
        self.sends.append(bytes(data))

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def test_what_waits_leaves_in_one_send(nursery: trio.Nursery) -> None:
    stream, outbox = Recorder(), Outbox()
    ends = [outbox.post(line) for line in (b"one", b"two", b"three")]
    nursery.start_soon(outbox.write_to, stream)
    await outbox.below(1)
    assert stream.sends == [b"one\ntwo\nthree\n"]
    assert ends == [3, 7, 13]
    assert outbox.sent == 14
    outbox.post(b"four")
    await outbox.below(1)
    assert stream.sends[1:] == [b"four\n"]


async def test_only_those_who_can_wait_do(nursery: trio.Nursery) -> None:
    ours, theirs = trio.testing.lockstep_stream_pair()
    outbox = Outbox()
    nursery.start_soon(outbox.write_to, ours)
    outbox.post(b"x" * BOUND)
    outbox.post(b"y")
    with trio.move_on_after(0) as scope:
        await outbox.room()
    assert scope.cancelled_caught
    received = 0
    while received < BOUND + len(b"\ny\n"):
        received += len(await theirs.receive_some(BOUND))
    await outbox.room()


async def test_a_broken_stream_lets_everybody_go() -> None:
    outbox = Outbox()
    outbox.post(b"x" * BOUND)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.room)
        nursery.start_soon(outbox.below, 1)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BrokenResourceError):
            await outbox.write_to(Recorder(breaks_at=0))
    outbox.post(b"dropped")
    await outbox.below(1)


async def test_a_pipe_tells_exactly_how_much_was_sent() -> None:
    outbox = Outbox(pipe=True)
    first = outbox.post(b"a" * (select.PIPE_BUF - 1))
    second = outbox.post(b"b" * select.PIPE_BUF)
    third = outbox.post(b"c")
    with pytest.raises(trio.BrokenResourceError):
        await outbox.write_to(Recorder(breaks_at=1))
    assert first <= outbox.sent < second < third


async def test_of_another_stream_all_that_was_handed_over_may_have_been_received() -> None:
    outbox = Outbox()
    end = outbox.post(b"a" * 10_000)
    with pytest.raises(trio.BrokenResourceError):
        await outbox.write_to(Recorder(breaks_at=0))
    assert end <= outbox.sent
    assert outbox.post(b"later") > outbox.sent
