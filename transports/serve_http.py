"""An ASGI application over HTTP, by hypercorn's trio worker, until it is told to stop."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from functools import partial
from socket import AF_UNIX, socket
from typing import Any, Final, cast

import trio
from attrs import define, field, frozen
from hypercorn.config import Config
from hypercorn.trio import (
    serve as hypercorn_serve,  # pyright: ignore[reportUnknownVariableType]  # a bare dict
)

from ..engine.background import background
from ..engine.closing import Closing
from ..engine.errors import UsageError, WorldError
from .cli_exits import Exit, root_of
from .stopping import stoppable

BACKLOG: Final = 1024
"""Connections that may wait to be accepted; a Unix socket refuses further ones at once."""

_UNIX: Final = "unix:"
_BIND: Final = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^:\[\]]+):[0-9]{1,5}")


class CannotServe(WorldError):
    """The address is taken, or not ours."""


@frozen
class App:
    """An ASGI application, and how to tell where it is.

    Attributes:
        asgi: the application.
        before: what it is called, before its address.
        path: its endpoint, after the address.
        ephemeral: whether no other process could open the states that it seals.
    """

    asgi: Any
    before: str
    path: str
    ephemeral: bool = False

    def at(self, address: str) -> str:
        """Where it is, in words."""
        return f"{self.before}{address}{self.path}"


@frozen
class Served:
    """What is served at another address too, as long as an application is.

    Attributes:
        asgi: an application; its lifespan is its own.
        bind: where, in hypercorn's words.
    """

    asgi: Any
    bind: str


# -- addresses --------------------------------------------------------------------------------


def check_bind(bind: str) -> None:
    """See that it is ``HOST:PORT`` or ``unix:PATH``.

    Raises:
        UsageError: it is neither.
    """
    if bind.startswith(_UNIX) and bind != _UNIX:
        return
    if not _BIND.fullmatch(bind) or int(bind.rpartition(":")[2]) > 65535:
        raise UsageError(
            "--bind takes HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000, or unix:PATH"
        )


def bound(bind: str) -> socket:
    """A socket that listens there; nobody who connects is refused while it is open.

    Raises:
        CannotServe: the address is taken, or not ours.
    """
    config = Config()
    config.bind = [bind]
    try:
        (listener,) = config.create_sockets().insecure_sockets
        listener.listen(BACKLOG)
    except OSError as error:
        raise CannotServe(f"Cannot serve at {bind}: {error}") from None
    listener.set_inheritable(False)
    return listener


def address_of(listener: socket) -> str:
    """Where a socket listens, as hypercorn would tell it."""
    name = listener.getsockname()
    if listener.family == AF_UNIX:
        return f"http://{_UNIX}{name}"
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# -- serving ----------------------------------------------------------------------------------


@define
class _Stopping:
    """From a signal to the end: the first asks for it, the second may insist."""

    scope: trio.CancelScope
    insistent: bool
    asked: trio.Event = field(factory=trio.Event)
    serving: bool = False
    first: int = 0

    async def heed(self, signals: AsyncIterator[int]) -> None:
        async for number in signals:
            if not self.serving or (self.insistent and self.asked.is_set()):
                self.scope.cancel()
            self.first = self.first or number
            self.asked.set()


async def serve_http(
    app: App,
    bind: str,
    *,
    grace: float,
    on_ready: Callable[[list[str]], None],
    signals: Collection[signal.Signals] = (signal.SIGINT, signal.SIGTERM),
    insistent: bool = True,
    aside: Served | None = None,
) -> int:
    """Serve until a signal, and let open requests end for so many seconds; the exit status.

    Args:
        app: what is served.
        bind: where, in hypercorn's words.
        grace: seconds after which what is still open is cancelled.
        on_ready: called with the addresses once requests are taken.
        signals: what stops it.
        insistent: whether a second signal cuts the grace short.
        aside: what else is served meanwhile.

    Raises:
        CannotServe: the address is taken, or not ours.
    """
    with trio.open_signal_receiver(*signals) as received:
        async with background() as nursery:
            stopping = _Stopping(nursery.cancel_scope, insistent)
            nursery.start_soon(stopping.heed, received)
            await _until_stopped(app, bind, aside, grace, on_ready, stopping)
            nursery.cancel_scope.cancel()
    return Exit.INTERRUPTED if stopping.first == signal.SIGINT else Exit.OK


async def _until_stopped(
    app: App,
    bind: str,
    aside: Served | None,
    grace: float,
    on_ready: Callable[[list[str]], None],
    stopping: _Stopping,
) -> None:
    closing = Closing()

    async def told_to_stop() -> None:
        await stopping.asked.wait()
        closing.close()

    def run(served: Served) -> Callable[..., Awaitable[None]]:
        asgi, config = stoppable(served.asgi, closing), _config(served.bind, grace)
        return partial(hypercorn_serve, asgi, config, shutdown_trigger=told_to_stop, mode="asgi")

    async with background() as nursery:
        addresses = await _started(nursery, run(Served(app.asgi, bind)), bind)
        if aside is not None:
            await _started(nursery, run(aside), aside.bind)
        stopping.serving = True
        on_ready(addresses)


def _config(bind: str, grace: float) -> Config:
    config = Config()
    config.bind = [bind]
    config.errorlog = logging.getLogger("hypercorn.error")
    config.graceful_timeout = grace
    config.backlog = BACKLOG
    return config


async def _started(
    nursery: trio.Nursery, run: Callable[..., Awaitable[None]], bind: str
) -> list[str]:
    """Start to serve; the addresses."""
    try:
        return cast("list[str]", await nursery.start(run))
    except* OSError as group:
        error = root_of(group)
    raise CannotServe(f"Cannot serve at {bind}: {error}") from None
