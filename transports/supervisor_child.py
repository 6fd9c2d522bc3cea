"""A worker of :mod:`.supervisor`, in its own process: ``python -m``, with its orders in words."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from functools import partial
from threading import Thread

import trio
from attrs import define, evolve

from ..engine.errors import UsageError
from .cli_exits import exit_of, sentence_of
from .cli_screen import write_line
from .cli_text import harmless
from .serve import as_app, load
from .serve_http import App, Served, serve_http
from .supervisor_orders import UNWINDING, Orders, Report, read, written
from .supervisor_relay import Relay, inbox, socket_of
from .workers import supervised


def main(words: list[str]) -> int:
    """Serve as ordered until SIGTERM; the exit status."""
    orders = read(words[0], Orders)
    logging.basicConfig(level=logging.DEBUG if orders.debug else logging.WARNING)
    supervisor = _Supervisor.at(orders)
    Thread(target=supervisor.follow, daemon=True).start()
    try:
        return _serve(orders, supervisor)
    except BaseException as error:  # noqa: BLE001  # where errors become words
        if orders.debug:
            write_line(sys.stderr, harmless(traceback.format_exc()))
        supervisor.tell_failure(error)
        return exit_of(error)


def _serve(orders: Orders, supervisor: _Supervisor) -> int:
    supervised(orders.workers, orders.number)
    app = as_app(load(orders.app), orders.app, orders.path)
    if app.ephemeral:
        raise UsageError(
            f"{orders.app} seals its state with a key made at start, so its {orders.workers}"
            " workers could not go on with each other's calls: give it Server(..., keys=[...]);"
            " antiphon keygen makes a key"
        )
    relay = Relay(app.asgi, orders.folder, orders.workers, orders.number)
    run = partial(
        serve_http,
        evolve(app, asgi=relay),
        f"fd://{orders.listener}",
        aside=Served(inbox(app.asgi), f"unix:{socket_of(orders.folder, orders.number)}"),
        grace=orders.grace,
        on_ready=lambda _: supervisor.tell_ready(app),
        signals=[signal.SIGTERM],
        # Service managers send SIGTERM to every process. It is the supervisor that insists.
        insistent=False,
    )
    return trio.run(run)


@define
class _Supervisor:
    """The one who started us, at the other end of a socket."""

    channel: socket.socket
    patience: float
    told: bool = False

    @classmethod
    def at(cls, orders: Orders) -> _Supervisor:
        # What our handlers start must hold neither.
        os.set_inheritable(orders.listener, False)
        os.set_inheritable(orders.channel, False)
        return cls(socket.socket(fileno=orders.channel), orders.grace + UNWINDING)

    def tell_ready(self, app: App) -> None:
        self._tell(Report(before=app.before, path=app.path))

    def tell_failure(self, error: BaseException) -> None:
        """Why we cannot serve; afterwards there is nobody who would repeat it."""
        if self.told:
            write_line(sys.stderr, f"antiphon: {sentence_of(error)}")
        else:
            self._tell(Report(status=exit_of(error), failure=sentence_of(error)))

    def _tell(self, report: Report) -> None:
        self.told = True
        with suppress(OSError):
            self.channel.sendall(written(report).encode() + b"\n")

    def follow(self) -> None:
        """End when the supervisor does, even one that was killed.

        In a thread, for it must also hold while the module is imported, and where a handler
        blocks the event loop.
        """
        with suppress(OSError):
            while self.channel.recv(1):
                pass
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(self.patience)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
