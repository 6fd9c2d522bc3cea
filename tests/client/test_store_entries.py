"""Entries of a store whose time is over, that cannot be read, or are under seal."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from antiphon.engine.call_errors import (
    DeadlineExceeded,
    QuestionRefused,
    UnreadableDump,
)
from antiphon.engine.client import Client
from antiphon.engine.conversation import Waiting
from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.store_errors import (
    ConversationGone,
)
from tests.client.scripted import (
    ScriptedTransport,
    client_of,
    done,
    poll,
)
from tests.client.storing import DEV, KEYS, Shelves, Wall, asked, in_file

NAMED: JsonObject = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Shop"}}}


async def test_expire_takes_what_is_over_and_what_is_idle(shelves: Shelves) -> None:
    async with shelves.open() as store:
        await asked(shelves, store, deadline=50)
        await asked(shelves, store, deadline=100)
        endless = await asked(shelves, store)
        assert await store.expire() == 0
        shelves.wall.now = 1050.0
        assert await store.expire() == 1
        assert await store.expire(1099.9) == 0
        assert await store.expire(1100.0) == 1
        assert await store.expire(math.inf) == 0
        assert await store.expire(idle=51) == 0
        assert [entry.id for entry in await store.list()] == [endless]
        assert await store.expire(idle=50) == 1
        assert await store.list() == []


async def test_expire_leaves_alone_what_somebody_is_at(shelves: Shelves) -> None:
    async with shelves.open() as store:
        id = await asked(shelves, store, deadline=10)
        client, server = shelves.client(done())
        async with store.resume(id, client) as conversation:
            shelves.wall.now += 20
            assert await store.expire() == 0
            with pytest.raises(DeadlineExceeded):
                await conversation.advance(DEV)
        (entry,) = await store.list()
        assert not entry.uncertain
        assert await store.expire() == 1
    assert server.requests == []


# -- what cannot be resumed -------------------------------------------------------------------


async def test_an_entry_that_cannot_be_resumed_stays_as_it_is(shelves: Shelves) -> None:
    async with shelves.open() as store:
        id = await asked(shelves, store)
        before = await store.list()
        shelves.wall.now += 5
        elsewhere = ScriptedTransport([done()])
        elsewhere.name = "elsewhere"
        with pytest.raises(UsageError, match="moved=True"):
            async with store.resume(id, Client(elsewhere)):
                raise AssertionError
        with pytest.raises(QuestionRefused):
            async with store.resume(id, client_of(refuse=["form"])[0]):
                raise AssertionError
        assert await store.list() == before
        async with store.resume(id, Client(elsewhere), moved=True) as conversation:
            await conversation.advance(DEV)
    assert len(elsewhere.requests) == 1


async def test_an_id_that_never_was_is_gone(shelves: Shelves) -> None:
    async with shelves.open() as store:
        client, _ = shelves.client()
        for id in ("", "0" * 12, "'; DROP TABLE conversations; --", "\ud800"):
            with pytest.raises(ConversationGone):
                async with store.resume(id, client):
                    raise AssertionError
            assert not await store.cancel(id)


@pytest.mark.parametrize("lease", [0, -1, math.inf, math.nan])
async def test_a_lease_is_a_time(shelves: Shelves, lease: float) -> None:
    with pytest.raises(UsageError, match="lease"):
        async with shelves.open(lease=lease):
            raise AssertionError


# -- keys -------------------------------------------------------------------------------------


async def test_keys_are_rotated_and_a_strange_key_reads_nothing(tmp_path: Path) -> None:
    shelves = Shelves(in_file(tmp_path / "calls.db"), Wall())
    old, new = "o" * 32, "n" * 32
    client, _ = shelves.client(poll("s2"))
    async with shelves.open(keys=[old]) as store:
        id = await asked(shelves, store)
    for keys in ([new], None):
        async with shelves.open(keys=keys) as store:
            (entry,) = await store.list()
            assert entry.fault
            assert (entry.id, entry.name, entry.server, entry.asked) == (id, "", "", ())
            with pytest.raises(UnreadableDump):
                async with store.resume(id, client):
                    raise AssertionError
    async with shelves.open(keys=[new, old]) as store, store.resume(id, client) as conversation:
        await conversation.advance(DEV)
        assert isinstance(conversation.step, Waiting)
    async with shelves.open(keys=[new]) as store:
        assert (await store.list())[0].fault is None


async def test_what_is_not_sealed_is_not_read_by_who_has_keys(tmp_path: Path) -> None:
    shelves = Shelves(in_file(tmp_path / "calls.db"), Wall())
    async with shelves.open() as store:
        await asked(shelves, store)
    async with shelves.open(keys=KEYS) as store:
        assert "not sealed" in str((await store.list())[0].fault)


async def test_a_useless_key_is_told_before_a_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    with pytest.raises(UsageError, match=r"keys\[0\]"):
        async with in_file(path)(keys=["short"]):
            raise AssertionError
    assert not path.exists()
