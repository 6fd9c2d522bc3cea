"""What the whole server asks: flows and functions, each as a tool, a prompt and a template."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Consent,
    Done,
    Failed,
    Flow,
    Form,
    Given,
    InputRequired,
    Link,
    ListRoots,
    Meta,
    Polling,
    Refusal,
    Root,
    Sample,
    Sampled,
    Server,
    Together,
    ToolError,
    all_of,
)
from antiphon.flows.asks import Ask


@frozen
class Book:
    title: str


@frozen
class Reader:
    name: Annotated[str, Meta(min_length=1)]


# -- a flow of several rounds: a form, a page to visit, a wait ---------------------------------


@frozen
class AskingReader(Asking[Reader]):
    title: str

    def ask(self) -> Form[Reader]:
        return Form(f"Who borrows {self.title}?", Reader)


@frozen
class AskingPledge(Asking[Consent]):
    title: str
    reader: str

    def ask(self) -> Link:
        return Link(f"Sign for it, {self.reader}.", "https://example.org/pledge")


@frozen
class Fetching(Polling):
    title: str
    reader: str


@frozen
class Lend(Flow[Book]):
    """Lend a book. Asks who borrows it, and has them sign for it."""

    name = "lend"

    async def begin(self, args: Book) -> AskingReader:
        return AskingReader(args.title)

    @AskingReader.answered
    async def named(self, at: AskingReader, reader: Reader) -> AskingPledge:
        return AskingPledge(at.title, reader.name)

    @AskingPledge.answered
    async def signed(self, at: AskingPledge, consent: Consent) -> Fetching:
        return Fetching(at.title, at.reader)

    @AskingPledge.refused
    async def not_signed(self, at: AskingPledge) -> Failed:
        return Failed(f"{at.title} stays here: {at.reader} did not sign.")

    @Fetching.polled
    async def fetched(self, at: Fetching) -> Done[str]:
        return Done(f"{at.title} is lent to {at.reader}.")


# -- a question of every kind, in one round ----------------------------------------------------

Everything: TypeAlias = tuple[Reader, Consent, Sampled, tuple[Root, ...]]


@frozen
class AskingEverything(Asking[Everything]):
    title: str

    def ask(self) -> Together[Everything]:
        return all_of(
            Form("Who are you?", Reader, key="form"),
            Link("Sign here.", "https://example.org/sign", key="link"),
            Sample(f"Say something about {self.title}.", 50, key="sampling"),
            ListRoots(key="roots"),
        )


@frozen
class Survey(Flow[Book]):
    """Ask everybody what they think of a book."""

    name = "survey"

    async def begin(self, args: Book) -> AskingEverything:
        return AskingEverything(args.title)

    @AskingEverything.answered
    async def told(self, at: AskingEverything, answers: Everything) -> Done[str]:
        reader, _, said, roots = answers
        return Done(f"{at.title}: {reader.name} and {said.text}, with {len(roots)} roots")


# -- by hand: two questions, then a round with nothing but the state ---------------------------


@frozen
class Ink:
    colour: Literal["red", "blue"]


INK: Final = Form("Which ink?", Ink)
ROOTS: Final = ListRoots()


async def stamp(title: str, call: Call[Any]) -> str | InputRequired:
    """Stamp a book. Asks by hand for the ink and the roots, and comes back when it is dry."""
    if call.request_state is not None and "stamped" in call.request_state:
        return f"{title} is stamped {call.request_state['stamped']} in round {call.round}."
    match call.answer("ink", INK), call.answer("roots", ROOTS):
        case Given(ink), Given(roots):
            return InputRequired(state={"stamped": f"{ink.colour} for {len(roots)} roots"})
        case Refusal(how), _:
            raise ToolError(f"{title} is not stamped: the ink was {how}.")
        case _:
            return InputRequired({"ink": INK, "roots": ROOTS}, state={"title": title})


# -- by parameters: three questions in one round, and one that depends on an answer ------------


@frozen
class Branch:
    name: Literal["near", "far"]


@frozen
class Sure:
    sure: Literal["yes", "no"]


async def which_branch(title: str) -> Form[Branch]:
    return Form(f"Which branch has {title}?", Branch)


def an_opinion(title: str) -> Sample:
    return Sample(f"Is {title} any good?", 20)


def their_roots() -> ListRoots:
    return ListRoots()


def whether_sure(branch: Branch) -> Form[Sure] | Given[Sure]:
    if branch.name == "far":
        return Form("That is far. Still?", Sure)
    return Given(Sure("yes"))


async def reserve(
    title: str,
    branch: Annotated[Branch, Ask(which_branch)],
    opinion: Annotated[Sampled, Ask(an_opinion)],
    roots: Annotated[tuple[Root, ...], Ask(their_roots)],
    sure: Annotated[Given[Sure] | Refusal, Ask(whether_sure)],
) -> str:
    """Reserve a book. Asks for the branch, and again where it is far."""
    match sure:
        case Given(Sure("yes")):
            return f"{title}, {opinion.text}, is reserved {branch.name} for {len(roots)} roots."
        case Given():
            return f"{title} is not wanted."
        case Refusal(how):
            return f"{title} was {how}."


def add_asking(server: Server) -> None:
    """Register each three times."""
    for flow in (Lend(), Survey()):
        server.tool(flow)
        server.prompt(flow)
        server.resource_template(f"{flow.name}://{{title}}", flow)
    for function in (stamp, reserve):
        server.tool(function)
        server.prompt(function)
        server.resource_template(f"{function.__name__}://{{title}}")(function)
