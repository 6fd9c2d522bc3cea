"""Hear what a server sends, in this process and in those that it starts.

Two kinds of place know all of it. A server's ``handle`` makes each of its replies, and all its
notifications go through the :class:`Exchange` that it is given; the transports write refusals of
their own. Both are tapped from outside: the product has no hook for it.

A process that a test starts has a copy of this file for its ``sitecustomize``, which puts what
is said into the file :data:`SAID` beside it. So nothing of Antiphon is imported here before the
process does so itself.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

SERVER: Final = "antiphon.engine.server"
WRITERS: Final = (
    "antiphon.transports.asgi_response",
    "antiphon.transports.http_errors",
    "antiphon.transports.line_server",
    "antiphon.transports.memory",
)
"""The modules that write what a server sends, each with a ``write_message`` of its own."""

SAID: Final = "said"

Hear: TypeAlias = Callable[[bytes], None]
"""Takes one record: the method that a result answers or null, a tab, the message; all in JSON."""

Assign: TypeAlias = Callable[[Any, str, Any], None]


def tap(module: ModuleType, hear: Hear, assign: Assign = setattr) -> None:
    """Have ``hear`` told what is sent by means of a module that is among those above."""
    if module.__name__ == SERVER:
        _tap_server(module, hear, assign)
    else:
        _tap_writer(module, hear, assign)


def _tap_server(module: ModuleType, hear: Hear, assign: Assign) -> None:
    # The class that answers, which others have for their base.
    owner = next(each for each in module.ServerCore.__mro__ if "handle" in vars(each))
    handle = owner.handle

    async def heard(self: Any, request: Any, exchange: Any) -> Any:
        async def notify(notification: Any) -> None:
            _tell(hear, None, notification)
            await exchange.notify(notification)

        tapped = copy.copy(exchange)
        tapped.notify = notify
        reply = await handle(self, request, tapped)
        _tell(hear, request.method, reply)
        return reply

    assign(owner, "handle", heard)


def _tell(hear: Hear, method: str | None, message: Any) -> None:
    from antiphon.engine.errors import UsageError
    from antiphon.engine.jsonrpc import write_message

    try:
        data = write_message(message)
    except UsageError:
        return  # no transport can write it either: it is another message that is sent
    hear(_record(method if hasattr(message, "result") else None, data))


def _tap_writer(module: ModuleType, hear: Hear, assign: Assign) -> None:
    write = module.write_message

    def heard(message: Any) -> bytes:
        data: bytes = write(message)
        # Everything but the transport's own refusals was heard where the server made it.
        if hasattr(message, "code"):
            hear(_record(None, data))
        return data

    assign(module, "write_message", heard)


def _record(method: str | None, message: bytes) -> bytes:
    return b"%b\t%b" % (json.dumps(method).encode(), message)


# -- in another process -----------------------------------------------------------------------


class _Tapping(MetaPathFinder):
    """Taps the modules above as soon as they are imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != SERVER and name not in WRITERS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _tap_when_loaded(spec.loader)
        return spec


def _tap_when_loaded(loader: Loader) -> None:
    load = loader.exec_module

    def load_and_tap(module: ModuleType) -> None:
        load(module)
        tap(module, _write_down)

    # An assignment, for a loader of another class could not be asked for the source any more.
    loader.exec_module = load_and_tap  # type: ignore[method-assign]


_written: Final[set[int]] = set()


def _write_down(record: bytes) -> None:
    """Append to the file that all these processes share; the system keeps the lines whole."""
    if hash(record) in _written:
        return
    _written.add(hash(record))
    fd = os.open(Path(__file__).with_name(SAID), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, record + b"\n")
    finally:
        os.close(fd)


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, _Tapping())
