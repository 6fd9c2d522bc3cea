"""Standard error: what is shown, what waits, what is logged."""

import logging
from io import StringIO

import pytest

from antiphon.transports.cli_screen import Screen, logged_to, write_line
from antiphon.transports.cli_terminal import TerminalScreen


@pytest.fixture(params=[Screen, TerminalScreen])
def stream_and_screen(request: pytest.FixtureRequest) -> tuple[StringIO, Screen]:
    stream = StringIO()
    return stream, request.param(stream)


def test_what_is_said_is_harmless(stream_and_screen: tuple[StringIO, Screen]) -> None:
    stream, screen = stream_and_screen
    screen.say("\x1b[31mred [bold]:smile:\x07\n" + "x" * 200)
    assert stream.getvalue() == f"red [bold]:smile:\n{'x' * 200}\n"


def test_what_is_said_during_a_question_comes_after_it() -> None:
    stream = StringIO()
    screen = TerminalScreen(stream)
    with screen.prompting():
        screen.say("first")
        screen.progress(1, 2, "second")
        screen.say("third")
        assert stream.getvalue() == ""
    assert stream.getvalue() == "first\nthird\n"


def test_of_a_flood_during_a_question_the_end_is_kept() -> None:
    stream = StringIO()
    screen = TerminalScreen(stream)
    with screen.prompting():
        for number in range(5000):
            screen.say(str(number))
    assert stream.getvalue().split() == [str(number) for number in range(4000, 5000)]


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        ((1, 3, "a\x07\nb"), "1/3 a b\n"),
        ((0.25, 1.0, None), "0.25/1\n"),
        ((7, None, "x"), "7 x\n"),
        ((1e300, None, None), "1e+300\n"),
    ],
)
def test_progress_is_a_line(progress: tuple[float, float | None, str | None], line: str) -> None:
    stream = StringIO()
    Screen(stream).progress(*progress)
    assert stream.getvalue() == line


def test_a_stream_that_is_gone_takes_nothing() -> None:
    stream = StringIO()
    stream.close()
    for screen in (Screen(stream), TerminalScreen(StringIO())):
        screen.say("x")
    write_line(stream, "x")
    write_line(None, "x")


def test_warnings_are_shown_and_for_debugging_everything_of_ours() -> None:
    stream = StringIO()
    ours, other = logging.getLogger("antiphon.tested"), logging.getLogger("other.tested")
    with logged_to(Screen(stream), debug=False):
        ours.warning("a\x1b[2Jb")
        ours.debug("c")
        other.warning("d")
    assert stream.getvalue() == "WARNING antiphon.tested: ab\nWARNING other.tested: d\n"
    with logged_to(Screen(stream), debug=True):
        ours.debug("e")
        other.debug("f")
    ours.warning("g")
    assert stream.getvalue().endswith("other.tested: d\nDEBUG antiphon.tested: e\n")
