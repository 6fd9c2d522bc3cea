"""What the workers serve: a flow that remembers who served its rounds, and a tool that waits."""

import os
from typing import Literal

import trio
from attrs import frozen

from antiphon import Asking, Call, Done, Flow, Form, Server, http_app

ME = os.getpid()


@frozen
class Order:
    number: int


@frozen
class Size:
    size: Literal["small", "large"]


@frozen
class Colour:
    colour: Literal["red", "blue"]


@frozen
class Made:
    """What was ordered, and the processes that served the rounds."""

    number: int
    size: str
    colour: str
    workers: list[int]


@frozen
class ChoosingSize(Asking[Size]):
    number: int
    workers: tuple[int, ...]

    def ask(self) -> Form[Size]:
        return Form(f"Which size has number {self.number}?", Size, key="size")


@frozen
class ChoosingColour(Asking[Colour]):
    number: int
    size: str
    workers: tuple[int, ...]

    def ask(self) -> Form[Colour]:
        return Form(f"Which colour has number {self.number}?", Colour, key="colour")


@frozen
class Make(Flow[Order]):
    """Make a thing, in three rounds. Each of them does nothing that may not be done twice."""

    name = "make"

    async def begin(self, args: Order) -> ChoosingSize:
        return ChoosingSize(args.number, (ME,))

    @ChoosingSize.answered
    async def size_chosen(self, at: ChoosingSize, size: Size) -> ChoosingColour:
        return ChoosingColour(at.number, size.size, (*at.workers, ME))

    @ChoosingColour.answered
    async def colour_chosen(self, at: ChoosingColour, colour: Colour) -> Done[Made]:
        return Done(Made(at.number, at.size, colour.colour, [*at.workers, ME]))


server = Server("Workshop", keys=os.environ.get("ANTIPHON_KEYS", "").split() or None)
server.tool(Make())


@server.tool
async def confirmed(port: int, call: Call[object]) -> int:
    """Say who serves this, wait until somebody confirms that it was heard, and say it again."""
    await call.progress(ME, None, "said")
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.receive_some()
    return ME


app = http_app(server, session_prefix=f"{os.environ.get('WORKER', '0')}-")
