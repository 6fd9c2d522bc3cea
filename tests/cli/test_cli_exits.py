"""How a command ends: its error in one line."""

from __future__ import annotations

import re

import pytest

from antiphon.engine.exchange import TransportLost
from antiphon.transports.cli_exits import EXITS, Exit, exit_of, sentence_of
from antiphon.transports.http_answer import BadStatus
from tests.cli.running import ROOT


@pytest.mark.parametrize(
    ("detail", "told"),
    [
        ("", "It died"),
        ("Traceback\nNo key given", "It died: No key given"),
        ("Traceback\r\n\x1b]0;pwn\x07No \x1b[31mkey\x1b[0m given\n", "It died: No key given"),
    ],
)
def test_last_words_of_a_child_are_told_in_one_line(detail: str, told: str) -> None:
    error = TransportLost("It died", sent=True, detail=detail)
    assert sentence_of(error) == told
    assert exit_of(error) == Exit.TRANSPORT


def test_how_often_it_was_tried_is_told() -> None:
    error = TransportLost("Gone", sent=False, detail="refused")
    error.add_note("This was the last of 4 tries.\nTraceback")
    assert (
        sentence_of(ExceptionGroup("", [error])) == "Gone: refused. This was the last of 4 tries."
    )


def test_what_a_program_is_advised_to_do_has_its_option_here() -> None:
    error = BadStatus("It wants credentials: give token=", status=401)
    assert sentence_of(error).endswith("On the command line these are --token-env and --header")
    assert "--token-env" not in sentence_of(BadStatus("No", status=403))


def test_the_guide_says_of_each_status_what_the_help_says() -> None:
    guide = (ROOT / "docs" / "terminal.md").read_text().replace("`", "")
    rows = re.findall(r"^\| ([0-9]+) \| (.*) \|$", guide, re.MULTILINE)
    told = re.findall(r"^  ([0-9]+) +(.*)$", EXITS, re.MULTILINE)
    assert told
    assert rows == told
    assert [int(status) for status, _ in told] == list(Exit)
