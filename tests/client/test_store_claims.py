"""Who is at a stored conversation, and what was on its way when they left it."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from antiphon.engine.call_errors import (
    ServerError,
)
from antiphon.engine.conversation import Asked
from antiphon.engine.exchange import TransportLost
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.engine.store import ConversationStore
from antiphon.engine.store_errors import (
    AnswerUncertain,
    ConversationClaimed,
    ConversationGone,
    LeaseLost,
)
from antiphon.engine.store_memory import MemoryShelf
from antiphon.engine.store_shelf import Lease
from tests.client.scripted import (
    ROOTS,
    asks,
    client_of,
    done,
    form,
    poll,
)
from tests.client.storing import DEV, Shelves, Wall, asked, in_memory, result_of

NAMED: JsonObject = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Shop"}}}


async def test_two_do_not_answer_the_same_question(shelves: Shelves) -> None:
    async with shelves.open() as one, shelves.open() as two:
        id = await asked(shelves, one)
        client, server = shelves.client(done())
        async with one.resume(id, client) as conversation:
            (entry,) = await two.list()
            assert entry.held_until == 1060.0
            shelves.wall.now = 1059.0
            with pytest.raises(ConversationClaimed, match="free in 1 s") as caught:
                async with two.resume(id, client):
                    raise AssertionError
            assert (caught.value.id, caught.value.until) == (id, 1060.0)
            await conversation.advance(DEV)
        with pytest.raises(ConversationGone):
            async with two.resume(id, client):
                raise AssertionError
    assert len(server.requests) == 1


async def test_a_conversation_that_was_left_is_free_at_once(shelves: Shelves) -> None:
    async with shelves.open() as one, shelves.open() as two:
        id = await asked(shelves, one)
        client, server = shelves.client(done())
        async with one.resume(id, client):
            pass
        async with two.resume(id, client) as conversation:
            await conversation.advance(DEV)
    assert len(server.requests) == 1


async def test_who_was_superseded_sends_nothing_more(shelves: Shelves) -> None:
    async with shelves.open() as one, shelves.open() as two:
        id = await asked(shelves, one)
        client, server = shelves.client(done("second"))
        async with one.resume(id, client) as late:
            shelves.wall.now += 61
            async with two.resume(id, client) as conversation:
                with pytest.raises(LeaseLost):
                    await late.advance(DEV)
                assert server.requests == []
                assert (await result_of(conversation, DEV)).text == "second"
        assert await two.list() == []
    assert len(server.requests) == 1


async def test_leaving_what_was_taken_over_says_so(shelves: Shelves) -> None:
    async with shelves.open() as one, shelves.open() as two:
        id = await asked(shelves, one)
        client, _ = shelves.client(done())

        async def superseded() -> None:
            async with one.resume(id, client):
                shelves.wall.now += 61
                async with two.resume(id, client):
                    pass

        with pytest.raises(LeaseLost):
            await superseded()
        async with two.resume(id, client) as conversation:
            await conversation.advance(DEV)


async def test_a_late_holder_goes_on_where_nobody_else_came(shelves: Shelves) -> None:
    async with shelves.open() as store:
        id = await asked(shelves, store)
        client, server = shelves.client(done())
        async with store.resume(id, client) as conversation:
            shelves.wall.now += 3600
            await conversation.advance(DEV)
        assert await store.list() == []
    assert len(server.requests) == 1


async def test_a_running_holder_renews_its_lease(mock_clock: trio.testing.MockClock) -> None:
    shelves = Shelves(in_memory(), Wall())
    async with shelves.open(clock=trio.current_time) as store:
        id = await asked(shelves, store)
        client, _ = shelves.client()
        async with store.resume(id, client):
            for _ in range(12):
                mock_clock.jump(20)
                await trio.testing.wait_all_tasks_blocked()
            (entry,) = await store.list()
            assert entry.held_until == 300.0


@pytest.mark.parametrize("how", ["cancelled", "taken over"])
async def test_a_block_ends_when_its_conversation_is_another_ones(
    how: str, autojump_clock: trio.testing.MockClock
) -> None:
    shelf = MemoryShelf()
    store = ConversationStore(shelf, lease=30.0, clock=trio.current_time)
    client, _ = client_of()

    async def kept() -> None:
        async with store.keeping(client.conversation("t")) as id:
            if how == "cancelled":
                await store.cancel(id)
            else:
                await shelf.claim(Lease(id, "another"), now=31.0, until=1000.0)
            await trio.sleep_forever()

    with pytest.raises(ConversationGone if how == "cancelled" else LeaseLost):
        await kept()
    assert trio.current_time() == 10.0
    assert [entry.held_until for entry in await store.list()] == [1000.0] * (how != "cancelled")


async def test_cancel_wins_over_whoever_is_at_it(shelves: Shelves) -> None:
    async with shelves.open() as one, shelves.open() as two:
        id = await asked(shelves, one)
        client, server = shelves.client(done())
        async with one.resume(id, client) as conversation:
            assert await two.cancel(id)
            with pytest.raises(ConversationGone):
                await conversation.advance(DEV)
        assert not await two.cancel(id)
        assert await one.list() == []
    assert server.requests == []


# -- requests on their way --------------------------------------------------------------------


async def left_on_its_way(shelves: Shelves, store: ConversationStore, *answers: Any) -> str:
    """A conversation that was cancelled while the answer to its question was being served."""

    async def never(_: Request) -> JsonObject:
        scope.cancel()
        await trio.sleep_forever()
        raise AssertionError

    client, _ = shelves.client(*answers, never)
    conversation = client.conversation("t")
    id = ""
    with trio.CancelScope() as scope:
        async with store.keeping(conversation) as id:
            while True:
                step = conversation.step
                await conversation.advance(DEV if isinstance(step, Asked) else None)
    assert scope.cancelled_caught
    return id


async def test_an_answer_that_was_on_its_way_is_not_repeated_blindly(shelves: Shelves) -> None:
    async with shelves.open() as store:
        id = await left_on_its_way(shelves, store, asks({"region": form()}, "s1"))
        (entry,) = await store.list()
        assert (entry.uncertain, entry.held_until) == (True, None)
        client, server = shelves.client(poll("s2"), done())
        for _ in range(2):
            with pytest.raises(AnswerUncertain, match="again=True"):
                async with store.resume(id, client):
                    raise AssertionError
        async with store.resume(id, client, again=True):
            pass
        assert (await store.list())[0].uncertain
        async with store.resume(id, client, again=True) as conversation:
            await conversation.advance(DEV)
            assert not (await store.list())[0].uncertain
        async with store.resume(id, client) as conversation:
            await conversation.advance()
    assert server.params[0]["inputResponses"]["region"]["content"] == {"name": "dev"}


async def test_a_first_request_is_announced_and_a_poll_need_not_be(shelves: Shelves) -> None:
    async with shelves.open() as store:
        await left_on_its_way(shelves, store)
        shelves.wall.now += 1
        await left_on_its_way(shelves, store, poll("s"))
        first, second = await store.list()
    assert (first.uncertain, first.begun) == (True, False)
    assert (second.uncertain, second.begun) == (False, True)


FAILURES: list[tuple[Any, bool]] = [
    (Failure(None, -32602, "no"), False),
    (TransportLost("it was down", sent=False), False),
    (TransportLost("it broke", sent=True), True),
    ({"resultType": "odd"}, True),
    (asks({"q": ROOTS}), True),
    (LookupError(), True),
]


@pytest.mark.parametrize(("failure", "uncertain"), FAILURES)
async def test_a_failed_request_is_uncertain_unless_it_surely_did_nothing(
    shelves: Shelves, failure: Any, uncertain: bool
) -> None:
    client, _ = shelves.client(asks({"region": form()}), failure, refuse=["roots"], retry=None)
    async with shelves.open() as store:
        conversation = client.conversation("t")
        async with store.keeping(conversation):
            await conversation.advance()
            with pytest.raises((ServerError, TransportLost, LookupError, Exception)):
                await conversation.advance(DEV)
            assert (await store.list())[0].uncertain == uncertain
        assert (await store.list())[0].uncertain == uncertain


async def test_an_answer_is_announced_before_it_is_sent(shelves: Shelves) -> None:
    seen: list[tuple[bool, int]] = []

    async with shelves.open() as store, shelves.open() as other:

        async def look(_: Request) -> JsonObject:
            (entry,) = await other.list()
            seen.append((entry.uncertain, len(entry.asked)))
            return done()

        client, _ = shelves.client(asks({"region": form()}), look)
        conversation = client.conversation("t")
        async with store.keeping(conversation):
            await conversation.advance()
            await conversation.advance(DEV)
    assert seen == [(True, 1)]
