"""What --trace tells of each request: names and sizes, and nothing that was said."""

import re
from contextlib import suppress

import pytest
import trio

from antiphon.engine.exchange import FullyNamed, OnNotification, TransportLost
from antiphon.engine.jsonrpc import (
    Failure,
    JsonObject,
    JsonValue,
    Notification,
    Reply,
    Request,
    Success,
    write_message,
)
from antiphon.transports.cli_trace import Trace, TracedTransport
from antiphon.transports.http_answer import BadStatus
from tests.cli.running import run


class Scripted:
    """A transport that gives one reply after the other, or raises it."""

    name = "scripted"
    full_target = "scripted --all"

    def __init__(self, *replies: JsonObject | Failure | Exception) -> None:
        self._replies = list(replies)

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        await trio.sleep(0.25)
        on_notification(Notification("notifications/progress", {}))
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Failure) else Success(request.id, reply)


def _call(**params: JsonValue) -> Request:
    return Request("a-1", "tools/call", {"name": "travel", **params})


async def _traced(scripted: Scripted, *requests: Request) -> list[str]:
    told: list[str] = []
    transport = TracedTransport(scripted, Trace(told.append))
    for request in requests:
        await transport.exchange(request, lambda _: None)
    return told


async def test_a_leg_is_told_by_names_and_sizes(autojump_clock: trio.testing.MockClock) -> None:
    asks: JsonObject = {
        "resultType": "input_required",
        "inputRequests": {"trip": {"secret": "question"}},
        "requestState": "secret-state",
    }
    request = _call(arguments={"who": "secret-value", "\x1b[2Jwhen": 5})
    first, second = await _traced(Scripted(asks), request)
    size = len(write_message(request))
    assert first == f"->  tools/call  travel  id a-1  round 1  {size} bytes  arguments: who, when"
    size = len(write_message(Success("a-1", asks)))
    assert second == (
        f"<-  tools/call  travel  id a-1  round 1  input_required  250 ms  {size} bytes"
        "  asks: trip  state: 12 characters  notifications: 1"
    )


async def test_rounds_are_counted_by_call(autojump_clock: trio.testing.MockClock) -> None:
    done: JsonObject = {"content": [], "isError": True}
    again = _call(inputResponses={"trip": {"action": "accept"}}, requestState="s")
    told = await _traced(Scripted(done, done, done, done), _call(), again, again, _call())
    rounds = [re.findall("round [0-9]", line)[0] for line in told]
    assert rounds == [f"round {number}" for number in (1, 1, 2, 2, 3, 3, 1, 1)]
    assert "answers: trip  state: 1 characters" in told[2]
    assert "complete  250 ms" in told[1]
    assert "isError" in told[1]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (Failure("a-1", -32602, "no\x1b[31m such\nthing"), ["error -32602", "no such thing"]),
        (TransportLost("gone", sent=True), ["no reply: TransportLost", "may have arrived"]),
        (BadStatus("no", status=401), ["no reply: BadStatus"]),
    ],
)
async def test_what_is_no_result_is_told_too(
    ending: Failure | Exception, words: list[str], autojump_clock: trio.testing.MockClock
) -> None:
    told: list[str] = []
    transport = TracedTransport(Scripted(ending), Trace(told.append))
    with suppress(TransportLost, BadStatus):
        await transport.exchange(Request("a-1", "server/discover", {}), lambda _: None)
    assert all(word in told[-1] for word in words), told


async def test_a_leg_that_is_cancelled_says_so(autojump_clock: trio.testing.MockClock) -> None:
    told: list[str] = []
    transport = TracedTransport(Scripted({}), Trace(told.append))
    with trio.move_on_after(0.1):
        await transport.exchange(_call(), lambda _: None)
    assert told[-1].startswith("<-  tools/call  travel  id a-1  round 1  cancelled  100 ms")


def test_what_is_traced_is_the_same_server_as_before() -> None:
    transport = TracedTransport(Scripted(), Trace(print))
    assert isinstance(transport, FullyNamed)
    assert (transport.name, transport.full_target) == ("scripted", "scripted --all")
    assert not transport.mirrors


# -- at the command line ----------------------------------------------------------------------


async def test_each_leg_at_a_server_of_an_earlier_revision_has_its_status(url: str) -> None:
    words = ["call", url, "travel", "--trace", "--answer", "city=Rome", "--mode", "legacy"]
    done = await run(*words)
    assert done.status == 0
    lines = [line.split("  ") for line in done.err.splitlines()]
    assert [line[1] for line in lines] == ["tools/list"] * 2 + ["tools/call"] * 4
    assert ["HTTP 200" in line for line in lines] == [False, True] * 3


async def test_a_call_is_traced_on_standard_error(url: str) -> None:
    words = ["call", url, "travel", "--trace", "--answer", "city=Rome", "--json"]
    done = await run(*words, "--token-env", "TOKEN", TOKEN="secret-token")
    assert done.status == 0
    assert "secret-token" not in done.err
    assert "Rome" not in done.err
    assert "it-rom" not in done.err
    lines = [line.split("  ") for line in done.err.splitlines()]
    assert [(line[0], line[1]) for line in lines] == [
        ("->", "tools/list"),
        ("<-", "tools/list"),
        ("->", "tools/call"),
        ("<-", "tools/call"),
        ("->", "tools/call"),
        ("<-", "tools/call"),
    ]
    assert ["HTTP 200" in line for line in lines] == [False, True] * 3
    assert "input_required" in lines[3]
    assert "asks: trip" in lines[3]
    assert {"round 2", "answers: trip"} <= set(lines[4])
    assert "complete" in lines[5]
