"""The client's part of an earlier revision, over a link that fails where it is told to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define, field

from antiphon import LegTimeout
from antiphon.engine.client import Client
from antiphon.engine.errors import CallError, InvalidReply
from antiphon.engine.exchange import OnNotification, TransportLost
from antiphon.engine.handshake_client import OlderTransport
from antiphon.engine.handshake_link import OnRequest, SessionLost
from antiphon.engine.jsonrpc import Failure, Notification, Reply, Request, Success
from tests.older_client.older_server import FORM, region, text, unheard

settled = trio.testing.wait_all_tasks_blocked


@define(eq=False)
class Link:
    """Asks one question in each call of a tool, on the stream of the call.

    Attributes:
        failures: raised by ``say`` for answers, one after another.
        at_initialized: awaited before the server takes that the handshake is over.
    """

    name: str = "link"
    failures: list[Exception] = field(factory=list[Exception])
    at_initialized: Callable[[], Awaitable[object]] = trio.lowlevel.checkpoint
    said: list[Any] = field(factory=list[Any])
    calls: list[str] = field(factory=list[str])
    cancelled: int = 0
    ended: int = 0
    begun_with: str = ""
    _answered: trio.Event = field(factory=trio.Event)

    async def exchange(
        self, request: Request, on_notification: OnNotification, on_request: OnRequest
    ) -> Reply:
        await trio.lowlevel.checkpoint()
        self.calls.append(request.method)
        if request.method == "resources/unsubscribe" and self.failures:
            raise self.failures.pop(0)
        if request.method.startswith("resources/"):
            return Success(request.id, {})
        if request.method == "ping":
            on_request(Request("p", "ping", {}))
            await settled()
            return Success(request.id, {})
        if request.method == "initialize":
            members: Any = {"capabilities": {"resources": {"subscribe": True}}, "serverInfo": {}}
            return Success(request.id, {"protocolVersion": "2025-11-25", **members})
        on_request(Request("q", "elicitation/create", FORM))
        try:
            await self._answered.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        return Success(request.id, text("done"))

    async def say(self, message: Notification | Success | Failure) -> None:
        await trio.lowlevel.checkpoint()
        if isinstance(message, Notification):
            await self.at_initialized()
        if isinstance(message, Success) and self.failures:
            raise self.failures.pop(0)
        self.said.append(message)
        if isinstance(message, Success):
            self._answered.set()

    async def attend(
        self,
        on_notification: OnNotification,
        on_request: OnRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()

    def begun(self, version: str) -> None:
        self.begun_with = version

    async def end(self) -> None:
        self.ended += 1


@asynccontextmanager
async def client_over(link: Link, **options: Any) -> AsyncGenerator[Client]:
    async with trio.open_nursery() as nursery:
        transport = OlderTransport("web", lambda: link, nursery)
        yield Client(transport, elicitation=region, **options)
        await transport.close()
        nursery.cancel_scope.cancel()


async def test_a_session_is_begun_and_ended() -> None:
    link = Link()
    async with client_over(link) as client:
        assert (await client.call_tool("t")).text == "done"
    assert link.begun_with == "2025-11-25"
    assert link.ended == 1


async def test_a_state_is_good_for_its_own_method_alone() -> None:
    link = Link()
    async with trio.open_nursery() as nursery:
        transport = OlderTransport("web", lambda: link, nursery)
        client = Client(transport, elicitation=region)
        conversation = client.conversation("t")
        await conversation.advance()
        assert conversation.interim is not None
        params: Any = {"name": "t", "requestState": conversation.interim.request_state}
        reply = await transport.exchange(Request("x", "prompts/get", params), unheard)
        assert isinstance(reply, Failure)
        await transport.close()
        nursery.cancel_scope.cancel()


async def test_an_answer_that_was_not_sent_is_sent_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    link = Link(failures=[TransportLost("no connection", sent=False)] * 2)
    async with client_over(link) as client:
        assert (await client.call_tool("t")).text == "done"
    assert link.calls.count("tools/call") == 1
    assert [type(message) for message in link.said] == [Notification, Success]


@pytest.mark.parametrize(
    "failure",
    [TransportLost("broke", sent=True), InvalidReply("HTTP 400")],
    ids=["lost", "refused"],
)
async def test_an_answer_that_may_have_arrived_is_not_and_the_call_is_given_up(
    failure: CallError,
) -> None:
    link = Link(failures=[failure])
    async with client_over(link) as client:
        with pytest.raises(type(failure)):
            await client.call_tool("t")
        await settled()
        assert link.cancelled == 1
    assert link.calls.count("tools/call") == 1


async def test_an_answer_by_hand_can_be_brought_anew() -> None:
    link = Link(failures=[TransportLost("broke", sent=True)])
    async with client_over(link) as client:
        conversation = client.conversation("t")
        await conversation.advance()
        with pytest.raises(TransportLost):
            await conversation.advance({"question-1": {"name": "dev"}})
        result: Any = await conversation.advance({"question-1": {"name": "dev"}})
        assert result.text == "done"


async def test_a_session_that_is_lost_under_a_question_is_the_error_of_the_call() -> None:
    link = Link(failures=[SessionLost("gone")])
    async with client_over(link) as client:
        with pytest.raises(TransportLost) as caught:
            await client.call_tool("t")
        assert caught.value.sent
        await settled()
        assert link.cancelled == 1
        assert link.calls.count("initialize") == 1
        assert (await client.call_tool("t")).text == "done"
    assert link.calls.count("initialize") == 2


async def test_an_answer_that_cannot_even_be_tried_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    link = Link(failures=[RuntimeError("the token s3cret is over")])
    async with trio.open_nursery() as nursery:
        transport = OlderTransport("web", lambda: link, nursery)
        for id in "12":
            reply = await transport.exchange(Request(id, "ping", {}), unheard)
            assert isinstance(reply, Success)
        await transport.close()
        nursery.cancel_scope.cancel()
    assert [message.id for message in link.said if isinstance(message, Success)] == ["p"]
    assert "An answer did not reach link: RuntimeError" in caplog.messages
    assert "s3cret" not in caplog.text


async def test_the_end_of_a_subscription_that_cannot_even_be_told_ends_nothing() -> None:
    link = Link(failures=[RuntimeError("no token")])
    async with client_over(link) as client:
        async with client.subscribe(uris=["file:///a"]):
            pass
        await settled()
        assert "resources/unsubscribe" in link.calls
        assert (await client.call_tool("t")).text == "done"


async def test_a_handshake_that_is_not_brought_to_its_end_leaves_no_session(
    autojump_clock: trio.testing.MockClock,
) -> None:
    link = Link(at_initialized=trio.sleep_forever)
    async with client_over(link, leg_timeout=1) as client:
        with pytest.raises(LegTimeout):
            await client.call_tool("t")
        await trio.sleep(100)
        assert link.ended == 1
    assert link.calls == ["initialize"]


async def test_a_handshake_that_ends_with_the_client_leaves_no_session() -> None:
    told = trio.Event()
    link = Link(at_initialized=told.wait)
    async with trio.open_nursery() as nursery:
        transport = OlderTransport("web", lambda: link, nursery)
        nursery.start_soon(transport.exchange, Request("1", "ping", {}), unheard)
        await settled()
        told.set()
        await transport.close()
        nursery.cancel_scope.cancel()
    assert link.ended == 1
