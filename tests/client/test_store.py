"""A store of conversations, in memory and in a file: one asks, another answers."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.answering import AuditEntry
from antiphon.engine.asked import Accept, Decline
from antiphon.engine.client import Client
from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject, Request
from antiphon.engine.stored_about import AskedBrief
from tests.client.scripted import (
    ROOTS,
    asks,
    done,
    form,
    link,
    sampling,
)
from tests.client.storing import DEV, Shelves, asked, result_of

NAMED: JsonObject = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Shop"}}}


async def test_one_process_asks_and_another_answers(shelves: Shelves) -> None:
    async with shelves.open() as store:
        id = await asked(shelves, store, deadline=600, meta={"traceparent": "00-1"})
    client, server = shelves.client(done("ready"))
    async with shelves.open() as store:
        (entry,) = await store.list()
        assert (entry.id, entry.held_until, entry.fault) == (id, None, None)
        async with store.resume(id, client) as conversation:
            assert conversation.deadline == 1600.0
            result = await result_of(conversation, DEV)
        assert result.text == "ready"
        assert await store.list() == []
    (params,) = server.params
    assert params["arguments"] == {"password": "hunter2"}
    assert params["requestState"] == "s1"
    assert params["_meta"]["traceparent"] == "00-1"


async def test_callbacks_take_a_resumed_call_to_its_end(shelves: Shelves) -> None:
    async def person(_: object) -> dict[str, str]:
        return {"name": "dev"}

    async with shelves.open() as store:
        id = await asked(shelves, store)
        client, _ = shelves.client(asks({"region": form()}), done("ready"), elicitation=person)
        async with store.resume(id, client) as conversation:
            result = await conversation.run()
            assert await store.list() == []
        assert result.text == "ready"
        assert (conversation.tally.rounds, conversation.tally.accepted) == (2, 2)


async def test_an_entry_says_what_is_asked_and_no_more(shelves: Shelves) -> None:
    questions: JsonObject = {
        "a": form("Which region?"),
        "b": link("https://pay.example/x?token=SECRET"),
        "c": sampling(),
        "d": ROOTS,
    }
    client, _ = shelves.client(asks(questions, "STATE", **NAMED))
    async with shelves.open() as store:
        conversation = client.conversation("provision", {"password": "SECRET"}, deadline=60)
        async with store.keeping(conversation):
            (new,) = await store.list()
            assert (new.begun, new.asked, new.server) == (False, (), "scripted")
            shelves.wall.now = 1010.0
            await conversation.advance()
        (entry,) = await store.list()
    assert (entry.server, entry.via, entry.begun) == ("Shop", "scripted", True)
    assert (entry.method, entry.name) == ("tools/call", "provision")
    assert (entry.created, entry.saved, entry.deadline) == (1000.0, 1010.0, 1060.0)
    assert entry.asked == (
        AskedBrief(key="a", kind="form", message="Which region?"),
        AskedBrief(key="b", kind="url", message="Open this", host="pay.example"),
        AskedBrief(key="c", kind="sampling"),
        AskedBrief(key="d", kind="roots"),
    )
    assert "SECRET" not in repr(entry)


@pytest.mark.parametrize("what", ["tools/call", "prompts/get", "resources/read"])
async def test_every_call_with_rounds_can_be_stored(shelves: Shelves, what: str) -> None:
    ends: dict[str, JsonObject] = {
        "tools/call": done("end"),
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "end"}}]},
        "resources/read": {"contents": [{"uri": "a://b", "text": "end"}]},
    }

    def begin(client: Client) -> Any:
        if what == "tools/call":
            return client.conversation("a://b")
        if what == "prompts/get":
            return client.prompt_conversation("a://b", {"x": "y"})
        return client.resource_conversation("a://b")

    async with shelves.open() as store:
        conversation = begin(shelves.client(asks({"region": form()}, "s"))[0])
        async with store.keeping(conversation) as id:
            await conversation.advance()
        (entry,) = await store.list()
        assert (entry.method, entry.name) == (what, "a://b")
        client, server = shelves.client(ends[what])
        async with store.resume(id, client) as resumed:
            result = await result_of(resumed, DEV)
        assert result.text == "end"
    assert server.requests[0]["method"] == what
    assert server.params[0]["requestState"] == "s"


async def test_the_trail_goes_through_all_processes(shelves: Shelves) -> None:
    heard: list[Any] = []
    steps: list[tuple[JsonObject, Any]] = [
        (asks({"region": form()}, "s1"), None),
        (asks({"page": link(), "region": form()}, "s2"), DEV),
        (asks({"region": form()}, "s3"), {"page": Decline(), "region": Accept({"name": "prod"})}),
        (done(), {"region": {"name": "dev"}}),
    ]
    id = ""
    trail: tuple[AuditEntry, ...] = ()
    async with shelves.open() as store:
        for answer, given in steps:
            shelves.wall.now += 1
            client, _ = shelves.client(answer, audit=heard.append)
            if given is None:
                conversation: Any = client.conversation("t")
                async with store.keeping(conversation) as id:
                    await conversation.advance()
            else:
                async with store.resume(id, client) as conversation:
                    assert conversation.trail == trail
                    await conversation.advance(given)
            trail = conversation.trail
    assert [(e.at, e.round, e.key, e.outcome) for e in trail] == [
        (1002.0, 1, "region", "accept"),
        (1003.0, 2, "page", "decline"),
        (1003.0, 2, "region", "accept"),
        (1004.0, 3, "region", "accept"),
    ]
    assert all(entry.question is None and entry.answer is None for entry in trail)
    # What is heard at the time has the contents too, each once.
    assert [(e.at, e.key) for e in heard] == [(e.at, e.key) for e in trail]
    assert all(entry.question is not None and entry.answer for entry in heard)


async def test_what_went_wrong_with_people_is_on_the_trail_of_who_resumes(
    shelves: Shelves,
) -> None:
    async def person(_: object) -> Any:
        raise LookupError

    async with shelves.open() as store:
        id = await asked(shelves, store)
        client, _ = shelves.client(elicitation=person)
        with pytest.raises(LookupError):
            async with store.resume(id, client) as conversation:
                await conversation.run()
        async with store.resume(id, client) as conversation:
            assert [entry.outcome for entry in conversation.trail] == ["failed"]


async def test_save_puts_a_conversation_there_once(shelves: Shelves) -> None:
    client, _ = shelves.client(asks(state="s"), done(), done())
    async with shelves.open() as store:
        conversation = client.conversation("t")
        await conversation.advance()
        id = await store.save(conversation)
        async with store.resume(id, client) as resumed:
            with pytest.raises(UsageError, match="in a store already"):
                await store.save(resumed)
            with pytest.raises(UsageError, match="in a store already"):
                async with store.keeping(resumed):
                    raise AssertionError
            await resumed.advance()
        with pytest.raises(UsageError, match="finished"):
            async with store.keeping(resumed):
                raise AssertionError
        with pytest.raises(UsageError, match="finished"):
            await store.save(resumed)
        assert await store.list() == []


async def test_what_a_task_moves_is_not_stored_as_it_stood(shelves: Shelves) -> None:
    served = trio.Event()

    async def slow(_: Request) -> JsonObject:
        await served.wait()
        return done()

    client, _ = shelves.client(asks({"region": form()}), slow)
    conversation = client.conversation("t")
    await conversation.advance()
    async with shelves.open() as store, trio.open_nursery() as nursery:
        nursery.start_soon(conversation.advance, DEV)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(UsageError, match="A task moves the conversation"):
            await store.save(conversation)
        with pytest.raises(UsageError, match="A task moves the conversation"):
            async with store.keeping(conversation):
                raise AssertionError
        assert await store.list() == []
        served.set()


async def test_of_two_who_keep_a_conversation_at_once_one_does(shelves: Shelves) -> None:
    client, _ = shelves.client()
    conversation = client.conversation("t")
    ids: list[str] = []
    refused: list[UsageError] = []

    async with shelves.open() as store:

        async def keep() -> None:
            try:
                async with store.keeping(conversation) as id:
                    await trio.lowlevel.checkpoint()
                    ids.append(id)
            except UsageError as error:
                refused.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep)
            nursery.start_soon(keep)
        assert [entry.id for entry in await store.list()] == ids
    assert (len(ids), len(refused)) == (1, 1)
    assert not conversation.kept


async def test_entries_are_listed_oldest_first(shelves: Shelves) -> None:
    async with shelves.open() as store:
        ids: list[str] = []
        for _ in range(4):
            shelves.wall.now += 1
            ids.append(await asked(shelves, store))
        assert [entry.id for entry in await store.list()] == ids
        assert len(set(ids)) == 4
        assert all(len(id) == 12 and id.isalnum() for id in ids)
