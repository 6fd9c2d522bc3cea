"""Cancelled at each step: nothing of it lives on, and the next request is served rightly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
import trio

from antiphon import Server, open_client
from antiphon.engine.answering import AuditEntry
from antiphon.engine.changes import Change, ListChanged
from antiphon.engine.client import Client
from antiphon.engine.client_reads import PromptRef
from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.engine.limits import Limits
from antiphon.engine.store import ConversationStore
from antiphon.transports.store_sqlite import open_store
from tests.client import listening
from tests.client.scripted import ROOTS, ScriptedTransport, asks, client_of, done, form, poll
from tests.client.stepping import at_each_step

HEADER: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "string", "x-mcp-header": "A"}},
}


def page(*names: str, cursor: str | None = None) -> JsonObject:
    tools: Any = [{"name": name, "inputSchema": HEADER} for name in names]
    return {"tools": tools, "ttlMs": 60_000} | ({"nextCursor": cursor} if cursor else {})


async def person(_: object) -> dict[str, str]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 3)
    return {"name": "dev"}


async def roots(_: object) -> list[str]:
    await trio.sleep(1)
    return []


# -- calls ------------------------------------------------------------------------------------


def call_with_everything() -> tuple[Client, ScriptedTransport, list[AuditEntry]]:
    """Tries, a look-up of headers, questions alone and together, polls."""

    def slow(result: JsonObject) -> Any:
        async def answer(_: Request) -> JsonObject:
            await trio.sleep(1)
            return result

        return answer

    audit: list[AuditEntry] = []
    client, server = client_of(
        TransportLost("no connection", sent=False),
        Failure(None, -32020, "Header mismatch"),
        slow(page("other", cursor="2")),
        slow(page("t")),
        slow(asks({"alone": form()}, "s1")),
        slow(poll("s2")),
        slow(asks({"a": form(), "b": form(), "c": ROOTS}, "s3")),
        slow(done("first")),
        elicitation=person,
        roots=roots,
        audit=audit.append,
        deadline=1000,
        people_timeout=500,
        clock=trio.current_time,
    )
    return client, server, audit


async def test_a_call(autojump_clock: object) -> None:
    whole, left = 0, call_with_everything()

    async def act() -> None:
        nonlocal whole, left
        left = call_with_everything()
        assert (await left[0].call_tool("t", {"a": "x"})).text == "first"
        whole += 1

    async def judge() -> None:
        client, server, audit = left
        assert server.open == 0
        # Each question that was asked has one outcome, and none of them has failed.
        assert len({(entry.round, entry.key) for entry in audit}) == len(audit)
        assert {entry.outcome for entry in audit} <= {"accept", "answer", "abandoned"}
        server.answers = iter([done("served")])
        assert (await client.call_tool("other")).text == "served"
        assert "requestState" not in server.params[-1]

    assert await at_each_step(act, judge) > 25
    assert whole == 1


async def test_a_conversation_stands_where_it_stood(autojump_clock: object) -> None:
    client, server, _ = call_with_everything()
    conversation = client.conversation("t")

    async def act() -> None:
        nonlocal client, server, conversation
        client, server, _ = call_with_everything()
        conversation = client.conversation("t", {"a": "x"})
        await conversation.run()

    async def judge() -> None:
        if conversation.done:
            return
        interim, questions = conversation.interim, getattr(conversation.step, "questions", {})
        server.answers = iter([done("went on")])
        answers: dict[str, Any] = {
            key: [] if asked.kind == "roots" else {"name": "dev"}
            for key, asked in questions.items()
        }
        await conversation.advance(answers)
        assert conversation.done
        state = None if interim is None else interim.request_state
        assert server.params[-1].get("requestState") == state

    await at_each_step(act, judge)


# -- reads ------------------------------------------------------------------------------------


def library() -> Server:
    server = Server("Library", list_ttl_ms=60_000, limits=Limits(page=2))
    for number in range(5):

        @server.tool(name=f"tool{number}")
        async def tool() -> str:
            return "done"

    @server.prompt
    async def greet(whom: Literal["Paul", "Chani"]) -> str:
        await trio.sleep(1)
        return f"Hello {whom}"

    @server.resource("shelf://dune", ttl_ms=60_000)
    async def dune() -> str:
        await trio.sleep(1)
        return "Spice."

    return server


async def read_everything(client: Client) -> list[object]:
    return [
        (await client.discover()).capabilities,
        [tool.name async for tool in client.list_tools()],
        [tool.name for tool in await client.list_tools(fresh=True)],
        [prompt.name for prompt in await client.list_prompts()],
        [resource.name for resource in await client.list_resources()],
        await client.list_resource_templates(),
        (await client.get_prompt("greet", {"whom": "Paul"})).text,
        (await client.read_resource("shelf://dune")).text,
        (await client.complete(PromptRef("greet"), "whom", "P")).values,
    ]


async def test_what_is_read_and_kept(autojump_clock: object) -> None:
    async with open_client(library()) as other:
        expected = await read_everything(other)
    assert expected[2] == [f"tool{number}" for number in range(5)]
    async with open_client(library()) as client:

        async def act() -> None:
            await client.list_tools(fresh=True)
            client_reads = await read_everything(client)
            assert client_reads == expected

        async def judge() -> None:
            assert await read_everything(client) == expected

        assert await at_each_step(act, judge) > 10


# -- subscriptions ----------------------------------------------------------------------------


async def test_a_subscription(autojump_clock: object) -> None:
    async def stream(stream: listening.Stream) -> JsonObject:
        await trio.sleep(1)
        stream.acknowledge()
        await trio.sleep(1)
        stream.changed("tools")
        await trio.sleep(1)
        raise listening.lost()

    scripts = (stream, listening.never, stream, listening.ending)
    client, server = listening.client_of(*scripts)
    heard: list[Change] = []

    async def act() -> None:
        nonlocal client, server
        client, server = listening.client_of(*scripts)
        heard.clear()
        async with client.subscribe(tools=True) as changes:
            async for change in changes:
                heard.append(change)
                await trio.sleep(0.1)

    async def judge() -> None:
        assert server.open == 0
        server.scripts = [listening.ending]
        async with client.subscribe(tools=True) as changes:
            assert await listening.take_all(changes) == []
            assert changes.ended

    assert await at_each_step(act, judge) > 25
    assert heard.count(ListChanged("tools")) == 2


# -- stores -----------------------------------------------------------------------------------


def server_of_two_questions(served: list[str]) -> Client:
    """A client whose server does something for each answer that it is given."""

    def leg(result: JsonObject) -> Any:
        async def answer(request: Request) -> JsonObject:
            await trio.lowlevel.checkpoint()
            served.extend(request.params.get("inputResponses") or {})  # type: ignore[arg-type]
            await trio.lowlevel.checkpoint()
            return result

        return answer

    return client_of(
        leg(asks({"one": form()}, "s1")),
        leg(asks({"two": form()}, "s2")),
        leg(done("end")),
        elicitation=person,
    )[0]


class Elsewhere(ScriptedTransport):
    name = "elsewhere"


async def check_truth(store: ConversationStore, served: list[str]) -> None:
    """Nobody holds an entry; and what was served is not asked again, unless with a warning."""
    for entry in await store.list():
        assert (entry.held_until, entry.fault) == (None, None)
        assert entry.uncertain or not {asked.key for asked in entry.asked} & set(served)
        assert await store.cancel(entry.id)
    assert await store.list() == []


async def keep_and_resume(store: ConversationStore, served: list[str]) -> None:
    client = server_of_two_questions(served)
    conversation = client.conversation("t")
    async with store.keeping(conversation) as id:
        await conversation.advance()
    assert [entry.id for entry in await store.list()] == [id]
    with pytest.raises(UsageError, match="the whole targets differ"):
        async with store.resume(id, Client(Elsewhere())):
            raise AssertionError
    async with store.resume(id, client) as resumed:
        assert (await resumed.run()).text == "end"
    await store.save(client.conversation("another"))
    assert await store.expire(idle=-1) == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_kept_call(kind: str, tmp_path: Path, autojump_clock: object) -> None:
    served: list[str] = []
    finished = 0

    async def all_of_it(store: ConversationStore) -> None:
        async def act() -> None:
            nonlocal finished
            served.clear()
            await keep_and_resume(store, served)
            finished += 1

        async def judge() -> None:
            await check_truth(store, served)

        assert await at_each_step(act, judge) > 25
        assert served == ["one", "two"]
        assert finished

    if kind == "memory":
        await all_of_it(ConversationStore())
    else:
        async with open_store(tmp_path / "calls.db") as store:
            await all_of_it(store)


async def test_a_file_that_is_opened_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"

    async def act() -> None:
        async with open_store(path) as store:
            await store.save(client_of()[0].conversation("t"))

    async def judge() -> None:
        # SQLite removes it when the last connection is closed.
        assert not path.with_name("calls.db-wal").exists()
        async with open_store(path) as store:
            await store.expire(idle=-1)
            assert await store.list() == []

    assert await at_each_step(act, judge) > 5
