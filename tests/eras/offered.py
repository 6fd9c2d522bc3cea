"""What is offered to clients of every revision: each kind of asking, on each carrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import trio
from attrs import define, field, frozen

from antiphon import (
    Ask,
    Asking,
    Call,
    Done,
    Failed,
    Flow,
    Form,
    Given,
    InputRequired,
    Invalid,
    Limits,
    Link,
    Refusal,
    Server,
)
from antiphon.engine.questions import Consent
from examples.provision import Cloud, Database, Provision
from examples.review import ReviewChange
from examples.slow_report import Press, SlowReport

SECONDS = 30.0


@define
class Log:
    """What was done in the world, in order."""

    done: list[str] = field(factory=list[str])


@frozen
class Recorded(Cloud):
    log: Log

    async def create(self, name: str, region: str, *, request: str) -> Database:
        self.log.done.append(f"create {name} in {region}")
        return await super().create(name, region, request=request)


@frozen
class Sure:
    sure: Literal["yes", "no"]


@frozen
class Topic:
    topic: str


@frozen
class Nothing:
    pass


@frozen
class Asked(Asking[Topic]):
    def ask(self) -> Form[Topic]:
        return Form("About what?", Topic)


@frozen
class Sort:
    sort: str = "note"


@frozen
class Write(Flow[Sort]):
    """A prompt, and a template, about something."""

    name = "write"

    log: Log

    async def begin(self, args: Sort) -> Asked:
        return Asked()

    @Asked.answered
    async def told(self, at: Asked, answer: Topic) -> Done[str]:
        self.log.done.append(f"write about {answer.topic}")
        return Done(f"Write about {answer.topic}.")


@frozen
class Consenting(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Sign in", "https://example.org/sign-in")


@frozen
class SignIn(Flow[Nothing]):
    """Ask to open a link."""

    name = "sign_in"

    log: Log

    async def begin(self, args: Nothing) -> Consenting:
        return Consenting()

    @Consenting.answered
    async def opened(self, at: Consenting, consent: Consent) -> Done[str]:
        self.log.done.append("signed in")
        return Done("signed in")

    @Consenting.refused
    async def left(self, at: Consenting) -> Failed:
        return Failed("not signed in")


def _functions(server: Server, log: Log) -> None:
    @server.tool
    async def drop(table: str, sure: Annotated[Sure, Ask("Drop it?")]) -> str:
        if sure.sure == "yes":
            log.done.append(f"drop {table}")
            return "dropped"
        return "kept"

    @server.tool
    async def rename(name: str, call: Call[Any]) -> str | InputRequired:
        question = Form(f"Rename to {name}?", Sure)
        match call.answer("sure", question):
            case Given(answer) if answer.sure == "yes":
                log.done.append(f"rename to {name}")
                return "renamed"
            case Given() | Refusal():
                return "kept"
            case Invalid() if call.round > 3:
                return "no answer"
            case _:
                return InputRequired({"sure": question}, state={"asked": call.round})

    @server.prompt
    async def poem(topic: Annotated[Topic, Ask("What about?")]) -> str:
        log.done.append(f"poem about {topic.topic}")
        return f"A poem about {topic.topic}."


def offer(log: Log, **options: Any) -> Server:
    """A server with all of it."""
    server = Server("Everything", limits=Limits(question_seconds=SECONDS), **options)
    clock: Callable[[], float] = trio.current_time
    for flow in (Provision(Recorded(log)), SlowReport(Press(clock)), ReviewChange(), SignIn(log)):
        server.tool(flow)
    server.prompt(Write(log))
    server.resource_template("note://{sort}", Write(log))
    _functions(server, log)
    return server
