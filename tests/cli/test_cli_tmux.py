"""The commands at a real terminal, driven by tmux: what a person sees and presses."""

import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.running import serving
from tests.cli.tmux import Pane, needs_tmux, pane

pytestmark = needs_tmux


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """The library over HTTP, shared."""
    with serving("tests.cli.library:server") as address:
        yield address


@pytest.fixture
async def terminal() -> AsyncGenerator[Pane, None]:
    """A shell at a terminal."""
    # A socket has a short path, and a folder of pytest's may have a long one.
    with TemporaryDirectory(prefix="antiphon-") as folder:
        async with pane(Path(folder)) as shell:
            yield shell


async def test_a_form_is_answered_by_keys(terminal: Pane, url: str) -> None:
    await terminal.run("call", url, "travel")
    await terminal.see("Tester asks, for travel", "Where to?", "ctrl-Z keeps it for later", "Rome")
    await terminal.press("Down", "Enter")
    await terminal.see("Send this to Tester?", "Decline to answer")
    await terminal.press("Enter")
    assert await terminal.end() == 0
    await terminal.see("travelled to fr-par")


async def test_a_form_is_declined_by_a_key(terminal: Pane, url: str) -> None:
    await terminal.run("call", url, "travel")
    await terminal.see("Rome")
    await terminal.press("C-d")
    assert await terminal.end() == 0
    await terminal.see("You declined.", "was told no")


async def test_what_is_wrong_is_shown_and_mended(terminal: Pane, url: str) -> None:
    await terminal.run("call", url, "register")
    await terminal.see("As on the door", "Your name:")
    await terminal.type("A")
    await terminal.press("Enter")
    await terminal.see("Wanted: text of at least 2 characters")
    await terminal.type("da")
    await terminal.press("Enter")
    await terminal.see("Your name: Ada", "age:")
    await terminal.type("17")
    await terminal.press("Enter")
    await terminal.see("Wanted: a whole number, 18 to 120")
    await terminal.press("C-u")
    await terminal.type("36")
    await terminal.press("Enter")
    await terminal.see("age: 36", "colours:", "blue")
    await terminal.press("Space", "Enter")
    await terminal.see("weight: 61.5")
    await terminal.press("Enter")
    await terminal.see("news:", "Yes")
    await terminal.press("Enter")
    await terminal.see("remark (optional):")
    await terminal.press("Enter")
    await terminal.see("colours: red", "Send this to Tester?", "Decline to answer")
    await terminal.press("Enter")
    assert await terminal.end() == 0
    await terminal.see('"name": "Ada"', '"age": 36', '"red"')


async def test_a_page_is_shown_with_its_host_in_bold_and_agreed_to(
    terminal: Pane, url: str
) -> None:
    await terminal.run("call", url, "visit", "url=http://bank.example@evil.example/sign?in=1")
    await terminal.see("Please sign in.", "Careful:", "before the @", "not encrypted")
    await terminal.see("Agree to go to evil.example?", "No, decline")
    bold = r"http://bank\.example@\x1b\[1mevil\.example\x1b\[[0-9;]+m(?:\x1b\[[0-9;]+m)*/sign"
    assert re.search(bold, await terminal.styled())
    await terminal.press("Down", "Enter")
    assert await terminal.end() == 0
    await terminal.see("Open this page to go on:", "agreed")


async def test_progress_is_a_bar_until_ctrl_c_ends_the_call(terminal: Pane, url: str) -> None:
    before = await terminal.sane()
    await terminal.run("call", url, "wait")
    await terminal.see("1/2 waiting", "━")
    await terminal.press("C-c")
    assert await terminal.end() == 130
    assert "━" not in await terminal.shown()
    assert await terminal.sane() == before


async def test_ctrl_c_at_a_question_cancels_that_question(terminal: Pane, url: str) -> None:
    before = await terminal.sane()
    await terminal.run("call", url, "travel")
    await terminal.see("Rome")
    await terminal.press("C-c")
    assert await terminal.end() == 0
    await terminal.see("You cancelled.", "was told nothing")
    assert await terminal.sane() == before


