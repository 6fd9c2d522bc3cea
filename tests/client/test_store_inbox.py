"""The example of an inbox: every command is a process of its own, with a server of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from attrs import frozen

ROOT = Path(__file__).parents[2]


@frozen
class Inbox:
    folder: Path
    keys: str = "k" * 32

    async def run(self, *words: str, typed: str = "", status: int = 0) -> str:
        """What one command prints, with what a person types."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "ANTIPHON_KEYS": self.keys,
            "INBOX": str(self.folder / "inbox.db"),
        }
        finished = await trio.run_process(
            [sys.executable, str(ROOT / "examples" / "inbox.py"), *words],
            stdin=typed.encode(),
            capture_stdout=True,
            stderr=subprocess.STDOUT,
            env=environment,
            check=False,
        )
        said = finished.stdout.decode()
        assert finished.returncode == status, said
        return said

    async def asked(self) -> str:
        """Ask, in a process that ends; the id of the question."""
        said = await self.run("ask", "orders")
        return said.split()[-1]


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path)


async def test_one_process_asks_and_another_finishes_the_call(inbox: Inbox) -> None:
    id = await inbox.asked()
    listed = await inbox.run("list")
    assert listed.startswith(f"{id} provision of Provisioner, 168 h left")
    assert "choosing_region: Which region should 'orders' live in?" in listed
    said = await inbox.run("answer", id, "name=eu-west-1")
    assert '{"name":"orders","region":"eu-west-1"}' in said
    assert await inbox.run() == ""


async def test_each_question_may_be_answered_by_another_process(inbox: Inbox) -> None:
    id = await inbox.asked()
    said = await inbox.run("answer", id, "name=prod")
    assert said.endswith(f"It asks; answer with: inbox.py answer {id}\n")
    assert "confirming_prod" in await inbox.run("list")
    said = await inbox.run("answer", id, typed="yes\n")
    assert '"region":"prod"' in said
    assert "has no conversation" in await inbox.run("answer", id, status=1)


async def test_a_question_can_be_declined(inbox: Inbox) -> None:
    id = await inbox.asked()
    await inbox.run("answer", id, "name=prod")
    assert "production was declined" in await inbox.run("answer", id, "--decline")
    assert await inbox.run("list") == ""


async def test_who_has_another_key_reads_nothing(inbox: Inbox) -> None:
    id = await inbox.asked()
    thief = Inbox(inbox.folder, keys="t" * 32)
    listed = await thief.run("list")
    assert "not sealed by a key of this store" in listed
    assert "orders" not in listed
    assert "not sealed" in await thief.run("answer", id, status=1)
    assert "keys is empty" in await Inbox(inbox.folder, keys="").run("list", status=1)
