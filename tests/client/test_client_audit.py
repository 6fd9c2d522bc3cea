"""The record of what was asked and what became of it."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon.engine.answering import AuditEntry
from antiphon.engine.asked import Accept, Cancel, Decline
from antiphon.engine.call_errors import (
    AnswerInvalid,
    DeadlineExceeded,
    PeopleTimeout,
    QuestionRefused,
)
from tests.client.scripted import ROOTS, asks, client_of, done, form, link, sampling


class Record(list[AuditEntry]):
    """All entries, and a short form of them."""

    @property
    def short(self) -> list[tuple[int, str, str, str]]:
        return sorted((e.round, e.key, e.kind, e.outcome) for e in self)


async def test_every_question_and_its_outcome_is_recorded() -> None:
    answers: dict[str, Any] = {"a": {"name": "dev"}, "b": Decline(), "c": Cancel(), "d": Accept()}

    async def person(question: Any) -> Any:
        return answers[question.key]

    async def model(_: object) -> str:
        return "Paris"

    record = Record()
    client, _ = client_of(
        asks({"a": form(), "b": form(), "c": link(), "d": link()}),
        asks({"e": sampling(), "f": ROOTS}),
        done(),
        elicitation=person,
        sampling=model,
        roots=["file:///w"],
        audit=record.append,
    )
    await client.call_tool("provision")
    assert record.short == [
        (1, "a", "form", "accept"),
        (1, "b", "form", "decline"),
        (1, "c", "url", "cancel"),
        (1, "d", "url", "accept"),
        (2, "e", "sampling", "answer"),
        (2, "f", "roots", "answer"),
    ]
    assert {(e.origin.server, e.origin.method, e.origin.target) for e in record} == {
        ("scripted", "tools/call", "provision")
    }


async def test_rounds_by_hand_are_recorded_too() -> None:
    record = Record()
    client, _ = client_of(asks({"a": form(), "b": form()}), done(), audit=record.append)
    conversation = client.conversation("t")
    await conversation.advance()
    with pytest.raises(AnswerInvalid):
        await conversation.advance({"a": Decline(), "b": {"name": "nowhere"}})
    assert record.short == [(1, "b", "form", "failed")]
    await conversation.advance({"a": Decline(), "b": {"name": "dev"}})
    assert record.short == [
        (1, "a", "form", "decline"),
        (1, "b", "form", "accept"),
        (1, "b", "form", "failed"),
    ]


async def test_a_refused_question_is_recorded() -> None:
    record = Record()
    client, _ = client_of(asks({"a": link()}), audit=record.append)
    with pytest.raises(QuestionRefused):
        await client.call_tool("t")
    assert record.short == [(1, "a", "url", "refused")]
    assert record[0].question is None


async def test_failed_and_abandoned_questions_are_recorded(autojump_clock: object) -> None:
    async def person(question: Any) -> Any:
        if question.key == "a":
            raise LookupError
        await trio.sleep_forever()

    record = Record()
    client, _ = client_of(
        asks({"a": form()}),
        asks({"b": form()}),
        elicitation=person,
        audit=record.append,
        clock=trio.current_time,
    )
    with pytest.raises(LookupError):
        await client.call_tool("t")
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=1)
    assert record.short == [(1, "a", "form", "failed"), (1, "b", "form", "abandoned")]


@pytest.mark.parametrize("keys", ["a", "ab"])
async def test_a_callback_that_is_cancelled_in_a_nursery_of_its_own_is_abandoned(
    keys: str, autojump_clock: object
) -> None:
    async def person(_: object) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)

    record = Record()
    client, _ = client_of(
        asks({key: form() for key in keys}),
        elicitation=person,
        audit=record.append,
        people_timeout=1,
    )
    with pytest.raises(PeopleTimeout):
        await client.call_tool("t")
    assert [outcome for *_, outcome in record.short] == ["abandoned"] * len(keys)


async def test_a_callback_that_fails_while_it_is_cancelled_has_failed(
    autojump_clock: object,
) -> None:
    async def person(_: object) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise LookupError

    record = Record()
    client, _ = client_of(
        asks(), elicitation=person, audit=record.append, deadline=1, clock=trio.current_time
    )
    with pytest.raises(ExceptionGroup):
        await client.call_tool("t")
    assert [outcome for *_, outcome in record.short] == ["failed"]


async def test_content_is_there_for_who_asks_and_in_no_repr() -> None:
    async def person(_: object) -> Any:
        return {"name": "prod"}

    record = Record()
    client, _ = client_of(asks(), done(), elicitation=person, audit=record.append)
    await client.call_tool("t")
    (entry,) = record
    assert entry.answer == {"action": "accept", "content": {"name": "prod"}}
    assert entry.question is not None
    assert "prod" not in repr(entry)
    assert "Which?" not in repr(entry)


async def test_a_record_that_cannot_be_kept_ends_the_call() -> None:
    def full(_: AuditEntry) -> None:
        raise OSError("disk full")

    async def person(_: object) -> Any:
        return {"name": "prod"}

    client, server = client_of(asks(), done(), elicitation=person, audit=full)
    with pytest.raises(OSError, match="disk full"):
        await client.call_tool("t")
    assert len(server.requests) == 1
