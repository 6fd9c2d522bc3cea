"""Text from the other side of the wire, made harmless for a terminal.

A terminal obeys what it is sent: escape sequences move its cursor, set its title, fill its
clipboard; bidirectional overrides make one thing look like another. None of it gets through.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# No part can begin within another: reading is linear in the text, whatever it holds.
_SEQUENCES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, modes
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"  # OSC, DCS and their like: titles, clipboard
    r"[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"  # the short ones
)
_JOINERS: Final = "\u200c\u200d"
"""Format characters that Persian, the languages of India and emoji cannot do without."""

_BREAKS: Final = re.compile("\r\n|[\u2028\u2029]")
_FOREIGN: Final = frozenset({"Cc", "Cf", "Cs"})
_BLANKS: Final = re.compile(r"\s+")


def harmless(text: str) -> str:
    """The text without anything but characters, spaces and line feeds."""
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text)).expandtabs(4)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if _shows(c))


def one_line(text: str, most: int = 200) -> str:
    """The same on one line, cut where it is longer than ``most``."""
    line = _BLANKS.sub(" ", harmless(text)).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"


def shortened(text: str, most: int = 4000) -> str:
    """The same with its lines, cut where it is longer than ``most``."""
    clean = harmless(text).strip()
    if len(clean) <= most:
        return clean
    return f"{clean[:most]}… ({len(clean) - most} more characters)"


def _shows(character: str) -> bool:
    return (
        character == "\n"
        or character in _JOINERS
        or unicodedata.category(character) not in _FOREIGN
    )
