"""How a command ends: its error in one line."""

from __future__ import annotations

import pytest

from antiphon.engine.exchange import TransportLost
from antiphon.transports.cli_exits import Exit, exit_of, sentence_of


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
