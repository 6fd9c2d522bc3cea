"""Turns: how many calls of an HTTP application run at a time, and how many may wait."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import trio

from ..engine.errors import ProtocolError
from ..engine.exchange import Exchange, RequestHandler
from ..engine.jsonrpc import Failure, Reply, Request, failure
from ..engine.subscriptions import LISTEN, check_room
from .busy import busy, passed_limit


class Turns:
    """Has requests handled within ``concurrent_calls``, ``waiting_calls`` and ``pending_bytes``.

    Over HTTP these hold for the whole application: a connection, or a stream of one, costs its
    client so little that a bound on each would bound nothing. Subscriptions wait most of their
    lives: they take nobody's turn, and have a limit of their own. Calls of earlier revisions wait
    for their client's answers while they are open: each of their rounds takes a turn, and those
    that are open are bounded by ``waiting_calls`` and ``pending_bytes`` among themselves.
    """

    def __init__(self, server: RequestHandler) -> None:
        self._server: Final = server
        self._limits: Final = server.limits
        self._waiting: Final = trio.lowlevel.ParkingLot()
        self._running = 0
        self._held = 0
        self._subscriptions = 0
        self._open = 0
        self._open_held = 0

    async def handle(self, request: Request, exchange: Exchange, size: int) -> Reply:
        """The server's reply, or the refusal where a limit is reached.

        Calls have their turn in the order in which they came. One that is cancelled gives its
        turn, or its place among those that wait, to others.

        Args:
            request: the request.
            exchange: what the server is given with it.
            size: the request's bytes, as it was received.
        """
        if request.method == LISTEN:
            return await self._listen(request, exchange, size)
        passed = passed_limit(self._limits, size, self._held, len(self._waiting))
        if passed is not None:
            return busy(request.id, self._limits, passed)
        self._held += size
        try:
            return await self._in_turn(request, exchange)
        finally:
            self._held -= size

    def refusal(self, request: Request, size: int) -> Failure | None:
        """Why one more call of an earlier revision may not be opened, if it may not."""
        passed = passed_limit(self._limits, size, self._open_held, self._open)
        return None if passed is None else busy(request.id, self._limits, passed)

    @contextmanager
    def opened(self, size: int) -> Generator[None, None, None]:
        """Around such a call of so many bytes, for which there was no :meth:`refusal`."""
        self._open += 1
        self._open_held += size
        try:
            yield
        finally:
            self._open -= 1
            self._open_held -= size

    def take(self, size: int) -> bool:
        """Keep so many bytes of such a call's answers, if that passes no limit."""
        fits = passed_limit(self._limits, size, self._open_held, 0) is None
        self._open_held += size if fits else 0
        return fits

    def give_back(self, size: int) -> None:
        """Keep so many no more."""
        self._open_held -= size

    async def round(self, request: Request, exchange: Exchange) -> Reply:
        """The reply to one round of an open call, when its turn has come."""
        return await self._in_turn(request, exchange)

    async def _in_turn(self, request: Request, exchange: Exchange) -> Reply:
        if self._running < self._limits.concurrent_calls:
            self._running += 1
        else:
            await self._waiting.park()
        try:
            return await self._server.handle(request, exchange)
        finally:
            self._leave()

    async def _listen(self, request: Request, exchange: Exchange, size: int) -> Reply:
        try:
            check_room(self._limits, self._subscriptions, size)
        except ProtocolError as error:
            return failure(error, request.id)
        self._subscriptions += 1
        try:
            return await self._server.handle(request, exchange)
        finally:
            self._subscriptions -= 1

    def _leave(self) -> None:
        if self._waiting:
            # The turn passes on as it is: nobody who comes in between can take it.
            self._waiting.unpark()
        else:
            self._running -= 1
