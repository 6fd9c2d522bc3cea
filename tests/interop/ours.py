"""A server of ours with one tool for each thing that a client of another make could trip over."""

from __future__ import annotations

import os
from enum import Enum
from typing import Annotated, Literal

import trio
from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Consent,
    Done,
    Email,
    Failed,
    Flow,
    Form,
    Limits,
    Link,
    ListRoots,
    Meta,
    Polling,
    Root,
    Sample,
    Sampled,
    Server,
    Together,
    ToolError,
    all_of,
    choice_of,
    run_stdio,
)


@frozen
class Nothing:
    pass


# -- one question of every kind, in one round --------------------------------------------------


@frozen
class Name:
    name: Annotated[str, Meta(min_length=1)]


Everything = tuple[Name, Consent, Sampled, tuple[Root, ...]]


@frozen
class AskingEverything(Asking[Everything]):
    def ask(self) -> Together[Everything]:
        return all_of(
            Form("Who are you?", Name, key="form"),
            Link("Sign here.", "https://example.org/sign?as=you", key="link"),
            Sample("Say something.", 50, system="Be brief.", temperature=0.5, key="sampling"),
            ListRoots(key="roots"),
        )


@frozen
class Gathered:
    name: str
    said: str
    roots: list[str]


@frozen
class Gather(Flow[Nothing]):
    """Ask for everything at once."""

    async def begin(self, args: Nothing) -> AskingEverything:
        return AskingEverything()

    @AskingEverything.answered
    async def given(self, at: AskingEverything, answers: Everything) -> Done[Gathered]:
        form, _, sampled, roots = answers
        return Done(Gathered(form.name, sampled.text, [root.uri for root in roots]))


# -- every field that a form can have ----------------------------------------------------------


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@frozen
class Order:
    title: Annotated[str, Meta(title="Your title", max_length=20)]
    mail: Email
    size: Size
    colour: Literal["red", "green"]
    region: Annotated[str, choice_of({"eu": "Europe", "us": "America"})]
    extras: Annotated[list[Literal["wrap", "card"]], Meta(min_length=1, max_length=2)]
    stamps: list[Annotated[str, choice_of({"a": "Air", "b": "Boat"})]]
    seats: Annotated[int, Meta(ge=1, le=9)] = 2
    weight: Annotated[float, Meta(ge=0)] = 0.5
    note: str | None = None
    newsletter: bool = False


@frozen
class AskingOrder(Asking[Order]):
    def ask(self) -> Form[Order]:
        return Form("What would you like?", Order)


@frozen
class Ordered:
    summary: str


@frozen
class PlaceOrder(Flow[Nothing]):
    """Order something by a long form."""

    name = "place_order"

    async def begin(self, args: Nothing) -> AskingOrder:
        return AskingOrder()

    @AskingOrder.answered
    async def filled_in(self, at: AskingOrder, order: Order) -> Done[Ordered]:
        return Done(Ordered(f"{order.size.value} {order.colour} x{order.seats} {order.extras}"))

    @AskingOrder.unusable
    async def given_up(self, at: AskingOrder) -> Failed:
        return Failed("The form was never filled in properly.")


# -- a page to visit, then a wait --------------------------------------------------------------


@frozen
class AskingConsent(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Pay on this page.", "https://example.org/pay")


@frozen
class AwaitingPayment(Polling):
    looks: int = 0


@frozen
class Pay(Flow[Nothing]):
    """Pay on a page; the third look finds it paid."""

    async def begin(self, args: Nothing) -> AskingConsent:
        return AskingConsent()

    @AskingConsent.answered
    async def agreed(self, at: AskingConsent, consent: Consent) -> AwaitingPayment:
        return AwaitingPayment()

    @AwaitingPayment.polled
    async def looked(self, at: AwaitingPayment) -> AwaitingPayment | Done[str]:
        return AwaitingPayment(at.looks + 1) if at.looks < 2 else Done("paid")


# -- plain functions ---------------------------------------------------------------------------


@frozen
class Place:
    latitude: Annotated[float, Meta(ge=-90, le=90)]
    names: dict[str, str]
    tags: list[str]


def make() -> Server:
    """A server with all of these, and a state of its own."""
    server = Server(
        "Harbour",
        version="2.5",
        title="The harbour",
        instructions="Mind the tide.",
        keys=os.environ.get("ANTIPHON_KEYS", "").split() or None,
        limits=Limits(page=4),
    )
    for flow in (Gather(), PlaceOrder(), Pay()):
        server.tool(flow)
    _add_functions(server)
    return server


def _add_functions(server: Server) -> None:
    freed = trio.Event()

    @server.tool
    async def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool(name="größe/名前", title="Größe")
    async def locate(latitude: float) -> Place:
        """Name a place."""
        return Place(latitude, {"de": "Größe", "ja": "名前"}, ["x"])

    @server.tool
    async def fail(how: Literal["told", "untold"]) -> str:
        """Fail in one way or the other."""
        if how == "told":
            raise ToolError("The tide is out.")
        raise RuntimeError("a secret of the server")

    @server.tool
    async def count(to: int, call: Call[object]) -> int:
        """Count aloud."""
        for number in range(1, to + 1):
            await call.progress(number, to, f"number {number}")
        return to

    @server.tool
    async def hang(call: Call[object]) -> None:
        """Begin, and wait for ever."""
        try:
            await call.progress(1)
            await trio.sleep_forever()
        finally:
            freed.set()

    @server.tool
    async def until_freed() -> str:
        """Wait until a call of `hang` was cancelled."""
        await freed.wait()
        return "freed"


if __name__ == "__main__":
    run_stdio(make())
