"""What may stand for a function: a partial, an object that is called, a method."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import pytest
from attrs import frozen

from antiphon import Ask, Call, DefinitionError, Form
from tests.engine.offering import contents_text, get, message_text, offering, read
from tests.engine.peer import KEY, Peer, accept, asked


class Database:
    """Not for clients."""


async def look_up(database: Database, table: str, count: int = 1, *, call: Call) -> str:
    """Look something up."""
    return f"{type(database).__name__} {table} {count} {call.round}"


@frozen
class Greeting:
    """A greeting in one language."""

    words: str

    async def __call__(self, name: str, call: Call) -> str:
        return f"{self.words} {name} {call.round}"

    async def told(self, name: str) -> str:
        """Told."""
        return f"{self.words} {name}"


async def described(peer: Peer) -> dict[str, Any]:
    (tool,) = (await peer.ask("tools/list"))["tools"]
    return dict(tool)


async def called(peer: Peer, **arguments: Any) -> str:
    result = await peer.ask("tools/call", {"name": "t", "arguments": arguments})
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


def tool(function: Any) -> Peer:
    server = offering()
    server.tool(name="t")(function)
    return Peer(server)


@pytest.mark.parametrize(
    "function",
    [
        partial(look_up, Database()),
        partial(look_up, database=Database()),
        partial(partial(look_up, database=Database()), count=1),
        partial(partial(look_up, Database()), count=1),
    ],
)
async def test_a_partial_may_be_a_tool(function: Any) -> None:
    peer = tool(function)
    listed = await described(peer)
    assert listed["description"] == "Look something up."
    assert listed["inputSchema"]["required"] == ["table"]
    assert await called(peer, table="x") == "Database x 1 1"


async def test_what_a_partial_fills_in_no_client_fills() -> None:
    peer = tool(partial(look_up, Database(), count=7))
    assert list((await described(peer))["inputSchema"]["properties"]) == ["table"]
    refused = await peer.ask("tools/call", {"name": "t", "arguments": {"table": "x", "count": 9}})
    assert refused["isError"]
    assert await called(peer, table="x") == "Database x 7 1"


def test_a_partial_that_fills_in_what_is_not_there_is_refused() -> None:
    wrong: dict[str, Any] = {"secret": "hunter2"}
    with pytest.raises(DefinitionError) as caught:
        tool(partial(look_up, Database(), **wrong))
    assert caught.value.faults == ("its partial fills in what the function does not take",)


async def test_an_object_that_is_called_may_be_a_tool() -> None:
    peer = tool(Greeting("Hello"))
    assert (await described(peer))["description"] == "A greeting in one language."
    assert await called(peer, name="you") == "Hello you 1"


async def test_so_may_a_method_and_a_partial_of_an_object() -> None:
    assert await called(tool(Greeting("Hello").told), name="you") == "Hello you"
    assert await called(tool(partial(Greeting("Hello"), name="me"))) == "Hello me 1"


async def test_prompts_and_resources_are_made_so_too() -> None:
    server = offering()
    server.prompt(name="p")(Greeting("Hello"))
    server.resource("x://a", name="r")(partial(Greeting("Hello"), "me"))
    server.resource_template("x://all/{name}", name="t")(Greeting("Bye"))
    peer = Peer(server)
    assert message_text(await get(peer, "p", {"name": "you"})) == "Hello you 1"
    assert contents_text(await read(peer, "x://a")) == "Hello me 1"
    assert contents_text(await read(peer, "x://all/you")) == "Bye you 1"


@frozen
class Sure:
    sure: Literal["yes", "no"]


@frozen
class Renaming:
    noun: str

    async def __call__(self, name: str, sure: Annotated[Sure, Ask("Sure?")]) -> str:
        return f"{self.noun} {name} {sure.sure}"


async def test_an_object_may_ask() -> None:
    server = offering(keys=[KEY])
    server.tool(name="t")(partial(Renaming("File"), name="x"))
    peer = Peer(server)
    first = await peer.ask("tools/call", {"name": "t"})
    assert asked(first) == ["sure"]
    answers: Any = {"requestState": first["requestState"]}
    answers["inputResponses"] = {"sure": accept(sure="yes")}
    last = await peer.ask("tools/call", {"name": "t", **answers})
    assert last["content"] == [{"type": "text", "text": "File x yes"}]


class Sync:
    def __call__(self, name: str) -> str:
        return name


@pytest.mark.parametrize("function", [Sync(), partial(Sync()), partial(sorted)])
def test_what_is_not_async_is_refused(function: Any) -> None:
    with pytest.raises(DefinitionError, match="it must be `async def`"):
        tool(function)


# -- the call ---------------------------------------------------------------------------------


async def optional(name: str, call: Call | None = None) -> str:
    return f"{name} {call.round if call else 'no call'}"


async def optional_of_a_kind(name: str, at: Call[Any] | None) -> str:
    return f"{name} {at.round if at else 'no call'}"


def question(name: str, call: Call | None = None) -> Form[Sure]:
    return Form(f"{name} {call.round if call else 'no call'}?", Sure)


async def asking(name: str, sure: Annotated[Sure, Ask(question)]) -> str:
    return sure.sure


@pytest.mark.parametrize("function", [optional, optional_of_a_kind])
async def test_a_function_may_do_without_the_call_and_is_given_it(function: Any) -> None:
    peer = tool(function)
    assert list((await described(peer))["inputSchema"]["properties"]) == ["name"]
    assert await called(peer, name="x") == "x 1"


async def test_so_may_the_function_of_an_ask() -> None:
    first = await tool(asking).ask("tools/call", {"name": "t", "arguments": {"name": "x"}})
    assert first["inputRequests"]["sure"]["params"]["message"] == "x 1?"
