"""Cancelled at every await of a call, in turn: nothing stays behind, and the client goes on."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon.engine.answering import AuditEntry
from antiphon.engine.client import Client
from antiphon.engine.jsonrpc import JsonObject, Request
from tests.client.scripted import ROOTS, asks, client_of, done, form, poll, sampling


class Steps:
    """A place to stop at: the n-th pause cancels the scope; all pauses are counted."""

    def __init__(self, stop_at: int | None, scope: trio.CancelScope) -> None:
        self.stop_at = stop_at
        self.scope = scope
        self.passed = 0

    async def pause(self) -> None:
        self.passed += 1
        if self.passed == self.stop_at:
            self.scope.cancel()
        await trio.lowlevel.checkpoint()


def staged(steps: Steps, audit: list[AuditEntry]) -> tuple[Client, Any]:
    """A call with every kind of await in it: legs, callbacks alone and together, a wait."""

    def leg(result: JsonObject) -> Any:
        async def answer(_: Request) -> JsonObject:
            await steps.pause()
            return result

        return answer

    async def person(_: object) -> dict[str, str]:
        await steps.pause()
        return {"name": "dev"}

    async def model(_: object) -> str:
        await steps.pause()
        await steps.pause()
        return "x"

    async def roots(_: object) -> list[str]:
        await steps.pause()
        return []

    return client_of(
        leg(asks({"alone": form()}, "s1")),
        leg(poll("s2")),
        leg(asks({"a": form(), "b": sampling(), "c": ROOTS}, "s3")),
        leg(done("first")),
        leg(done("second")),
        elicitation=person,
        sampling=model,
        roots=roots,
        audit=audit.append,
    )


async def run_once(stop_at: int | None) -> tuple[Steps, Any, list[AuditEntry], str | None]:
    audit: list[AuditEntry] = []
    result = None
    scope = trio.CancelScope()
    steps = Steps(stop_at, scope)
    client, server = staged(steps, audit)
    with scope:
        result = (await client.call_tool("t")).text
    return steps, server, audit, result


async def test_cancelled_at_each_await_nothing_stays_behind(autojump_clock: object) -> None:
    whole, _, audit, result = await run_once(None)
    assert (result, [entry.outcome for entry in audit].count("abandoned")) == ("first", 0)
    for stop_at in range(1, whole.passed + 1):
        tasks = trio.lowlevel.current_statistics().tasks_living
        steps, server, audit, result = await run_once(stop_at)
        assert result is None
        assert server.open == 0
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        # Nothing is sent and nobody is asked once it is over.
        assert steps.passed <= stop_at + 2
        asked = {"s1": 1, "s3": 4}.get(server.params[-1].get("requestState") or "", 0)
        assert len(audit) >= asked or server.cancelled


async def test_the_client_serves_on_after_a_cancelled_call(autojump_clock: object) -> None:
    whole = (await run_once(None))[0].passed
    for stop_at in range(1, whole + 1):
        scope = trio.CancelScope()
        client, server = staged(Steps(stop_at, scope), [])
        with scope:
            await client.call_tool("t")
        server.answers = iter([done("served")])
        assert (await client.call_tool("other")).text == "served"
        assert "requestState" not in server.params[-1]


async def test_a_conversation_that_was_cancelled_stays_where_it_was(autojump_clock: object) -> None:
    async def never(_: Request) -> JsonObject:
        await trio.sleep_forever()
        raise AssertionError

    client, server = client_of(asks({"q": form()}, "s"), never, done())
    conversation = client.conversation("t")
    await conversation.advance()
    before = (conversation.step, conversation.interim, conversation.tally)
    with trio.move_on_after(5):
        await conversation.advance({"q": {"name": "dev"}})
    assert (conversation.step, conversation.interim, conversation.tally) == before
    # The answer may have been received: that it was given stays on record.
    assert [entry.outcome for entry in conversation.trail] == ["accept"]
    assert await conversation.advance({"q": {"name": "prod"}}) is conversation.step
    assert conversation.done
    assert server.params[2]["requestState"] == "s"


async def test_a_failing_callback_cancels_its_neighbours_and_comes_out_plain() -> None:
    cleaned = False

    async def person(question: Any) -> dict[str, str]:
        nonlocal cleaned
        if question.key == "bad":
            await trio.lowlevel.checkpoint()
            raise LookupError("no such person")
        try:
            await trio.sleep_forever()
        finally:
            cleaned = True
        return {}

    audit: list[AuditEntry] = []
    client, server = client_of(
        asks({"good": form(), "bad": form()}), elicitation=person, audit=audit.append
    )
    with pytest.raises(LookupError, match="no such person"):
        await client.call_tool("t")
    assert cleaned
    assert len(server.requests) == 1
    assert sorted((entry.key, entry.outcome) for entry in audit) == [
        ("bad", "failed"),
        ("good", "abandoned"),
    ]


async def test_two_failing_callbacks_give_the_first_error_and_no_group() -> None:
    async def person(question: Any) -> dict[str, str]:
        raise LookupError(question.key)

    client, _ = client_of(asks({"a": form(), "b": form()}), elicitation=person)
    with pytest.raises(LookupError):
        await client.call_tool("t")


async def test_an_interrupt_in_a_callback_comes_out_as_an_interrupt() -> None:
    async def person(_: object) -> dict[str, str]:
        raise KeyboardInterrupt

    client, _ = client_of(asks({"a": form(), "b": form()}), elicitation=person)
    with pytest.raises(KeyboardInterrupt):
        await client.call_tool("t")
