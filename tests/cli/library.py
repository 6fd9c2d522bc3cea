"""A server with prompts, resources, log messages and changes, and a call of two rounds."""

from typing import Annotated, Literal

import trio
from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Done,
    Flow,
    Form,
    Meta,
    PromptMessage,
    Server,
    assistant,
    run_stdio,
    user,
)
from tests.cli.served import HOSTILE

PICTURE = b"\x89PNG\x00\xff"

server = Server("Library", version="1.0", keys=["k" * 32])


# -- what asks --------------------------------------------------------------------------------


@frozen
class Topic:
    animal: Literal["cats", "dogs"]


@frozen
class Tone:
    tone: Literal["dry", "warm"]


@frozen
class Length:
    words: Annotated[int, Meta(title="How many words", ge=10, le=500)]


@frozen
class AskingTone(Asking[Tone]):
    animal: str

    def ask(self) -> Form[Tone]:
        return Form(f"How shall we speak of {self.animal}?", Tone)


@frozen
class AskingLength(Asking[Length]):
    animal: str
    tone: str

    def ask(self) -> Form[Length]:
        return Form("How long shall it be?", Length)


@frozen
class Essay(Flow[Topic]):
    """Write about an animal. Asks for the tone and the length."""

    name = "essay"

    async def begin(self, args: Topic) -> AskingTone:
        return AskingTone(args.animal)

    @AskingTone.answered
    async def toned(self, at: AskingTone, answer: Tone) -> AskingLength:
        return AskingLength(at.animal, answer.tone)

    @AskingLength.answered
    async def measured(self, at: AskingLength, answer: Length) -> Done[str]:
        return Done(f"{answer.words} {at.tone} words on {at.animal}")


@frozen
class Stalling(Asking[Tone]):
    def ask(self) -> Form[Tone]:
        return Form("How shall we stall?", Tone)


@frozen
class Stall(Flow[Topic]):
    """Ask, and never come back with what is done about the answer."""

    name = "stall"

    async def begin(self, args: Topic) -> Stalling:
        return Stalling()

    @Stalling.answered
    async def toned(self, at: Stalling, answer: Tone) -> Done[str]:
        await trio.sleep_forever()
        return Done("never")


server.tool(Essay())
server.tool(Stall())
server.prompt(Essay())
server.resource_template("essay://{animal}", Essay())


# -- what can be read -------------------------------------------------------------------------


@server.prompt(title="Greet somebody")
async def greet(
    name: Annotated[str, Meta(description="Whom to greet")],
    tone: Literal["dry", "warm"] = "warm",
) -> list[PromptMessage]:
    """Say hello."""
    return [user(f"Say a {tone} hello to {name}."), assistant("I shall.")]


@server.resource("notes://today", title="Today")
async def today() -> str:
    """What happened today."""
    return "Nothing,\nagain."


@server.resource("notes://hostile")
async def hostile() -> str:
    """What a terminal must not obey."""
    return HOSTILE


@server.resource("notes://picture", mime_type="image/png")
async def picture() -> bytes:
    """A picture."""
    return PICTURE


# -- what changes, and what is logged ---------------------------------------------------------


@server.tool
async def rewrite() -> str:
    """Change today's note, and the list of tools."""
    server.resource_updated("notes://today")
    server.tools_changed()
    return "rewritten"


@server.tool
async def chatter(call: Call[object]) -> str:
    """Log a little."""
    await call.message("debug", "too fine")
    await call.message("info", {"oven": 180}, logger="bakery")
    await call.message("error", HOSTILE)
    return "done"


if __name__ == "__main__":
    run_stdio(server)
