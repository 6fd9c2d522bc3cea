"""Roots that a server of an earlier revision asks for outside of any call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define

from antiphon import Asked, Root, RootsRequest, SamplingReply
from antiphon.engine.answering import AuditEntry
from antiphon.engine.asked import Origin
from antiphon.engine.exchange import OnNotification
from antiphon.engine.handshake_link import OnRequest
from antiphon.engine.jsonrpc import Failure, Notification, Success
from antiphon.engine.jsonrpc import Request as Question
from antiphon.engine.limits import Limits
from antiphon.engine.store import ConversationStore
from antiphon.transports.cli_trace import Trace, TracedTransport
from antiphon.transports.connect import open_client, open_transport
from antiphon.transports.line_client import open_lines
from tests.older_client import older_server
from tests.older_client.older_server import (
    FORM,
    SAMPLE,
    OlderServer,
    client_of,
    hello,
    region,
    text,
)
from tests.older_client.test_older_link import Link, client_over
from tests.stdio.harness import stream_pair

settled = trio.testing.wait_all_tasks_blocked
Request = older_server.Asked

LEGACY: Any = {"mode": "legacy"}
HOME = Root("file:///home", name="Home")
TOLD: Any = {"roots": [{"uri": "file:///home", "name": "Home"}]}
SECRET = "file:///home/the-secret-project"


async def home(_: RootsRequest) -> list[Root]:
    return [HOME]


class Forgetful:
    """A callback that never comes back; how often it runs, and has run."""

    def __init__(self) -> None:
        self.running = 0
        self.begun = 0

    async def __call__(self, _: RootsRequest) -> list[Root]:
        self.begun += 1
        self.running += 1
        try:
            await trio.sleep_forever()
        finally:
            self.running -= 1
        raise AssertionError("it never comes back")


async def ask_and_keep(replies: list[Any], server: OlderServer) -> None:
    replies.append(await server.ask("roots/list"))


def asks_first() -> tuple[OlderServer, list[Any]]:
    """A server that asks as soon as it may."""
    replies: list[Any] = []

    async def ask(asked: Request) -> None:
        await ask_and_keep(replies, asked.server)

    server = OlderServer({"notifications/initialized": ask, "tools/call": hello})
    return server, replies


# -- they are told ------------------------------------------------------------------------------


@pytest.mark.parametrize("roots", [[HOME], home], ids=["list", "callback"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_roots_are_told_to_a_server_that_asks_as_soon_as_it_may(
    mode: Any, roots: Any
) -> None:
    server, replies = asks_first()
    async with client_of(server, mode=mode, roots=roots) as client:
        await client.discover()
        await settled()
    assert [reply["result"] for reply in replies] == [TOLD]


async def test_they_are_told_as_often_as_they_are_asked_for_and_as_they_are_then() -> None:
    known: list[Root | str] = []
    server, replies = asks_first()
    async with client_of(server, **LEGACY, roots=known) as client:
        await client.discover()
        await settled()
        known.append(HOME)
        replies.append(await server.ask("roots/list", {}, id=7))
    assert [reply["result"] for reply in replies] == [{"roots": []}, TOLD]


async def test_they_stand_in_the_record_in_no_calls_name() -> None:
    entries: list[AuditEntry] = []
    questions: list[RootsRequest] = []

    async def note(question: RootsRequest) -> list[Root]:
        questions.append(question)
        return [HOME]

    server = OlderServer()
    options: Any = {"roots": note, "audit": entries.append, "clock": lambda: 1234.5}
    async with client_of(server, **LEGACY, **options) as client:
        await client.discover()
        await server.ask("roots/list")
    (entry,), (question,) = entries, questions
    assert entry.origin == question.origin == Origin("elder", "the elder", "roots/list", "")
    assert (entry.kind, entry.outcome, entry.round, entry.at) == ("roots", "answer", 0, 1234.5)
    assert (entry.question, entry.answer) == (question, TOLD)
    assert str(question) == "question 'roots' (roots) of 'roots/list' of 'elder'"


async def test_they_are_no_round_of_a_call_that_happens_to_be_open() -> None:
    async def curious(asked: Request) -> Any:
        return text(str((await asked.ask("roots/list"))["result"]))

    server = OlderServer({"tools/call": curious})
    async with client_of(server, **LEGACY, roots=[HOME], max_rounds=0) as client:
        conversation = client.conversation("t")
        result: Any = await conversation.advance()
        assert result.text == str(TOLD)
        assert conversation.trail == ()
        # What asks cannot be stored, and this call does not ask.
        stored = client.conversation("t")
        async with ConversationStore().keeping(stored):
            result = await stored.advance()
        assert result.text == str(TOLD)


async def test_a_client_without_roots_is_asked_in_a_call_by_hand() -> None:
    async def curious(asked: Request) -> Any:
        return text(str((await asked.ask("roots/list"))["result"]))

    server = OlderServer({"tools/call": curious})
    async with client_of(server, **LEGACY) as client:
        conversation = client.conversation("t", kinds=["roots"])
        step = await conversation.advance()
        assert isinstance(step, Asked)
        ((key, question),) = step.questions.items()
        assert question.kind == "roots"
        result: Any = await conversation.advance({key: [HOME]})
        assert result.text == str(TOLD)


async def test_they_are_told_through_a_transport_that_is_watched() -> None:
    server, replies = asks_first()
    ours, theirs = stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, theirs)
        async with (
            open_lines(ours, ours) as lines,
            open_transport(lines, **LEGACY) as transport,
            open_client(TracedTransport(transport, Trace(print)), roots=[HOME]) as client,
        ):
            await client.discover()
            await settled()
    assert [reply["result"] for reply in replies] == [TOLD]


@define(eq=False)
class AskingLink(Link):
    """Asks in the very moment in which it is told that it may.

    Attributes:
        at_end: awaited when the session is to end.
    """

    at_end: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    _on_request: OnRequest | None = None

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        self._on_request = on_request
        task_status.started()

    async def say(self, message: Notification | Success | Failure) -> None:
        await super().say(message)
        if isinstance(message, Notification) and self._on_request is not None:
            self._on_request(Question("r", "roots/list", {}))

    async def end(self) -> None:
        await self.at_end()
        await super().end()


async def test_a_server_is_heard_from_the_moment_in_which_it_may_ask() -> None:
    link = AskingLink()
    async with client_over(link, roots=[HOME]) as client:
        await client.discover()
        await settled()
    assert link.said[1:] == [Success("r", TOLD)]


# -- they are not -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"roots": home, "refuse": ["roots"]}], ids=["none", "refused"]
)
async def test_what_is_not_declared_is_not_told(options: Any) -> None:
    entries: list[AuditEntry] = []
    server, replies = asks_first()
    async with client_of(server, **LEGACY, **options, audit=entries.append) as client:
        await client.call_tool("t")
        replies.append(await server.ask("roots/list"))
    assert [reply["error"]["code"] for reply in replies] == [-32602] * 2
    assert entries == []
    assert "roots" not in server.params("initialize")[0]["capabilities"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("elicitation/create", FORM), ("sampling/createMessage", SAMPLE)],
    ids=["form", "sampling"],
)
async def test_all_other_questions_belong_to_a_call(method: str, params: Any) -> None:
    async def think(_: object) -> SamplingReply:
        raise AssertionError("nobody is asked")

    server = OlderServer()
    options: Any = {"roots": [HOME], "elicitation": region, "sampling": think}
    async with client_of(server, **LEGACY, **options) as client:
        await client.discover()
        assert (await server.ask(method, params))["error"]["code"] == -32602


async def raising(_: RootsRequest) -> list[Root]:
    raise ValueError(SECRET)


async def raising_many(_: RootsRequest) -> list[Root]:
    raise ExceptionGroup(SECRET, [ValueError(SECRET), TimeoutError(SECRET)])


async def no_file(_: RootsRequest) -> list[str]:
    return [SECRET.replace("file", "https")]


async def no_list(_: RootsRequest) -> Any:
    return SECRET


FAILING = [raising, raising_many, no_file, no_list]


@pytest.mark.parametrize("roots", FAILING, ids=lambda callback: callback.__name__)
async def test_a_callback_that_fails_is_an_error_that_tells_nothing_and_ends_nothing(
    roots: Any, caplog: pytest.LogCaptureFixture
) -> None:
    entries: list[AuditEntry] = []
    server, replies = asks_first()
    async with client_of(server, **LEGACY, roots=roots, audit=entries.append) as client:
        await client.call_tool("t")
        replies.append(await server.ask("roots/list"))
        assert (await client.call_tool("t")).text == "hello {}"
    assert [reply["error"]["code"] for reply in replies] == [-32603] * 2
    assert [entry.outcome for entry in entries] == ["failed"] * 2
    assert "The roots are not told to the elder" in caplog.text
    assert "secret" not in caplog.text + str(replies)


async def test_what_cannot_be_recorded_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    def full(_: AuditEntry) -> None:
        raise OSError("no room")

    server, replies = asks_first()
    async with client_of(server, **LEGACY, roots=[SECRET], audit=full) as client:
        await client.discover()
        await settled()
        assert (await client.call_tool("t")).text == "hello {}"
    assert [reply["error"]["code"] for reply in replies] == [-32603]
    assert "secret" not in caplog.text


# -- an end of everything -----------------------------------------------------------------------


@pytest.mark.parametrize(("options", "seconds"), [({}, 600), ({"people_timeout": 5}, 5)])
async def test_a_callback_has_so_much_time(
    options: Any, seconds: float, autojump_clock: trio.testing.MockClock
) -> None:
    entries: list[AuditEntry] = []
    server, forgetful = OlderServer(), Forgetful()
    options |= {"roots": forgetful, "audit": entries.append}
    async with client_of(server, **LEGACY, **options) as client:
        await client.discover()
        begun = trio.current_time()
        reply = await server.ask("roots/list")
        assert trio.current_time() - begun == pytest.approx(seconds)
    assert reply["error"]["code"] == -32603
    assert [entry.outcome for entry in entries] == ["abandoned"]
    assert forgetful.running == 0


async def test_a_flood_is_answered_with_errors_and_piles_up_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server, forgetful = OlderServer({"tools/call": hello}), Forgetful()
    question = {"jsonrpc": "2.0", "method": "roots/list"}
    options: Any = {"roots": forgetful, "limits": Limits(questions=3)}
    async with client_of(server, **LEGACY, **options) as client:
        await client.call_tool("t")
        before = trio.lowlevel.current_statistics().tasks_living
        await server.say(*({**question, "id": number} for number in range(100)))
        await trio.sleep(1)
        assert forgetful.running == forgetful.begun == 3
        assert trio.lowlevel.current_statistics().tasks_living == before + 3
        assert [answer["error"]["code"] for answer in server.answers] == [429] * 97
        assert (await client.call_tool("t")).text == "hello {}"
        await trio.sleep(600)
        assert (len(server.answers), forgetful.running) == (100, 0)
        # Then there is room again.
        assert (await server.ask("roots/list"))["error"]["code"] == -32603
    assert forgetful.begun == 4


async def test_a_long_flood_leaves_the_client_at_work() -> None:
    server = OlderServer({"tools/call": hello})
    question = {"jsonrpc": "2.0", "method": "roots/list"}
    async with client_of(server, **LEGACY, roots=home) as client:
        await client.call_tool("t")
        await server.say(*({**question, "id": number} for number in range(5000)))
        assert (await client.call_tool("t")).text == "hello {}"
        await settled()
        assert (await server.ask("roots/list"))["result"] == TOLD


@pytest.mark.parametrize(("id", "taken_back"), [(1, True), ("1", False), (2, False)])
async def test_a_question_that_the_server_takes_back_is_not_answered(
    id: Any, taken_back: bool
) -> None:
    entries: list[AuditEntry] = []
    server, forgetful = OlderServer(), Forgetful()
    options: Any = {"roots": forgetful, "audit": entries.append}
    async with (
        client_of(server, **LEGACY, **options) as client,
        trio.open_nursery() as nursery,
    ):
        await client.discover()
        nursery.start_soon(partial(server.ask, "roots/list", id=1))
        await settled()
        await server.tell("cancelled", requestId=id)
        await settled()
        assert forgetful.running == (not taken_back)
        assert [entry.outcome for entry in entries] == ["abandoned"] * taken_back
        assert server.answers == []
        nursery.cancel_scope.cancel()


async def test_one_that_is_taken_back_in_the_same_breath_is_not_answered() -> None:
    server = OlderServer()
    question = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    back = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    async with client_of(server, **LEGACY, roots=[HOME]) as client:
        await client.discover()
        await server.say(question, back)
        await settled()
    assert server.answers == []


async def test_the_end_of_the_client_ends_the_callback() -> None:
    entries: list[AuditEntry] = []
    server, forgetful = OlderServer(), Forgetful()
    options: Any = {"roots": forgetful, "audit": entries.append}
    async with trio.open_nursery() as nursery:
        async with client_of(server, **LEGACY, **options) as client:
            await client.discover()
            nursery.start_soon(server.ask, "roots/list")
            await settled()
            assert forgetful.running == 1
        assert forgetful.running == 0
        nursery.cancel_scope.cancel()
    assert [entry.outcome for entry in entries] == ["abandoned"]
    assert server.answers == []


async def test_no_callback_runs_while_the_session_is_brought_to_its_end() -> None:
    forgetful = Forgetful()
    running: list[int] = []

    async def end() -> None:
        await settled()
        running.append(forgetful.running)

    async with client_over(AskingLink(at_end=end), roots=forgetful) as client:
        await client.discover()
        await settled()
        assert forgetful.running == 1
    assert running == [0]


async def test_the_end_of_the_connection_ends_the_callback() -> None:
    server, forgetful = OlderServer(), Forgetful()
    async with (
        client_of(server, **LEGACY, roots=forgetful) as client,
        trio.open_nursery() as nursery,
    ):
        await client.discover()
        nursery.start_soon(server.ask, "roots/list")
        await settled()
        await server.hang_up()
        await settled()
        assert (forgetful.begun, forgetful.running) == (1, 0)
        nursery.cancel_scope.cancel()
