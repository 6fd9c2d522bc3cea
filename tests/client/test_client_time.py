"""Waits and limits in time, on a virtual clock."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
import trio

from antiphon.engine.call_errors import DeadlineExceeded, LegTimeout, PeopleTimeout, RoundsExceeded
from antiphon.engine.errors import UsageError
from antiphon.engine.jsonrpc import JsonObject, Request
from antiphon.engine.pacing import Backoff
from tests.client.scripted import accept_prod, asks, client_of, done, form, poll

STEADY = Backoff(jitter=0)


async def slow(seconds: float, result: JsonObject) -> Any:
    async def answer(_: Request) -> JsonObject:
        await trio.sleep(seconds)
        return result

    return answer


def person(seconds: float) -> Any:
    async def answer(_: object) -> dict[str, str]:
        await trio.sleep(seconds)
        return {"name": "prod"}

    return answer


async def test_polls_wait_50_ms_doubling_to_250_ms(autojump_clock: object) -> None:
    times: list[float] = []

    async def note(_: Request) -> JsonObject:
        times.append(trio.current_time())
        return poll() if len(times) < 7 else done()

    client, _ = client_of(*[note] * 7, schedule=STEADY)
    await client.call_tool("report")
    waits = [round(later - sooner, 6) for sooner, later in pairwise(times)]
    assert waits == [0.05, 0.1, 0.2, 0.25, 0.25, 0.25]


async def test_a_round_with_questions_resets_the_wait(autojump_clock: object) -> None:
    client, _ = client_of(
        poll(), poll(), poll(), asks(), poll(), done(), schedule=STEADY, elicitation=accept_prod
    )
    await client.call_tool("report")
    assert trio.current_time() == pytest.approx(0.05 + 0.1 + 0.2 + 0.05)


async def test_a_hint_of_the_server_is_honoured(autojump_clock: object) -> None:
    client, _ = client_of(poll(retry_ms=2000), done(), schedule=STEADY)
    await client.call_tool("report")
    assert trio.current_time() == pytest.approx(2)


async def test_a_hint_is_bounded(autojump_clock: object) -> None:
    client, _ = client_of(
        poll(retry_ms=10**9),
        poll(retry_ms=0),
        done(),
        schedule=STEADY,
    )
    await client.call_tool("report")
    assert trio.current_time() == pytest.approx(30 + 0.05)


async def test_another_schedule_takes_the_place_of_ours(autojump_clock: object) -> None:
    class Hourly:
        def after(self, polls: int, hint: float | None) -> float:
            return 3600.0 * polls

    client, _ = client_of(poll(), poll(), done(), schedule=Hourly())
    await client.call_tool("report")
    assert trio.current_time() == pytest.approx(3 * 3600)


async def test_the_deadline_ends_a_running_callback(autojump_clock: object) -> None:
    ended = False

    async def dither(_: object) -> dict[str, str]:
        nonlocal ended
        try:
            await trio.sleep_forever()
        finally:
            ended = True
        return {}

    client, server = client_of(
        asks({"q": form()}, "s"), elicitation=dither, clock=trio.current_time, deadline=600
    )
    with pytest.raises(DeadlineExceeded) as caught:
        await client.call_tool("t")
    assert (ended, trio.current_time(), len(server.requests)) == (True, 600, 1)
    assert caught.value.interim is not None
    assert caught.value.interim.request_state == "s"
    assert not isinstance(caught.value, PeopleTimeout)


async def test_the_deadline_covers_all_rounds_together(autojump_clock: object) -> None:
    client, server = client_of(
        *[asks()] * 5, done(), elicitation=person(25), clock=trio.current_time
    )
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=60)
    assert (trio.current_time(), len(server.requests)) == (60, 3)


async def test_the_deadline_ends_a_leg_and_a_wait(autojump_clock: object) -> None:
    client, server = client_of(
        await slow(100, done()), poll(retry_ms=20_000), clock=trio.current_time
    )
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=10)
    assert (trio.current_time(), server.cancelled) == (10, 1)
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=10)
    assert trio.current_time() == 20


async def test_a_deadline_of_a_call_takes_the_place_of_the_clients_own(
    autojump_clock: object,
) -> None:
    client, _ = client_of(
        asks(), done(), asks(), done(), elicitation=person(50), clock=trio.current_time, deadline=10
    )
    assert (await client.call_tool("t", deadline=100)).text == "done"
    assert (await client.call_tool("t", deadline=math.inf)).text == "done"


async def test_a_deadline_of_zero_sends_nothing(autojump_clock: object) -> None:
    client, server = client_of(done(), clock=trio.current_time)
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=0)
    assert server.requests == []


async def test_a_callback_that_ignores_the_clock_is_not_followed_by_a_leg(
    autojump_clock: object,
) -> None:
    time = 0.0

    async def sleepy_laptop(_: object) -> dict[str, str]:
        nonlocal time
        time += 3600
        return {"name": "prod"}

    client, server = client_of(asks(), done(), elicitation=sleepy_laptop, clock=lambda: time)
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("t", deadline=600)
    assert len(server.requests) == 1


async def test_a_leg_that_takes_too_long_is_cancelled_and_named(autojump_clock: object) -> None:
    client, server = client_of(asks(state="s"), await slow(31, done()), leg_timeout=30)
    with pytest.raises(LegTimeout, match="may have been served") as caught:
        await client.call_tool("t")
    assert (server.cancelled, server.open, caught.value.seconds) == (1, 0, 30)
    assert caught.value.interim is not None
    assert caught.value.interim.request_state == "s"


async def test_each_leg_has_the_whole_time_for_itself(autojump_clock: object) -> None:
    client, _ = client_of(
        await slow(29, asks()),
        await slow(29, asks()),
        await slow(29, done()),
        leg_timeout=30,
        elicitation=accept_prod,
    )
    assert (await client.call_tool("t")).text == "done"


async def test_without_a_leg_timeout_a_leg_may_take_for_ever(autojump_clock: object) -> None:
    client, _ = client_of(await slow(10**7, done()), leg_timeout=None)
    assert (await client.call_tool("t")).text == "done"


async def test_a_person_who_takes_54_minutes_passes_a_leg_timeout_of_30_s(
    autojump_clock: object,
) -> None:
    rounds = 0

    async def lunch(_: object) -> dict[str, str]:
        nonlocal rounds
        rounds += 1
        await trio.sleep(54 * 60 if rounds == 2 else 1)
        return {"name": "prod"}

    client, server = client_of(
        *[asks(state="s", questions={"q": form()})] * 3,
        done(),
        clock=trio.current_time,
        leg_timeout=30,
        elicitation=lunch,
    )
    assert (await client.call_tool("t")).text == "done"
    assert (len(server.requests), server.cancelled) == (4, 0)
    assert trio.current_time() == 54 * 60 + 2


async def test_people_have_a_budget_of_their_own_over_all_rounds(autojump_clock: object) -> None:
    client, server = client_of(
        await slow(50, asks()),
        await slow(50, asks()),
        done(),
        elicitation=person(40),
        clock=trio.current_time,
        people_timeout=60,
    )
    with pytest.raises(PeopleTimeout) as caught:
        await client.call_tool("t")
    assert trio.current_time() == 50 + 40 + 50 + 20
    assert isinstance(caught.value, DeadlineExceeded)
    assert caught.value.interim is not None
    assert len(server.requests) == 2


async def test_a_budget_for_people_leaves_polls_and_legs_alone(autojump_clock: object) -> None:
    client, _ = client_of(
        await slow(50, asks()),
        *[poll(retry_ms=20_000)] * 10,
        done(),
        elicitation=person(5),
        clock=trio.current_time,
        people_timeout=6,
    )
    assert (await client.call_tool("t")).text == "done"


async def test_questions_of_one_round_share_the_persons_time(autojump_clock: object) -> None:
    questions: Any = {f"q{n}": form() for n in range(8)}
    client, _ = client_of(asks(questions), done(), elicitation=person(10), clock=trio.current_time)
    await client.call_tool("t")
    assert trio.current_time() == 10


async def test_polls_without_end_take_bounded_time(autojump_clock: object) -> None:
    client, server = client_of(*[poll()] * 2000, schedule=STEADY)
    with pytest.raises(RoundsExceeded):
        await client.call_tool("t")
    assert len(server.requests) == 1001
    assert trio.current_time() < 1000 * 0.25


@pytest.mark.parametrize("name", ["deadline", "leg_timeout", "people_timeout"])
@pytest.mark.parametrize("seconds", [-1, math.nan])
def test_times_that_make_no_sense_are_refused(name: str, seconds: float) -> None:
    with pytest.raises(UsageError, match=name):
        client_of(**{name: seconds})
