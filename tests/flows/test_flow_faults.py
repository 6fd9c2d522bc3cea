"""A wrong flow is refused by its class statement, with all its faults in plain words."""

from typing import Any, ClassVar

import pytest
from attrs import define, frozen

from antiphon import (
    Acting,
    Asking,
    DefinitionError,
    Done,
    Failed,
    Flow,
    Polling,
)
from tests.flows.declaring import Args, beginning, flow_class
from tests.flows.faulty import (
    VAGUE,
    Baking,
    Confirming,
    Name,
    Naming,
    Storing,
    Yes,
    fault_of,
    faults_of,
)


def test_a_state_that_is_never_reached() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Done[str]:
                return Done("")

            @Naming.answered
            async def named(self, at: Naming, name: Name) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == "state Naming is never reached: no handler returns it"


@pytest.mark.parametrize(
    ("state", "mark"),
    [(Confirming, "answered"), (Naming, "answered"), (Baking, "polled"), (Storing, "entered")],
)
def test_a_state_that_nobody_handles(state: Any, mark: str) -> None:
    name = state.__name__
    assert fault_of(lambda: flow_class(begin=beginning(state))) == (
        f"nobody handles state {name}: mark a method with @{name}.{mark}"
    )


def test_a_state_of_which_only_the_refusal_is_handled() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Confirming:
                return Confirming("")

            @Confirming.refused
            async def no(self, at: Confirming) -> Failed:
                return Failed("")

        return Wrong

    assert fault_of(declare).startswith("nobody handles state Confirming")


def test_states_that_can_never_finish() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Baking | Confirming:
                return Baking()

            @Baking.polled
            async def baked(self, at: Baking) -> Storing:
                return Storing()

            @Storing.entered
            async def stored(self, at: Storing) -> Baking:
                return Baking()

            @Confirming.answered
            async def confirmed(self, at: Confirming, yes: Yes) -> Done[str]:
                return Done("")

        return Wrong

    assert faults_of(declare) == (
        "state Baking can never finish: no way leads from it to Done or Failed",
        "state Storing can never finish: no way leads from it to Done or Failed",
    )


def test_a_state_that_leads_only_to_itself() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Baking:
                return Baking()

            @Baking.polled
            async def baked(self, at: Baking) -> Baking:
                return at

        return Wrong

    assert "Baking can never finish" in fault_of(declare)


def test_a_flow_that_never_starts() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            pass

        return Wrong

    assert fault_of(declare) == "it has no `async def begin(self, args)`, so it never starts"


def test_an_event_that_is_handled_twice() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Confirming:
                return Confirming("")

            @Confirming.answered
            async def one(self, at: Confirming, yes: Yes) -> Done[str]:
                return Done("")

            @Confirming.answered
            async def other(self, at: Confirming, yes: Yes) -> Naming:
                return Naming()

            @Naming.answered
            async def named(self, at: Naming, name: Name) -> Done[str]:
                return Done("")

        return Wrong

    # The second handler counts for what it reaches: Naming is not told as unreachable.
    assert fault_of(declare) == "Confirming.answered is handled twice: by one and by other"


def test_a_refusal_that_is_handled_twice() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Confirming:
                return Confirming("")

            @Confirming.answered
            async def one(self, at: Confirming, yes: Yes) -> Done[str]:
                return Done("")

            @Confirming.declined
            async def no(self, at: Confirming) -> Failed:
                return Failed("")

            @Confirming.refused
            async def never(self, at: Confirming) -> Failed:
                return Failed("")

        return Wrong

    assert fault_of(declare) == "Confirming.declined is handled twice: by no and by never"


def test_two_states_with_one_tag() -> None:
    @frozen
    class Tagged(Polling):
        tag: ClassVar[str] = "Confirming"

    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Confirming | Tagged:
                return Tagged()

            @Confirming.answered
            async def confirmed(self, at: Confirming, yes: Yes) -> Done[str]:
                return Done("")

            @Tagged.polled
            async def tagged(self, at: Tagged) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == "states Confirming and Tagged have one tag: 'Confirming'"


# -- all at once ------------------------------------------------------------------------------


def test_faults_of_every_kind_are_told_at_once() -> None:
    @define
    class Mutable(Polling):
        pass

    @frozen
    class Silent(Asking[Yes]):
        pass

    @frozen
    class Twin(Acting):
        tag: ClassVar[str] = "Silent"

    @frozen
    class Lost(Acting):
        pass

    def declare() -> object:
        class Wrong(Flow[str]):
            async def begin(self, args: str) -> Mutable | Silent | Twin | Confirming:
                return Mutable()

            @Mutable.polled
            async def one(self, at: Mutable) -> Mutable:
                return at

            @Mutable.polled
            async def other(self, at: Mutable) -> Mutable:
                return at

            @Silent.answered
            async def silent(self, at: Silent, yes: Yes) -> Done[str]:
                return Done("")

            @Twin.entered
            async def twin(self, at: Twin) -> Done[str]:
                return Done("")

            @Lost.entered
            async def lost(self, at: Lost) -> Done[str]:
                return Done("")

        return Wrong

    assert faults_of(declare) == (
        "its arguments, the A of Flow[A], are no attrs class",
        "Mutable.polled is handled twice: by one and by other",
        "state Lost is never reached: no handler returns it",
        "nobody handles state Confirming: mark a method with @Confirming.answered",
        "state Mutable can never finish: no way leads from it to Done or Failed",
        "states Silent and Twin have one tag: 'Silent'",
        "state Mutable can be changed; decorate it with @frozen",
        "state Silent asks nothing: it has no `def ask(self)`",
    )


def test_an_unreadable_handler_hides_no_other_fault_and_causes_none() -> None:
    @define
    class Mutable(Polling):
        pass

    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Mutable | Confirming:
                return Confirming("")

            @Mutable.polled
            async def baked(self, at: Mutable) -> Naming:
                return Naming()

            @Confirming.answered
            async def confirmed(self, at: Confirming, yes: Yes) -> Any:
                return Done("")

        return Wrong

    # Whatever `confirmed` leads to is unknown, so nothing is said about what is reached.
    assert faults_of(declare) == (
        f"handler confirmed: its return type Any {VAGUE}",
        "state Mutable can be changed; decorate it with @frozen",
    )


def test_the_message_is_a_list_that_a_person_can_read() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Naming | Baking:
                return Baking()

        return Wrong

    with pytest.raises(DefinitionError) as caught:
        declare()
    assert str(caught.value) == (
        "Flow Wrong has 2 faults:\n"
        "  - nobody handles state Naming: mark a method with @Naming.answered\n"
        "  - nobody handles state Baking: mark a method with @Baking.polled"
    )


def test_a_right_flow_has_no_faults() -> None:
    @frozen
    class Right(Flow[Args]):
        async def begin(self, args: Args) -> Confirming | Done[None]:
            return Confirming(args.name)

        @Confirming.answered
        async def confirmed(self, at: Confirming, yes: Yes) -> Done[str]:
            return Done("")

    assert Right.states == (Confirming,)
