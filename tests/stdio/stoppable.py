"""A program that serves subscriptions and calls, some of which end only when it stops."""

from __future__ import annotations

import sys

import trio

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Reply, Request, Success
from antiphon.engine.subscriptions import LISTEN
from antiphon.transports.stdio import run_stdio
from tests.engine.subscribing import Watched


class Stopping(Watched):
    """``last`` is answered when a subscription has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.stopping = trio.Event()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        if request.method == "last":
            await self.stopping.wait()
            return Success(request.id, {})
        reply = await super().handle(request, exchange)
        if request.method == LISTEN:
            self.stopping.set()
        return reply


def main() -> None:
    """Serve; the first argument is the grace in seconds."""
    run_stdio(Stopping(), grace=float(sys.argv[1]))


if __name__ == "__main__":
    main()
