"""Questions that a call answers beforehand, by optional arguments of the tool."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from attrs import frozen

from antiphon import (
    Accept,
    Ask,
    Asking,
    Client,
    DefinitionError,
    Done,
    Flow,
    Form,
    FormRequest,
    Link,
    Polling,
    Progress,
    Server,
    ServerError,
    UrlRequest,
    all_of,
    open_client,
)
from antiphon.engine.questions import Consent, Question
from examples.provision import ChoosingRegion, Cloud, ConfirmingProd, Provision

NAME = {"name": "orders"}


@frozen
class Nothing:
    pass


@frozen
class Size:
    cpus: int


@frozen
class Colour:
    name: str


def provisioner(**options: Any) -> Server:
    server = Server("Provisioner")
    server.tool(Provision(Cloud()), **options)
    return server


class Person:
    """Answers forms by their messages, and remembers what was asked."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def __call__(self, question: FormRequest | UrlRequest) -> Accept:
        self.asked.append(question.message)
        word = next(word for word in self.answers if word in question.message)
        return Accept(self.answers[word])


async def listed(client: Client) -> dict[str, Any]:
    """The input schema of the only tool."""
    (tool,) = await client.list_tools()
    return tool.input_schema


async def called(client: Client, tool: str, **arguments: object) -> object:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured


async def test_a_client_that_cannot_be_asked_gives_the_answer_in_the_call() -> None:
    async with open_client(provisioner(preanswer=[ChoosingRegion])) as client:
        schema = await listed(client)
        assert schema["properties"]["choosing_region"]["required"] == ["name"]
        assert schema["required"] == ["name"]
        region = {"name": "eu-west-1"}
        result = await called(client, "provision", **NAME, choosing_region=region)
        assert result == {"name": "orders", "region": "eu-west-1"}


async def test_without_the_answer_it_is_told_what_is_asked_and_how_to_answer() -> None:
    async with open_client(provisioner(preanswer=[ChoosingRegion])) as client:
        with pytest.raises(ServerError, match="argument 'choosing_region'") as caught:
            await client.call_tool("provision", NAME)
    assert caught.value.code == -32021
    assert "Which region should 'orders' live in?" in str(caught.value)


async def test_a_question_that_was_left_out_is_for_a_person() -> None:
    region = {"name": "prod"}
    async with open_client(provisioner(preanswer=[ChoosingRegion])) as client:
        assert "confirming_prod" not in (await listed(client))["properties"]
        with pytest.raises(ServerError, match="Go ahead") as caught:
            await client.call_tool("provision", {**NAME, "choosing_region": region})
    assert "argument" not in str(caught.value)


async def test_an_answer_counts_once_and_a_person_can_change_it() -> None:
    person = Person(production={"sure": "no"}, region={"name": "us-east-1"})
    async with open_client(provisioner(preanswer=[ChoosingRegion]), elicitation=person) as client:
        region = {"name": "prod"}
        result = await called(client, "provision", **NAME, choosing_region=region)
    assert result == {"name": "orders", "region": "us-east-1"}
    assert [message.split()[0] for message in person.asked] == ["'orders'", "Which"]


async def test_all_forms_may_be_answered_beforehand() -> None:
    async with open_client(provisioner(preanswer=True)) as client:
        region, sure = {"name": "prod"}, {"sure": "yes"}
        result = await called(
            client, "provision", **NAME, choosing_region=region, confirming_prod=sure
        )
    assert result == {"name": "orders", "region": "prod"}


async def test_an_answer_that_fails_the_schema_is_refused_as_an_argument() -> None:
    async with open_client(provisioner(preanswer=True)) as client:
        result = await client.call_tool("provision", {**NAME, "choosing_region": {"name": "moon"}})
    assert result.is_error
    assert "choosing_region.name" in str(result.content)


# -- what is known only at run time -----------------------------------------------------------


@frozen
class Choosing(Asking[Colour]):
    def ask(self) -> Form[Colour]:
        return Form("Which colour?", Colour, choices={"name": ["red", "blue"]}, key="paint")


@frozen
class Painting(Polling):
    colour: str

    def progress(self) -> Progress:
        return Progress(again_in=0.01)


@frozen
class Sizing(Asking[tuple[Size, Colour]]):
    colour: str

    def ask(self) -> Question[tuple[Size, Colour]]:
        return all_of(Form("How large?", Size), Form("What trim?", Colour))


