"""States and arguments that a flow cannot be made of."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field, frozen

from antiphon import (
    Acting,
    Asking,
    Consent,
    Done,
    Flow,
    Form,
    Link,
    Polling,
    Root,
    Sample,
    Sampled,
)
from tests.flows.declaring import Args, beginning, flow_class, hinted, moving
from tests.flows.faulty import Yes, fault_of, faults_of

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
