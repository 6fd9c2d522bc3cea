"""What stands around every request of a server, and how each fault of it becomes a reply."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, cast

import trio
from attrs import evolve

from .errors import INTERNAL_ERROR, ProtocolError, UsageError, lone
from .exchange import Exchange
from .jsonrpc import Failure, Reply, Request, Success

_log = logging.getLogger("antiphon.server")

Proceed: TypeAlias = Callable[[Request, Exchange], Awaitable[Reply]]
Middleware: TypeAlias = Callable[[Request, Exchange, Proceed], Awaitable[Reply]]
"""Stands around every request: ``await proceed(request, exchange)`` serves it.

``proceed`` raises nothing but cancellation: every fault is the Failure that it returns. What the
middleware itself raises becomes one too: a ProtocolError as it is, anything else masked.
"""


async def settled(proceed: Proceed, request: Request, exchange: Exchange) -> Reply:
    """Serve a request; every fault becomes a reply, and only cancellation is raised."""
    try:
        return await proceed(request, exchange)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the next request is served
        if (told := lone(error, ProtocolError)) is not None:
            # Its own id may be that of another message, which a handler has read.
            return Failure(request.id, told.code, told.message, told.data)
        _log.error("%.100r could not be served", request.method, exc_info=error)
        return Failure(request.id, INTERNAL_ERROR, "Internal error")
    except BaseExceptionGroup as group:
        raise _cancellation(group, request) from None


def _cancellation(
    group: BaseExceptionGroup[BaseException], request: Request
) -> BaseExceptionGroup[BaseException]:
    """What is to be raised where a task of a nursery failed while it was cancelled."""
    cancelled, rest = group.split(trio.Cancelled)
    if cancelled is None or not isinstance(rest, Exception):
        # Nothing failed, or it is an interrupt from the keyboard, which is nobody's to keep.
        return group
    _log.error("%.100r failed while it was cancelled", request.method, exc_info=rest)
    return cancelled


def around(middleware: Sequence[Middleware], innermost: Proceed) -> Proceed:
    """All that stands around ``innermost``, the first of the middleware outermost."""
    proceed = innermost
    for layer in reversed(middleware):
        proceed = partial(_layered, layer, partial(settled, proceed))
    return proceed


async def _layered(
    layer: Middleware, proceed: Proceed, request: Request, exchange: Exchange
) -> Reply:
    reply = cast(object, await layer(request, exchange, proceed))
    if not isinstance(reply, Success | Failure):
        raise UsageError(
            f"Middleware gave {type(reply).__name__}; it gives what proceed gave, or a Success "
            "or a Failure of its own"
        )
    # It may have sent the request on under another id, or answered one that it made.
    return reply if reply.id == request.id else evolve(reply, id=request.id)
