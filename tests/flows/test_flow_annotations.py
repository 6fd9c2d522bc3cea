"""Flows under ``from __future__ import annotations``, where every hint is text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest
from attrs import define, fields, frozen

from antiphon import (
    Asking,
    Call,
    DefinitionError,
    Done,
    Failed,
    Flow,
    Form,
    Polling,
    walk,
)
from tests.flows.declaring import flow_class

if TYPE_CHECKING:
    from decimal import Decimal


@frozen
class Args:
    name: str


@frozen
class Yes:
    sure: bool = False


@frozen
class Confirming(Asking[Yes]):
    names: list[str]
    later: Later | None = None

    def ask(self) -> Form[Yes]:
        return Form("Sure?", Yes)


@frozen
class Later:
    """Defined below the class that names it."""

    inner: list[Later]


@frozen
class Provision(Flow[Args]):
    """Provision something."""

    async def begin(self, args: Args) -> Confirming | Done[str]:
        return Confirming([args.name], Later([Later([])]))

    @Confirming.answered
    async def confirmed(
        self, at: Confirming, yes: Yes, call: Call[Args]
    ) -> Confirming | Done[str] | Failed:
        return Done(f"{at.names} {at.later}")


async def test_a_flow_of_text_hints_is_read_and_runs() -> None:
    assert Provision.states == (Confirming,)
    assert Provision.graph.results == (str,)
    step = await walk(Provision(), Args("a"))
    assert step.state == Confirming(["a"], Later([Later([])]))
    step = await step.answer(Yes(True))
    assert step.end == Done("['a'] Later(inner=[Later(inner=[])])")


# -- names that are not there -----------------------------------------------------------------


def test_a_class_that_only_a_function_knows_is_named_with_what_to_do() -> None:
    @frozen
    class Inside(Polling):
        pass

    async def begin(self: Any, args: Args) -> Inside:
        return Inside()

    with pytest.raises(DefinitionError) as caught:
        flow_class(Args, begin=begin)
    (fault,) = caught.value.faults
    assert fault == (
        "handler begin: its type hints cannot be read (name 'Inside' is not defined); the classes "
        "that it names must be importable at run time, from the module's top level and not under "
        "TYPE_CHECKING"
    )


@frozen
class Priced(Polling):
    price: Decimal


async def _priced(self: Any, args: Args) -> Priced | Done[str]:
    return Done("")


@Priced.polled
async def _polled(self: Any, at: Priced) -> Done[str]:
    return Done("")


@frozen
class Amount:
    amount: Decimal


@frozen
class AskingAmount(Asking[Amount]):
    def ask(self) -> Form[Amount]:
        return Form("How much?", Amount)


async def _amounts(self: Any, args: Args) -> AskingAmount:
    return AskingAmount()


@AskingAmount.answered
async def _answered(self: Any, at: AskingAmount, answer: Amount) -> Done[str]:
    return Done("")


async def _misspelled(self: Any, args: Args) -> Done[str]:
    return Done("")


_misspelled.__annotations__["return"] = "Confirming |"


@frozen
class Holding(Polling):
    amount: Amount


async def _holding(self: Any, args: Args) -> Holding | Done[str]:
    return Done("")


@Holding.polled
async def _held(self: Any, at: Holding) -> Done[str]:
    return Done("")


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        (
            {"begin": _priced, "polled": _polled},
            "state Priced: its fields cannot be read (name 'Decimal' is not defined)",
        ),
        (
            {"begin": _amounts, "answered": _answered},
            "state AskingAmount: its form Amount is not flat: its fields cannot be read: ",
        ),
        (
            {"begin": _holding, "held": _held},
            "state Holding: field 'amount' cannot be sealed: name 'Decimal' is not defined",
        ),
        ({"begin": _misspelled}, "handler begin: its type hints cannot be read"),
    ],
    ids=["field", "form", "nested field", "syntax"],
)
def test_a_name_that_is_imported_for_type_checking_alone_is_a_fault(
    members: dict[str, Any], fault: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        flow_class(Args, **members)
    (told,) = caught.value.faults
    assert told.startswith(fault)


# -- classes that attrs builds twice ----------------------------------------------------------

A = TypeVar("A")


@define
class Slotted(Flow[Args]):
    """Built twice: once as written, once with slots."""

    name = "slotted tool"
    title = "Slotted"
    log: list[str]

    async def begin(self, args: Args) -> Confirming:
        self.log.append(args.name)
        return Confirming([])

    @Confirming.answered
    async def confirmed(self, at: Confirming, yes: Yes) -> Done[str]:
        return Done("")

    @Confirming.refused
    async def refused(self, at: Confirming) -> Failed:
        return Failed("refused")


async def test_a_slotted_flow_keeps_its_graph_its_names_and_its_fields() -> None:
    assert "log" in vars(Slotted)["__slots__"]
    assert (Slotted.name, Slotted.title) == ("slotted tool", "Slotted")
    assert Slotted.description() == "Built twice: once as written, once with slots."
    assert [field.name for field in fields(Slotted)] == ["log"]
    assert len(Slotted.edges) == 5
    log: list[str] = []
    step = await walk(Slotted(log), Args("a"))
    assert (await step.decline()).end == Failed("refused")
    assert log == ["a"]


def test_a_flow_without_attrs_is_a_flow_too() -> None:
    class Plain(Flow[Args]):
        def __init__(self, greeting: str) -> None:
            self.greeting = greeting

        async def begin(self, args: Args) -> Done[str]:
            return Done(self.greeting)

    assert (Plain.name, Plain.states) == ("plain", ())
    assert Plain("Hi").greeting == "Hi"


def test_a_generic_flow_has_no_graph_of_its_own() -> None:
    @frozen
    class Open(Flow[A], Generic[A]):
        async def begin(self, args: A) -> Done[str]:
            return Done("")

    assert not hasattr(Open, "graph")


@pytest.mark.parametrize(
    ("written", "name"),
    [("Provision", "provision"), ("SlowReport", "slow_report"), ("HTTPFetch", "httpfetch")],
)
def test_a_flow_is_called_as_its_class(written: str, name: str) -> None:
    async def begin(self: Any, args: Args) -> Done[str]:
        return Done("")

    bare = flow_class(Args, begin=begin)
    named: Any = type(written, (bare,), {})
    assert named.name == name


def test_a_class_keyword_is_refused_since_attrs_would_lose_it() -> None:
    with pytest.raises(TypeError, match="name"):

        class Named(Flow[Args], name="named"):  # type: ignore[call-arg]
            async def begin(self, args: Args) -> Done[str]:
                return Done("")
