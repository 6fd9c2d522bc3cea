"""When a client sends a request again by itself, how often, and when it must not."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.call_errors import DeadlineExceeded, LegTimeout, ServerError
from antiphon.engine.client import Client
from antiphon.engine.client_reads import PromptRef
from antiphon.engine.errors import CallError, InvalidReply, UsageError
from antiphon.engine.exchange import Deferral, TransportLost
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.engine.retrying import RetryPolicy
from tests.client.scripted import ScriptedTransport, accept_prod, asks, client_of, done, form, poll

BUSY = Failure(None, 429, "Too many requests at once", {"limit": "waiting_calls", "value": 1})
PAGE: JsonObject = {"tools": [{"name": "a", "inputSchema": {}}]}


def unsent() -> TransportLost:
    return TransportLost("no connection", sent=False)


def lost() -> TransportLost:
    return TransportLost("gone", sent=True)


def refused(*, unserved: bool = True, after: float | None = None) -> InvalidReply:
    """An error status, as the transport over HTTP tells of it."""
    error = InvalidReply("HTTP 503")
    error.deferral = Deferral(unserved, after)
    return error


def longest(**options: Any) -> RetryPolicy:
    """A policy that waits as long as it may, so that a test knows when."""
    return RetryPolicy(chance=lambda: 1.0, **options)


def pair(*answers: Any, **options: Any) -> tuple[Client, ScriptedTransport]:
    return client_of(*answers, **{"retry": longest(initial=1.0), **options})


async def since(begun: float) -> float:
    await trio.lowlevel.checkpoint()
    return trio.current_time() - begun


# -- what is sent again -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure", [unsent(), BUSY, refused(), refused(after=0)], ids=["unsent", "busy", "429", "soon"]
)
async def test_a_call_that_was_certainly_not_served_is_sent_again(
    autojump_clock: object, failure: Any
) -> None:
    client, server = pair(failure, failure, done())
    begun = trio.current_time()
    assert (await client.call_tool("t", {"a": 1})).text == "done"
    assert await since(begun) == 1 + 2
    assert len({str(request["id"]) for request in server.requests}) == 3
    assert [params["arguments"] for params in server.params] == [{"a": 1}] * 3


@pytest.mark.parametrize(
    "failure",
    [
        lost(),
        refused(unserved=False),
        InvalidReply("HTTP 500"),
        Failure(None, -32603, "Internal error"),
        Failure(None, 429, "Of another kind"),
        Failure(None, 429, "Of another kind", {"limit": 3}),
        Failure(None, 503, "Of another kind", {"limit": "waiting_calls"}),
    ],
)
async def test_a_call_that_may_have_run_is_never_sent_again(failure: Any) -> None:
    client, server = pair(failure, done())
    with pytest.raises(CallError) as caught:
        await client.call_tool("t")
    assert len(server.requests) == 1
    assert not hasattr(caught.value, "__notes__")


Read: TypeAlias = Callable[[Client], Awaitable[object]]
READS: list[tuple[Read, JsonObject]] = [
    (lambda client: client.list_tools(), PAGE),
    (lambda client: client.discover(), {"supportedVersions": [], "capabilities": {}}),
    (lambda client: client.complete(PromptRef("p"), "a", ""), {"completion": {"values": []}}),
    (lambda client: client.read_resource("test://a"), {"contents": []}),
    (lambda client: client.get_prompt("p"), {"messages": []}),
]


@pytest.mark.parametrize("failure", [lost(), unsent(), refused(unserved=False), BUSY])
@pytest.mark.parametrize(("read", "result"), READS)
async def test_what_only_reads_is_asked_again_in_any_case(
    autojump_clock: object, read: Read, result: JsonObject, failure: Any
) -> None:
    client, server = pair(failure, failure, result)
    await read(client)
    assert len(server.requests) == 3


@pytest.mark.parametrize("interim", [asks(), asks({"q": form()}, "s"), poll()])
async def test_a_read_that_carries_answers_or_state_is_no_mere_read(
    autojump_clock: object, interim: JsonObject
) -> None:
    client, server = pair(lost(), interim, lost(), {"contents": []}, elicitation=accept_prod)
    with pytest.raises(TransportLost):
        await client.read_resource("test://a")
    assert len(server.requests) == 3


async def test_every_leg_of_a_conversation_is_sent_again(autojump_clock: object) -> None:
    client, server = pair(
        unsent(), asks({"q": form()}, "s"), BUSY, refused(), done(), elicitation=accept_prod
    )
    assert (await client.call_tool("t")).text == "done"
    [_, _, one, two, three] = server.params
    assert one["inputResponses"] == two["inputResponses"] == three["inputResponses"]
    assert one["requestState"] == three["requestState"] == "s"


async def test_people_are_asked_once_however_often_their_answer_is_sent(
    autojump_clock: object,
) -> None:
    asked: list[object] = []

    async def answer(question: object) -> JsonObject:
        asked.append(question)
        return {"name": "prod"}

    client, _ = pair(asks(), unsent(), unsent(), done(), elicitation=answer)
    await client.call_tool("t")
    assert len(asked) == 1


async def test_a_leg_without_a_reply_in_time_is_not_sent_again(autojump_clock: object) -> None:
    async def never(_: Request) -> JsonObject:
        await trio.sleep_forever()
        raise AssertionError

    client, server = pair(never, PAGE, leg_timeout=5)
    with pytest.raises(LegTimeout):
        await client.list_tools()
    assert len(server.requests) == 1


# -- how often --------------------------------------------------------------------------------


async def test_the_last_error_comes_out_and_tells_how_many_tries_there_were(
    autojump_clock: object,
) -> None:
    last = TransportLost("the last one", sent=False)
    client, server = pair(unsent(), BUSY, unsent(), last)
    with pytest.raises(TransportLost) as caught:
        await client.call_tool("t")
    assert caught.value is last
    assert caught.value.__notes__ == ["This was the last of 4 tries."]
    assert len(server.requests) == 4


async def test_an_error_that_forbids_another_try_is_the_last_one(autojump_clock: object) -> None:
    client, server = pair(unsent(), lost(), done())
    with pytest.raises(TransportLost) as caught:
        await client.call_tool("t")
    assert caught.value.sent
    assert caught.value.__notes__ == ["This was the last of 2 tries."]
    assert len(server.requests) == 2


@pytest.mark.parametrize("options", [{"retry": None}, {"retry": RetryPolicy(attempts=1)}])
async def test_without_retries_there_is_one_try(options: Any) -> None:
    client, server = client_of(unsent(), PAGE, **options)
    with pytest.raises(TransportLost) as caught:
        await client.list_tools()
    assert len(server.requests) == 1
    assert not hasattr(caught.value, "__notes__")


async def test_each_request_has_a_budget_of_its_own(autojump_clock: object) -> None:
    client, server = pair(*[unsent(), unsent(), unsent(), done()] * 2)
    for _ in range(2):
        assert (await client.call_tool("t")).text == "done"
    assert len(server.requests) == 8


async def test_without_being_told_a_client_retries(autojump_clock: object) -> None:
    client, server = client_of(unsent(), unsent(), done())
    assert (await client.call_tool("t")).text == "done"
    assert len(server.requests) == 3


# -- when -------------------------------------------------------------------------------------


async def test_a_server_that_names_a_time_is_left_alone_for_so_long(autojump_clock: object) -> None:
    client, _ = pair(refused(after=7), done())
    begun = trio.current_time()
    await client.call_tool("t")
    assert await since(begun) == 7 + 1


async def test_a_server_that_wants_too_long_a_time_is_not_asked_again() -> None:
    client, server = pair(refused(after=30.5), done())
    with pytest.raises(InvalidReply):
        await client.call_tool("t")
    assert len(server.requests) == 1


async def test_no_wait_goes_past_the_deadline_of_a_call(autojump_clock: object) -> None:
    client, server = pair(unsent(), refused(after=20), done(), clock=trio.current_time)
    begun = trio.current_time()
    with pytest.raises(InvalidReply, match="HTTP 503"):
        await client.call_tool("t", deadline=15)
    # The cause comes out at once: to wait for the deadline would only hide it.
    assert await since(begun) == 1
    assert len(server.requests) == 2


async def test_a_cancel_scope_around_a_call_bounds_its_waits_too(autojump_clock: object) -> None:
    client, _ = pair(refused(after=20), done())
    with trio.fail_after(10), pytest.raises(InvalidReply, match="HTTP 503"):
        await client.call_tool("t")


async def test_time_that_passes_in_tries_counts_for_the_deadline(autojump_clock: object) -> None:
    async def slow(_: Request) -> JsonObject:
        await trio.sleep(100)
        raise AssertionError

    client, server = pair(unsent(), slow, clock=trio.current_time)
    begun = trio.current_time()
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=15)
    assert await since(begun) == 15
    assert len(server.requests) == 2


async def test_cancelling_during_a_wait_sends_nothing_more(autojump_clock: object) -> None:
    client, server = pair(refused(after=20), done())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "t")
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert (len(server.requests), server.open) == (1, 0)


async def test_a_wait_holds_up_no_other_call(autojump_clock: object) -> None:
    client, _ = pair(refused(after=20), done("other"), done("slow"))
    ended: list[str] = []

    async def call() -> None:
        ended.append((await client.call_tool("t")).text)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        nursery.start_soon(call)
    assert ended == ["other", "slow"]


# -- the schedule -----------------------------------------------------------------------------


def test_waits_grow_up_to_a_bound_and_then_end() -> None:
    policy = longest(attempts=6, initial=0.5, maximum=3.0)
    assert [policy.wait(failures) for failures in range(1, 7)] == [0.5, 1, 2, 3, 3, None]


def test_what_a_server_asks_for_comes_first() -> None:
    policy = longest(initial=0.5, max_retry_after=10)
    assert policy.wait(1, 10) == 10.5
    assert policy.wait(1, 10.1) is None
    assert policy.wait(4, 0) is None


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.none() | st.floats(0, 30))
def test_a_wait_is_anything_up_to_its_bound(
    failures: int, chance: float, asked: float | None
) -> None:
    policy = RetryPolicy(attempts=20_000, factor=10, chance=lambda: chance)
    wait = policy.wait(failures, asked)
    assert wait is not None
    told = asked or 0
    assert told <= wait <= told + policy.maximum


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"initial": 0},
        {"initial": 9},
        {"maximum": math.inf},
        {"initial": math.nan},
        {"factor": 0.5},
        {"max_retry_after": -1},
        {"max_retry_after": math.inf},
    ],
)
def test_numbers_that_contradict_each_other_are_refused(options: Any) -> None:
    with pytest.raises(UsageError, match="RetryPolicy needs"):
        RetryPolicy(**options)


# -- servers of earlier revisions -------------------------------------------------------------


async def test_a_server_without_discovery_speaks_an_older_revision() -> None:
    client, _ = client_of(Failure(None, -32601, "Method not found"))
    with pytest.raises(ServerError, match=r'speaks a revision .* before 2026-07-28.*mode="auto"'):
        await client.discover()


@pytest.mark.parametrize("code", [-32601, -32600, -32000])
async def test_a_first_call_that_is_refused_for_no_reason_may_meet_an_older_revision(
    code: int,
) -> None:
    client, _ = client_of(Failure(None, code, "Bad Request: no session"))
    with pytest.raises(ServerError, match=r'speaks only .* before 2026-07-28.*mode="auto"'):
        await client.call_tool("t")


async def test_a_server_that_has_shown_its_revision_is_not_taken_for_an_older_one() -> None:
    client, _ = client_of(done(), Failure(None, -32601, "Method not found"))
    await client.call_tool("t")
    with pytest.raises(ServerError, match=r"Method not found$"):
        await client.list_prompts()


@pytest.mark.parametrize("code", [-32602, -32603, -32021])
async def test_other_errors_say_nothing_of_revisions(code: int) -> None:
    client, _ = client_of(Failure(None, code, "No such tool"))
    with pytest.raises(ServerError, match=r"No such tool$"):
        await client.call_tool("t")
