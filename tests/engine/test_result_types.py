"""What a function says that it gives: what could never be sent is refused when it is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NoReturn, TypeVar

import pytest
from attrs import frozen

from antiphon import (
    Call,
    DefinitionError,
    Done,
    EmbeddedResource,
    Failed,
    Flow,
    InputRequired,
    PromptMessage,
    ResourceContents,
    Structured,
    Text,
)
from tests.engine.hands import lone_tool
from tests.engine.offering import get_error, offering, read_error
from tests.engine.peer import Peer

T = TypeVar("T")


@frozen
class Out:
    n: int


@frozen
class Nothing:
    pass


@frozen
class Counting(Flow[Nothing]):
    async def begin(self, args: Nothing) -> Done[Out] | Done[str] | Failed:
        return Done(Out(1))


def giving(hint: object) -> Any:
    async def it() -> object:
        raise AssertionError

    it.__annotations__["return"] = hint
    return it


Many = Callable[..., Any]
NO_MESSAGES: list[object] = [
    int,
    None,
    bytes,
    Out,
    dict[str, str],
    ResourceContents,
    Structured[str],
    list[int],
    list[str | int],
    tuple[PromptMessage, Out],
    set[str],
    Literal[1, "a"],
    str | None,
    Done[int],
    Done[str] | Done[Out],
]
MESSAGES: list[object] = [
    str,
    Text,
    PromptMessage,
    EmbeddedResource,
    Literal["a", "b"],
    list[str],
    list[PromptMessage | Text],
    tuple[str, ...],
    list[Any],
    list,
    Sequence[PromptMessage],
    Iterable[str],
    Done[str] | Failed,
    Done[list[PromptMessage]],
    Done,
    str | InputRequired,
    Failed,
    Any,
    object,
    T,
    NoReturn,
]
NO_CONTENTS: list[object] = [
    None,
    Text,
    PromptMessage,
    Structured[str],
    list[Text],
    list[str | PromptMessage],
    str | None,
    Done[None],
    Done[Text],
]
CONTENTS: list[object] = [
    str,
    bytes,
    ResourceContents,
    list[ResourceContents],
    Out,
    int,
    list[int | None],
    dict[str, str],
    Done[str] | Failed,
    list,
    Any,
    object,
    T,
    NoReturn,
]


@pytest.mark.parametrize("hint", NO_MESSAGES, ids=str)
def test_a_prompt_that_gives_no_messages_is_refused(hint: object) -> None:
    with pytest.raises(DefinitionError, match=r"Prompt it has a fault:\n  - it gives .*; a prompt"):
        offering().prompt(giving(hint))


@pytest.mark.parametrize("hint", MESSAGES, ids=str)
def test_a_prompt_that_may_give_messages_is_registered(hint: object) -> None:
    server = offering()
    server.prompt(giving(hint))
    assert len(server.prompts) == 1


@pytest.mark.parametrize("hint", NO_CONTENTS, ids=str)
def test_a_resource_that_gives_no_contents_is_refused(hint: object) -> None:
    with pytest.raises(DefinitionError, match=r"it gives .*; a resource gives text"):
        offering().resource("x://a")(giving(hint))


@pytest.mark.parametrize("hint", CONTENTS, ids=str)
def test_a_resource_that_may_give_contents_is_registered(hint: object) -> None:
    server = offering()
    server.resource("x://a")(giving(hint))
    assert len(server.resources) == 1


def test_a_template_is_held_to_the_same() -> None:
    async def it(id: str) -> Text:
        raise AssertionError

    with pytest.raises(DefinitionError, match="it gives Text; a resource gives text"):
        offering().resource_template("x://{id}")(it)


def test_a_flow_is_held_to_the_same() -> None:
    with pytest.raises(DefinitionError, match="Prompt counting has a fault:\n  - it gives Out"):
        offering().prompt(Counting())
    offering().tool(Counting())


def test_what_says_nothing_is_registered() -> None:
    async def it():  # type: ignore[no-untyped-def]
        raise AssertionError

    server = offering()
    server.prompt(it)
    server.resource("x://a")(it)
    assert len(server.prompts) == len(server.resources) == 1


# -- questions where results stand ------------------------------------------------------------

ASKING = InputRequired(state="S3CRET")


@frozen
class Holding:
    inner: Any


@pytest.mark.parametrize(
    "result",
    [
        Done(ASKING),
        [ASKING],
        ("text", ASKING),
        {"a": [ASKING]},
        Holding(ASKING),
        Structured(ASKING),
        [Text("a"), ASKING],
        Text("a", meta={"com.example/a": ASKING}),  # type: ignore[dict-item]  # the mistake
    ],
    ids=lambda result: type(result).__name__,
)
async def test_a_question_inside_a_result_is_never_sent(
    result: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def it(call: Call) -> Any:
        return result

    told = await lone_tool(it).ask("tools/call", {"name": "it"})
    assert told["isError"]
    assert "S3CRET" not in str(told)
    assert "InputRequired" in caplog.text

    server = offering()
    server.prompt(it)
    server.resource_template("x://{id}")(it_of(result))
    for error in (await get_error(Peer(server), "it"), await read_error(Peer(server), "x://1")):
        assert "because of an error in the server" in error.message


def it_of(result: Any) -> Any:
    async def it(id: str) -> Any:
        return result

    return it
