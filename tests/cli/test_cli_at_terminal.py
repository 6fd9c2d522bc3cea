"""The commands at a real terminal: asked, answered, left, ended, and the terminal afterwards."""

import json
import signal

import pytest

from tests.cli.running import (
    CLEAR,
    CTRL_C,
    CTRL_D,
    DOWN,
    ENTER,
    ESC,
    SPACE,
    WITHOUT_EXTRA,
    Terminal,
    at_terminal,
    read_until,
    served,
)


async def test_every_kind_of_field_is_filled_in(url: str) -> None:
    async with at_terminal("call", url, "register", "--json") as terminal:
        heading = await terminal.see("Esc or ctrl-C cancels")
        assert "Tester asks, for register" in heading
        assert "Who are you?" in heading
        assert "As on the door" in await terminal.see("Your name:")
        await terminal.type("A", ENTER)
        await terminal.see("Wanted: text of at least 2 characters")
        await terminal.type("da", ENTER)
        assert "Wanted: a whole number, 18 to 120" in await terminal.see("age:")
        await terminal.type("17", ENTER)
        await terminal.see("Wanted: a whole number, 18 to 120")
        await terminal.type(CLEAR, "36", ENTER)
        await terminal.see("blue")
        await terminal.type(SPACE, DOWN, DOWN, SPACE, ENTER)
        await terminal.see("weight: 61.5")
        await terminal.type(ENTER)
        await terminal.see("No")
        await terminal.type(DOWN, ENTER)
        await terminal.see("remark (optional):")
        await terminal.type(ENTER)
        review = await terminal.see("Send this to Tester?")
        assert "colours: red, blue" in review
        assert "news: No" in review
        await terminal.see("Cancel")
        await terminal.type(ENTER)
        done = await terminal.end()
        assert json.loads(done.out)["structuredContent"] == {
            "name": "Ada",
            "age": 36,
            "colours": ["red", "blue"],
            "weight": 61.5,
            "news": False,
            "remark": None,
        }
        assert done.status == 0
        assert terminal.is_sane


async def test_an_answer_is_changed_before_it_is_sent() -> None:
    async with at_terminal(*served("call", "travel")) as terminal:
        await terminal.see("Rome")
        await terminal.type(ENTER)
        await terminal.see("Change an answer")
        await terminal.type(DOWN, ENTER)
        await terminal.see("Which one?")
        await terminal.see("city")
        await terminal.type(ENTER)
        await terminal.see("Rome")
        await terminal.type(DOWN, DOWN, ENTER)
        await terminal.see("Cancel")
        await terminal.type(ENTER)
        assert (await terminal.end()).out == "travelled to it-rom\n"


@pytest.mark.parametrize(
    ("key", "told", "result"),
    [
        (CTRL_D, "You declined.", "was told no\n"),
        (ESC, "You cancelled.", "was told nothing\n"),
        (CTRL_C, "You cancelled.", "was told nothing\n"),
    ],
)
async def test_a_question_is_left_by_a_key(url: str, key: str, told: str, result: str) -> None:
    async with at_terminal("call", url, "travel") as terminal:
        await terminal.see("Rome")
        await terminal.type(key)
        await terminal.see(told)
        done = await terminal.end()
        assert (done.status, done.out) == (0, result)
        assert terminal.is_sane


async def test_two_questions_of_one_round_come_one_after_the_other(url: str) -> None:
    async with at_terminal("call", url, "marry") as terminal:
        for name in ("Ada", "Bob"):
            await terminal.see("name:")
            await terminal.type(name, ENTER)
            await terminal.see("Cancel")
            await terminal.type(ENTER)
        done = await terminal.end()
        assert sorted(done.out.split()) == ["Ada", "Bob", "and"]
        assert done.err.index("The bride?") != done.err.index("The groom?")


