"""Children of earlier revisions: some end at the first word that is no handshake."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from antiphon import TransportLost, open_client
from antiphon.engine.handshake_eras_known import forget_eras

PATIENCE = 60.0
ELDER = Path(__file__).with_name("elder_child.py")


def command(folder: Path, manner: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(ELDER), str(folder / "starts"), manner]


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().split()


def unheard(_: str) -> None:
    """For its standard error."""


@pytest.mark.parametrize("manner", ["exits", "is killed"])
async def test_a_child_that_ends_at_the_probe_is_started_once_more(
    manner: str, tmp_path: Path
) -> None:
    with trio.fail_after(PATIENCE):
        async with open_client(command(tmp_path, manner), stderr=unheard) as client:
            pids = {(await client.call_tool("t")).text for _ in range(3)}
    assert len(starts(tmp_path)) == 2
    assert pids == set(starts(tmp_path)[1:])


async def test_a_child_that_closes_its_output_is_too(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        target = command(tmp_path, "closes its output")
        async with open_client(target, stderr=unheard) as client:
            await client.call_tool("t")
    assert len(starts(tmp_path)) == 2


async def test_the_first_child_is_over_before_the_second_starts(tmp_path: Path) -> None:
    # It gives its lock back at the end of its input, and not when it is killed.
    with trio.fail_after(PATIENCE):
        target = command(tmp_path, "holds a lock")
        async with open_client(target, stderr=unheard) as client:
            await client.call_tool("t")
        assert len(starts(tmp_path)) == 2
        assert not (tmp_path / "starts.lock").exists()


async def test_what_was_found_out_is_remembered_by_the_command(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        for _ in range(2):
            async with open_client(command(tmp_path, "exits"), stderr=unheard) as client:
                await client.call_tool("t")
        assert len(starts(tmp_path)) == 3
        forget_eras()
        async with open_client(command(tmp_path, "exits"), stderr=unheard) as client:
            await client.call_tool("t")
        assert len(starts(tmp_path)) == 5


async def test_a_child_that_ends_at_the_handshake_too_tells_of_both(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        options: Any = {"stderr": unheard, "retry": None}
        async with open_client(command(tmp_path, "exits always"), **options) as client:
            with pytest.raises(TransportLost, match="exited with status 1") as caught:
                await client.call_tool("t")
    assert "who is that?" in caught.value.detail
    (note,) = caught.value.__notes__
    assert "server/discover" in note
    assert "who is that?" in note
    assert not caught.value.sent
    assert len(starts(tmp_path)) == 2


async def test_a_child_that_dies_between_two_calls_is_greeted_anew(tmp_path: Path) -> None:
    with trio.fail_after(PATIENCE):
        target = command(tmp_path, "exits")
        async with open_client(target, mode="legacy", stderr=unheard) as client:
            first = (await client.call_tool("t")).text
            await trio.run_process(["kill", "-9", first])
            second = ""
            while not second:
                try:
                    second = (await client.call_tool("t")).text
                except TransportLost:  # it was asked before its end was known
                    await trio.lowlevel.checkpoint()
            assert second != first
    assert len(starts(tmp_path)) == 2
