"""What a cancellation leaves behind, from outside or by a callback that fails."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon.engine.answering import AuditEntry
from antiphon.engine.jsonrpc import JsonObject, Request
from tests.client.scripted import asks, client_of, done, form


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