@frozen
class Painter(Flow[Nothing]):
    name = "paint"

    async def begin(self, args: Nothing) -> Choosing:
        return Choosing()

    @Choosing.answered
    async def chosen(self, at: Choosing, colour: Colour) -> Painting:
        return Painting(colour.name)

    @Painting.polled
    async def painted(self, at: Painting) -> Sizing:
        return Sizing(at.colour)

    @Sizing.answered
    async def sized(self, at: Sizing, answer: tuple[Size, Colour]) -> Done[list[Any]]:
        return Done([at.colour, answer[0].cpus, answer[1].name])


def painter() -> Server:
    server = Server("Painter")
    server.tool(Painter(), preanswer=True)
    return server


async def test_the_argument_is_named_by_the_state_whatever_key_its_question_has() -> None:
    person = Person(large={"cpus": 2}, trim={"name": "gold"}, colour={"name": "blue"})
    async with open_client(painter(), elicitation=person) as client:
        assert await called(client, "paint", choosing={"name": "red"}) == ["red", 2, "gold"]
    assert "Which colour?" not in person.asked


async def test_answers_are_kept_for_later_rounds_and_several_questions_at_once() -> None:
    async with open_client(painter()) as client:
        arguments = {
            "choosing": {"name": "red"},
            "sizing_1": {"cpus": 3},
            "sizing_2": {"name": "x"},
        }
        assert await called(client, "paint", **arguments) == ["red", 3, "x"]


async def test_of_several_questions_only_the_open_ones_are_asked() -> None:
    person = Person(trim={"name": "gold"})
    async with open_client(painter(), elicitation=person) as client:
        arguments = {"choosing": {"name": "red"}, "sizing_1": {"cpus": 3}}
        assert await called(client, "paint", **arguments) == ["red", 3, "gold"]
    assert person.asked == ["What trim?"]


async def test_an_answer_that_is_no_option_now_is_asked_again_with_the_reason() -> None:
    person = Person(colour={"name": "blue"}, large={"cpus": 2}, trim={"name": "gold"})
    async with open_client(painter(), elicitation=person) as client:
        assert await called(client, "paint", choosing={"name": "mauve"}) == ["blue", 2, "gold"]
    assert person.asked[0].startswith("Which colour?\n\nThe last answer cannot be used")


# -- Ask parameters ---------------------------------------------------------------------------


async def test_ask_parameters_can_be_answered_beforehand() -> None:
    server = Server("Shop")

    @server.tool(preanswer=["size"])
    async def order(
        item: str, size: Annotated[Size, Ask("How large?")], trim: Annotated[Colour, Ask("Trim?")]
    ) -> str:
        return f"{item} {size.cpus} {trim.name}"

    person = Person(Trim={"name": "gold"})
    async with open_client(server, elicitation=person) as client:
        assert set((await listed(client))["properties"]) == {"item", "size"}
        result = await client.call_tool("order", {"item": "box", "size": {"cpus": 4}})
        assert result.content == [{"type": "text", "text": "box 4 gold"}]
    assert person.asked == ["Trim?"]


# -- wrong declarations -----------------------------------------------------------------------


@frozen
class Opening(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Sign in", "https://example.org")


@frozen
class SignIn(Flow[Nothing]):
    name = "sign_in"

    async def begin(self, args: Nothing) -> Opening:
        return Opening()

    @Opening.answered
    async def opened(self, at: Opening, consent: Consent) -> Done[str]:
        return Done("in")


@frozen
class Taken:
    choosing_region: str


@frozen
class Clash(Flow[Taken]):
    name = "clash"

    async def begin(self, args: Taken) -> ChoosingRegion:
        return ChoosingRegion(args.choosing_region)

    @ChoosingRegion.answered
    async def chosen(self, at: ChoosingRegion, answer: Any) -> Done[str]:
        return Done("done")


def test_wrong_declarations_are_told_in_full() -> None:
    server = Server("Wrong")
    with pytest.raises(DefinitionError, match="it declares none"):
        server.tool(SignIn(), preanswer=True)
    with pytest.raises(DefinitionError, match="names Opening, which asks no form here"):
        server.tool(Provision(Cloud()), preanswer=[Opening, ConfirmingProd])
    with pytest.raises(DefinitionError, match="not str"):
        server.tool(Provision(Cloud()), preanswer="choosing_region")
    with pytest.raises(DefinitionError, match="'choosing_region', which there is already"):
        server.tool(Clash(), preanswer=True)

    async def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(DefinitionError, match="it declares none"):
        server.tool(preanswer=True)(add)
