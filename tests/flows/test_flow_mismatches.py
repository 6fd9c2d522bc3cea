"""Mistakes that types would show, told by the class statement to those who run no checker."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import pytest
from attrs import frozen

from antiphon import Asking, DefinitionError, Done, Flow, Form, Link, Question, Server, UsageError
from tests.engine.peer import Peer


@frozen
class Args:
    a: int = 0


@frozen
class Yes:
    sure: bool


@frozen
class No:
    sure: bool


@frozen
class AskingAnother(Asking[Yes]):
    def ask(self) -> Form[No]:  # type: ignore[override]  # pyright: ignore
        return Form("Sure?", No)


@frozen
class AskingALink(Asking[Yes]):
    def ask(self) -> Link:  # type: ignore[override]  # pyright: ignore
        return Link("Look", "https://example.org")


@frozen
class AskingVaguely(Asking[Yes]):
    def ask(self) -> Question[Any]:
        return Form("Sure?", Yes)


def flow_of(state: type[Asking[Yes]]) -> type[Flow[Args]]:
    async def begin(self: object, args: Args) -> Any:
        raise AssertionError("never run")

    async def answered(self: object, at: Any, answer: Yes) -> Done[str]:
        return Done("")

    begin.__annotations__ = {"args": Args, "return": state}
    answered.__annotations__ = {"at": state, "answer": Yes, "return": Done[str]}
    return _made({"begin": begin, "answered": state.answered(answered)})


def _made(members: dict[str, Any]) -> type[Flow[Args]]:
    return types.new_class("Made", (Flow[Args],), exec_body=lambda ns: ns.update(members))


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        (AskingAnother, "waits for Yes, and its ask says that it asks for No"),
        (AskingALink, "waits for Yes, and its ask says that it asks for Consent"),
    ],
)
def test_a_question_must_be_answered_by_what_the_state_waits_for(
    state: type[Asking[Yes]], fault: str
) -> None:
    with pytest.raises(DefinitionError, match=fault):
        flow_of(state)


def test_a_vague_question_is_taken_at_its_word() -> None:
    assert flow_of(AskingVaguely).states == (AskingVaguely,)


@pytest.mark.parametrize("name", ["name", "graph", "edges", "args_type", "table", "title"])
def test_a_dependency_must_not_hide_what_a_flow_has(name: str) -> None:
    async def begin(self: object, args: Args) -> Done[str]:
        return Done("")

    with pytest.raises(DefinitionError, match=f"a field named '{name}' hides Flow.{name}"):
        _made({"__annotations__": {name: str}, "begin": begin})


def test_a_callable_without_a_name_is_asked_for_one() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(UsageError, match="partial has no name"):
        Server("Names").tool(functools.partial(add, b=1))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type` aliases came with Python 3.12")
def test_an_alias_of_the_type_statement_is_looked_through() -> None:
    namespace: dict[str, Any] = {"Done": Done}
    exec("type Out = Done[str]", namespace)

    async def begin(self: object, args: Args) -> Any:
        return Done("")

    begin.__annotations__ = {"args": Args, "return": namespace["Out"]}
    assert _made({"begin": begin}).edges[0].target is Done


async def test_a_result_that_breaks_the_promised_schema_is_not_sent() -> None:
    server = Server("Results")

    @server.tool
    async def count() -> int:
        return None  # type: ignore[return-value]  # pyright: ignore

    @server.tool
    async def table() -> dict[str, int]:
        return {"a": "b"}  # type: ignore[dict-item]  # pyright: ignore

    peer = Peer(server)
    for name in ("count", "table"):
        result = await peer.call(name)
        assert result["isError"] is True
        assert "structuredContent" not in result
