"""A request handler that does what the method's name says; also a program that serves it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import trio

from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    Success,
)
from antiphon.engine.limits import Limits


def progress(token: JsonValue, step: int, padding: str = "") -> Notification:
    params: JsonObject = {"progressToken": token, "progress": step}
    if padding:
        params["message"] = padding
    return Notification("notifications/progress", params)


class Scripted:
    """Counts what it is asked, and remembers who was cancelled."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.name = "scripted"
        self.limits = limits or Limits()
        self.asked: list[Request] = []
        self.exchanges: list[Exchange] = []
        self.cancelled: list[str | int] = []
        self.running = 0
        self.most_running = 0
        self.go_on = trio.Event()

    async def handle(self, request: Request, exchange: Exchange) -> Reply:
        self.asked.append(request)
        self.exchanges.append(exchange)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        action: Callable[[Request, Exchange], Awaitable[Reply | JsonObject]] | None
        action = getattr(self, f"do_{request.method}", None)
        try:
            if action is None:
                return Failure(request.id, -32601, "Method not found")
            answer = await action(request, exchange)
            return answer if isinstance(answer, Success | Failure) else Success(request.id, answer)
        except trio.Cancelled:
            self.cancelled.append(request.id)
            raise
        finally:
            self.running -= 1

    async def do_echo(self, request: Request, exchange: Exchange) -> JsonObject:
        return {"params": request.params}

    async def do_size(self, request: Request, exchange: Exchange) -> JsonObject:
        return {"size": len(str(request.params["text"]))}

    async def do_big(self, request: Request, exchange: Exchange) -> JsonObject:
        size = request.params["size"]
        assert isinstance(size, int)
        return {"text": "x" * size}

    async def do_sleep(self, request: Request, exchange: Exchange) -> JsonObject:
        seconds = request.params["seconds"]
        assert isinstance(seconds, int | float)
        await trio.sleep(seconds)
        return {"slept": seconds}

    async def do_park(self, request: Request, exchange: Exchange) -> JsonObject:
        await self.go_on.wait()
        return {}

    async def do_spin(self, request: Request, exchange: Exchange) -> JsonObject:
        print("computing", file=sys.stderr, flush=True)
        while True:  # as a handler that computes does, deaf to everything but a signal
            time.sleep(0.01)  # noqa: ASYNC251  # that is the point

    async def do_flood(self, request: Request, exchange: Exchange) -> JsonObject:
        count = request.params["count"]
        assert isinstance(count, int)
        for step in range(count):
            await exchange.notify(progress(request.id, step, "p" * 100))
        return {"count": count}

    async def do_tidy(self, request: Request, exchange: Exchange) -> JsonObject:
        """Answers although it was cancelled, after a clean-up that cannot be interrupted."""
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await exchange.notify(progress(request.id, 1))
                await self.go_on.wait()

    async def do_deaf(self, request: Request, exchange: Exchange) -> JsonObject:
        with trio.CancelScope(shield=True):
            await self.go_on.wait()
        return {}

    async def do_unsendable(self, request: Request, exchange: Exchange) -> Reply:
        nothing_json_knows: object = object()
        return Success(request.id, {"value": nothing_json_knows})  # type: ignore[dict-item]

    async def do_print(self, request: Request, exchange: Exchange) -> JsonObject:
        """Prints, and lets a child print and read what this process could read."""
        print("printed by the handler")
        child = await trio.run_process(
            [sys.executable, "-S", "-c", "import sys; print('child:', sys.stdin.read())"],
            stdin=None,
        )
        os.write(1, b"written to descriptor 1\n")
        by_hand = subprocess.run(["cat"], check=True)  # noqa: ASYNC221  # as users do
        return {"status": child.returncode, "cat": by_hand.returncode, "read": sys.stdin.read()}

    async def do_thread(self, request: Request, exchange: Exchange) -> JsonObject:
        """Holds every thread that trio gives by default."""
        limiter = trio.to_thread.current_default_thread_limiter()
        for _ in range(int(limiter.total_tokens)):
            limiter.acquire_on_behalf_of_nowait(object())
        return {}


def main() -> None:
    # As late as in a program of a user.
    from antiphon.transports.stdio import run_stdio

    run_stdio(Scripted(), grace=float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)


if __name__ == "__main__":
    main()
