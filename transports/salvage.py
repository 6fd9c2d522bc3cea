"""What can still be said of a line that cannot be decoded.

Whoever sent a request waits for a reply with its id. Where the line is too long or is no strict
JSON, the id can often still be read: writers put it among the first members or at the very end.
Both places are unmistakable in JSON text, because the braces next to them are the outermost.
"""

from __future__ import annotations

import re
from typing import Final

from ..engine.jsonrpc import InvalidJson, RequestId, loads
from .lines import EDGE, Line, TooLong

_ID: Final = rb'"id"\s*:\s*(-?\d{1,40}|"[^"\\]*")\s*'
_PLAIN_MEMBERS: Final = rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*'
_FIRST: Final = re.compile(_PLAIN_MEMBERS + _ID + rb"[,}]")
_LAST: Final = re.compile(rb"[,{]\s*" + _ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
_NAMED: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"\\]*"\s*,\s*)?"method"')


def _edges(line: Line) -> tuple[bytes, bytes]:
    if isinstance(line, TooLong):
        return line.head, line.tail
    return line[:EDGE], line[-EDGE:]


def readable_id(line: Line) -> RequestId | None:
    """The id of the message, where it stands plainly at one of the line's ends."""
    head, tail = _edges(line)
    found = _FIRST.match(head) or _LAST.search(tail)
    if found is None:
        return None
    try:
        id = loads(found[1])
    except InvalidJson:
        return None
    return id if isinstance(id, str | int) else None


def may_be_reply(line: Line) -> bool:
    """Whether the line begins like an object that does not name a method first."""
    head, _ = _edges(line)
    return head.lstrip().startswith(b"{") and _NAMED.match(head) is None
