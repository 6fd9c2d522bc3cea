"""A worker as the supervisor sees it: a process of its own, with a socket to it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import Final

import attrs
import trio
from attrs import define, field

from .cli_exits import Exit
from .supervisor_crew import StartFailed
from .supervisor_orders import REPORT_BYTES, UNWINDING, Orders, Report, read, written

_MODULE: Final = f"{__package__}.supervisor_child"


async def start_process(orders: Orders, listener: socket.socket) -> WorkerProcess:
    """Start a worker: a fresh interpreter, with the listener and a socket to us.

    It has a session of its own, so that an interrupt from the keyboard reaches us alone.

    Raises:
        OSError: the system refused.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = await _spawn(orders, listener.fileno(), theirs.fileno())
            stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
            return WorkerProcess(process, stream, orders)
        except BaseException:
            ours.close()
            raise


async def _spawn(orders: Orders, listener: int, channel: int) -> trio.Process:
    orders = attrs.evolve(orders, listener=listener, channel=channel)
    # -P, for a module of the standard library must not be looked for where we happen to be.
    command = [sys.executable, "-P", "-m", _MODULE, written(orders)]
    return await trio.lowlevel.open_process(
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=[listener, channel],
        start_new_session=True,
    )


@define(eq=False)
class WorkerProcess:
    """A :class:`~.supervisor_crew.Worker`; :meth:`watch` must run as long as it does."""

    _process: trio.Process
    _channel: trio.SocketStream
    _orders: Orders
    gone: trio.Event = field(factory=trio.Event, init=False)
    _began: float = field(factory=trio.current_time, init=False)
    _ended: float | None = field(default=None, init=False)

    @property
    def lived(self) -> float:  # documented there
        return (trio.current_time() if self._ended is None else self._ended) - self._began

    @property
    def obituary(self) -> str:  # documented there
        status = self._process.returncode
        how = (
            f"was killed by {signal.Signals(-status).name}"
            if status is not None and status < 0
            else f"exited with status {status}"
        )
        return f"Worker {self._process.pid} {how}"

    async def watch(self) -> None:
        """See the process to its end, which :meth:`stop` brings about where nothing else does."""
        with trio.CancelScope(shield=True):
            await self._process.wait()
            self._ended = trio.current_time()
            self.gone.set()
            await self._channel.aclose()

    async def ready(self) -> Report:
        """Wait until it serves.

        Raises:
            StartFailed: it cannot, or died before it could tell.
        """
        line = await self._line()
        if not line.endswith(b"\n"):
            await self.stop()
            raise StartFailed(Exit.INTERNAL, f"{self.obituary} before it served")
        report = read(line, Report)
        if report.status:
            raise StartFailed(report.status, report.failure)
        return report

    async def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n") and len(line) < REPORT_BYTES:
            try:
                data = await self._channel.receive_some()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                break
            if not data:
                break
            line += data
        return line

    async def stop(self) -> None:
        """Ask it to end, kill it when its grace and the time to unwind are over; return then."""
        self._signal(signal.SIGTERM)
        with trio.move_on_after(self._orders.grace + UNWINDING):
            await self.gone.wait()
        self.kill()
        await self.gone.wait()

    def kill(self) -> None:
        """End it now."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # Does nothing where it has ended: the number may be somebody else's by now.
        self._process.send_signal(number)
