"""Prompts as keys are pressed, without a terminal: what is typed, chosen, refused and left."""

import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import StringIO

import pytest
import trio
import trio.testing
from attrs import define
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input

from antiphon.transports.cli_desk import QuietOutput
from antiphon.transports.cli_forms import Declined, Dismissed, Paused
from antiphon.transports.cli_prompts import TerminalPrompts
from tests.cli.running import CLEAR, CTRL_C, CTRL_D, CTRL_Z, DOWN, ENTER, ESC, SPACE, UP

SCREEN = Size(rows=40, columns=100)


class Drawing(StringIO):
    """What a prompt draws in its thread, to be waited for in ours."""

    def __init__(self) -> None:
        super().__init__()
        self._token = trio.lowlevel.current_trio_token()
        self._changed = trio.Event()
        self.obstacle: Callable[[], object] = lambda: None

    def flush(self) -> None:
        self.obstacle()
        self._token.run_sync_soon(self._change)

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def shows(self, text: str) -> None:
        with trio.fail_after(30):
            while text not in self.getvalue():
                await self._changed.wait()


@define
class Desk:
    prompts: TerminalPrompts
    keys: PipeInput
    screen: Drawing


@pytest.fixture
async def desk() -> AsyncGenerator[Desk, None]:
    screen = Drawing()
    output = QuietOutput(screen, lambda: SCREEN, term="xterm")
    with create_pipe_input() as keys:
        yield Desk(TerminalPrompts(keys, output), keys, screen)


def anything(_: object) -> None:
    """Find nothing wrong."""


async def text(desk: Desk, default: str = "", check: Callable[[str], str | None] = anything) -> str:
    return await desk.prompts.text("Name:", default, check)


async def choose(desk: Desk, number: int = 3, first: int = 0) -> int:
    return await desk.prompts.choose("Which?", [f"option {i}" for i in range(number)], first)


async def choose_any(
    desk: Desk,
    number: int = 3,
    chosen: frozenset[int] = frozenset(),
    check: Callable[[list[int]], str | None] = anything,
) -> list[int]:
    options = [f"option {i}" for i in range(number)]
    return await desk.prompts.choose_any("Which?", options, chosen, check)


@asynccontextmanager
async def answering(
    desk: Desk, prompt: Callable[[], Awaitable[object]]
) -> AsyncGenerator[list[object], None]:
    """A prompt that waits for keys; what it was answered, once the block has ended."""
    answers: list[object] = []

    async def ask() -> None:
        answers.append(await prompt())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await desk.screen.shows("\x1b[?7h")
        yield answers


# -- answers ----------------------------------------------------------------------------------


async def test_a_text_is_typed(desk: Desk) -> None:
    desk.keys.send_text("orders" + ENTER)
    assert await text(desk) == "orders"


async def test_a_default_stands_in_the_line_to_be_kept_or_changed(desk: Desk) -> None:
    desk.keys.send_text(ENTER)
    assert await text(desk, "orders") == "orders"
    desk.keys.send_text("2" + ENTER)
    assert await text(desk, "orders") == "orders2"
    desk.keys.send_text(CLEAR + "other" + ENTER)
    assert await text(desk, "orders") == "other"


async def test_a_text_is_taken_only_when_nothing_is_wrong_with_it(desk: Desk) -> None:
    def told(value: str) -> str | None:
        return None if len(value) > 2 else "Too short"

    async with answering(desk, lambda: text(desk, check=told)) as answers:
        desk.keys.send_text("x" + ENTER)
        await desk.screen.shows("Too short")
        desk.keys.send_text("yz" + ENTER)
    assert answers == ["xyz"]


@pytest.mark.parametrize(
    ("keys", "index"), [(ENTER, 1), (DOWN + ENTER, 2), (UP + ENTER, 0), (DOWN * 2 + ENTER, 0)]
)
async def test_an_option_is_pointed_at(desk: Desk, keys: str, index: int) -> None:
    desk.keys.send_text(keys)
    assert await choose(desk, first=1) == index


@pytest.mark.parametrize(
    ("keys", "indexes"),
    [
        (ENTER, [1]),
        (SPACE + ENTER, [0, 1]),
        (DOWN + SPACE + DOWN + SPACE + ENTER, [2]),
        ("a" + ENTER, [0, 1, 2]),
    ],
)
async def test_options_are_ticked(desk: Desk, keys: str, indexes: list[int]) -> None:
    desk.keys.send_text(keys)
    assert await choose_any(desk, chosen=frozenset({1})) == indexes


