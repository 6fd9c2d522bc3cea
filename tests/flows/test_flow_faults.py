"""A wrong flow is refused by its class statement, with all its faults in plain words."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from attrs import define, field, frozen

from antiphon import (
    Acting,
    Asking,
    Call,
    Consent,
    DefinitionError,
    Done,
    Failed,
    Flow,
    Form,
    Link,
    Polling,
    Root,
    Sample,
    Sampled,
    UsageError,
)
from antiphon.flows.states import State
from tests.flows.declaring import Args, beginning, flow_class, hinted, moving


@frozen
class Yes:
    sure: bool = False


@frozen
class Name:
    name: str


@frozen
class Confirming(Asking[Yes]):
    name: str

    def ask(self) -> Form[Yes]:
        return Form(f"Sure about {self.name}?", Yes)


@frozen
class Naming(Asking[Name]):
    def ask(self) -> Form[Name]:
        return Form("Which name?", Name)


@frozen
class Baking(Polling):
    pass


@frozen
class Storing(Acting):
    pass


def faults_of(declare: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        declare()
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, UsageError)
    assert caught.value.subject == "Flow Wrong"
    assert all(fault in str(caught.value) for fault in caught.value.faults)
    return caught.value.faults


def fault_of(declare: Callable[[], object]) -> str:
    (fault,) = faults_of(declare)
    return fault


# -- the graph --------------------------------------------------------------------------------


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


# -- what a handler gives ---------------------------------------------------------------------

VAGUE = "is too vague; name each state, Done[...] or Failed that it may return"


@pytest.mark.parametrize(
    ("hint", "spoken"),
    [
        (State, "State"),
        (Asking, "Asking"),
        (Asking[Yes], "Asking[Yes]"),
        (Polling, "Polling"),
        (Acting, "Acting"),
        (Any, "Any"),
        (object, "object"),
        (str, "str"),
        (type(None), "NoneType"),
        (Done[str] | None, "NoneType"),
        (list[Done[str]], "list[Done[str]]"),
        (Args, "Args"),
        (Confirming | State, "State"),
    ],
    ids=str,
)
def test_a_return_type_that_is_too_vague(hint: Any, spoken: str) -> None:
    told = fault_of(lambda: flow_class(begin=beginning(hint)))
    assert told == f"handler begin: its return type {spoken} {VAGUE}"


def test_no_return_type_at_all() -> None:
    begin = hinted(beginning(Any), returns=None)
    assert fault_of(lambda: flow_class(begin=begin)) == (
        "handler begin: has no return type; name each state and end that it may return"
    )


# -- what a handler takes ---------------------------------------------------------------------


def test_a_handler_that_takes_another_type_than_the_question_gives() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Confirming:
                return Confirming("")

            @Confirming.answered  # type: ignore[arg-type]
            async def confirmed(self, at: Confirming, name: Name) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == "handler confirmed: takes name: Name, but it gets Yes"


def test_a_handler_that_takes_another_state() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args) -> Baking:
                return Baking()

            @Baking.polled  # type: ignore[arg-type]
            async def baked(self, at: Storing) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == "handler baked: takes at: Storing, but it gets Baking"


def test_a_beginning_that_takes_other_arguments() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Name) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == "handler begin: takes args: Name, but it gets Args"


@pytest.mark.parametrize("hint", [Args, Any, object, Args | None, Args | Name])
def test_a_parameter_may_take_more_than_it_gets(hint: Any) -> None:
    assert flow_class(begin=hinted(beginning(Done[str]), args=hint)).states == ()


def test_a_parameter_without_a_type() -> None:
    begin = hinted(beginning(Done[str]), args=None)
    assert fault_of(lambda: flow_class(begin=begin)) == (
        "handler begin: its parameter 'args' has no type; it gets Args"
    )


def test_too_few_and_too_many_parameters() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self) -> Baking:
                return Baking()

            @Baking.polled
            async def baked(self, at: Baking, call: Call[Args], more: int = 0) -> Done[str]:
                return Done("")

        return Wrong

    assert faults_of(declare) == (
        "handler begin: takes 1 parameters; it gets 2, or 3 with a trailing `call`",
        "handler baked: takes 4 parameters; it gets 2, or 3 with a trailing `call`",
    )


def test_a_trailing_parameter_that_is_no_call() -> None:
    def declare() -> object:
        class Wrong(Flow[Args]):
            async def begin(self, args: Args, more: int) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == "handler begin: its last parameter 'more' must be a Call[...]"


def test_a_trailing_call_needs_no_type() -> None:
    async def begin(self: Any, args: Args, call: Any) -> Done[str]:
        return Done("")

    assert flow_class(begin=hinted(begin, call=None)).graph.begin.takes_call


async def _keyword(self: Any, *, args: Args) -> Done[str]:
    return Done("")


async def _variadic(self: Any, *args: Args) -> Done[str]:
    return Done("")


@pytest.mark.parametrize("begin", [_keyword, _variadic])
def test_parameters_that_are_not_plain(begin: Any) -> None:
    assert fault_of(lambda: flow_class(begin=begin)) == (
        "handler begin: takes only plain positional parameters"
    )


def test_a_handler_that_does_not_wait() -> None:
    def begin(self: Any, args: Args) -> Done[str]:
        return Done("")

    assert fault_of(lambda: flow_class(begin=begin)) == "handler begin: must be `async def`"


def test_a_wrapped_handler_is_read_through_its_wrapper() -> None:
    def logged(handler: Any) -> Any:
        @functools.wraps(handler)
        async def wrapper(*args: Any) -> Any:
            return await handler(*args)

        return wrapper

    async def baked(self: Any, at: Baking, call: Call[Args]) -> Done[str]:
        return Done("")

    flow = flow_class(begin=logged(beginning(Baking)), baked=Baking.polled(logged(baked)))
    assert [edge.handler for edge in flow.edges] == ["begin", "baked"]
    assert flow.graph.handlers[Baking, "polled"].takes_call


# -- states -----------------------------------------------------------------------------------


def asking(state: Any) -> Callable[[], object]:
    """A flow that is right but for its one state."""
    return lambda: flow_class(begin=beginning(state), answered=moving(state, "answered", Done[str]))


def polling(state: Any) -> Callable[[], object]:
    """A flow that is right but for its one state."""
    return lambda: flow_class(begin=beginning(state), polled=moving(state, "polled", Done[str]))


def test_a_state_that_is_no_attrs_class() -> None:
    class Plain(Polling):
        pass

    assert fault_of(polling(Plain)) == "state Plain is no attrs class; decorate it with @frozen"


def test_a_state_that_can_be_changed() -> None:
    @define
    class Mutable(Polling):
        pass

    assert fault_of(polling(Mutable)) == "state Mutable can be changed; decorate it with @frozen"


def test_a_state_with_fields_that_cannot_be_sealed() -> None:
    @frozen
    class Holding(Polling):
        fine: int
        function: Callable[[], int]
        thing: object

    told = faults_of(polling(Holding))
    assert [fault.partition(":")[0] for fault in told] == ["state Holding", "state Holding"]
    assert "field 'function' cannot be sealed" in told[0]
    assert "field 'thing' cannot be sealed" in told[1]


@pytest.mark.parametrize("name", ["tag", "version", "upgrade", "progress"])
def test_a_field_that_hides_what_every_state_has(name: str) -> None:
    namespace = {"__annotations__": {name: int}, name: field(default=1)}
    state = frozen(type("Hiding", (Polling,), namespace))
    assert fault_of(polling(state)) == f"state Hiding: a field named {name!r} hides Hiding.{name}"


def test_a_field_may_have_any_name_that_its_own_kind_of_state_leaves_free() -> None:
    @frozen
    class Fine(Acting):
        progress: int
        ask: str

    class Right(Flow[Args]):
        async def begin(self, args: Args) -> Fine:
            return Fine(1, "")

        @Fine.entered
        async def entered(self, at: Fine) -> Done[str]:
            return Done("")

    assert Right.states == (Fine,)


@pytest.mark.parametrize("version", [0, -1, "2", 1.5, None, True])
def test_a_version_is_a_positive_integer(version: Any) -> None:
    @frozen
    class Versioned(Polling):
        pass

    Versioned.version = version
    assert fault_of(polling(Versioned)) == "state Versioned: its version is not 1, 2, 3, ..."


def test_a_tag_is_text() -> None:
    @frozen
    class Tagged(Polling):
        pass

    Tagged.tag = 5  # type: ignore[assignment]
    assert fault_of(polling(Tagged)) == "state Tagged: its tag is no text"


def test_a_state_that_asks_nothing() -> None:
    @frozen
    class Silent(Asking[Yes]):
        pass

    assert fault_of(asking(Silent)) == "state Silent asks nothing: it has no `def ask(self)`"


def test_a_state_that_does_not_say_what_answers_it() -> None:
    @frozen
    class Vague(Asking):  # type: ignore[type-arg]
        def ask(self) -> Any: ...

    assert fault_of(asking(Vague)) == (
        "state Vague does not say what answers it: derive it from Asking[...]"
    )


@pytest.mark.parametrize(
    "answer", [str, int, bool, list[str], dict[str, str], tuple[Root], Sample, Form[Yes], Any, None]
)
def test_an_answer_that_no_question_gives(answer: Any) -> None:
    @frozen
    class Odd(Asking[answer]):
        def ask(self) -> Any: ...

    assert fault_of(asking(Odd)).startswith("state Odd: nothing that can be asked is answered by ")


def test_a_form_that_is_not_flat() -> None:
    @frozen
    class Nested:
        inner: Yes
        many: list[str]

    @frozen
    class Deep(Asking[Nested]):
        def ask(self) -> Form[Nested]:
            return Form("?", Nested)

    assert fault_of(asking(Deep)) == (
        "state Deep: its form Nested is not flat: field 'inner' is Yes; a form has text, numbers, "
        "booleans, dates and choices; field 'many' is a list of something other than choices"
    )


def test_a_form_that_is_not_flat_among_several_questions() -> None:
    @frozen
    class Nested:
        inner: Yes

    @frozen
    class Deep(Asking[tuple[Sampled, Nested]]):
        def ask(self) -> Any: ...

    assert "its form Nested is not flat" in fault_of(asking(Deep))


@pytest.mark.parametrize(
    ("answer", "needs"),
    [
        (Yes, {"elicitation": {"form": {}}}),
        (Consent, {"elicitation": {"url": {}}}),
        (Sampled, {"sampling": {}}),
        (tuple[Root, ...], {"roots": {}}),
        (tuple[Yes, Consent], {"elicitation": {"form": {}, "url": {}}}),
        (tuple[Sampled, tuple[Root, ...]], {"sampling": {}, "roots": {}}),
    ],
    ids=str,
)
def test_what_an_answer_needs_of_the_client(answer: Any, needs: object) -> None:
    @frozen
    class Right(Asking[answer]):
        def ask(self) -> Any:
            return Link("", "https://example.org")

    flow = flow_class(begin=beginning(Right), answered=moving(Right, "answered", Done[str]))
    assert flow.needs == needs


# -- arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [str, dict[str, str], int, type(None), Any], ids=str)
def test_arguments_that_are_no_attrs_class(args: Any) -> None:
    begin = hinted(beginning(Done[str]), args=args)
    assert fault_of(lambda: flow_class(args, begin=begin)) == (
        "its arguments, the A of Flow[A], are no attrs class"
    )


def test_a_flow_that_does_not_say_what_its_arguments_are() -> None:
    def declare() -> object:
        class Wrong(Flow):  # type: ignore[type-arg]
            async def begin(self, args: Args) -> Done[str]:
                return Done("")

        return Wrong

    assert fault_of(declare) == ("it does not say what its arguments are: derive it from Flow[...]")


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
