"""A flow with a state of each kind, and an edge for each event."""

import datetime
from typing import Annotated, Literal

from attrs import field, frozen

from antiphon import (
    Acting,
    Asking,
    Consent,
    Done,
    Email,
    Failed,
    Flow,
    Form,
    Link,
    Meta,
    Polling,
    Progress,
    Together,
    Uri,
    all_of,
    choice_of,
)


@frozen
class ParcelArgs:
    contents: str


@frozen
class Paper:
    grams: Annotated[int, Meta(ge=1, le=30_000)]
    to: Email
    speed: Literal["slow", "fast"]
    value: Annotated[float, Meta(ge=0)] = 0.0
    fragile: bool = False
    note: Annotated[str, Meta(min_length=1, max_length=20)] | None = None
    shop: Uri | None = None
    by: datetime.date | None = None
    at: datetime.datetime | None = None
    country: Annotated[str, choice_of({"ie": "Ireland", "at": "Austria"})] = "ie"
    extras: Annotated[list[Literal["bow", "card"]], Meta(max_length=2)] = field(
        factory=list[Literal["bow", "card"]]
    )


@frozen
class Packing(Acting):
    contents: str
    times: int = 0


@frozen
class Addressing(Asking[tuple[Paper, Consent]]):
    contents: str
    times: int

    def ask(self) -> Together[tuple[Paper, Consent]]:
        return all_of(
            Form(f"Where does {self.contents!r} go?", Paper),
            Link("Read the conditions.", "https://example.org/conditions"),
        )


@frozen
class Travelling(Polling):
    paper: Paper | None
    left: int = 2

    def progress(self) -> Progress:
        return Progress(2 - self.left, 2)


@frozen
class Arriving(Acting):
    paper: Paper | None


@frozen
class SendParcel(Flow[ParcelArgs]):
    """Send a parcel."""

    name = "parcel"

    async def begin(self, args: ParcelArgs) -> Packing:
        return Packing(args.contents)

    @Packing.entered
    async def packed(self, at: Packing) -> Addressing | Failed:
        return Addressing(at.contents, at.times) if at.times < 3 else Failed("Torn paper.")

    @Addressing.answered
    async def addressed(
        self, at: Addressing, answers: tuple[Paper, Consent]
    ) -> Packing | Travelling:
        paper, _ = answers
        return Packing(at.contents, at.times + 1) if paper.fragile else Travelling(paper)

    @Addressing.declined
    async def kept(self, at: Addressing) -> Failed:
        return Failed(f"{at.contents!r} stays here.")

    @Addressing.cancelled
    async def interrupted(self, at: Addressing) -> Addressing:
        return at

    @Addressing.unusable
    async def unreadable(self, at: Addressing) -> Travelling:
        return Travelling(None)

    @Addressing.unavailable
    async def unasked(self, at: Addressing) -> Travelling:
        return Travelling(None, 0)

    @Travelling.polled
    async def travelled(self, at: Travelling) -> Travelling | Arriving:
        return Travelling(at.paper, at.left - 1) if at.left else Arriving(at.paper)

    @Arriving.entered
    async def arrived(self, at: Arriving) -> Done[Paper] | Failed:
        return Done(at.paper) if at.paper else Failed("It arrived, nobody knows where.")
