"""Two workers behind nginx: their rounds mix, one of them dies, and every call is finished."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest
import trio
from attrs import define, field

from antiphon import (
    Accept,
    Asked,
    BadStatus,
    Client,
    Conversation,
    TransportLost,
    Waiting,
    open_client,
)
from antiphon.engine.client_messages import CallToolResult
from tests.deployment.deployed import Made
from tests.deployment.programs import NGINX, deployed

pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: nginx-light)"),
    pytest.mark.skipif(sys.platform != "linux", reason="the port is reserved as Linux allows it"),
]

CONVERSATIONS = 200
BAD_GATEWAY = 502
PATIENCE = 120
"""Seconds after which a deployment that stands still has failed the test."""


# -- somebody who confirms --------------------------------------------------------------------


@define
class Confirming:
    """Calls of ``confirmed``: whom they were heard from, and their waiting for us."""

    listener: trio.SocketListener
    _send: trio.MemorySendChannel[int]
    heard: trio.MemoryReceiveChannel[int]

    def begin(self, client: Client) -> Conversation[CallToolResult]:
        """Begin a call; its progress says which process serves it."""
        port = self.listener.socket.getsockname()[1]
        return client.conversation("confirmed", {"port": port}, progress=self._hear)

    def _hear(self, done: float, total: float | None, message: str | None) -> None:
        self._send.send_nowait(int(done))


@asynccontextmanager
async def confirming() -> AsyncGenerator[Confirming, None]:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        yield Confirming(listener, *trio.open_memory_channel[int](10))


async def finish(call: Conversation[CallToolResult], results: list[CallToolResult]) -> None:
    step = await call.advance()
    assert isinstance(step, CallToolResult)
    results.append(step)


async def test_an_event_passes_nginx_while_the_call_still_waits() -> None:
    results: list[CallToolResult] = []
    with trio.fail_after(PATIENCE):
        async with (
            deployed() as site,
            open_client(site.url) as client,
            confirming() as place,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(finish, place.begin(client), results)
            worker = await place.heard.receive()
            assert not results, "the handler waits for us"
            await (await place.listener.accept()).aclose()
    assert [result.text for result in results] == [str(worker)]


# -- conversations ----------------------------------------------------------------------------


@define
class Traffic:
    """Many conversations at once.

    Attributes:
        made: the results, by number.
        lost: legs that were made again.
        replaced: set once the worker that was killed is back; some wait for it.
    """

    made: dict[int, Made] = field(factory=dict[int, Made])
    lost: int = 0
    replaced: trio.Event = field(factory=trio.Event)
    _legs: int = 0
    _awaited: dict[int, trio.Event] = field(factory=dict[int, trio.Event])

    async def legs(self, count: int) -> None:
        """Wait until so many legs were answered."""
        if self._legs < count:
            await self._awaited.setdefault(count, trio.Event()).wait()

    async def converse(self, client: Client, number: int) -> None:
        """Order one thing, in three rounds."""
        call = client.conversation("make", {"number": number})
        await self.leg(call, {})
        await self.leg(call, {"size": Accept({"size": size_of(number)})})
        if number % 4 == 0:
            await self.replaced.wait()
        result = await self.leg(call, {"colour": Accept({"colour": colour_of(number)})})
        assert isinstance(result, CallToolResult)
        self.made[number] = msgspec.convert(result.structured, Made)

    async def leg(
        self, call: Conversation[CallToolResult], answers: dict[str, Accept]
    ) -> Asked | Waiting | CallToolResult:
        """Make a leg, and make it again where it was lost: the conversation is where it was.

        A program may do so where the tool bears it. Nobody does it unasked: nginx passes a
        request that has reached a worker to no other, and the client sends nothing twice.
        """
        while True:
            try:
                step = await call.advance(answers)
            except TransportLost:
                self.lost += 1
            except BadStatus as error:
                if error.status != BAD_GATEWAY:
                    raise
                self.lost += 1
            else:
                self._count()
                return step

    def _count(self) -> None:
        self._legs += 1
        if self._legs in self._awaited:
            self._awaited[self._legs].set()


def size_of(number: int) -> str:
    return "large" if number % 3 else "small"


def colour_of(number: int) -> str:
    return "blue" if number % 2 else "red"


async def test_every_conversation_ends_right_though_a_worker_is_killed_and_restarted() -> None:
    traffic = Traffic()
    held: list[object] = []

    async def hold(client: Client, place: Confirming) -> None:
        held.append(await traffic.leg(place.begin(client), {}))

    with trio.fail_after(PATIENCE):
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(deployed())
            # A client holds a hundred connections.
            clients = [await stack.enter_async_context(open_client(site.url)) for _ in range(4)]
            place = await stack.enter_async_context(confirming())
            nursery = await stack.enter_async_context(trio.open_nursery())
            nursery.start_soon(hold, clients[0], place)
            victim = await place.heard.receive()
            # Its call is under way, and is still when it dies.
            async with await place.listener.accept():
                for order in range(CONVERSATIONS):
                    nursery.start_soon(traffic.converse, clients[order % 4], order)
                await traffic.legs(100)
                number = site.number_of(victim)
                await site.workers[number].kill()
            survivor = await place.heard.receive()
            await (await place.listener.accept()).aclose()
            await traffic.legs(300)
            await site.start(number)
            successor = site.workers[number].process.pid
            traffic.replaced.set()

    assert isinstance(held[0], CallToolResult)
    assert held[0].text == str(survivor)
    assert {
        number: (made.number, made.size, made.colour) for number, made in traffic.made.items()
    } == {number: (number, size_of(number), colour_of(number)) for number in range(CONVERSATIONS)}
    served = [set(made.workers) for made in traffic.made.values()]
    assert set[int]().union(*served) == {victim, survivor, successor}
    assert any(len(workers) > 1 for workers in served), "rounds of one call, by several workers"
    assert traffic.lost >= 1
