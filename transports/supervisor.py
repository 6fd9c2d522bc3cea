"""``antiphon serve --http --workers N``: one parent that serves nothing, and N that do.

The parent binds the address and hands the listening socket on, so nobody who connects is refused
while workers come and go. Each worker is a fresh interpreter: it imports the module anew, and has
a trio of its own. hypercorn's own ``-w N`` ends the whole server when one worker is killed.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from tempfile import TemporaryDirectory
from typing import Final, cast

import attrs
import trio
from attrs import define, field, frozen

from ..engine.background import background
from .cli_exits import Exit, root_of
from .cli_screen import write_line
from .cli_serve_options import ServeOptions
from .serve_http import App, address_of, bound, check_bind
from .supervisor_crew import Crew, StartFailed
from .supervisor_orders import Orders, Report
from .supervisor_process import WorkerProcess, start_process

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_workers(options: ServeOptions, *, debug: bool = False) -> int:
    """Serve by so many workers until SIGINT or SIGTERM; the exit status.

    A worker that dies is replaced. SIGHUP replaces all of them, one after the other, by workers
    that have imported the module anew. The first SIGINT or SIGTERM asks the workers to end, the
    second kills them. If this process is killed itself, they end as if they were asked to.

    Raises:
        UsageError: the address has not the right form.
        CannotServe: the address is taken, or not ours.
    """
    check_bind(options.bind)
    failure = StartFailed(Exit.OK, "")
    # The folder is ours alone, and gone at the end whatever is left in it.
    folder = TemporaryDirectory(prefix="antiphon-", ignore_cleanup_errors=True)
    with bound(options.bind) as listener, folder as name:
        orders = _orders(options, name, debug)
        try:
            return trio.run(_supervise, orders, listener)
        except* StartFailed as group:
            failure = cast(StartFailed, root_of(group))
    write_line(sys.stderr, f"antiphon: {failure}")
    return failure.status


async def _supervise(orders: Orders, listener: socket.socket) -> int:
    terminal = _Terminal.ours()
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        async with background() as nursery:
            staff = _Staff(orders, listener, nursery)
            watch = _Watch(staff, Crew(orders.workers, staff.hire), terminal)
            nursery.start_soon(watch.heed, signals)
            try:
                with watch.service:
                    await watch.crew.serve(staff.announce)
            finally:
                await staff.dismiss()
            nursery.cancel_scope.cancel()
    return Exit.INTERRUPTED if watch.first == signal.SIGINT else Exit.OK


def _orders(options: ServeOptions, folder: str, debug: bool) -> Orders:
    return Orders(
        app=options.app,
        path=options.path,
        grace=options.grace,
        workers=options.workers,
        number=0,
        debug=debug,
        listener=-1,
        channel=-1,
        folder=folder,
    )


# -- processes --------------------------------------------------------------------------------


@define
class _Staff:
    """All processes that there are: those that serve, that start and that end."""

    _orders: Orders
    _listener: socket.socket
    _nursery: trio.Nursery
    _report: Report = field(factory=Report, init=False)
    _living: set[WorkerProcess] = field(factory=set[WorkerProcess], init=False)

    async def hire(self, number: int) -> WorkerProcess:
        """Start a worker and wait until it serves; leaves none behind that does not."""
        worker = await self._start(number)
        try:
            self._report = await worker.ready()
        except BaseException:
            with trio.CancelScope(shield=True):
                await worker.stop()
            raise
        return worker

    async def _start(self, number: int) -> WorkerProcess:
        orders = attrs.evolve(self._orders, number=number)
        try:
            worker = await start_process(orders, self._listener)
        except OSError as error:
            raise StartFailed(Exit.TRANSPORT, f"No worker can be started: {error}") from None
        self._living.add(worker)
        self._nursery.start_soon(self._see_out, worker)
        return worker

    async def _see_out(self, worker: WorkerProcess) -> None:
        await worker.watch()
        self._living.discard(worker)

    def announce(self, renewed: bool) -> None:
        """Say that every worker serves."""
        report, count = self._report, self._orders.workers
        if renewed:
            write_line(sys.stderr, f"All {count} workers are new")
            return
        app = App(None, report.before, report.path)
        write_line(sys.stderr, f"Serving {app.at(address_of(self._listener))} by {count} workers")

    async def dismiss(self) -> None:
        """Ask everybody to end, and return when they have; who connects is refused from now on."""
        self._listener.close()
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for worker in self._living:
                    nursery.start_soon(worker.stop)

    def kill(self) -> None:
        """End everybody now."""
        for worker in self._living:
            worker.kill()


# -- signals ----------------------------------------------------------------------------------


@define
class _Watch:
    """What a signal means: the first asks for the end, the second insists, SIGHUP renews."""

    _staff: _Staff
    crew: Crew
    _terminal: _Terminal
    service: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    first: int = field(default=0, init=False)

    async def heed(self, signals: AsyncIterator[int]) -> None:
        async for number in signals:
            if number == signal.SIGHUP and not self._terminal.is_closed:
                self.crew.renew()
            elif self.service.cancel_called:
                self._staff.kill()
            else:
                self.first = number
                self.service.cancel()


@frozen
class _Terminal:
    """The terminal that we were started at: the system sends SIGHUP when it is closed, too."""

    matters: bool

    @classmethod
    def ours(cls) -> _Terminal:
        # Under nohup a closed terminal is to be survived.
        return cls(_has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)

    @property
    def is_closed(self) -> bool:
        return self.matters and not _has_terminal()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
