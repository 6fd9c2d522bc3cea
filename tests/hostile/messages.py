"""Messages that are wrong, whatever they answer, and what comes of them on each wire.

On a line and on a stream the wrong message is followed by the right one: what a client may
skip there does no harm. A body is the only one there is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from attrs import frozen

from antiphon.engine.call_errors import ServerError
from antiphon.engine.errors import AntiphonError, InvalidReply
from antiphon.engine.jsonrpc import JsonObject
from tests.hostile.lies import ESCAPES, LONG
from tests.hostile.plays import ID, message, note

Outcome = type[AntiphonError] | None
"""The error that ends the call; None where it ends well."""

MESSAGE_BYTES: Final = 300_000
"""What the clients of these tests take."""


@frozen
class Wrong:
    """One way in which a message can be wrong.

    Attributes:
        name: for the test's name.
        said: the messages; ``ID`` stands for the id of the request.
        line, body, stream: what comes of it.
    """

    name: str
    said: Sequence[bytes]
    line: Outcome = InvalidReply
    body: Outcome = InvalidReply
    stream: Outcome = InvalidReply

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return self.line, self.body, self.stream


def _skipped(name: str, *said: bytes) -> Wrong:
    """A wrong message that answers nobody."""
    return Wrong(name, said, None, InvalidReply, None)


def _spoken(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": "$ID", **members}).encode()


def _failed(**members: Any) -> bytes:
    return _spoken(error={"code": -32000, "message": "no", **members})


ANY_RESULT: Final[JsonObject] = {"content": [], "completion": {"values": []}}
"""Does for a tool, and for suggestions."""

GOOD: Final = message(ANY_RESULT)


def _with(text: bytes) -> bytes:
    """A reply whose result holds this JSON."""
    return GOOD.replace(b'"content": []', b'"content": [], "x": ' + text)


_IDS: Final[dict[str, Any]] = {
    "another text": "other",
    "a number": 1,
    "no text at all": "",
    "true": True,
    "a list": ["$ID"],
    "an object": {"id": "$ID"},
    "1.5": 1.5,
    "without end": LONG,
    "for terminals": ESCAPES,
}

WRONG_IDS: Final = [
    # A body or stream is the reply to its own request alone; a line can be anybody's.
    *(
        Wrong(f"an id that is {name}", [message({}, id=id)], None, InvalidReply, InvalidReply)
        for name, id in _IDS.items()
        if isinstance(id, str | int) and not isinstance(id, bool)
    ),
    *(
        _skipped(f"an id that is {name}", message({}, id=id))
        for name, id in _IDS.items()
        if isinstance(id, bool | list | dict | float)
    ),
    _skipped("an id that is null", message({}, id=None)),
    _skipped("no id at all", b'{"jsonrpc":"2.0","result":{"content":[]}}'),
]

_UNREADABLE: Final[dict[str, bytes]] = {
    "no revision of JSON-RPC": b'{"id":' + ID + b',"result":{}}',
    "another revision of JSON-RPC": GOOD.replace(b'"2.0"', b'"1.0"'),
    "neither result nor error": _spoken(),
    "a result that is null": _spoken(result=None),
    "a result that is a list": _spoken(result=[]),
    "a result that is text": _spoken(result="done"),
    "a result that is a number": _spoken(result=3),
    "a result and an error": _spoken(result={}, error={"code": 1, "message": "x"}),
    "an error that is text": _spoken(error="no"),
    "an error that is a list": _spoken(error=[]),
    "an error of nothing": _spoken(error={}),
    "an error without words": _spoken(error={"code": 1}),
    "an error whose code is text": _failed(code="1"),
    "an error whose code is no integer": _failed(code=1.5),
    "an error whose code is true": _failed(code=True),
    "an error whose words are no text": _failed(message=["no"]),
    "not a number": _with(b"NaN"),
    "infinity": _with(b"-Infinity"),
    "a number that no float holds": _with(b"1e400"),
    "half a surrogate pair": _with(b'"\\ud800"'),
    "half a surrogate pair as a name": _with(b'{"\\udc80":1}'),
    "text that is no UTF-8": _with(b'"\xff\xfe"'),
    "a null in a text": _with(b'"a\x00b"'),
    # They end lines to some readers, and are no JSON where they stand bare.
    "separators in a text": _with(b'"a\x0b\x0c\x1c\x1d\x1eb"'),
    "a number of 5000 digits": _with(b"1" * 5000),
    "a number of 401 digits": _with(b"-" + b"1" * 401),
    "65 lists in each other": _with(b"[" * 65 + b"]" * 65),
    "10 000 objects in each other": _with(b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "a comma too many": _with(b"[1,]"),
}
"""Messages that cannot be read as a whole, and whose id can."""

# A stream may be kept alive by data that is no message: the reply is still waited for.
UNREADABLE: Final = [
    Wrong(name, [said], InvalidReply, InvalidReply, None) for name, said in _UNREADABLE.items()
]

TOO_LONG: Final = [
    Wrong("more bytes than the limit", [_with(b'"' + b"x" * MESSAGE_BYTES + b'"')]),
    Wrong(
        "as many bytes more before the id", [b'{"x":"' + b"x" * MESSAGE_BYTES + b'",' + GOOD[1:]]
    ),
    Wrong("more bytes than the limit, of nobody", [b"{" + b"x" * MESSAGE_BYTES + b"}"]),
]

GARBAGE: Final = [
    _skipped("no JSON", b"Server listening on port 3000"),
    _skipped("an array", b"[" + GOOD + b"]"),
    _skipped("null", b"null"),
    _skipped("a number", b"42"),
    _skipped("a text", b'"done"'),
    _skipped("an object of nothing", b"{}"),
    _skipped("bytes of no text", bytes(range(128, 256))),
    _skipped("a page", b"<!doctype html><title>502</title>" + b"<p>" * 1000),
    _skipped("words for terminals", ESCAPES.replace("\n", " ").replace("\r", " ").encode()),
    _skipped("100 000 opening brackets", b"[" * 100_000),
    Wrong("a message cut in the middle", [GOOD[: len(GOOD) // 2]], InvalidReply, stream=None),
    Wrong("two messages in one", [GOOD + GOOD], InvalidReply, stream=None),
    Wrong("a byte order mark", [b"\xef\xbb\xbf" + GOOD], None, stream=None),
]

CALLS: Final = [
    _skipped("a request", _spoken(method="ping").replace(ID, b'"theirs"')),
    _skipped("a request of our own id", _spoken(method="roots/list")),
    _skipped("a question as in revisions before", _spoken(method="elicitation/create", params={})),
    _skipped("a notification", note(level="info", data="x")),
    _skipped("a notification of no known kind", note("notifications/" + LONG)),
    _skipped("a notification whose parameters are a list", note().replace(b"{}", b"[]")),
    _skipped("that it cancels what was asked", note("notifications/cancelled", requestId="$ID")),
    _skipped("a thousand notifications", *[note(level="error", data=n) for n in range(1000)]),
    *(
        _skipped(f"progress of {token!r}", note("notifications/progress", progressToken=token))
        for token in (None, True, 1.5, [1], {"a": 1}, "other")
    ),
]

HARMLESS: Final = [
    Wrong("a reply twice", [GOOD, GOOD], None, None, None),
    Wrong("a reply and then another", [GOOD, message({})], None, None, None),
    Wrong("members that nobody knows", [message(ANY_RESULT, x=1)], None, None, None),
    Wrong("a line separator in a text", [_with('"\u2028\u2029\u0085"'.encode())], None, None, None),
    Wrong("spaces around it", [b"  \t" + GOOD + b"  \r"], None, None, None),
    Wrong(
        "64 levels, and 400 digits", [_with(b"[" * 60 + b"9" * 400 + b"]" * 60)], None, None, None
    ),
    Wrong(
        "two ids, of which the last counts",
        [GOOD.replace(b'"id": ', b'"id": "x", "id": ')],
        None,
        None,
        None,
    ),
]


def _error(name: str, said: bytes) -> Wrong:
    return Wrong(name, [said], ServerError, ServerError, ServerError)


_DATA: Final[list[Any]] = [
    None,
    True,
    [],
    {"requiredCapabilities": [1]},
    {"requiredCapabilities": {LONG: 1, ESCAPES: 1}},
]

ERRORS: Final = [
    _error("an error", _failed()),
    _error("an error of a code without end", _failed(code=-(10**399))),
    _error("an error of words without end", _failed(message=LONG)),
    _error("an error of words for terminals", _failed(message=ESCAPES)),
    _error("an error of no words", _failed(message="")),
    *(
        _error(f"an error with {data!r}"[:60], _failed(code=code, data=data))
        for code in (-32020, -32021)
        for data in _DATA
    ),
]

WRONG: Final = {
    "ids": WRONG_IDS,
    "unreadable": UNREADABLE,
    "too long": TOO_LONG,
    "garbage": GARBAGE,
    "calls": CALLS,
    "harmless": HARMLESS,
    "errors": ERRORS,
}
