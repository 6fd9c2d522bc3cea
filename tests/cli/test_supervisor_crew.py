"""Workers that die, return and are renewed, on a virtual clock and without a process."""

import math
from itertools import pairwise

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from antiphon.transports.supervisor_crew import ATTEMPTS, Crew, StartFailed
from antiphon.transports.supervisor_delays import Delays

# -- the schedule -----------------------------------------------------------------------------


def test_the_wait_doubles_from_death_to_death_up_to_its_bound() -> None:
    delays = Delays(first=0.5, longest=30.0)
    waits = [delays.after(1.0) for _ in range(10)]
    assert waits == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert [delays.after(0.0) for _ in range(2000)] == [30.0] * 2000


def test_a_life_of_some_length_makes_up_for_all_deaths_before() -> None:
    delays = Delays(first=0.5, settled=60.0)
    assert [delays.after(lived) for lived in (0.0, 59.9, 60.0, 0.0, math.inf)] == [
        0,
        0.5,
        0,
        0.5,
        0,
    ]


# -- a crew -----------------------------------------------------------------------------------


@define(eq=False)
class Fake:
    """A worker that lives as long as a test wants."""

    name: str
    log: list[tuple[float, str]]
    began: float = field(factory=trio.current_time)
    gone: trio.Event = field(factory=trio.Event)

    @property
    def lived(self) -> float:
        return trio.current_time() - self.began

    @property
    def obituary(self) -> str:
        return f"{self.name} died"

    async def stop(self) -> None:
        await trio.sleep(1)
        self.log.append((trio.current_time(), f"{self.name} stopped"))
        self.gone.set()


@define
class Agency:
    """Hires fakes; each takes a second to start, and fails while ``broken``.

    The first ones, so many as are ``dying``, are gone as soon as they serve.
    """

    broken: bool = False
    dying: int = 0
    log: list[tuple[float, str]] = field(factory=list[tuple[float, str]])
    workers: list[Fake] = field(factory=list[Fake])
    full: list[bool] = field(factory=list[bool])

    async def hire(self, number: int) -> Fake:
        await trio.sleep(1)
        if self.broken:
            self.log.append((trio.current_time(), "failed"))
            raise StartFailed(2, "it is broken")
        worker = Fake(f"{len(self.workers)}@{number}", self.log)
        self.workers.append(worker)
        if len(self.workers) <= self.dying:
            worker.gone.set()
        self.log.append((trio.current_time(), f"{worker.name} serves"))
        return worker

    @property
    def living(self) -> list[str]:
        return [worker.name for worker in self.workers if not worker.gone.is_set()]


@pytest.fixture
def agency() -> Agency:
    return Agency()


async def test_the_first_starts_alone_and_the_others_together(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    nursery.start_soon(Crew(3, agency.hire).serve, agency.full.append)
    await trio.sleep(5)
    assert [when for when, _ in agency.log] == [1, 2, 2]
    assert {name[-1] for name in agency.living} == {"0", "1", "2"}
    assert agency.full == [False]


async def test_a_crew_that_cannot_start_fails_at_once_with_the_reason(
    agency: Agency, autojump_clock: MockClock
) -> None:
    agency.broken = True
    with pytest.raises(StartFailed, match="it is broken"):
        await Crew(3, agency.hire).serve(agency.full.append)
    assert (agency.log, agency.full) == ([(1, "failed")], [])


async def test_one_that_dies_is_replaced_in_its_place(
    agency: Agency,
    nursery: trio.Nursery,
    autojump_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    nursery.start_soon(Crew(2, agency.hire).serve, agency.full.append)
    await trio.sleep(5)
    agency.workers[1].gone.set()
    await trio.sleep(5)
    assert agency.living == ["0@0", "2@1"]
    assert agency.log[-1] == (6, "2@1 serves")
    assert caplog.messages == ["1@1 died; another one starts now"]
    assert agency.full == [False]


async def test_one_that_dies_again_and_again_returns_ever_later(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    agency.dying = 5
    nursery.start_soon(Crew(1, agency.hire).serve, agency.full.append)
    await trio.sleep(60)
    started = [when for when, _ in agency.log]
    waits = [after - before - 1 for before, after in pairwise(started)]
    assert waits == [0, 0.5, 1, 2, 4]


async def test_the_supervisor_ends_when_nobody_serves_and_nobody_can_start(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    failed: list[StartFailed] = []

    async def serve() -> None:
        with pytest.raises(StartFailed) as caught:
            await Crew(1, agency.hire).serve(agency.full.append)
        failed.append(caught.value)

    nursery.start_soon(serve)
    await trio.sleep(5)
    agency.broken = True
    agency.workers[0].gone.set()
    await trio.sleep(60)
    assert [failure.status for failure in failed] == [2]
    assert [event for _, event in agency.log[1:]] == ["failed"] * ATTEMPTS


async def test_a_worker_that_cannot_start_is_tried_for_while_another_serves(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    nursery.start_soon(Crew(2, agency.hire).serve, agency.full.append)
    await trio.sleep(5)
    agency.broken = True
    agency.workers[1].gone.set()
    await trio.sleep(600)
    failures = [event for _, event in agency.log].count("failed")
    assert 2 * ATTEMPTS < failures < 40
    agency.broken = False
    await trio.sleep(60)
    assert agency.living == ["0@0", "2@1"]


async def test_a_renewal_goes_from_place_to_place_and_starts_before_it_stops(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    crew = Crew(2, agency.hire)
    nursery.start_soon(crew.serve, agency.full.append)
    await trio.sleep(9)
    crew.renew()
    await trio.sleep(9)
    assert agency.log[2:] == [
        (10, "2@0 serves"),
        (11, "0@0 stopped"),
        (12, "3@1 serves"),
        (13, "1@1 stopped"),
    ]
    assert agency.full == [False, True]


async def test_a_renewal_that_was_asked_for_twice_meanwhile_is_done_once_more(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    crew = Crew(1, agency.hire)
    nursery.start_soon(crew.serve, agency.full.append)
    await trio.sleep(9)
    crew.renew()
    await trio.sleep(0.5)
    crew.renew()
    crew.renew()
    await trio.sleep(9)
    assert agency.living == ["2@0"]
    assert agency.full == [False, True, True]


async def test_a_renewal_that_fails_leaves_the_old_workers(
    agency: Agency,
    nursery: trio.Nursery,
    autojump_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    crew = Crew(2, agency.hire)
    nursery.start_soon(crew.serve, agency.full.append)
    await trio.sleep(9)
    agency.broken = True
    crew.renew()
    await trio.sleep(9)
    assert (agency.living, agency.full) == (["0@0", "1@1"], [False])
    assert caplog.messages == ["The renewal has ended, as a new worker cannot start: it is broken"]
    agency.broken = False
    crew.renew()
    await trio.sleep(9)
    assert agency.living == ["2@0", "3@1"]


async def test_a_renewal_fills_the_place_of_one_that_waits_for_its_return(
    agency: Agency, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    crew = Crew(1, agency.hire)
    nursery.start_soon(crew.serve, agency.full.append)
    await trio.sleep(5)
    agency.broken = True
    agency.workers[0].gone.set()
    await trio.sleep(5)
    agency.broken = False
    crew.renew()
    await trio.sleep(100)
    assert agency.living == ["1@0"]
