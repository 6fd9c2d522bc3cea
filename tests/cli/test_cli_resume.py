"""Calls that are put away with their questions, and gone on with by another process."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Ended, of_library, run, serving


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """The library over HTTP, shared."""
    with serving("tests.cli.library:server") as address:
        yield address


async def _put_away(target: str, state: Path, *more: str, tool: str = "essay") -> str:
    words = ["call", target, tool, "animal=cats", "--pause", "--json", *more]
    done = await run(*words, XDG_STATE_HOME=str(state))
    assert (done.status, done.err) == (7, "")
    id = json.loads(done.out)["paused"]["id"]
    assert isinstance(id, str)
    return id


async def test_a_call_is_put_away_and_finished_by_another_process(
    library: str, tmp_path: Path
) -> None:
    id = await _put_away(library, tmp_path)
    answers = ["--answer", "tone=dry", "--answer", "words=20"]
    done = await run("resume", id, *answers, XDG_STATE_HOME=str(tmp_path))
    assert done == Ended(0, "20 dry words on cats\n", "")
    assert (await run("resume", XDG_STATE_HOME=str(tmp_path))).out == "No call is put away\n"


async def test_a_call_is_put_away_again_in_a_later_round(library: str, tmp_path: Path) -> None:
    id = await _put_away(library, tmp_path)
    words = ["resume", id, "--answer", "tone=dry", "--pause"]
    done = await run(*words, XDG_STATE_HOME=str(tmp_path))
    told = f"It is put away as {id}; antiphon resume {id} goes on with it\n"
    assert done == Ended(7, "", told)
    done = await run("resume", id, "--answer", "words=30", XDG_STATE_HOME=str(tmp_path))
    assert done == Ended(0, "30 dry words on cats\n", "")


async def test_a_command_is_found_again(tmp_path: Path) -> None:
    words = of_library("prompt", "essay", "animal=dogs", "--pause", "--json")
    done = await run(*words, XDG_STATE_HOME=str(tmp_path))
    id = json.loads(done.out)["paused"]["id"]
    answers = ["--answer", "tone=warm", "--answer", "words=11", "--env", "PYTHONPATH"]
    done = await run("resume", id, *answers, XDG_STATE_HOME=str(tmp_path))
    assert done == Ended(0, "user:\n11 warm words on dogs\n", "")


async def test_what_is_put_away_is_listed_and_forgotten(library: str, tmp_path: Path) -> None:
    id = await _put_away(library, tmp_path, "--deadline", "3600")
    listed = await run("resume", XDG_STATE_HOME=str(tmp_path))
    head, *more = listed.out.splitlines()
    assert head == f"{id}  essay of Library"
    assert more[0].endswith(f", from {library}")
    assert " until " in more[0]
    assert more[1] == "    asks: How shall we speak of cats?"
    [call] = json.loads((await run("resume", "--json", XDG_STATE_HOME=str(tmp_path))).out)
    assert (call["id"], call["method"], call["name"]) == (id, "tools/call", "essay")
    assert [asked["kind"] for asked in call["asked"]] == ["form"]
    forgotten = await run("resume", id, "--forget", XDG_STATE_HOME=str(tmp_path))
    assert forgotten == Ended(0, "", "")
    assert not list((tmp_path / "antiphon").glob("*.target"))
    again = await run("resume", id, XDG_STATE_HOME=str(tmp_path))
    assert again == Ended(
        2, "", f"antiphon: No call is put away as '{id}'; antiphon resume lists them\n"
    )


async def test_nobody_else_can_look_at_what_is_put_away(library: str, tmp_path: Path) -> None:
    await _put_away(library, tmp_path)
    place = tmp_path / "antiphon"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    for file in place.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


async def test_credentials_of_an_address_are_not_kept(library: str, tmp_path: Path) -> None:
    with_user = library.replace("http://", "http://ada:secret-word@")
    id = await _put_away(with_user, tmp_path)
    for file in (tmp_path / "antiphon").iterdir():
        assert b"secret-word" not in file.read_bytes()
    answers = ["--answer", "tone=dry", "--answer", "words=20"]
    done = await run("resume", id, *answers, XDG_STATE_HOME=str(tmp_path))
    assert done.status == 0


async def test_a_call_goes_on_at_another_address_only_where_it_is_said_to(
    library: str, tmp_path: Path
) -> None:
    id = await _put_away(library, tmp_path)
    answers = ["--answer", "tone=dry", "--answer", "words=20"]
    with serving("tests.cli.library:server") as other:
        done = await run("resume", id, other, *answers, XDG_STATE_HOME=str(tmp_path))
        assert (done.status, done.out) == (2, "")
        words = ["resume", id, other, "--moved", *answers]
        done = await run(*words, XDG_STATE_HOME=str(tmp_path))
        assert done == Ended(0, "20 dry words on cats\n", "")


async def test_an_answer_that_may_have_arrived_is_not_sent_again_unless_it_is_said_to(
    library: str, tmp_path: Path
) -> None:
    id = await _put_away(library, tmp_path, tool="stall")
    words = ["resume", id, "--answer", "tone=dry", "--timeout", "1"]
    assert (await run(*words, XDG_STATE_HOME=str(tmp_path))).status == 6
    assert "--again" in (await run("resume", XDG_STATE_HOME=str(tmp_path))).out
    done = await run(*words, XDG_STATE_HOME=str(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert "may have arrived" in done.err
    assert (await run(*words, "--again", XDG_STATE_HOME=str(tmp_path))).status == 6


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--forget"], "Which call?"),
        (["--", "python"], "Which call?"),
        (["0123456789ab", "http://x", "--", "python"], "one TARGET"),
        (["0123456789ab", "a", "b"], "one TARGET"),
        (["0123456789ab", "--pause", "--decline"], "keep one"),
    ],
)
async def test_a_wrong_command_line_is_told(words: list[str], told: str, tmp_path: Path) -> None:
    done = await run("resume", *words, XDG_STATE_HOME=str(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert told in done.err
