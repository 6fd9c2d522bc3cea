"""How a flow moves: events, steps that follow at once, and moves that are none."""

from typing import Any, cast

import pytest
from attrs import define, field, frozen

from antiphon import (
    Acting,
    Asking,
    Call,
    Done,
    Failed,
    Flow,
    Form,
    IllegalMove,
    Limits,
    Polling,
    SealingError,
    UsageError,
    walk,
)
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.outcomes import (
    Answered,
    Entered,
    Event,
    Polled,
    Refused,
    Unavailable,
    Unusable,
)
from antiphon.flows.testing import EVERYTHING, Step
from tests.naming import shown


@frozen
class Args:
    name: str = ""


@frozen
class Name:
    name: str


@frozen
class Yes:
    sure: bool = False


@frozen
class Naming(Asking[Name]):
    options: tuple[str, ...] = ()

    def ask(self) -> Form[Name]:
        choices = {"name": self.options} if self.options else None
        return Form("Which name?", Name, choices=choices)


@frozen
class Waiting(Polling):
    pass


@frozen
class Storing(Acting):
    left: int = 0


# -- events and calls -------------------------------------------------------------------------


@define
class Log:
    events: list[tuple[str, Event | None, int]] = field(factory=list[tuple[str, Event | None, int]])

    def note(self, call: Call[Args]) -> None:
        self.events.append((call.args.name, call.event, call.round))


@frozen
class Logged(Flow[Args]):
    """Each handler notes what made it run."""

    log: Log

    async def begin(self, args: Args, call: Call[Args]) -> Naming:
        self.log.note(call)
        return Naming()

    @Naming.answered
    async def named(self, at: Naming, name: Name, call: Call[Args]) -> Storing:
        self.log.note(call)
        return Storing()

    @Naming.refused
    async def refused(self, at: Naming, call: Call[Args]) -> Failed:
        self.log.note(call)
        return Failed("refused")

    @Naming.unusable
    async def unusable(self, at: Naming, call: Call[Args]) -> Failed:
        self.log.note(call)
        return Failed("unusable")

    @Naming.unavailable
    async def unavailable(self, at: Naming, call: Call[Args]) -> Waiting:
        self.log.note(call)
        return Waiting()

    @Storing.entered
    async def stored(self, at: Storing, call: Call[Args]) -> Waiting:
        self.log.note(call)
        return Waiting()

    @Waiting.polled
    async def waited(self, at: Waiting, call: Call[Args]) -> Done[str]:
        self.log.note(call)
        return Done("done")


async def logged(capabilities: JsonObject = EVERYTHING) -> tuple[Step, Log]:
    log = Log()
    return await walk(Logged(log), Args("a"), capabilities=capabilities), log


async def test_a_handler_learns_what_made_it_run() -> None:
    step, log = await logged()
    step = await step.answer(Name("b"))
    step = await step.poll()
    assert step.end == Done("done")
    assert log.events == [
        ("a", None, 1),
        ("a", Answered(Name("b")), 2),
        ("a", Entered(), 2),
        ("a", Polled(), 3),
    ]


async def test_a_refusal_says_which() -> None:
    step, log = await logged()
    await step.decline()
    await step.cancel()
    assert log.events[1:] == [("a", Refused("declined"), 2), ("a", Refused("cancelled"), 2)]


async def test_an_answer_of_no_use_says_why() -> None:
    step, log = await logged()
    for _ in range(3):
        step = await step.respond({"naming": {"action": "accept"}})
    assert step.end == Failed("unusable")
    assert log.events[-1] == ("a", Unusable('"name" is a required property'), 4)


async def test_a_client_that_cannot_be_asked_says_what_is_missing() -> None:
    step, log = await logged({"roots": {}})
    assert step.state == Waiting()
    assert log.events[-1] == ("a", Unavailable({"elicitation": {"form": {}}}), 1)


async def test_an_answer_that_comes_in_time_is_taken_though_nothing_was_declared() -> None:
    step, _ = await logged()
    bare = await walk(Logged(Log()), Args("a"), capabilities={})
    assert bare.state == Waiting()
    assert (await step.answer(Name("b"))).state == Waiting()


# -- steps that follow at once ----------------------------------------------------------------


@frozen
class Counting(Flow[Args]):
    steps: int

    async def begin(self, args: Args) -> Storing:
        return Storing(self.steps)

    @Storing.entered
    async def stored(self, at: Storing) -> Storing | Done[str]:
        return Storing(at.left - 1) if at.left else Done("counted")


async def test_automatic_states_run_on_in_the_same_round() -> None:
    step = await walk(Counting(50), Args())
    assert (step.end, step.round) == (Done("counted"), 1)


async def test_an_endless_loop_is_stopped_and_named() -> None:
    with pytest.raises(UsageError, match="'counting' moved 100 times in one round"):
        await walk(Counting(10**9), Args())
    limits = Limits(steps=3)
    assert (await walk(Counting(2), Args(), limits=limits)).end == Done("counted")
    with pytest.raises(UsageError, match="limit steps"):
        await walk(Counting(3), Args(), limits=limits)


@frozen
class Asked(Flow[Args]):
    async def begin(self, args: Args) -> Naming | Done[str]:
        return Naming()

    @Naming.answered
    async def named(self, at: Naming, name: Name) -> Naming | Done[str]:
        return Naming() if name.name == "again" else Done(name.name)

    @Naming.unavailable
    async def unavailable(self, at: Naming) -> Naming | Done[str]:
        return at


