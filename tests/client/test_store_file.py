"""A store in a file: whose it is, what else it may hold, and several processes at once."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.engine.store import ConversationStore
from antiphon.engine.store_errors import AnswerUncertain, ConversationClaimed, StoreUnusable
from antiphon.transports.store_sqlite import open_store
from tests.client.scripted import asks, client_of, done, form
from tests.client.storing import KEYS

SECRET = "hunter2"
STATE = "sealed-state"


async def put(store: ConversationStore, key: str = "region") -> str:
    client, _ = client_of(asks({key: form("Which region?")}, STATE))
    conversation = client.conversation("provision", {"password": SECRET})
    await conversation.advance()
    return await store.save(conversation)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.db"


# -- whose it is ------------------------------------------------------------------------------


async def test_its_files_are_its_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        async with open_store(path) as store:
            await put(store)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes.keys() == {"calls.db", "calls.db-wal", "calls.db-shm"}
    assert set(modes.values()) == {0o600}


async def test_a_stolen_file_tells_nothing(path: Path) -> None:
    words = [SECRET, STATE, "provision", "Which region?", "scripted", "region", "tools/call"]

    def found() -> set[str]:
        whole = b"".join(file.read_bytes() for file in path.parent.iterdir())
        return {word for word in words if word.encode() in whole}

    async with open_store(path, keys=KEYS) as store:
        await put(store)
        assert found() == set()
    assert found() == set()
    async with open_store(path) as store:
        await put(store)
    assert SECRET in found()


def test_what_is_removed_leaves_nothing_behind(path: Path) -> None:
    async def removed(id: str) -> None:
        async with open_store(path) as store:
            await store.cancel(id)

    id = trio.run(_made, path)
    assert SECRET.encode() in path.read_bytes()
    trio.run(removed, id)
    assert SECRET.encode() not in path.read_bytes()


async def test_a_sealed_entry_takes_no_others_place(path: Path) -> None:
    async with open_store(path, keys=KEYS) as store:
        one, two = await put(store), await put(store)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "UPDATE conversations SET body = (SELECT body FROM conversations WHERE id = ?)", (one,)
        )
    async with open_store(path, keys=KEYS) as store:
        faults = {entry.id: entry.fault for entry in await store.list()}
    assert faults[one] is None
    assert "another entry" in str(faults[two])


async def test_no_name_of_a_file_means_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_store(":memory:") as store:
        await put(store)
    assert (tmp_path / ":memory:").exists()


# -- what else a file may hold ----------------------------------------------------------------


def _text(path: Path) -> None:
    path.write_text("Dear diary, today I did nothing. " * 100)


def _folder(path: Path) -> None:
    path.mkdir()


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE diary (day TEXT)")


def _pragma(name: str, value: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        trio.run(_made, path)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(f"PRAGMA {name}={value}")

    return change


async def _made(path: Path) -> str:
    async with open_store(path) as store:
        return await put(store)


def _without_its_table(path: Path) -> None:
    trio.run(_made, path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE conversations")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_text, "file is not a database"),
        (_folder, "unable to open"),
        (_foreign, "no store of conversations"),
        (_pragma("user_version", 2), "format 2; this version reads up to 1.*newer"),
        (_pragma("user_version", 0), "damaged"),
        (_pragma("application_id", 7), "no store of conversations"),
        (_without_its_table, "no such table"),
    ],
)
def test_what_is_no_store_is_told_and_left_alone(
    path: Path, make: Callable[[Path], None], told: str
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None

    async def use() -> None:
        async with open_store(path) as store:
            await store.list()

    with pytest.raises(StoreUnusable, match=told) as caught:
        trio.run(use)
    assert str(path) in str(caught.value)
    assert before is None or path.read_bytes() == before


def test_a_folder_that_is_not_there_is_told(path: Path) -> None:
    with pytest.raises(StoreUnusable, match="No such file or directory"):
        trio.run(_made, path.parent / "nowhere" / "calls.db")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 2**31), flip=st.integers(1, 255), cut=st.booleans())
@example(place=3964, flip=128, cut=False)  # SQLite's own message is no text then
def test_damage_anywhere_is_told_or_does_no_harm(
    path: Path, place: int, flip: int, cut: bool
) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    trio.run(_made, path)
    whole = bytearray(path.read_bytes())
    place %= len(whole)
    whole[place] ^= flip
    path.write_bytes(whole[:place] if cut else whole)

    async def use() -> None:
        async with open_store(path) as store:
            for entry in await store.list():
                assert entry.fault or entry.name == "provision"
                await store.cancel(entry.id)
            await put(store)

    with suppress(StoreUnusable):
        trio.run(use)


async def test_values_of_a_wrong_type_are_an_unreadable_entry(path: Path) -> None:
    await _made(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE conversations SET body = 'x', created = 'y', sending = 'z', saved = ''")
        db.execute("INSERT INTO conversations VALUES (?, 0, 0, 'never', 7, 'z', 1, 8)", (b"\xff",))
    async with open_store(path) as store:
        entries = await store.list()
        assert len(entries) == 2
        assert all(entry.fault and not entry.name for entry in entries)
        assert await store.expire(8, idle=1) == 2


async def test_a_store_that_was_closed_is_unusable(path: Path) -> None:
    async with open_store(path) as store:
        pass
    with pytest.raises(StoreUnusable, match="closed"):
        await store.list()


async def test_a_disk_that_is_full_stops_the_call_before_its_answer(path: Path) -> None:
    client, server = client_of(asks({"region": form()}, "s"), done())
    async with open_store(path) as store:
        conversation = client.conversation("provision")
        async with store.keeping(conversation):
            await conversation.advance()
            shelf: Any = store._shelf  # pyright: ignore[reportPrivateUsage]
            pages = shelf._connection.execute("PRAGMA query_only=ON")
            pages.close()
            with pytest.raises(StoreUnusable):
                await conversation.advance({"region": {"name": "dev"}})
            assert len(server.requests) == 1
            shelf._connection.execute("PRAGMA query_only=OFF").close()
            await conversation.advance({"region": {"name": "dev"}})
        assert await store.list() == []


# -- several processes ------------------------------------------------------------------------


async def worker(path: Path, out: Path, *how: str) -> trio.Process:
    """Start one, whose standard streams are pipes; it waits for a line."""
    root = Path(__file__).parents[2]
    command = [sys.executable, str(root / "tests/client/store_worker.py"), str(path), str(out)]
    return await trio.lowlevel.open_process(
        [*command, *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])},
    )


async def heard(process: trio.Process, word: bytes) -> None:
    assert process.stdout is not None
    said = b""
    while word not in said:
        chunk = await process.stdout.receive_some()
        assert chunk, said
        said += chunk


async def begin(process: trio.Process) -> None:
    assert process.stdin is not None
    await process.stdin.send_all(b"\n")


async def ended(process: trio.Process) -> int:
    assert process.stdin is not None
    assert process.stdout is not None
    status = await process.wait()
    await process.stdin.aclose()
    await process.stdout.aclose()
    return status


async def test_processes_that_answer_at_once_answer_each_question_once(
    path: Path, tmp_path: Path
) -> None:
    keys = [f"question-{number}" for number in range(12)]
    outs = [tmp_path / f"out-{number}" for number in range(3)]
    # They make and open the file all at once, too.
    workers = [await worker(path, out) for out in outs]
    for process in workers:
        await heard(process, b"ready")
    async with open_store(path) as store:
        for key in keys:
            await put(store, key)
        for process in workers:
            await begin(process)
        assert [await ended(process) for process in workers] == [0, 0, 0]
        assert await store.list() == []
    served = [line for out in outs if out.exists() for line in out.read_text().split()]
    assert sorted(served) == sorted(keys)


async def test_a_process_that_is_killed_at_an_answer_leaves_a_warning(
    path: Path, tmp_path: Path
) -> None:
    now = 0.0
    async with open_store(path) as store:
        id = await put(store)
        process = await worker(path, tmp_path / "out", "die")
        await begin(process)
        assert await ended(process) == -signal.SIGKILL
        (entry,) = await store.list()
        assert entry.uncertain
        assert entry.held_until is not None
        now = entry.held_until + 1
        client, _ = client_of(done())
        with pytest.raises(ConversationClaimed):
            async with store.resume(id, client):
                raise AssertionError
    async with open_store(path, clock=lambda: now) as store:
        with pytest.raises(AnswerUncertain):
            async with store.resume(id, client):
                raise AssertionError
        async with store.resume(id, client, again=True) as conversation:
            await conversation.advance({"region": {"name": "dev"}})
        assert await store.list() == []


async def test_a_process_that_is_killed_at_a_prompt_leaves_its_question(
    path: Path, tmp_path: Path
) -> None:
    async with open_store(path) as store:
        id = await put(store)
        process = await worker(path, tmp_path / "out", "wait")
        await begin(process)
        await heard(process, b"holding")
        process.kill()
        await ended(process)
        (entry,) = await store.list()
        assert not entry.uncertain
        until = entry.held_until
    assert until is not None
    client, _ = client_of(done())
    async with open_store(path, clock=lambda: until) as store:
        async with store.resume(id, client) as conversation:
            await conversation.advance({"region": {"name": "dev"}})
        assert await store.list() == []
