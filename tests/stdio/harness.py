"""The other end of a connection, spoken by hand."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import trio
import trio.testing

from antiphon.engine.exchange import RequestHandler
from antiphon.engine.jsonrpc import JsonObject, Notification, Request
from antiphon.transports.stdio import serve_lines

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCRIPTED = [sys.executable, str(HERE / "scripted.py")]
TINY = [sys.executable, "-S", "-E", str(HERE / "tiny.py")]
PYTHONPATH = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def call(id: str | int, method: str = "echo", **params: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def cancel(id: object) -> JsonObject:
    params: Any = {"requestId": id}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def line(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def request(id: str | int, method: str = "echo", **params: Any) -> Request:
    return Request(id, method, params)


def ignored(_: Notification) -> None:
    """A callback for those who expect none."""


Duplex: TypeAlias = trio.StapledStream[trio.abc.SendStream, trio.abc.ReceiveStream]


class Peer:
    """One end of a connection, in JSON."""

    def __init__(self, stream: Duplex) -> None:
        self._stream = stream
        self._rest = b""

    async def say(self, *messages: object) -> None:
        await self.raw(b"".join(line(message) for message in messages))

    async def raw(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def hear(self) -> Any:
        """The next message; None at the end."""
        while b"\n" not in self._rest:
            data = await self._stream.receive_some(65536)
            if not data:
                assert not self._rest, "cut in the middle of a line"
                return None
            self._rest += data
        text, self._rest = self._rest.split(b"\n", 1)
        return json.loads(text)

    async def hear_all(self, count: int) -> dict[Any, Any]:
        """As many replies, by id."""
        replies = [await self.hear() for _ in range(count)]
        return {reply.get("id"): reply for reply in replies}

    async def hear_nothing(self) -> None:
        """Nothing is said while everybody waits."""
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0):
            raise AssertionError(f"unexpected: {await self.hear()}")

    async def hang_up(self) -> None:
        """Say no more; replies can still be heard."""
        await self._stream.send_eof()

    async def leave(self) -> None:
        await self._stream.aclose()


def stream_pair(*, tight: bool = False) -> tuple[Duplex, Duplex]:
    """Two ends in memory; where ``tight``, every send waits for its receiver."""
    pair = trio.testing.lockstep_stream_pair() if tight else trio.testing.memory_stream_pair()
    # The one end's halves are of other classes in each; nobody here cares.
    return cast(tuple[Duplex, Duplex], pair)


@asynccontextmanager
async def served(
    handler: RequestHandler, *, grace: float = 2.0, tight: bool = False
) -> AsyncGenerator[Peer, None]:
    """A peer of a handler served in this process; the serving has ended when the block has."""
    ours, theirs = stream_pair(tight=tight)
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            await serve_lines(handler, theirs, theirs, grace=grace)
            await theirs.aclose()

        nursery.start_soon(serve)
        yield Peer(ours)
        await ours.aclose()


class CancelAtStep(trio.abc.Instrument):
    """Cancels a scope as soon as a task waits for the n-th time.

    Where ``late``, it does so when that wait is over, so that it is the next await which ends.
    """

    def __init__(self, scope: trio.CancelScope, step: int, *, late: bool = False) -> None:
        self._task = trio.lowlevel.current_task()
        self._scope = scope
        self._left = step
        self._late = late

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._late:
            self._count(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if not self._late:
            self._count(task)

    def _count(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._left -= 1
            if self._left == 0:
                self._scope.cancel()


async def cancelled_at(
    step: int, work: Callable[[], Awaitable[object]], *, late: bool = False
) -> bool:
    """Whether the work was over before it waited so often; see :class:`CancelAtStep`."""
    with trio.CancelScope() as scope:
        instrument = CancelAtStep(scope, step, late=late)
        trio.lowlevel.add_instrument(instrument)
        try:
            await work()
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return not scope.cancelled_caught


def descriptors() -> set[str]:
    """This process's open descriptors and what they are."""
    found: set[str] = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{fd}: {os.readlink(f'/proc/self/fd/{fd}')}")
        except FileNotFoundError:  # the one that lists
            continue
    return found


def children() -> set[int]:
    """The processes whose parent is this one, zombies included."""
    found: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            text = Path(f"/proc/self/task/{thread}/children").read_text()
        except FileNotFoundError:
            continue
        found.update(map(int, text.split()))
    return found
