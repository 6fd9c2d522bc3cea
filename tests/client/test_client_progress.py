"""What a callback hears of progress, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon.engine.client import Client
from antiphon.engine.jsonrpc import JsonObject, Notification, Request
from tests.client.scripted import accept_prod, asks, client_of, done, poll


def telling(*told: Any, result: JsonObject | None = None) -> Any:
    """A leg that sends these as progress, with its own token where none is given."""

    async def answer(request: Request) -> JsonObject:
        token = request.params["_meta"]["progressToken"]  # type: ignore[index, call-overload]
        for members in told:
            params: JsonObject = {"progressToken": token, **members}
            telling.server.notes(Notification("notifications/progress", params))  # type: ignore[attr-defined]
            await trio.lowlevel.checkpoint()
        return result or done()

    return answer


async def listen(*answers: Any, **options: Any) -> tuple[list[Any], Client, Any]:
    """Call a tool and keep its progress."""
    client, server = client_of(*answers, **options)
    telling.server = server  # type: ignore[attr-defined]
    heard: list[Any] = []

    def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    await client.call_tool("t", progress=hear)
    return heard, client, server


async def test_progress_arrives_with_total_and_message() -> None:
    heard, _, _ = await listen(
        telling({"progress": 0}, {"progress": 1, "total": 2.5}, {"progress": 2, "message": "m"})
    )
    assert heard == [(0, None, None), (1, 2.5, None), (2, None, "m")]


async def test_progress_tokens_are_unique_for_each_leg() -> None:
    heard, _, server = await listen(
        telling({"progress": 5}, result=poll()), telling({"progress": 1})
    )
    tokens = [p["_meta"]["progressToken"] for p in server.params]
    assert len(set(tokens)) == 2
    assert heard == [(5, None, None), (1, None, None)]


async def test_without_a_callback_no_token_is_sent() -> None:
    client, server = client_of(done())
    await client.call_tool("t")
    assert "progressToken" not in server.params[0]["_meta"]


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"progress": "5"},
        {"progress": True},
        {"progress": None},
        {"progress": 9, "progressToken": "another"},
        {"progress": 9, "progressToken": 1},
        {"progress": 9, "progressToken": None},
        {"progress": 9, "progressToken": ["x"]},
        {"progress": 1},
        {"progress": 0},
    ],
)
async def test_progress_that_is_malformed_foreign_or_backward_is_dropped(members: Any) -> None:
    heard, _, _ = await listen(telling({"progress": 1}, members, {"progress": 10}))
    assert heard == [(1, None, None), (10, None, None)]


async def test_an_unreadable_total_or_message_is_no_total_or_message() -> None:
    heard, _, _ = await listen(telling({"progress": 1, "total": "ten", "message": 3}))
    assert heard == [(1, None, None)]


async def test_progress_that_comes_after_its_leg_is_dropped() -> None:
    heard, _, server = await listen(telling({"progress": 1}))
    token = server.params[0]["_meta"]["progressToken"]
    late: JsonObject = {"progressToken": token, "progress": 2}
    server.notes(Notification("notifications/progress", late))
    assert len(heard) == 1


async def test_other_notifications_are_no_progress() -> None:
    async def chat(_: Request) -> JsonObject:
        telling.server.notes(Notification("notifications/message", {"progress": 1}))  # type: ignore[attr-defined]
        return done()

    heard, _, _ = await listen(chat)
    assert heard == []


async def test_a_flood_of_progress_reaches_the_callback_at_a_bounded_rate(
    autojump_clock: object,
) -> None:
    heard, _, _ = await listen(telling(*({"progress": n} for n in range(20_000))))
    assert len(heard) == 1000


async def test_progress_goes_on_after_a_flood(autojump_clock: object) -> None:
    async def later(request: Request) -> JsonObject:
        token = request.params["_meta"]["progressToken"]  # type: ignore[index, call-overload]
        for n in [*range(5000), 9000]:
            if n == 9000:
                await trio.sleep(1)
            params: JsonObject = {"progressToken": token, "progress": n}
            telling.server.notes(Notification("notifications/progress", params))  # type: ignore[attr-defined]
        return done()

    heard, _, _ = await listen(later)
    assert heard[-1] == (9000, None, None)
    assert len(heard) == 1001


async def test_an_error_of_a_progress_callback_ends_the_call_and_not_the_transport() -> None:
    client, server = client_of(telling({"progress": 1}, {"progress": 2}), done())
    telling.server = server  # type: ignore[attr-defined]
    calls = 0

    def fail(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise LookupError("no screen")

    with pytest.raises(LookupError, match="no screen"):
        await client.call_tool("t", progress=fail)
    assert (calls, server.open, server.cancelled) == (1, 0, 1)
    assert (await client.call_tool("t")).text == "done"


async def test_progress_of_each_round_is_heard_in_a_call_with_questions() -> None:
    heard, _, _ = await listen(
        telling({"progress": 1}, result=asks()), telling({"progress": 2}), elicitation=accept_prod
    )
    assert [done for done, _, _ in heard] == [1, 2]
