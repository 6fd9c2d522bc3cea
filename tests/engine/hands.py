"""Functions that ask by hand, for the tests."""

from __future__ import annotations

from typing import Any, Literal

from attrs import define, field, frozen

from antiphon import (
    Call,
    Form,
    Given,
    InputRequired,
    Invalid,
    Refusal,
    Server,
    ToolError,
)
from antiphon.engine.jsonrpc import JsonObject
from tests.engine.peer import KEY, Peer, accept

Calls = list[Call[Any]]


@frozen
class Sure:
    sure: Literal["yes", "no"]


@frozen
class Name:
    name: str


SURE = Form("Sure?", Sure)
YES: JsonObject = {"sure": accept(sure="yes")}
NO: JsonObject = {"sure": accept(sure="no")}


@define
class Desk:
    """A server with functions that ask by hand, and the calls that they were given."""

    server: Server
    calls: Calls = field(factory=Calls)


def desk(**options: Any) -> Desk:
    """A tool, a prompt and a template that ask whether one is sure."""
    given: dict[str, Any] = {"keys": [KEY], **options}
    made = Desk(Server("Desk", **given))

    @made.server.tool
    async def rename(name: str, call: Call[Any]) -> str | InputRequired:
        """Rename something. Asks first."""
        made.calls.append(call)
        match call.answer("sure", SURE):
            case Given(answer):
                return f"{name} {answer.sure}"
            case Refusal(how):
                return f"{name} {how}"
            case Invalid(reason):
                raise ToolError(f"Of no use: {reason}")
            case None:
                return InputRequired({"sure": SURE}, state={"name": name, "asked": call.round})

    @made.server.prompt
    async def briefing(topic: str, call: Call[Any]) -> str | InputRequired:
        """A briefing. Asks first."""
        made.calls.append(call)
        if isinstance(answer := call.answer("sure", SURE), Given):
            return f"{topic} {answer.value.sure}"
        return InputRequired({"sure": SURE})

    @made.server.resource_template("notes://{owner}")
    async def notes(owner: str, call: Call[Any]) -> str | InputRequired:
        """Notes. Asks first."""
        made.calls.append(call)
        if isinstance(answer := call.answer("sure", SURE), Given):
            return f"{owner} {answer.value.sure}"
        return InputRequired({"sure": SURE})

    return made


def peer_of(desk: Desk, **options: Any) -> Peer:
    """A client's side of it."""
    return Peer(desk.server, **options)


def lone_tool(function: Any, **options: Any) -> Peer:
    """A peer of a server with one tool."""
    given: dict[str, Any] = {"keys": [KEY], **options}
    server = Server("Desk", **given)
    server.tool(function)
    return Peer(server)
