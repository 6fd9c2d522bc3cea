"""What the suite does not look at, and the TypeScript client does.

Links, ``Ask`` parameters, templates that ask, resources and lists that change, progress of each
kind of request.
"""

from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import Annotated, Any, Final, Literal

import trio
from attrs import frozen

from antiphon import (
    Asking,
    Audio,
    Call,
    Complete,
    Completion,
    Consent,
    Done,
    Failed,
    Flow,
    Form,
    Given,
    InputRequired,
    Invalid,
    Link,
    PromptMessage,
    Refusal,
    ResourceLink,
    ResourceNotFound,
    Server,
    assistant,
    user,
)
from antiphon.flows.asks import Ask
from tests.conformance.asking_tools import Name, Nothing
from tests.conformance.plain_tools import WAV

LOG: Final = "test://log"
SHELVES: Final = tuple(f"shelf-{number}" for number in range(150))


# -- a link -------------------------------------------------------------------------------------


@frozen
class AskingConsent(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Sign in, please", "https://example.org/sign-in?of=1", key="sign_in")


@frozen
class SignIn(Flow[Nothing]):
    """Ask to open a link."""

    async def begin(self, args: Nothing) -> AskingConsent:
        return AskingConsent()

    @AskingConsent.answered
    async def opened(self, at: AskingConsent, answer: Consent) -> Done[str]:
        return Done("The link was opened.")

    @AskingConsent.refused
    async def left(self, at: AskingConsent) -> Failed:
        return Failed("The link was not opened.")


# -- Ask parameters -----------------------------------------------------------------------------


@frozen
class Guest:
    name: str


@frozen
class Nights:
    nights: int


@frozen
class Sure:
    sure: bool


@frozen
class Booking:
    city: str
    guest: str
    nights: int


def whether_sure(city: str, guest: Guest, nights: Nights) -> Form[Sure]:
    """Ask for what the answers to the other questions come to."""
    return Form(f"{nights.nights} nights in {city} for {guest.name}?", Sure)


async def book(
    city: str,
    guest: Annotated[Guest, Ask("Who comes?")],
    nights: Annotated[Nights, Ask("How many nights?")],
    sure: Annotated[Given[Sure] | Refusal, Ask(whether_sure)],
) -> Booking | Failed:
    """Book a room. Asks for whom and for how long, and then whether that is right."""
    if isinstance(sure, Refusal) or not sure.value.sure:
        return Failed("Nothing was booked.")
    return Booking(city, guest.name, nights.nights)


# -- prompts ------------------------------------------------------------------------------------


async def every_role() -> list[PromptMessage]:
    """Say something in both roles."""
    return [
        user("What is this?"),
        user(Audio(WAV, "audio/wav")),
        assistant("A silent sample. See also:"),
        assistant(ResourceLink("test://static-text", "static_text", mime_type="text/plain")),
    ]


async def logging_prompt(call: Call[Any]) -> str:
    """Log a message, which only a client that set a level receives."""
    await call.message("notice", {"at": "prompt"}, logger="conformance")
    return "A message was logged."


# -- resources ----------------------------------------------------------------------------------


@frozen
class Greeting:
    language: Literal["en", "de"]


@frozen
class AskingWhom(Asking[Name]):
    word: str

    def ask(self) -> Form[Name]:
        return Form(f"{self.word}, who?", Name, key="whom")


@frozen
class Greet(Flow[Greeting]):
    """A greeting. Asks whom."""

    async def begin(self, args: Greeting) -> AskingWhom:
        return AskingWhom({"en": "Hello", "de": "Hallo"}[args.language])

    @AskingWhom.answered
    async def named(self, at: AskingWhom, answer: Name) -> Done[str]:
        return Done(f"{at.word}, {answer.name}!")


async def vault(door: str, call: Call[Any]) -> str | InputRequired:
    """Something behind a door. Asks by hand, twice."""
    question = Form(f"Who is at the {door}?", Name)
    knocked: int = call.request_state or 0
    match call.answer("who", question):
        case Given(answer) if knocked == 2:
            return f"{answer.name} is let in by the {door} after {knocked} knocks."
        case Given() | Invalid() | None:
            return InputRequired({"who": question}, state=knocked + 1)
        case Refusal():
            raise ResourceNotFound


async def shelves(value: str, others: Mapping[str, str]) -> Completion | list[str]:
    """Suggest shelves of the wing that was chosen before."""
    if others.get("wing") != "east":
        return []
    return [shelf for shelf in SHELVES if shelf.startswith(value)]


async def shelf(wing: Literal["east", "west"], shelf: Annotated[str, Complete(shelves)]) -> str:
    """What stands on a shelf."""
    return f"{shelf} in the {wing}"


# -- what changes -------------------------------------------------------------------------------


def _add_changes(server: Server) -> None:
    reads = count(1)

    @server.resource(LOG, mime_type="text/plain", ttl_ms=600_000)
    async def log() -> str:
        """How often it was read."""
        return f"read {next(reads)} times"

    @server.tool
    async def touch(uri: str) -> str:
        """Tell those who watch a resource that it has changed."""
        server.resource_updated(uri)
        return f"Those who watch {uri} were told."

    @server.tool
    async def change_resources() -> str:
        """Tell subscribers that the resources have changed."""
        server.resources_changed()
        return "Subscribers of the resources were told."

    @server.tool
    async def grow(name: str) -> str:
        """Add a tool."""
        server.tool(SignIn(), name=name)
        return f"{name} is there."

    @server.tool
    async def shrink(name: str) -> str:
        """Take a tool away."""
        server.tools.remove(name)
        return f"{name} is gone."


# -- what takes its time ------------------------------------------------------------------------


def _add_slow(server: Server) -> None:
    """One of each kind, which reports progress, and returns when the client has heard of it.

    The TypeScript client drops what it reads together with the result.
    """
    heard = defaultdict[str, trio.Event](trio.Event)

    async def slow(name: str, call: Call[Any]) -> str:
        """Report progress, wait for `go_on`, then return."""
        for done in (1, 2):
            await call.progress(done, 2)
        await heard[name].wait()
        return f"{name} went on."

    async def go_on(name: str) -> str:
        """Let the slow one of this name go on."""
        heard[name].set()
        return f"{name} goes on."

    server.tool(slow)
    server.prompt(slow)
    server.resource_template("slow://{name}")(slow)
    server.tool(go_on)


def add_beyond(server: Server) -> None:
    """Register them all."""
    server.tool(SignIn(), name="sign_in")
    server.tool(book)
    server.prompt(every_role)
    server.prompt(logging_prompt)
    server.resource_template("greeting://{language}", Greet(), ttl_ms=60_000, cache_scope="public")
    server.resource_template("vault://{door}")(vault)
    server.resource_template("shelf://{wing}/{shelf}")(shelf)
    _add_changes(server)
    _add_slow(server)
