"""``antiphon serve``: from ``module:object`` to a server that runs."""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from contextlib import redirect_stdout
from functools import partial, reduce
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

import trio

from ..engine.errors import UsageError
from ..engine.exchange import RequestHandler
from .cli_exits import Exit
from .cli_screen import write_line
from .cli_serve_options import ServeOptions

if TYPE_CHECKING:
    from .serve_http import App

_OBJECT: Final = "server"
"""What is served of a module that is given without an object."""

_PATH: Final = "/mcp"


def serve(options: ServeOptions, *, debug: bool = False) -> int:
    """Serve until the client is done or a signal comes; the exit status.

    Raises:
        UsageError: there is no such object, or it cannot be served so.
        OSError: the address cannot be bound.
    """
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING)
    if options.http:
        return _serve_over_http(options, debug=debug)
    from .stdio import run_stdio

    run_stdio(_as_server(load(options.app), options))
    return Exit.OK


def _serve_over_http(options: ServeOptions, *, debug: bool) -> int:
    if options.workers > 1:
        from .supervisor import serve_workers

        return serve_workers(options, debug=debug)
    # Late, as hypercorn and what it needs would slow down a start on stdio.
    from .serve_http import check_bind, serve_http

    app = as_app(load(options.app), options.app, options.path)
    check_bind(options.bind)

    def tell(addresses: list[str]) -> None:
        for address in addresses:
            write_line(sys.stderr, f"Serving {app.at(address)}")

    return trio.run(partial(serve_http, app, options.bind, grace=options.grace, on_ready=tell))


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
    raise _unservable(served, options.app)


def as_app(served: object, name: str, path: str | None) -> App:
    """What ``name`` stands for as an application: a server at ``path``, or one that is there.

    Raises:
        UsageError: it is neither a server nor an ASGI application, or has paths of its own.
    """
    from .serve_http import App

    ephemeral = bool(getattr(served, "ephemeral_keys", False))
    if is_server(served):
        from .asgi import http_app

        server = cast(RequestHandler, served)
        path = path or _PATH
        return App(http_app(server, path=path), f"{server.name} at ", path, ephemeral)
    if not _is_asgi(served):
        raise _unservable(served, name)
    if path is not None:
        raise UsageError(f"{name} is an ASGI application with paths of its own: no --path")
    return App(served, "", "", ephemeral)


def _unservable(served: object, name: str) -> UsageError:
    return UsageError(
        f"{name} is {type(served).__name__}: neither a Server, nor a function that returns"
        " one, nor an ASGI application"
    )
