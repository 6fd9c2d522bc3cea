"""The suite's tools that ask, as flows. The keys are those that the suite looks for."""

from typing import TypeAlias

from attrs import frozen

from antiphon import (
    Asking,
    Done,
    Flow,
    Form,
    ListRoots,
    Root,
    Sample,
    Sampled,
    Server,
    Together,
    all_of,
)


@frozen
class Nothing:
    """The arguments of a tool that takes none."""


@frozen
class Name:
    name: str


@frozen
class Color:
    color: str


@frozen
class Ok:
    ok: bool


Answers: TypeAlias = tuple[Name, Sampled, tuple[Root, ...]]


# -- one question -------------------------------------------------------------------------------


@frozen
class AskingName(Asking[Name]):
    def ask(self) -> Form[Name]:
        return Form("What is your name?", Name, key="user_name")


@frozen
class Greet(Flow[Nothing]):
    """Ask for a name and greet."""

    async def begin(self, args: Nothing) -> AskingName:
        return AskingName()

    @AskingName.answered
    async def named(self, at: AskingName, answer: Name) -> Done[str]:
        return Done(f"Hello, {answer.name}!")


@frozen
class AskingModel(Asking[Sampled]):
    def ask(self) -> Sample:
        return Sample("What is the capital of France?", 100, key="capital_question")


@frozen
class AskModel(Flow[Nothing]):
    """Ask the client's model."""

    async def begin(self, args: Nothing) -> AskingModel:
        return AskingModel()

    @AskingModel.answered
    async def said(self, at: AskingModel, answer: Sampled) -> Done[str]:
        return Done(answer.text)


@frozen
class AskingRoots(Asking[tuple[Root, ...]]):
    def ask(self) -> ListRoots:
        return ListRoots(key="client_roots")


@frozen
class AskRoots(Flow[Nothing]):
    """Ask for the client's roots."""

    async def begin(self, args: Nothing) -> AskingRoots:
        return AskingRoots()

    @AskingRoots.answered
    async def listed(self, at: AskingRoots, answer: tuple[Root, ...]) -> Done[str]:
        return Done("\n".join(root.uri for root in answer))


@frozen
class Confirming(Asking[Ok]):
    def ask(self) -> Form[Ok]:
        return Form("Please confirm", Ok, key="confirm")


@frozen
class Confirm(Flow[Nothing]):
    """Ask for a confirmation."""

    async def begin(self, args: Nothing) -> Confirming:
        return Confirming()

    @Confirming.answered
    async def confirmed(self, at: Confirming, answer: Ok) -> Done[str]:
        return Done(f"state-ok, {'confirmed' if answer.ok else 'not confirmed'}")


# -- several ------------------------------------------------------------------------------------


@frozen
class AskingAll(Asking[Answers]):
    def ask(self) -> Together[Answers]:
        return all_of(
            Form("What is your name?", Name, key="user_name"),
            Sample("Generate a greeting", 50, key="greeting"),
            ListRoots(key="client_roots"),
        )


@frozen
class AskAll(Flow[Nothing]):
    """Ask the person, the model and for the roots in one round."""

    async def begin(self, args: Nothing) -> AskingAll:
        return AskingAll()

    @AskingAll.answered
    async def told(self, at: AskingAll, answers: Answers) -> Done[str]:
        name, greeting, roots = answers
        return Done(f"{greeting.text} {name.name}, of {len(roots)} roots")


@frozen
class AskingFirst(Asking[Name]):
    def ask(self) -> Form[Name]:
        return Form("Step 1: What is your name?", Name, key="step1")


@frozen
class AskingSecond(Asking[Color]):
    name: str

    def ask(self) -> Form[Color]:
        return Form("Step 2: What is your favorite color?", Color, key="step2")


@frozen
class AskTwice(Flow[Nothing]):
    """Ask for a name, then for a color."""

    async def begin(self, args: Nothing) -> AskingFirst:
        return AskingFirst()

    @AskingFirst.answered
    async def named(self, at: AskingFirst, answer: Name) -> AskingSecond:
        return AskingSecond(answer.name)

    @AskingSecond.answered
    async def colored(self, at: AskingSecond, answer: Color) -> Done[str]:
        return Done(f"{at.name} likes {answer.color}.")


@frozen
class AskWhoCanBeAsked(Flow[Nothing]):
    """Ask the person, or the model of a client that has no forms."""

    async def begin(self, args: Nothing) -> AskingName:
        return AskingName()

    @AskingName.answered
    async def named(self, at: AskingName, answer: Name) -> Done[str]:
        return Done(f"Hello, {answer.name}!")

    @AskingName.unavailable
    async def without_forms(self, at: AskingName) -> AskingModel:
        return AskingModel()

    @AskingModel.answered
    async def said(self, at: AskingModel, answer: Sampled) -> Done[str]:
        return Done(answer.text)


def add_asking_tools(server: Server) -> None:
    """Register them all."""
    for name, flow in {
        "test_input_required_result_elicitation": Greet(),
        "test_input_required_result_sampling": AskModel(),
        "test_input_required_result_list_roots": AskRoots(),
        "test_input_required_result_request_state": Confirm(),
        "test_input_required_result_multiple_inputs": AskAll(),
        "test_input_required_result_multi_round": AskTwice(),
        "test_input_required_result_tampered_state": Confirm(),
        "test_input_required_result_capabilities": AskWhoCanBeAsked(),
        "test_missing_capability": AskModel(),
        "test_streaming_elicitation": Greet(),
    }.items():
        server.tool(flow, name=name)
