"""What a terminal is shown of a text from the other side."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.transports.cli_text import harmless, one_line, shortened


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1;2|payload\x1b\\text", "text"),
        ("\x9b2Jtext", "text"),
        ("\x9d52;c;Zm9v\x9ctext", "text"),
        ("\x1bctext", "text"),
        ("\x1b(0text", "text"),
        ("\x1b", ""),
        ("\x1b]0;without an end", "0;without an end"),
        ("a\rb", "ab"),
        ("a\bb\x7f\x00c", "abc"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("a\u2066b\u2069\u200fc\u061cd", "abcd"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("hidden\U000e0041tag", "hiddentag"),
        ("half\ud800surrogate", "halfsurrogate"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(hostile: str, shown: str) -> None:
    assert harmless(hostile) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines",
        "Zürich 東京 عربى",
        "family 👨\u200d👩\u200d👧",
        "\u0645\u06cc\u200c\u062e",
        "e\u0301",
    ],
)
def test_letters_of_all_languages_stay(text: str) -> None:
    assert harmless(text) == text


def test_line_breaks_become_line_feeds_and_tabs_spaces() -> None:
    assert harmless("a\r\nb\u2028c\u2029d\te") == "a\nb\nc\nd   e"


@given(st.text())
def test_nothing_but_characters_and_line_feeds_is_left(text: str) -> None:
    left = {unicodedata.category(c) for c in harmless(text) if c not in "\n\u200c\u200d"}
    assert left.isdisjoint({"Cc", "Cf", "Cs"})


@given(st.text(alphabet="\x1b[]0;m\x07\\P\x9b\x9c a"))
def test_no_sequence_is_put_together_by_taking_another_out(text: str) -> None:
    assert not set(harmless(text)) & {"\x1b", "\x07", "\x9b", "\x9c"}


def test_a_long_run_of_half_sequences_is_read_in_one_pass() -> None:
    assert harmless("\x1b[" + "0" * 500_000) == "0" * 500_000
    assert harmless("\x1b]" * 200_000) == ""
    assert harmless("\x9d" * 200_000) == ""


def test_one_line_is_one_line_and_short() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"
    assert one_line("x" * 300, 10) == "xxxxxxxxx…"


def test_a_long_text_says_how_much_is_missing() -> None:
    assert shortened("x" * 12, 10) == "xxxxxxxxxx… (2 more characters)"
    assert shortened("two\nlines") == "two\nlines"
