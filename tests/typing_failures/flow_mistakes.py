"""Mistakes in flows. Each line marked ``# error`` must be refused by mypy and by pyright."""

from typing import Literal

from attrs import frozen

from antiphon import (
    Acting,
    Asking,
    Call,
    Done,
    Failed,
    Flow,
    Form,
    ListRoots,
    Polling,
    Question,
    Root,
    Sample,
    Sampled,
    Server,
    all_of,
)


@frozen
class Args:
    name: str


@frozen
class Region:
    name: Literal["eu", "us"]


@frozen
class Sure:
    sure: bool


@frozen
class ChoosingRegion(Asking[Region]):
    database: str

    def ask(self) -> Form[Region]:
        return Form("Which region?", Region)


@frozen
class AskingWrongly(Asking[Region]):
    def ask(self) -> Form[Sure]:  # error
        return Form("Sure?", Sure)


@frozen
class MakingTheWrongForm(Asking[Region]):
    def ask(self) -> Form[Region]:
        return Form("Sure?", Sure)  # error


@frozen
class Gathering(Asking[tuple[Sampled, tuple[Root, ...]]]):
    def ask(self) -> Question[tuple[Sampled, tuple[Root, ...]]]:
        return all_of(Sample("Why?"), ListRoots())


@frozen
class GatheringInTheWrongOrder(Asking[tuple[Sampled, tuple[Root, ...]]]):
    def ask(self) -> Question[tuple[Sampled, tuple[Root, ...]]]:
        return all_of(ListRoots(), Sample("Why?"))  # error


@frozen
class Working(Polling):
    done: int


@frozen
class Booking(Acting):
    database: str


class Provision(Flow[Args]):
    async def begin(self, args: Args) -> ChoosingRegion | Gathering | Booking:
        return ChoosingRegion(args.name)

    @ChoosingRegion.answered
    async def chosen(self, at: ChoosingRegion, region: Region) -> Working | Done[str]:
        return Done(region.name) if region.name == "eu" else Working(0)

    @ChoosingRegion.declined
    async def declined(self, at: ChoosingRegion, call: Call[Args]) -> Failed:
        return Failed(call.args.name)

    @Gathering.answered
    async def gathered(self, at: Gathering, answers: tuple[Sampled, tuple[Root, ...]]) -> Done[str]:
        return Done(answers[0].text)

    @Booking.entered
    async def booked(self, at: Booking) -> Working:
        return Working(0)

    @Working.polled
    async def polled(self, at: Working) -> Working | Done[str]:
        return Working(at.done + 1)


class Mistaken:
    @ChoosingRegion.answered  # error
    async def another_answer(self, at: ChoosingRegion, region: Sure) -> Done[str]:
        return Done("")

    @ChoosingRegion.answered  # error
    async def another_state(self, at: Working, region: Region) -> Done[str]:
        return Done("")

    @ChoosingRegion.answered  # error
    async def no_answer(self, at: ChoosingRegion) -> Done[str]:
        return Done("")

    @ChoosingRegion.answered  # error
    def not_async(self, at: ChoosingRegion, region: Region) -> Done[str]:
        return Done("")

    @Working.polled  # error
    async def polled_elsewhere(self, at: ChoosingRegion) -> Done[str]:
        return Done("")

    @Working.polled  # error
    async def polled_with_an_answer(self, at: Working, answer: Region) -> Done[str]:
        return Done("")

    @Booking.entered  # error
    async def entered_elsewhere(self, at: Working) -> Done[str]:
        return Done("")

    @ChoosingRegion.refused  # error
    async def refused_elsewhere(self, at: Gathering) -> Failed:
        return Failed("")

    @Gathering.answered  # error
    async def half_an_answer(self, at: Gathering, answers: tuple[Sampled]) -> Done[str]:
        return Done("")

    @ChoosingRegion.answered
    async def wrong_end(self, at: ChoosingRegion, region: Region) -> Done[str]:
        return Done(3)  # error

    @ChoosingRegion.answered
    async def no_such_state(self, at: ChoosingRegion, region: Region) -> Working | Done[str]:
        return Booking("")  # error


@ChoosingRegion.polled  # error
async def not_a_poll(self: object, at: ChoosingRegion) -> Failed:
    return Failed("")


server = Server("Mistakes")
server.tool(Provision())
server.tool(Provision)  # error
server.tool("provision")  # error
