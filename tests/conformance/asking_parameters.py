"""The suite's tools that ask by ``Ask`` parameters: each kind of field, each kind of choice."""

from typing import Annotated, Final, Literal, TypeAlias, cast

from attrs import asdict, frozen

from antiphon import Ask, Form, Given, Meta, Refusal, Sample, Sampled, Server, choice_of
from antiphon.engine.jsonrpc import JsonObject

Option: TypeAlias = Literal["option1", "option2", "option3"]

OLD_TITLES: Final = {"opt1": "Option One", "opt2": "Option Two", "opt3": "Option Three"}


@frozen
class User:
    username: Annotated[str, Meta(description="User's response")]
    email: Annotated[str, Meta(description="User's email address")]


@frozen
class Profile:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@frozen
class Chosen:
    """Choices under the names that the suite has for them."""

    untitledSingle: Option  # noqa: N815
    titledSingle: Annotated[  # noqa: N815
        str, choice_of({"value1": "First Option", "value2": "Second Option"})
    ]
    legacyEnum: Literal["opt1", "opt2", "opt3"]  # noqa: N815
    untitledMulti: list[Option]  # noqa: N815
    titledMulti: list[  # noqa: N815
        Annotated[str, choice_of({"value1": "First Choice", "value2": "Second Choice"})]
    ]


@frozen
class ChoosingByOldTitles(Form[Chosen]):
    """A form one of whose choices has its titles in a list of their own, as is deprecated."""

    @property
    def schema(self) -> JsonObject:
        schema = super().schema
        fields = cast("dict[str, JsonObject]", schema["properties"])
        old: JsonObject = {**fields["legacyEnum"], "enumNames": list(OLD_TITLES.values())}
        return {**schema, "properties": {**fields, "legacyEnum": old}}


def the_model(prompt: str) -> Sample:
    return Sample(prompt, 100)


def who(message: str) -> Form[User]:
    return Form(message, User)


def which() -> Form[Chosen]:
    return ChoosingByOldTitles("Please select options from the enum fields", Chosen)


async def test_sampling(prompt: str, reply: Annotated[Sampled, Ask(the_model)]) -> str:
    """Ask the client's model."""
    return f"LLM response: {reply.text}"


async def test_elicitation(message: str, user: Annotated[Given[User] | Refusal, Ask(who)]) -> str:
    """Ask the person."""
    return f"User response: {_told(user)}"


async def test_elicitation_sep1034_defaults(
    profile: Annotated[Given[Profile] | Refusal, Ask("Please review and update the form")],
) -> str:
    """Ask with fields that have defaults."""
    return f"Elicitation completed: {_told(profile)}"


async def test_elicitation_sep1330_enums(
    chosen: Annotated[Given[Chosen] | Refusal, Ask(which)],
) -> str:
    """Ask with choices of every kind."""
    return f"Elicitation completed: {_told(chosen)}"


def _told(outcome: Given[User] | Given[Profile] | Given[Chosen] | Refusal) -> str:
    if isinstance(outcome, Refusal):
        return f"action={outcome.how}"
    return f"action=accept, content={asdict(outcome.value)}"


def add_asking_parameters(server: Server) -> None:
    """Register them all."""
    for function in (
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
    ):
        server.tool(function)
