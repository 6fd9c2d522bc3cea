"""A handler must say what it takes and gives, in words that a flow can be read from."""

import functools
from typing import Any

import pytest

from antiphon import (
    Acting,
    Asking,
    Call,
    Done,
    Flow,
    Polling,
)
from antiphon.flows.states import State
from tests.flows.declaring import Args, beginning, flow_class, hinted
from tests.flows.faulty import VAGUE, Baking, Confirming, Name, Storing, Yes, fault_of, faults_of

# -- what a handler gives ---------------------------------------------------------------------


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
