"""Prompts, resources, lists of all kinds, log messages and changes, over pipes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.library import PICTURE
from tests.cli.running import Ended, of_library, read_until, run, running, serving

_SAYS_NOTHING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "subscriptions/listen":
        meta = {"io.modelcontextprotocol/subscriptionId": request["id"]}
        told = {"method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": {}, "_meta": meta}}
        print(json.dumps({"jsonrpc": "2.0", **told}), flush=True)
"""
"""A server that acknowledges every subscription, and honours nothing of it."""


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """The library over HTTP, shared."""
    with serving("tests.cli.library:server") as address:
        yield address


# -- prompts ----------------------------------------------------------------------------------


async def test_a_prompt_is_printed_by_its_messages(library: str) -> None:
    done = await run("prompt", library, "greet", "name=Ada", "tone=dry")
    assert done == Ended(0, "user:\nSay a dry hello to Ada.\n\nassistant:\nI shall.\n", "")


async def test_a_prompt_in_json_is_the_result_as_it_came() -> None:
    done = await run(*of_library("prompt", "greet", "name=Ada", "--json"))
    assert json.loads(done.out)["messages"][1] == {
        "role": "assistant",
        "content": {"type": "text", "text": "I shall."},
    }
    assert (done.status, done.err) == (0, "")


async def test_a_prompt_that_asks_is_answered_from_the_command_line(library: str) -> None:
    answers = ["--answer", "tone=dry", "--answer", "words=20"]
    done = await run("prompt", library, "essay", "animal=cats", *answers)
    assert done == Ended(0, "user:\n20 dry words on cats\n", "")


async def test_a_prompt_that_is_not_there_is_the_server_s_error(library: str) -> None:
    done = await run("prompt", library, "nosuch")
    assert (done.status, done.out) == (5, "")
    assert done.err.count("\n") == 1


# -- resources --------------------------------------------------------------------------------


async def test_a_resource_is_printed(library: str) -> None:
    assert await run("read", library, "notes://today") == Ended(0, "Nothing,\nagain.\n", "")


async def test_a_resource_moves_no_terminal(library: str) -> None:
    done = await run("read", library, "notes://hostile")
    assert done.out == "redesrever[bold]bold[/bold]\n"


async def test_bytes_are_told_of_and_written_where_it_is_said(library: str, tmp_path: Path) -> None:
    done = await run("read", library, "notes://picture")
    told = f"[notes://picture: {len(PICTURE)} bytes of image/png; --output FILE writes them]\n"
    assert done == Ended(0, told, "")
    file = tmp_path / "picture.png"
    assert await run("read", library, "notes://picture", "--output", str(file)) == Ended(0, "", "")
    assert file.read_bytes() == PICTURE
    exact = await run("read", library, "notes://hostile", "--output", "-")
    assert "\x1b]0;owned\x07" in exact.out


async def test_a_file_that_cannot_be_written_is_told(library: str, tmp_path: Path) -> None:
    where = str(tmp_path / "no" / "such")
    done = await run("read", library, "notes://today", "--output", where)
    assert (done.status, done.out) == (2, "")
    assert "No such file" in done.err


async def test_a_template_that_asks_is_answered_from_the_command_line(library: str) -> None:
    answers = ["--answer", "tone=warm", "--answer", "words=30"]
    done = await run("read", library, "essay://dogs", "--json", *answers)
    [contents] = json.loads(done.out)["contents"]
    assert (contents["uri"], contents["text"]) == ("essay://dogs", "30 warm words on dogs")


# -- lists ------------------------------------------------------------------------------------


async def test_everything_is_listed_by_sections(library: str) -> None:
    done = await run("list", library, "--all")
    assert (done.status, done.err) == (0, "")
    sections = [line for line in done.out.splitlines() if line.split(" ")[0].isupper()]
    assert sections == ["TOOLS (4)", "PROMPTS (2)", "RESOURCES (3)", "TEMPLATES (1)"]
    greet = "greet (Greet somebody)\n    Say hello.\n    name=: Whom to greet\n"
    assert greet in done.out
    assert "notes://picture\n    A picture.\n    picture, image/png\n" in done.out


async def test_one_kind_is_an_array_and_several_are_an_object(library: str) -> None:
    prompts = json.loads((await run("list", library, "--prompts", "--json")).out)
    assert [prompt["name"] for prompt in prompts] == ["essay", "greet"]
    assert prompts[1]["arguments"][0]["required"] is True
    both = json.loads((await run("list", library, "--resources", "--templates", "--json")).out)
    assert both["resources"][0]["uri"] == "notes://today"
    assert [t["uriTemplate"] for t in both["templates"]] == ["essay://{animal}"]


async def test_a_server_without_a_kind_is_told_to_have_none() -> None:
    with serving() as tester:
        done = await run("list", tester, "--all", "--json")
    assert list(json.loads(done.out)) == ["tools"]


# -- log messages -----------------------------------------------------------------------------


async def test_log_messages_are_shown_from_a_level_on(library: str) -> None:
    assert await run("call", library, "chatter") == Ended(0, "done\n", "")
    done = await run("call", library, "chatter", "--log", "info")
    assert done == Ended(
        0, "done\n", 'INFO bakery: {"oven": 180}\nERROR: redesrever[bold]bold[/bold]\n'
    )


async def test_a_level_that_does_not_exist_is_refused() -> None:
    done = await run("call", "http://x", "chatter", "--log", "loud")
    assert done.status == 2
    assert "'loud'" in done.err


# -- changes ----------------------------------------------------------------------------------


async def test_changes_are_told_as_they_come(library: str) -> None:
    words = ["watch", library, "notes://today", "--tools", "--count", "2"]
    async with running(*words) as process:
        told = await read_until(process.stderr, "\n")
        assert told == f"Watching tools, notes://today of {library}\n"
        assert (await run("call", library, "rewrite")).status == 0
        seen = await read_until(process.stdout, "tools changed\n")
        assert sorted(seen.splitlines()) == ["tools changed", "updated notes://today"]
        assert await process.wait() == 0


async def test_changes_in_json_are_a_document_each(library: str) -> None:
    async with running("watch", library, "--json", "--count", "1") as process:
        await read_until(process.stderr, f"Watching tools, prompts, resources of {library}\n")
        assert (await run("call", library, "rewrite")).status == 0
        assert await read_until(process.stdout, "\n") == '{"changed": "tools"}\n'
        assert await process.wait() == 0


async def test_what_a_server_does_not_tell_of_is_said() -> None:
    server = [sys.executable, "-c", _SAYS_NOTHING]
    done = await run("watch", "--prompts", "--mode", "2026-07-28", "--", *server)
    assert (done.status, done.out) == (5, "")
    assert done.err.endswith(" does not tell of prompts\n")


async def test_watching_ends_with_the_deadline(library: str) -> None:
    done = await run("watch", library, "--deadline", "0.5")
    assert (done.status, done.out) == (6, "")