async def test_an_unavailable_edge_that_leads_back_is_a_loop_too() -> None:
    with pytest.raises(UsageError, match="moved 100 times"):
        await walk(Asked(), Args(), capabilities={})


# -- the same question ------------------------------------------------------------------------


async def test_the_same_question_put_too_often_ends_the_call_and_names_the_state() -> None:
    step = await walk(Asked(), Args())
    for _ in range(4):
        step = await step.answer(Name("again"))
        assert step.state == Naming()
    step = await step.answer(Name("again"))
    assert step.end == Failed(
        "asked: the same question (Naming) was put 5 times without getting any further, as often "
        "as limit repeats allows (Limits(repeats=...) raises it), so nothing more was done."
    )


async def test_silence_and_the_same_answer_count_alike() -> None:
    step = await walk(Asked(), Args(), limits=Limits(repeats=3))
    step = await step.respond({})
    step = await step.answer(Name("again"))
    assert step.state == Naming()
    assert isinstance((await step.respond({"unknown": {}})).end, Failed)


@frozen
class Turning(Flow[Args]):
    async def begin(self, args: Args) -> Naming:
        return Naming(("0",))

    @Naming.answered
    async def named(self, at: Naming, name: Name) -> Naming | Done[str]:
        return Naming((str(int(name.name) + 1),))


async def test_a_state_that_changes_gets_further() -> None:
    step = await walk(Turning(), Args())
    for number in range(30):
        step = await step.answer(Name(str(number)))
        assert step.state == Naming((str(number + 1),))


async def test_polls_are_not_counted_as_questions() -> None:
    @frozen
    class Patient(Flow[Args]):
        async def begin(self, args: Args) -> Waiting:
            return Waiting()

        @Waiting.polled
        async def waited(self, at: Waiting) -> Waiting | Done[str]:
            return at

    step = await walk(Patient(), Args())
    for _ in range(50):
        step = await step.poll()
    assert step.state == Waiting()


# -- moves that are none ----------------------------------------------------------------------


@frozen
class Returning(Flow[Args]):
    """Returns whatever it was made with."""

    value: object

    async def begin(self, args: Args) -> Naming | Done[str]:
        return cast("Naming", self.value)

    @Naming.answered
    async def named(self, at: Naming, name: Name) -> Naming | Done[str]:
        return cast("Naming", self.value)


@frozen
class Heir(Naming):
    pass


class Finished(Done[str]):
    pass


@pytest.mark.parametrize(
    "value",
    [None, Failed("x"), Waiting(), Heir(), Finished(""), "text", Naming, Naming.ask, [Naming()], 1],
    ids=shown,
)
async def test_a_move_that_the_signature_does_not_allow_is_refused(value: object) -> None:
    with pytest.raises(IllegalMove) as caught:
        await walk(Returning(value), Args())
    assert str(caught.value) == (
        f"Flow 'returning': begin returned {type(value).__name__}; its signature allows Naming, "
        "Done"
    )


async def test_after_an_illegal_move_nothing_has_moved() -> None:
    @frozen
    class Sometimes(Flow[Args]):
        log: list[str]

        async def begin(self, args: Args) -> Naming:
            return Naming()

        @Naming.answered
        async def named(self, at: Naming, name: Name) -> Done[str]:
            self.log.append(name.name)
            wrong: Any = None
            return Done("fine") if name.name == "right" else wrong

    log: list[str] = []
    step = await walk(Sometimes(log), Args())
    with pytest.raises(IllegalMove):
        await step.answer(Name("wrong"))
    assert step.state == Naming()
    assert (await step.answer(Name("right"))).end == Done("fine")


@frozen
class Confused(Asking[Name]):
    question: int

    def ask(self) -> Any:
        return [None, "Which name?", Naming(), [Form("?", Name)]][self.question]


@pytest.mark.parametrize("question", range(4))
async def test_what_is_no_question_is_refused(question: int) -> None:
    @frozen
    class Muddled(Flow[Args]):
        async def begin(self, args: Args) -> Confused:
            return Confused(question)

        @Confused.answered
        async def named(self, at: Confused, name: Name) -> Done[str]:
            return Done("")

    with pytest.raises(IllegalMove, match=r"Confused\.ask returned "):
        await walk(Muddled(), Args())


async def test_a_question_that_raises_is_the_flows_fault() -> None:
    @frozen
    class Broken(Flow[Args]):
        async def begin(self, args: Args) -> Confused:
            return Confused(99)

        @Confused.answered
        async def named(self, at: Confused, name: Name) -> Done[str]:
            return Done("")

    with pytest.raises(IndexError):
        await walk(Broken(), Args())


@frozen
class Mistyped(Polling):
    number: int


async def test_a_state_that_cannot_be_sealed_fails_in_the_round_that_makes_it() -> None:
    @frozen
    class Careless(Flow[Args]):
        async def begin(self, args: Args) -> Mistyped:
            wrong: Any = "five"
            return Mistyped(wrong)

        @Mistyped.polled
        async def polled(self, at: Mistyped) -> Done[str]:
            return Done("")

    with pytest.raises(SealingError, match="State Mistyped cannot be sealed: field 'number'"):
        await walk(Careless(), Args())
