"""Flows and states that are derived from others."""

from abc import abstractmethod
from types import new_class
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from attrs import frozen

from antiphon import (
    Asking,
    Call,
    DefinitionError,
    Done,
    Failed,
    Flow,
    Form,
    Link,
    Polling,
    Progress,
    Server,
    UsageError,
    walk,
)
from antiphon.flows.hints import argument_of

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")


@frozen
class Args:
    name: str


@frozen
class Other:
    number: int


@frozen
class Yes:
    sure: bool = False


@frozen
class Sentence:
    text: str


@frozen
class Confirming(Asking[Yes]):
    what: str

    def ask(self) -> Form[Yes]:
        return Form(f"{self.what}?", Yes)


@frozen
class Confirmed(Flow[A], Generic[A]):
    """A generic flow: asks before it acts. Its heirs say what they do."""

    async def begin(self, args: A) -> Confirming:
        return Confirming(self.question(args))

    @abstractmethod
    def question(self, args: A) -> str: ...

    @abstractmethod
    async def act(self, args: A) -> str: ...

    @Confirming.answered
    async def confirmed(self, at: Confirming, yes: Yes, call: Call[A]) -> Done[str] | Failed:
        return Done(await self.act(call.args)) if yes.sure else Failed("Not sure.")

    @Confirming.refused
    async def refused(self, at: Confirming) -> Failed:
        return Failed(f"Refused: {at.what}")


@frozen
class Delete(Confirmed[Args]):
    """Delete something."""

    def question(self, args: Args) -> str:
        return f"Delete {args.name}"

    async def act(self, args: Args) -> str:
        return f"{args.name} is gone"


@frozen
class Grow(Confirmed[Other]):
    def question(self, args: Other) -> str:
        return f"Grow by {args.number}"

    async def act(self, args: Other) -> str:
        return str(args.number)


async def test_an_heir_of_a_generic_flow_is_a_flow_of_its_own() -> None:
    assert (Delete.args_type, Grow.args_type) == (Args, Other)
    assert (Delete.name, Grow.name) == ("delete", "grow")
    assert (Delete.description(), Grow.description()) == ("Delete something.", "")
    assert Delete.edges == Grow.edges
    step = await walk(Delete(), Args("a"))
    assert (await step.answer(Yes(True))).end == Done("a is gone")
    assert (await step.decline()).end == Failed("Refused: Delete a")
    assert (await (await walk(Grow(), Other(3))).answer(Yes(True))).end == Done("3")


def test_the_arguments_of_an_heir_are_its_input_schema() -> None:
    server = Server("Shop")
    server.tool(Delete())
    server.tool(Grow())
    schemas: list[Any] = [tool.description["inputSchema"] for tool in server.tools]
    assert [list(schema["properties"]) for schema in schemas] == [["name"], ["number"]]


@frozen
class Waiting(Polling):
    pass


def test_an_heir_is_checked() -> None:
    async def begin(self: Any, args: Args) -> Waiting | Confirming:
        return Waiting()

    with pytest.raises(DefinitionError, match="nobody handles state Waiting"):
        new_class("Wrong", (Confirmed[Args],), exec_body=lambda body: body.update(begin=begin))


async def test_a_generic_flow_cannot_be_served_or_walked() -> None:
    generic: Any = Confirmed
    with pytest.raises(UsageError, match="Confirmed is generic"):
        await walk(generic(), Args("a"))
    with pytest.raises(UsageError, match=r"Confirmed is generic: .* Confirmed\[\.\.\.\]"):
        Server("Shop").tool(generic())


# -- overriding -------------------------------------------------------------------------------


@frozen
class Careful(Delete):
    async def begin(self, args: Args) -> Confirming:
        return Confirming(f"Really delete {args.name}")

    async def confirmed(self, at: Confirming, yes: Yes, call: Call[Args]) -> Done[str] | Failed:
        return Done("gone, carefully") if yes.sure else Failed("Carefully not.")

    async def refused(self, at: Confirming) -> Failed:
        return Failed("Carefully refused.")


async def test_a_method_that_overrides_a_handler_takes_its_edges() -> None:
    assert Careful.name == "careful"
    assert [(edge.event, edge.target, edge.handler) for edge in Careful.edges] == [
        ("begun", Confirming, "begin"),
        ("answered", Done, "confirmed"),
        ("answered", Failed, "confirmed"),
        ("declined", Failed, "refused"),
        ("cancelled", Failed, "refused"),
        ("unusable", Failed, None),
    ]
    step = await walk(Careful(), Args("a"))
    assert (await step.decline()).end == Failed("Carefully refused.")
    assert (await step.answer(Yes(True))).end == Done("gone, carefully")
    assert step.state == Confirming("Really delete a")