async def test_ctrl_c_at_any_prompt_of_a_form_cancels_the_form(terminal: Pane, url: str) -> None:
    prompts: list[tuple[str, list[str]]] = [
        ("Your name:", ["A", "d", "a", "Enter"]),
        ("age:", ["3", "6", "Enter"]),
        ("blue", ["Space", "Enter"]),
        ("weight:", ["Enter"]),
        ("Use arrow keys)\n", ["Enter"]),
        ("remark (optional):", ["Enter"]),
        ("Decline to answer", ["Down", "Enter"]),
        ("Which one?", []),
    ]
    before = await terminal.sane()
    for last in (0, 2, 7):
        await terminal.run("call", url, "register")
        for text, keys in prompts[:last]:
            await terminal.see(text)
            await terminal.press(*keys)
        await terminal.see(prompts[last][0])
        await terminal.press("C-c")
        assert await terminal.end() == 1
        await terminal.see("You cancelled.")
        assert await terminal.sane() == before


async def test_a_small_window_shows_the_host_and_a_bar_that_can_be_taken_away(
    terminal: Pane, url: str
) -> None:
    await terminal.resize(30, 12)
    await terminal.run("call", url, "visit")
    await terminal.see("Agree to go to accounts.exam", "No, decline", "Cancel")
    await terminal.press("Enter")
    assert await terminal.end() == 1
    await terminal.sane()
    await terminal.run("call", url, "wait", "message=a long message that no such window holds")
    await terminal.see("━━━━ 1/2 a long mess…\n")
    await terminal.press("C-c")
    assert await terminal.end() == 130
    assert "━" not in await terminal.shown()


async def test_without_colours_the_host_is_bold_all_the_same(terminal: Pane, url: str) -> None:
    await terminal.type("export NO_COLOR=1; clear")
    await terminal.press("Enter")
    await terminal.run("call", url, "visit")
    await terminal.see("Agree to go to accounts.example?", "Cancel")
    styled = await terminal.styled()
    assert "\x1b[1maccounts.example" in styled
    assert not re.search(r"\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7])[;m]", styled)
    await terminal.press("C-d")
    assert await terminal.end() == 1


async def test_with_a_pipe_for_an_input_nobody_is_asked(terminal: Pane, url: str) -> None:
    await terminal.type("true | ")
    await terminal.run("call", url, "travel")
    await terminal.see("There is no terminal to ask at", "--answer city=de-ber|fr-par|it-rom")
    assert await terminal.end() == 3


async def test_ctrl_z_puts_a_call_away_and_resume_asks_again(
    terminal: Pane, library: str, tmp_path: Path
) -> None:
    await terminal.type(f"export XDG_STATE_HOME={tmp_path}")
    await terminal.press("Enter")
    await terminal.run("call", library, "essay", "animal=cats")
    await terminal.see("How shall we speak of cats?", "warm")
    await terminal.press("C-z")
    assert await terminal.end() == 7
    shown = await terminal.see("It is put away as ")
    id = shown.partition("It is put away as ")[2].split(";")[0]
    await terminal.sane()
    await terminal.run("resume", id)
    await terminal.see("Library asks, for essay", "How shall we speak of cats?", "warm")
    await terminal.press("Enter")
    await terminal.see("Send this to Library?", "Decline to answer")
    await terminal.press("Enter")
    await terminal.see("How many words:")
    await terminal.type("20")
    await terminal.press("Enter")
    await terminal.see("How many words: 20", "Send this to Library?", "Decline to answer")
    await terminal.press("Enter")
    assert await terminal.end() == 0
    await terminal.see("20 dry words on cats")


async def test_changes_are_told_until_ctrl_c(terminal: Pane, library: str) -> None:
    await terminal.run("watch", library, "--tools")
    await terminal.see("Watching tools of")
    await terminal.press("C-c")
    assert await terminal.end() == 130
