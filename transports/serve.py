"""``antiphon serve``: from ``module:object`` to a server that runs."""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import redirect_stdout
from functools import partial, reduce
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import trio
from attrs import define, field

from ..engine.errors import UsageError, WorldError
from ..engine.exchange import RequestHandler
from .background import background
from .cli_exits import Exit, root_of
from .cli_options import ServeOptions
from .cli_screen import write_line

_OBJECT: Final = "server"
"""What is served of a module that is given without an object."""

_PATH: Final = "/mcp"
_BIND: Final = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^:\[\]]+):[0-9]{1,5}")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def serve(options: ServeOptions, *, debug: bool = False) -> int:
    """Serve until the client is done or a signal comes; the exit status.

    Raises:
        UsageError: there is no such object, or it cannot be served so.
        OSError: the address cannot be bound.
    """
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING)
    served = load(options.app)
    if options.http:
        return trio.run(_serve_http, _as_app(served, options), options)
    from .stdio import run_stdio

    run_stdio(_as_server(served, options))
    return Exit.OK


# -- what is served ---------------------------------------------------------------------------


def load(name: str) -> object:
    """The object that ``module:object`` names, or what it returns where it takes no arguments.

    The current directory comes first where modules are looked for. What the module prints
    while it is imported goes to standard error: standard output may belong to a client.

    Raises:
        UsageError: there is none, or the module or the function raised; chained to the cause.
    """
    module, _, path = name.partition(":")
    with redirect_stdout(sys.stderr):
        found = _attribute(_imported(module), path or _OBJECT)
        return _made(found, name)


def _imported(name: str) -> ModuleType:
    place, wanted = Path.cwd(), name
    if name.endswith(".py"):
        place, wanted = Path(name).resolve().parent, Path(name).stem
    if not all(part.isidentifier() for part in wanted.split(".")):
        raise UsageError(f"{name!r} is no name of a module; MODULE:OBJECT is wanted")
    sys.path.insert(0, str(place))
    try:
        return importlib.import_module(wanted)
    except Exception as error:
        # A module that is there may itself miss another one.
        if isinstance(error, ModuleNotFoundError) and f"{wanted}.".startswith(f"{error.name}."):
            raise UsageError(f"There is no module {name!r} in {place} or installed") from error
        told = f"{type(error).__name__}: {error}"
        raise UsageError(f"{name} cannot be imported: {told} (--debug shows where)") from error


def _attribute(module: ModuleType, path: str) -> object:
    try:
        return reduce(getattr, path.split("."), cast(object, module))
    except AttributeError:
        raise UsageError(
            f"{module.__name__} has no {path!r}; name another as module:object"
        ) from None


def _made(found: object, name: str) -> object:
    if is_server(found) or not callable(found) or not _takes(found):
        return found
    try:
        return found()
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise UsageError(f"{name}() failed: {told} (--debug shows where)") from error


def _takes(function: object, *arguments: object) -> bool:
    """Whether it can be called with these arguments."""
    try:
        inspect.signature(cast(Any, function)).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def is_server(candidate: object) -> bool:
    """Whether it answers requests itself."""
    return not inspect.isclass(candidate) and all(
        hasattr(candidate, member) for member in ("handle", "limits", "name")
    )


def _is_asgi(candidate: object) -> bool:
    return callable(candidate) and _takes(candidate, "scope", "receive", "send")


def _as_server(served: object, options: ServeOptions) -> RequestHandler:
    if is_server(served):
        return cast(RequestHandler, served)
    if _is_asgi(served):
        raise UsageError(f"{options.app} is an ASGI application: serve it with --http")
    raise _unservable(served, options)


def _as_app(served: object, options: ServeOptions) -> App:
    if is_server(served):
        from .asgi import http_app

        server = cast(RequestHandler, served)
        path = options.path or _PATH
        return App(http_app(server, path=path), f"{server.name} at ", path)
    if not _is_asgi(served):
        raise _unservable(served, options)
    if options.path is not None:
        raise UsageError(f"{options.app} is an ASGI application with paths of its own: no --path")
    return App(served, "", "")


def _unservable(served: object, options: ServeOptions) -> UsageError:
    return UsageError(
        f"{options.app} is {type(served).__name__}: neither a Server, nor a function that returns"
        " one, nor an ASGI application"
    )


class CannotServe(WorldError):
    """The address is taken, or not ours."""


@define
class App:
    """An ASGI application, and how to tell where it is."""

    asgi: Any
    before: str
    path: str


# -- over HTTP --------------------------------------------------------------------------------


@define
class _Stopping:
    """From a signal to the end: the first asks for it, the second insists."""

    scope: trio.CancelScope
    asked: trio.Event = field(factory=trio.Event)
    serving: bool = False
    first: int = 0

    async def heed(self, signals: AsyncIterator[int]) -> None:
        async for number in signals:
            if not self.serving or self.asked.is_set():
                self.scope.cancel()
            self.first = self.first or number
            self.asked.set()


async def _serve_http(app: App, options: ServeOptions) -> int:
    """Serve by hypercorn until SIGINT or SIGTERM, and let open requests end."""
    if not _BIND.fullmatch(options.bind) or int(options.bind.rpartition(":")[2]) > 65535:
        raise UsageError("--bind takes HOST:PORT, such as 127.0.0.1:8000 or [::1]:8000")
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        async with background() as nursery:
            stopping = _Stopping(nursery.cancel_scope)
            nursery.start_soon(stopping.heed, signals)
            await _until_stopped(app, options.bind, stopping)
            nursery.cancel_scope.cancel()
    return Exit.INTERRUPTED if stopping.first == signal.SIGINT else Exit.OK


async def _until_stopped(app: App, bind: str, stopping: _Stopping) -> None:
    from hypercorn.config import Config
    from hypercorn.trio import (
        serve as hypercorn_serve,  # pyright: ignore[reportUnknownVariableType]  # a bare dict
    )

    config = Config()
    config.bind = [bind]
    config.errorlog = logging.getLogger("hypercorn.error")
    run = partial(
        hypercorn_serve, app.asgi, config, shutdown_trigger=stopping.asked.wait, mode="asgi"
    )
    async with background() as nursery:
        addresses = await _bound(nursery, run, bind)
        stopping.serving = True
        for address in addresses:
            write_line(sys.stderr, f"Serving {app.before}{address}{app.path}")


async def _bound(
    nursery: trio.Nursery, run: Callable[..., Awaitable[None]], bind: str
) -> list[str]:
    """Start to serve; the addresses."""
    try:
        return cast("list[str]", await nursery.start(run))
    except* OSError as group:
        error = root_of(group)
    raise CannotServe(f"Cannot serve at {bind}: {error}") from None
