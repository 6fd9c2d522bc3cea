"""A server that asks everything a terminal can be asked, and misbehaves on request."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Literal

import trio
from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Done,
    Failed,
    Flow,
    Form,
    Link,
    Meta,
    Polling,
    Progress,
    Sample,
    Sampled,
    Server,
    ToolError,
    all_of,
    choice_of,
    http_app,
    run_stdio,
)
from antiphon.engine.questions import Consent, Together

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202eesrever[bold]bold[/bold]"
"""A title for the window, colours, a cleared screen, text turned round, and markup."""

server = Server("Tester", version="1.0", keys=["k" * 32])


@frozen
class Nothing:
    pass


# -- one field --------------------------------------------------------------------------------


@frozen
class City:
    city: Annotated[
        str,
        choice_of({"de-ber": "Berlin", "fr-par": "Paris", "it-rom": "Rome"}),
    ]


@frozen
class ChoosingCity(Asking[City]):
    def ask(self) -> Form[City]:
        return Form("Where to?", City, key="trip")


@frozen
class Travel(Flow[Nothing]):
    """Travel somewhere."""

    name = "travel"

    async def begin(self, args: Nothing) -> ChoosingCity:
        return ChoosingCity()

    @ChoosingCity.answered
    async def chosen(self, at: ChoosingCity, reply: City) -> Done[str]:
        return Done(f"travelled to {reply.city}")

    @ChoosingCity.declined
    async def declined(self, at: ChoosingCity) -> Done[str]:
        return Done("was told no")

    @ChoosingCity.cancelled
    async def cancelled(self, at: ChoosingCity) -> Done[str]:
        return Done("was told nothing")


# -- all kinds of field -----------------------------------------------------------------------


@frozen
class Profile:
    name: Annotated[str, Meta(title="Your name", description="As on the door", min_length=2)]
    age: Annotated[int, Meta(ge=18, le=120)]
    colours: list[Literal["red", "green", "blue"]]
    weight: Annotated[float, Meta(ge=0)] = 61.5
    news: bool = True
    remark: str | None = None


@frozen
class AskingProfile(Asking[Profile]):
    def ask(self) -> Form[Profile]:
        return Form("Who are you?", Profile)


@frozen
class Register(Flow[Nothing]):
    """Register a person."""

    name = "register"

    async def begin(self, args: Nothing) -> AskingProfile:
        return AskingProfile()

    @AskingProfile.answered
    async def told(self, at: AskingProfile, reply: Profile) -> Done[Profile]:
        return Done(reply)


# -- two questions at once, a page, a model ---------------------------------------------------


@frozen
class Name:
    name: str


@frozen
class AskingBoth(Asking[tuple[Name, Name]]):
    def ask(self) -> Together[tuple[Name, Name]]:
        return all_of(Form("The bride?", Name, key="bride"), Form("The groom?", Name, key="groom"))


@frozen
class Marry(Flow[Nothing]):
    """Marry two people."""

    name = "marry"

    async def begin(self, args: Nothing) -> AskingBoth:
        return AskingBoth()

    @AskingBoth.answered
    async def told(self, at: AskingBoth, names: tuple[Name, Name]) -> Done[str]:
        return Done(" and ".join(one.name for one in names))


@frozen
class Visiting(Asking[Consent]):
    url: str

    def ask(self) -> Link:
        return Link("Please sign in.", self.url, key="page")


@frozen
class Where:
    url: str = "https://accounts.example:8443/sign?in=1"


@frozen
class Visit(Flow[Where]):
    """Send a person to a page."""

    name = "visit"

    async def begin(self, args: Where) -> Visiting:
        return Visiting(args.url)

    @Visiting.answered
    async def agreed(self, at: Visiting, _: Consent) -> Done[str]:
        return Done("agreed")

    @Visiting.refused
    async def refused(self, at: Visiting) -> Failed:
        return Failed("not agreed")


@frozen
class Thinking(Asking[Sampled]):
    def ask(self) -> Sample:
        return Sample("Think.", max_tokens=10)


@frozen
class Think(Flow[Nothing]):
    """Ask a model."""

    name = "think"

    async def begin(self, args: Nothing) -> Thinking:
        return Thinking()

    @Thinking.answered
    async def thought(self, at: Thinking, said: Sampled) -> Done[str]:
        return Done(said.text)


# -- hostile ----------------------------------------------------------------------------------


@frozen
class Trap:
    trap: Annotated[str, Meta(title=HOSTILE, description=HOSTILE), choice_of({"x": HOSTILE})]


@frozen
class Trapping(Asking[Trap]):
    def ask(self) -> Form[Trap]:
        return Form(HOSTILE, Trap)


@frozen
class Attack(Flow[Nothing]):
    __doc__ = HOSTILE

    name = "attack"

    async def begin(self, args: Nothing) -> Trapping:
        return Trapping()

    @Trapping.answered
    async def trapped(self, at: Trapping, reply: Trap) -> Done[str]:
        return Done(HOSTILE)


# -- progress ---------------------------------------------------------------------------------


@frozen
class Counting(Polling):
    count: int

    def progress(self) -> Progress:
        return Progress(self.count, 3, f"step {self.count}", again_in=0)


@frozen
class Count(Flow[Nothing]):
    """Count to three."""

    name = "count"

    async def begin(self, args: Nothing) -> Counting:
        return Counting(1)

    @Counting.polled
    async def counted(self, at: Counting) -> Counting | Done[int]:
        return Counting(at.count + 1) if at.count < 3 else Done(at.count)


for flow in (Travel(), Register(), Marry(), Visit(), Think(), Attack(), Count()):
    server.tool(flow)


# -- functions --------------------------------------------------------------------------------


@server.tool
async def types(
    whole: int,
    ratio: float = 0.5,
    on: bool = False,
    text: str = "",
    many: list[int] | None = None,
) -> str:
    """Say what came."""
    return repr((whole, ratio, on, text, many))


@server.tool
async def fail() -> None:
    """Fail."""
    raise ToolError("it was not to be")


@server.tool
async def wait(call: Call[object], message: str = "waiting") -> None:
    """Say that it waits, and wait for ever."""
    await call.progress(1, 2, message)
    await trio.sleep_forever()


@server.tool
async def die() -> None:
    """End the whole process."""
    sys.stderr.write("the last words\n")
    sys.stderr.flush()
    os._exit(3)


def make() -> Server:
    """What makes a server is served too."""
    return server


def broken() -> Server:
    """It makes none."""
    raise LookupError("no such shop")


app = http_app(server)
number = 5

if __name__ == "__main__":
    run_stdio(server)
