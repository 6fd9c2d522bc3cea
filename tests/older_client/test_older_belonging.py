"""To which of several calls belongs what a server of an earlier revision asks and tells."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.hearing import LogMessage, ProgressCallback
from tests.older_client import older_server
from tests.older_client.older_server import (
    FORM,
    OlderServer,
    ask_region,
    client_of,
    region,
    text,
)

settled = trio.testing.wait_all_tasks_blocked
Request = older_server.Asked

LEGACY: Any = {"mode": "legacy"}


# -- whose question it is -----------------------------------------------------------------------


async def test_a_question_goes_to_the_oldest_call_that_takes_its_kind() -> None:
    origins: list[str] = []

    async def person(question: Any) -> Any:
        origins.append(question.origin.target)
        return {"name": "prod"}

    async def waits(asked: Request) -> Any:
        await gate.wait()
        return text("done")

    gate = trio.Event()
    server = OlderServer({"tools/call": waits})
    async with (
        client_of(server, **LEGACY, elicitation=person) as client,
        trio.open_nursery() as nursery,
    ):
        deaf = client.conversation("deaf", kinds=["url"])
        nursery.start_soon(deaf.run)
        await settled()
        for name in ("first", "second"):
            nursery.start_soon(partial(client.call_tool, name))
            await settled()
        reply = await server.ask("elicitation/create", FORM)
        assert reply["result"]["action"] == "accept"
        gate.set()
    assert origins == ["first"]


async def test_calls_that_ask_at_the_same_time_each_get_their_answer() -> None:
    async def person(question: Any) -> Any:
        await settled()
        return {"name": "prod"}

    server = OlderServer({"tools/call": ask_region})
    async with client_of(server, **LEGACY, elicitation=person) as client:
        results: list[Any] = []

        async def call(number: int) -> None:
            results.append(await client.call_tool(f"t{number}"))

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(call, number)
    assert ["prod" in result.text for result in results] == [True] * 10
    assert len(server.answers) == 10


async def test_a_question_that_went_to_a_call_which_ends_goes_on_to_another() -> None:
    async def waits(asked: Request) -> Any:
        await gates[asked.params["name"]].wait()
        return text("done")

    replies: list[Any] = []

    async def ask(server: OlderServer) -> None:
        replies.append(await server.ask("elicitation/create", FORM))

    gates = {"first": trio.Event(), "second": trio.Event()}
    server = OlderServer({"tools/call": waits})
    origins: list[str] = []

    async def person(question: Any) -> Any:
        origins.append(question.origin.target)
        if question.origin.target == "first" and len(origins) == 1:
            await trio.sleep_forever()
        return {"name": "prod"}

    async with (
        client_of(server, **LEGACY, elicitation=person) as client,
        trio.open_nursery() as nursery,
    ):
        with trio.CancelScope() as leaving:
            async with trio.open_nursery() as impatient:
                impatient.start_soon(client.call_tool, "first")
                await settled()
                nursery.start_soon(client.call_tool, "second")
                await settled()
                nursery.start_soon(ask, server)
                await settled()
                leaving.cancel()
        await settled()
        assert replies[0]["result"]["action"] == "accept"
        gates["second"].set()
    assert origins == ["first", "second"]


async def test_an_answer_is_brought_though_the_call_that_it_was_asked_in_is_over() -> None:
    async def waits(asked: Request) -> Any:
        await gates[asked.params["name"]].wait()
        return text("done")

    replies: list[Any] = []

    async def ask(server: OlderServer) -> None:
        replies.append(await server.ask("elicitation/create", FORM))

    async def person(_: object) -> Any:
        gates["first"].set()
        await settled()
        return {"name": "prod"}

    gates = {"first": trio.Event(), "second": trio.Event()}
    server = OlderServer({"tools/call": waits})
    async with (
        client_of(server, **LEGACY, elicitation=person) as client,
        trio.open_nursery() as nursery,
    ):
        for name in gates:
            nursery.start_soon(client.call_tool, name)
            await settled()
        await ask(server)
        assert replies[0]["result"]["action"] == "accept"
        gates["second"].set()


# -- questions that are taken back --------------------------------------------------------------


async def test_a_question_that_the_server_takes_back_is_not_answered() -> None:
    gate = trio.Event()

    async def person(question: Any) -> Any:
        await gate.wait()
        return {"name": "prod"}

    async def tool(asked: Request) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(asked.ask, "elicitation/create", FORM, id=1))
            await settled()
            await asked.server.tell("cancelled", requestId=1)
            nursery.cancel_scope.cancel()
        gate.set()
        await settled()
        return text("without it")

    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY, elicitation=person) as client:
        assert (await client.call_tool("t")).text == "without it"
        await settled()
    assert server.answers == []


@pytest.mark.parametrize(
    "other", ["1", True, 1.0, None, 2], ids=["text", "true", "1.0", "null", "2"]
)
async def test_only_the_very_id_takes_a_question_back(other: Any) -> None:
    async def tool(asked: Request) -> Any:
        replies: list[Any] = []

        async def ask() -> None:
            replies.append(await asked.ask("elicitation/create", FORM, id=1))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await thinking.wait()
            await asked.server.tell("cancelled", requestId=other)
            await settled()
            thought.set()
            await settled()
            nursery.cancel_scope.cancel()
        return text(str(replies and replies[0]["result"]["action"]))

    async def slow(_: object) -> Any:
        thinking.set()
        await thought.wait()
        return {"name": "prod"}

    thinking, thought = trio.Event(), trio.Event()

    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY, elicitation=slow) as client:
        assert (await client.call_tool("t")).text == "accept"


def steps(heard: list[Any]) -> ProgressCallback:
    """Keeps what was done."""

    def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    return hear


# -- progress -----------------------------------------------------------------------------------


async def test_progress_reaches_the_leg_that_runs_whatever_token_it_has() -> None:
    async def tool(asked: Request) -> Any:
        await asked.progress(1)
        await asked.ask("elicitation/create", FORM)
        await asked.progress(2)
        await asked.ask("elicitation/create", FORM)
        await asked.progress(3)
        return text("done")

    heard: list[float] = []
    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY, elicitation=region) as client:
        await client.call_tool("t", progress=steps(heard))
    assert heard == [1, 2, 3]


async def test_what_is_told_while_a_person_thinks_is_told_in_the_next_leg() -> None:
    async def tool(asked: Request) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(asked.ask, "elicitation/create", FORM))
            await thinking.wait()
            await asked.progress(5)
            await asked.server.tell("message", level="info", data="meanwhile")
            await settled()
            thought.set()
        return text("done")

    async def slow(_: object) -> Any:
        thinking.set()
        await thought.wait()
        return {"name": "prod"}

    thinking, thought = trio.Event(), trio.Event()

    heard: list[Any] = []
    server = OlderServer({"tools/call": tool})

    def logged(message: LogMessage) -> None:
        heard.append(message.data)

    async with client_of(server, **LEGACY, elicitation=slow, log=logged) as client:
        await client.call_tool("t", progress=steps(heard))
    assert heard == [5, "meanwhile"]


async def test_progress_of_one_call_is_not_told_to_another() -> None:
    async def tool(asked: Request) -> Any:
        await asked.progress(asked.params["arguments"]["n"])
        return text("done")

    heard: dict[int, list[float]] = {1: [], 2: []}
    server = OlderServer({"tools/call": tool})
    async with client_of(server, **LEGACY) as client, trio.open_nursery() as nursery:
        for number, told in heard.items():
            hear = steps(told)
            nursery.start_soon(partial(client.call_tool, "t", {"n": number}, progress=hear))
    assert heard == {1: [1], 2: [2]}
