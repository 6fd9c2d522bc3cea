"""Hearing that the process which serves an ASGI application is about to stop.

ASGI says so only when the connections have ended, and an open subscription would hold its
connection until it is cut off. So whoever stops a server tells the application in one of these
ways: a program of ours by :func:`stoppable`; hypercorn, unknowingly, by the event with which it
stops its workers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from multiprocessing import current_process
from typing import Final, Protocol, TypeAlias, runtime_checkable

import trio

from ..engine.closing import Closing
from .asgi_messages import Receive, Scope, Send

# hypercorn hands more than ASGI's three arguments to what it takes for an application of its own.
App: TypeAlias = Callable[..., Awaitable[None]]

_KEY: Final = "antiphon.closing"

WATCH_SECONDS: Final = 0.2
"""How often a worker of hypercorn is asked whether it stops, while something lasting is open."""


def stoppable(app: App, closing: Closing) -> App:
    """An ASGI application that is ``app``, and in which subscriptions end with ``closing``.

    It reaches an :class:`~.asgi.HttpApp` through any framework that mounts it: it travels in
    the scope. Close it in the event loop that serves, where the server is told to stop.
    """

    async def stopping(scope: Scope, receive: Receive, send: Send, *more: object) -> None:
        await app({**scope, _KEY: closing}, receive, send, *more)

    return stopping


def closing_of(scope: Scope) -> Closing | None:
    """What :func:`stoppable` has left in a scope."""
    closing = scope.get(_KEY)
    return closing if isinstance(closing, Closing) else None


@runtime_checkable
class Stop(Protocol):
    """An event of multiprocessing: it can be asked, and awaited by a thread alone."""

    def is_set(self) -> bool:
        """Whether the process is to stop."""
        ...


def hypercorn_stop() -> Stop | None:
    """What hypercorn sets to stop this worker; None in a process that is none.

    It is an argument of the worker's process, which multiprocessing keeps.
    """
    arguments: Mapping[str, object] = getattr(current_process(), "_kwargs", {})
    event = arguments.get("shutdown_event")
    return event if isinstance(event, Stop) else None


class StopWatch:
    """Watches for the end of this worker of hypercorn, while there is something that lasts."""

    def __init__(self, stopped: Callable[[], None]) -> None:
        """``stopped`` is called once it ends."""
        self._stopped: Final = stopped
        self._watch: Final = trio.Lock()

    async def run(self) -> None:
        """Watch; of all that last, one does so for the others. In no worker it returns at once."""
        stop = hypercorn_stop()
        if stop is None:
            return
        async with self._watch:
            while not stop.is_set():  # noqa: ASYNC110  # another process sets it
                await trio.sleep(WATCH_SECONDS)
        self._stopped()