@frozen
class Remarked(Delete):
    @Confirming.declined
    async def refused(self, at: Confirming) -> Failed:
        return Failed("Declined.")


async def test_a_mark_of_its_own_takes_the_place_of_those_inherited() -> None:
    step = await walk(Remarked(), Args("a"))
    assert (await step.decline()).end == Failed("Declined.")
    cancelled = (await step.cancel()).end
    assert isinstance(cancelled, Failed)
    assert "closed the question" in cancelled.message


@frozen
class Dropped(Delete):
    refused: ClassVar[None] = None  # type: ignore[assignment]


async def test_none_in_the_place_of_a_handler_drops_its_edges() -> None:
    step = await walk(Dropped(), Args("a"))
    declined = (await step.decline()).end
    assert isinstance(declined, Failed)
    assert "declined to answer" in declined.message


def test_an_override_that_does_not_fit_is_a_fault() -> None:
    def refused(self: Any, at: Confirming) -> Failed:
        return Failed("")

    with pytest.raises(DefinitionError, match="handler refused: must be `async def`"):
        type("Wrong", (Delete,), {"refused": refused})


def test_the_base_is_as_it_was() -> None:
    assert Delete.edges[-1].handler is None
    assert [edge.handler for edge in Delete.edges if edge.event == "declined"] == ["refused"]


# -- states -----------------------------------------------------------------------------------


@frozen
class Choosing(Asking[A], Generic[A]):
    """A generic state: its heirs say what is asked."""

    kept: str


@frozen
class ChoosingYes(Choosing[Yes]):
    def ask(self) -> Form[Yes]:
        return Form(self.kept, Yes)


@frozen
class ChoosingSentence(Choosing[Sentence]):
    tag: ClassVar[str] = "sentence"

    def ask(self) -> Form[Sentence]:
        return Form(self.kept, Sentence)


@frozen
class Talk(Flow[Args]):
    async def begin(self, args: Args) -> ChoosingYes:
        return ChoosingYes(args.name)

    @ChoosingYes.answered
    async def chosen(self, at: ChoosingYes, yes: Yes) -> ChoosingSentence:
        return ChoosingSentence(at.kept + "!")

    @ChoosingSentence.answered
    async def said(self, at: ChoosingSentence, said: Sentence) -> Done[str]:
        return Done(at.kept + said.text)


async def test_states_derived_from_a_generic_one_are_states_of_their_own() -> None:
    step = await walk(Talk(), Args("a"))
    assert list(step.requests) == ["choosing_yes"]
    step = await step.answer(Yes())
    assert list(step.requests) == ["sentence"]
    assert (await step.answer(Sentence("b"))).end == Done("a!b")


@frozen
class Slow(Polling):
    done: int

    def progress(self) -> Progress:
        return Progress(self.done, 2)


@frozen
class Slower(Slow):
    pass


@frozen
class TwoSpeeds(Flow[Args]):
    async def begin(self, args: Args) -> Slow:
        return Slow(0)

    @Slow.polled
    async def slow(self, at: Slow) -> Slower:
        return Slower(1)

    @Slower.polled
    async def slower(self, at: Slower) -> Done[str]:
        return Done("done")


async def test_an_edge_belongs_to_one_state_and_not_to_its_heirs() -> None:
    step = await walk(TwoSpeeds(), Args("a"))
    step = await step.poll()
    assert step.state == Slower(1)
    assert (await step.poll()).end == Done("done")


# -- what a class was derived with ------------------------------------------------------------


class One(Generic[A]):
    pass


class Two(One[tuple[A, B]], Generic[B, A]):
    pass


class Three(Two[int, R]):
    pass


class Four(Three[str]):
    pass


class Bare(One):  # type: ignore[type-arg]
    pass


class BelowBare(Bare):
    pass


def test_an_argument_is_found_through_any_number_of_generic_bases() -> None:
    assert argument_of(Four, One) == tuple[str, int]
    assert str(argument_of(Three, One)) == "tuple[~R, int]"
    assert argument_of(Bare, One) is None
    assert argument_of(BelowBare, One) is None
    assert argument_of(int, One) is None


def test_questions_of_several_kinds_may_share_a_base() -> None:
    @frozen
    class Going(Choosing[Any]):
        def ask(self) -> Link:
            return Link(self.kept, "https://example.org")

    assert argument_of(Going, Asking) is Any
