"""Servers that ask, for clients of earlier revisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from attrs import frozen

from antiphon import (
    Asking,
    Call,
    Done,
    Failed,
    Flow,
    Form,
    Incoming,
    Limits,
    LowLevelServer,
    Meta,
    Polling,
    Progress,
    Server,
    all_of,
)
from antiphon.engine.jsonrpc import JsonObject


@frozen
class Nothing:
    pass


@frozen
class Name:
    name: Annotated[str, Meta(min_length=1)]


@frozen
class AskingName(Asking[Name]):
    timeout: float | None = None

    def ask(self) -> Form[Name]:
        return Form("Who?", Name, timeout=self.timeout)


@frozen
class Patience:
    seconds: float | None = None


@frozen
class Greet(Flow[Patience]):
    """Ask for a name."""

    name = "greet"

    async def begin(self, args: Patience) -> AskingName:
        return AskingName(args.seconds)

    @AskingName.answered
    async def named(self, at: AskingName, name: Name) -> Done[str]:
        return Done(f"Hello, {name.name}.")

    @AskingName.declined
    async def declined(self, at: AskingName) -> Failed:
        return Failed("declined")

    @AskingName.cancelled
    async def cancelled(self, at: AskingName) -> Failed:
        return Failed("cancelled")


@frozen
class AskingTwo(Asking[tuple[Name, Name]]):
    def ask(self) -> Any:
        return all_of(
            Form("First?", Name, key="first", timeout=5), Form("Second?", Name, key="second")
        )


@frozen
class Two(Flow[Nothing]):
    """Ask two things at once."""

    name = "two"

    async def begin(self, args: Nothing) -> AskingTwo:
        return AskingTwo()

    @AskingTwo.answered
    async def named(self, at: AskingTwo, names: tuple[Name, Name]) -> Done[str]:
        first, second = names
        return Done(f"{first.name} and {second.name}")

    @AskingTwo.refused
    async def refused(self, at: AskingTwo) -> Failed:
        return Failed("refused")


@frozen
class Hasty(Asking[Name]):
    def ask(self) -> Form[Name]:
        return Form("Quick?", Name, key="same", timeout=5)


@frozen
class Patient(Asking[Name]):
    def ask(self) -> Form[Name]:
        return Form("Slow?", Name, key="same")


@frozen
class Twice(Flow[Nothing]):
    """Ask twice by one key."""

    name = "twice"

    async def begin(self, args: Nothing) -> Hasty:
        return Hasty()

    @Hasty.answered
    async def hastily(self, at: Hasty, name: Name) -> Patient:
        return Patient()

    @Patient.answered
    async def patiently(self, at: Patient, name: Name) -> Done[str]:
        return Done(name.name)

    @Hasty.refused
    async def too_late(self, at: Hasty) -> Failed:
        return Failed("the first")

    @Patient.refused
    async def much_too_late(self, at: Patient) -> Failed:
        return Failed("the second")


@frozen
class Looking(Polling):
    looks: int
    most: int

    def progress(self) -> Progress:
        return Progress(self.looks, self.most, again_in=2.0)


@frozen
class Looks:
    most: int = 3


@frozen
class Look(Flow[Looks]):
    """Poll so many times."""

    name = "look"

    async def begin(self, args: Looks) -> Looking:
        return Looking(0, args.most)

    @Looking.polled
    async def looked(self, at: Looking, call: Call[Looks]) -> Looking | Done[str]:
        if at.looks == at.most:
            return Done("seen")
        return Looking(at.looks + 1, at.most)


def make(**limits: Any) -> Server:
    """A server with all of these."""
    server = Server("Older", limits=Limits(**limits))
    for flow in (Greet(), Two(), Twice(), Look()):
        server.tool(flow)
    return server


def form(message: str = "Who?") -> JsonObject:
    """One question, as a handler gives it by hand."""
    fields: JsonObject = {"name": {"type": "string"}}
    schema: JsonObject = {"type": "object", "properties": fields, "required": ["name"]}
    params: JsonObject = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def asks(*requests: JsonObject, state: str | None = None) -> JsonObject:
    """An interim result with these questions, by the keys q0, q1, ..."""
    result: JsonObject = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = {f"q{n}": request for n, request in enumerate(requests)}
    return result if state is None else {**result, "requestState": state}


def done(text: str = "done") -> JsonObject:
    return {"content": [{"type": "text", "text": text}]}


def low(handler: Callable[[Incoming], Any], *, seal: bool = False, **limits: Any) -> LowLevelServer:
    """A low-level server with one handler for tools."""
    server = LowLevelServer("Low", capabilities={"tools": {}}, limits=Limits(**limits))

    @server.method("tools/call")
    async def tools_call(request: Incoming) -> JsonObject:
        result: JsonObject = await handler(request)
        return result

    if seal:
        server.seal_states()
    return server