async def test_ticks_are_taken_only_when_nothing_is_wrong_with_them(desk: Desk) -> None:
    def told(picked: list[int]) -> str | None:
        return None if picked else "Pick one"

    async with answering(desk, lambda: choose_any(desk, check=told)) as answers:
        desk.keys.send_text(ENTER)
        await desk.screen.shows("Pick one")
        desk.keys.send_text(SPACE + ENTER)
    assert answers == [[0]]


async def test_many_options_are_searched_by_typing(desk: Desk) -> None:
    desk.keys.send_text("77" + ENTER)
    assert await choose(desk, number=200) == 77
    desk.keys.send_text("77" + SPACE + ENTER)
    assert await choose_any(desk, number=200) == [77]


async def test_options_with_the_same_words_are_told_apart(desk: Desk) -> None:
    desk.keys.send_text(DOWN + ENTER)
    assert await desk.prompts.choose("Which?", ["same", "same"], 0) == 1


# -- leaving ----------------------------------------------------------------------------------

PROMPTS = pytest.mark.parametrize("prompt", [text, choose, choose_any])
Prompt = Callable[[Desk], Awaitable[object]]


@PROMPTS
@pytest.mark.parametrize("key", [ESC, CTRL_C])
async def test_a_prompt_is_dismissed(desk: Desk, prompt: Prompt, key: str) -> None:
    desk.keys.send_text(key)
    with pytest.raises(Dismissed):
        await prompt(desk)


@PROMPTS
async def test_a_prompt_is_declined(desk: Desk, prompt: Prompt) -> None:
    desk.keys.send_text("x" + CTRL_D)
    with pytest.raises(Declined):
        await prompt(desk)


async def test_ctrl_z_keeps_a_question_for_later(desk: Desk) -> None:
    desk.keys.send_text("x" + CTRL_Z)
    with pytest.raises(Paused):
        await text(desk)


@PROMPTS
async def test_a_terminal_that_goes_away_dismisses_the_prompt(desk: Desk, prompt: Prompt) -> None:
    desk.keys.close()
    with pytest.raises(Dismissed):
        await prompt(desk)


async def test_an_arrow_is_not_taken_for_escape(desk: Desk) -> None:
    desk.keys.send_text(DOWN + "\x1bOB" + ENTER)
    assert await choose(desk) == 2


# -- being ended ------------------------------------------------------------------------------


@asynccontextmanager
async def asked(desk: Desk, prompt: Prompt) -> AsyncGenerator[trio.CancelScope, None]:
    """A prompt that waits for keys; it has ended when the block has."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(prompt, desk)
        await desk.screen.shows("(Use arrow" if prompt is not text else "Name:")
        yield nursery.cancel_scope


@PROMPTS
async def test_a_cancelled_prompt_closes_and_leaves_the_line_clear(
    desk: Desk, prompt: Prompt
) -> None:
    async with asked(desk, prompt) as scope:
        scope.cancel()
    assert scope.cancelled_caught
    # The cursor is shown, wrapping is on, pasting is plain again.
    drawn = desk.screen.getvalue()
    assert drawn.rindex("\x1b[?25h") > drawn.find("\x1b[?25l")
    assert drawn.rindex("\x1b[?7h") > drawn.rindex("\x1b[?7l")
    assert drawn.rindex("\x1b[?2004l") > drawn.rindex("\x1b[?2004h")


@PROMPTS
async def test_a_prompt_that_is_cancelled_before_it_is_drawn_never_is(
    desk: Desk, prompt: Prompt
) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await prompt(desk)
    assert scope.cancelled_caught
    assert not {"Name", "Which"} & set(re.findall(r"\w+", desk.screen.getvalue()))


async def test_a_prompt_that_is_cancelled_while_it_starts_closes(desk: Desk) -> None:
    for _ in range(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(text, desk)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert nursery.cancel_scope.cancelled_caught


async def test_the_next_prompt_after_a_cancelled_one_works(desk: Desk) -> None:
    async with asked(desk, text) as scope:
        scope.cancel()
    desk.keys.send_text("again" + ENTER)
    assert await text(desk) == "again"


async def test_a_failing_neighbour_ends_a_prompt(desk: Desk) -> None:
    with pytest.RaisesGroup(ZeroDivisionError):
        async with asked(desk, choose):
            raise ZeroDivisionError


async def test_trio_goes_on_while_a_prompt_waits(desk: Desk) -> None:
    async with asked(desk, text):
        await trio.testing.wait_all_tasks_blocked()
        desk.keys.send_text(ENTER)


async def test_a_terminal_that_takes_no_output_holds_nobody_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.transports.cli_prompts.CLOSING", 0.01)
    stuck = threading.Event()
    try:
        async with asked(desk, choose) as scope:
            desk.screen.obstacle = stuck.wait
            desk.keys.send_text(DOWN)
            scope.cancel()
        assert scope.cancelled_caught
    finally:
        stuck.set()
