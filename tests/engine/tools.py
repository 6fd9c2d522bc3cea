"""Flows for the tests of the server: each shows one thing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from attrs import define, field, frozen

from antiphon import (
    Asking,
    Call,
    Consent,
    Done,
    Failed,
    Flow,
    Form,
    Link,
    ListRoots,
    Meta,
    Polling,
    Progress,
    Root,
    Sample,
    Sampled,
    Server,
    Together,
    all_of,
)
from antiphon.engine.outcomes import Unusable
from tests.engine.peer import KEY, Peer


@frozen
class OrderArgs:
    item: str
    count: Annotated[int, Meta(ge=1)] = 1


@frozen
class Colour:
    name: Annotated[str, Meta(min_length=1)]


@frozen
class Sure:
    sure: Literal["yes", "no"]


@frozen
class Receipt:
    item: str
    count: int
    colour: str


@frozen
class ChoosingColour(Asking[Colour]):
    item: str
    count: int

    def ask(self) -> Form[Colour]:
        return Form(f"Which colour for {self.count} {self.item}?", Colour)


@frozen
class Confirming(Asking[Sure]):
    item: str
    count: int
    colour: str

    def ask(self) -> Form[Sure]:
        return Form(f"Order {self.count} {self.colour} {self.item}?", Sure)


@define
class Shop:
    """Counts what was ordered, and can be told to fail."""

    ordered: list[Receipt] = field(factory=list[Receipt])
    calls: list[Call[Any]] = field(factory=list[Call[Any]])
    fails: Exception | None = None


@frozen
class Order(Flow[OrderArgs]):
    """Order something. Asks for a colour, then for a confirmation."""

    shop: Shop = field(factory=Shop)

    async def begin(self, args: OrderArgs, call: Call[OrderArgs]) -> ChoosingColour:
        self.shop.calls.append(call)
        return ChoosingColour(args.item, args.count)

    @ChoosingColour.answered
    async def colour_chosen(
        self, at: ChoosingColour, colour: Colour, call: Call[OrderArgs]
    ) -> Confirming:
        self.shop.calls.append(call)
        return Confirming(at.item, at.count, colour.name)

    @Confirming.answered
    async def confirmed(
        self, at: Confirming, reply: Sure, call: Call[OrderArgs]
    ) -> ChoosingColour | Done[Receipt]:
        self.shop.calls.append(call)
        if self.shop.fails is not None:
            raise self.shop.fails
        if reply.sure == "no":
            return ChoosingColour(at.item, at.count)
        receipt = Receipt(at.item, at.count, at.colour)
        self.shop.ordered.append(receipt)
        return Done(receipt)


@frozen
class Nothing:
    pass


@frozen
class AskingBoth(Asking[tuple[Colour, Sure]]):
    def ask(self) -> Together[tuple[Colour, Sure]]:
        return all_of(Form("Which colour?", Colour, key="a"), Form("Sure?", Sure, key="b"))


@frozen
class Both(Flow[Nothing]):
    """Ask two questions in one round."""

    async def begin(self, args: Nothing) -> AskingBoth:
        return AskingBoth()

    @AskingBoth.answered
    async def given(self, at: AskingBoth, answers: tuple[Colour, Sure]) -> Done[str]:
        colour, sure = answers
        return Done(f"{colour.name} {sure.sure}")

    @AskingBoth.unusable
    async def hopeless(self, at: AskingBoth, call: Call[Nothing]) -> Failed:
        assert isinstance(call.event, Unusable)
        return Failed(f"Hopeless: {call.event.reason}")


@frozen
class GatheringEverything(Asking[tuple[Sampled, tuple[Root, ...], Consent]]):
    def ask(self) -> Together[tuple[Sampled, tuple[Root, ...], Consent]]:
        return all_of(
            Sample("Hello?", key="said"),
            ListRoots(key="roots"),
            Link("Sign in.", "https://example.org", key="link"),
        )


@frozen
class Everything(Flow[Nothing]):
    """Ask by sampling, roots and a link."""

    async def begin(self, args: Nothing) -> GatheringEverything:
        return GatheringEverything()

    @GatheringEverything.answered
    async def given(
        self, at: GatheringEverything, answers: tuple[Sampled, tuple[Root, ...], Consent]
    ) -> Done[list[str]]:
        said, roots, _ = answers
        return Done([said.text, *(root.uri for root in roots)])


@frozen
class Baking(Polling):
    done: int = 0

    def progress(self) -> Progress:
        return Progress(self.done, 3, f"{self.done} of 3", again_in=0.25)


@frozen
class Bake(Flow[Nothing]):
    """Bake a cake. Takes three polls."""

    async def begin(self, args: Nothing) -> Baking:
        return Baking()

    @Baking.polled
    async def looked(self, at: Baking) -> Baking | Done[str]:
        return Baking(at.done + 1) if at.done < 3 else Done("a cake")


def serving(*flows: Flow[Any], **options: Any) -> Peer:
    """A peer of a server with these tools."""
    given: dict[str, Any] = {"version": "1.0", "keys": [KEY], **options}
    server = Server("Shop", **given)
    for flow in flows:
        server.tool(flow)
    return Peer(server)