async def test_what_is_typed_before_there_is_a_question_answers_none(url: str) -> None:
    async with at_terminal("call", url, "visit") as terminal:
        await terminal.type(ENTER, DOWN, ENTER)
        heading = await terminal.see("Agree to go to accounts.example?")
        assert "https://accounts.example:8443/sign?in=1" in heading
        assert "\x1b[1maccounts.example\x1b[0m" in terminal.raw
        await terminal.see("Cancel")
        await terminal.type(DOWN, ENTER)
        await terminal.see("Open this page to go on: https://accounts.example:8443/sign?in=1")
        assert (await terminal.end()).out == "agreed\n"


async def test_a_page_is_not_agreed_to_by_leaning_on_enter(url: str) -> None:
    async with at_terminal("call", url, "visit") as terminal:
        await terminal.see("Cancel")
        await terminal.type(ENTER)
        done = await terminal.end()
        assert (done.status, done.out) == (1, "")
        assert "You declined." in done.err
        assert "Open this page" not in done.err


async def test_a_hostile_form_is_shown_harmless(url: str) -> None:
    async with at_terminal("call", url, "attack") as terminal:
        await terminal.see("redesrever[bold]bold[/bold] (x)")
        await terminal.type(ENTER)
        await terminal.see("Cancel")
        await terminal.type(ENTER)
        assert (await terminal.end()).out == "redesrever[bold]bold[/bold]\n"
        assert "owned" not in terminal.raw
        assert "\x1b[31m" not in terminal.raw
        assert not set(terminal.raw) & {"\x07", "\x9b", "\u202e"}


async def test_an_answer_from_the_command_line_is_not_asked_for(url: str) -> None:
    async with at_terminal("call", url, "travel", "--answer", "city=Rome") as terminal:
        done = await terminal.end()
        assert (done.out, done.err) == ("travelled to it-rom\n", "")


# -- time and signals -------------------------------------------------------------------------


async def test_a_deadline_closes_the_prompt(url: str) -> None:
    async with at_terminal("call", url, "travel", "--deadline", "8") as terminal:
        await terminal.see("Rome")
        await terminal.see("No result within the deadline, 8 s")
        assert (await terminal.end()).status == 6
        assert terminal.is_sane
        assert _cursor_shown(terminal)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
async def test_a_signal_closes_the_prompt(url: str, number: signal.Signals, status: int) -> None:
    async with at_terminal("call", url, "travel") as terminal:
        await terminal.see("Rome")
        terminal.process.send_signal(number)
        assert (await terminal.end()).status == status
        assert terminal.is_sane
        assert _cursor_shown(terminal)


async def test_a_terminal_that_goes_away_cancels_the_question(url: str) -> None:
    async with at_terminal("call", url, "travel") as terminal:
        await terminal.see("Rome")
        await terminal.keyboard.aclose()
        await read_until(terminal.process.stdout, "was told nothing\n")
        assert await terminal.process.wait() == 0


# -- progress, and no extra -------------------------------------------------------------------


async def test_progress_is_a_bar_that_leaves_no_trace(url: str) -> None:
    async with at_terminal("call", url, "count") as terminal:
        await terminal.see("1/3 step 1")
        await terminal.see("3/3 step 3")
        assert (await terminal.end()).out == "3\n"
        assert _cursor_shown(terminal)
        assert "\x1b[2K" in terminal.raw.rpartition("step 3")[2]


async def test_a_dumb_terminal_is_none(url: str) -> None:
    async with at_terminal("call", url, "travel", TERM="dumb") as terminal:
        done = await terminal.end()
        assert done.status == 3
        assert "There is no terminal to ask at" in done.err
        assert "\x1b" not in terminal.raw


async def test_without_the_extra_a_terminal_is_told_how_to_get_it(url: str) -> None:
    async with at_terminal("call", url, "travel", code=WITHOUT_EXTRA) as terminal:
        done = await terminal.end()
        assert (done.status, done.out) == (2, "")
        assert "pip install 'antiphon[cli]'" in done.err
        assert done.err.count("\n") == 1
    async with at_terminal("call", url, "travel", "--decline", code=WITHOUT_EXTRA) as terminal:
        assert (await terminal.end()).out == "was told no\n"


def _cursor_shown(terminal: Terminal) -> bool:
    return terminal.raw.rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l")
