"""Commands at a server of an earlier revision."""

from __future__ import annotations

import sys

import pytest

from tests.cli.running import ROOT, run

ELDER = [
    "--env",
    "PYTHONPATH",
    "--",
    sys.executable,
    str(ROOT / "tests" / "interop" / "theirs_old_asking.py"),
]


@pytest.mark.parametrize("mode", [[], ["--mode", "auto"], ["--mode", "legacy"]], ids="-".join)
async def test_a_question_is_answered(mode: list[str]) -> None:
    ended = await run("call", "ask", "--answer", "name=Ada", *mode, *ELDER)
    assert ended.out == "accept {'name': 'Ada'}\n"
    assert ended.status == 0


async def test_a_call_cannot_be_put_away() -> None:
    ended = await run("call", "ask", "--pause", *ELDER)
    assert "cannot be stored: its server speaks an earlier revision" in ended.err
    assert ended.status == 2


async def test_this_revision_alone_is_refused_by_it() -> None:
    ended = await run("list", "--mode", "2026-07-28", *ELDER)
    assert "The server answered with error" in ended.err
    assert ended.status != 0


async def test_an_unknown_mode_is_no_mode() -> None:
    ended = await run("list", "--mode", "2025-11-25", *ELDER)
    assert "invalid choice: '2025-11-25'" in ended.err
    assert ended.status == 2
