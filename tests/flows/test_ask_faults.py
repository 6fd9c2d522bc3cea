"""What is wrong with ``Ask`` parameters is told when their function is registered, all at once."""

from collections.abc import Callable
from typing import Annotated, Any, Optional, TypeVar

import pytest
from typing_extensions import TypeAliasType

from antiphon import (
    Call,
    Consent,
    DefinitionError,
    Form,
    Link,
    Question,
    Sampled,
    Server,
    Together,
    UsageError,
    walk,
)
from antiphon.engine.by_hand import InputRequired
from antiphon.engine.questions import Given, Refusal
from antiphon.flows.asks import Ask, flow_of
from tests.flows.asking import Nested, Region, Size, Sure, taking, tool_taking

T = TypeVar("T")
SMALL = Size(1)
NOTED = TypeAliasType("NOTED", Annotated[Region, "note"])
WHERE = TypeAliasType("WHERE", Annotated[Region, Ask("Where?")])
INSIDE: list[Any] = [
    Optional[Annotated[Size, Ask("?")]],  # noqa: UP045  # the other way has no type to a checker
    list[Annotated[Size, Ask("?")]],
]


def faults(returns: Any = str, **parameters: Any) -> list[str]:
    """What is told of a tool with these parameters."""
    with pytest.raises(DefinitionError) as caught:
        flow_of(tool(returns, **parameters))
    assert caught.value.subject == "Function made"
    return list(caught.value.faults)


def tool(returns: Any = str, **parameters: Any) -> Any:
    return tool_taking(parameters, str, returns=returns)


def asking(returns: Any = None, **takes: Any) -> Ask:
    """An ``Ask`` whose function takes and returns this."""
    return Ask(taking(takes, str, returns=returns))


# -- who waits for whom -----------------------------------------------------------------------


def test_a_parameter_that_waits_for_itself_is_a_cycle() -> None:
    told = faults(a=Annotated[Size, asking(a=None)])
    assert told == ["Ask parameters wait for each other: a -> a"]


def test_a_cycle_is_named_from_its_first_parameter_on() -> None:
    told = faults(
        before=Annotated[Size, asking(b=None)],
        a=Annotated[Size, asking(c=None, x=None)],
        b=Annotated[Size, asking(a=None)],
        c=Annotated[Size, asking(b=None)],
        x=int,
    )
    assert told == ["Ask parameters wait for each other: a -> c -> b -> a"]


def test_each_cycle_is_named() -> None:
    told = faults(
        a=Annotated[Size, asking(b=None)],
        b=Annotated[Size, asking(a=None)],
        c=Annotated[Size, asking(d=None)],
        d=Annotated[Size, asking(c=None)],
    )
    assert [fault.rpartition(": ")[2] for fault in told] == ["a -> b -> a", "c -> d -> c"]


# -- what the function takes ------------------------------------------------------------------


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    told = faults(name=str, a=Annotated[Size, asking(nam=None)], b=Annotated[int, asking(A=int)])
    assert told == [
        f"parameter '{one}': its function takes '{taken}', which is no argument, no Ask parameter "
        "and no call; there are name, a, b"
        for one, taken in (("a", "nam"), ("b", "A"))
    ]


def whatever(*names: str) -> Size: ...  # type: ignore[empty-body]


def whoever(**names: str) -> Size: ...  # type: ignore[empty-body]


def in_place(name: str, /) -> Size: ...  # type: ignore[empty-body]


def unresolved(name: Any) -> Any: ...


unresolved.__annotations__["name"] = "Nowhere"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (whatever, "its function takes whatever comes as 'names'; name what it needs"),
        (whoever, "its function takes whatever comes as 'names'; name what it needs"),
        (in_place, "its function takes 'name' by position; it is given what it takes by name"),
        (unresolved, "its function: its type hints cannot be read (name 'Nowhere' is not defined)"),
        (3, "Ask takes a function or a message, not 3"),
        (None, "Ask takes a function or a message, not None"),
        (Size, "Ask takes a function or a message, not <class"),
        (max, "its function does not say what it takes"),
    ],
)
def test_a_function_that_cannot_be_read_is_told(source: Any, told: str) -> None:
    (fault,) = faults(name=str, a=Annotated[Size, Ask(source)])
    assert fault.startswith("parameter 'a': ")
    assert told in fault


def test_a_function_that_takes_another_type_than_it_gets_is_told() -> None:
    told = faults(
        region=Annotated[Region, Ask("Where?")],
        a=Annotated[Size, asking(region=Sure)],
        b=Annotated[Size, asking(region=Region | Sure)],
        c=Annotated[Size, asking(region=Any)],
    )
    assert told == ["parameter 'a': its function takes region: Sure, but it gets Region"]


# -- what it asks -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "returns", "told"),
    [
        (Region, Form[Size], "it holds Region, and is asked for Size"),
        (Region, Form[Region] | Form[Size] | Region, "it holds Region, and is asked for Size"),
        (Region, Link, "it holds Region, and is asked for Consent"),
        (Consent, Question[Sampled], "it holds Consent, and is asked for Sampled"),
        (Given[Region] | Refusal, Form[Size], "it holds Region, and is asked for Size"),
        (Nested, Form[Nested], "its form Nested is not flat: field 'regions' "),
        (Any, Form[Nested], "its form Nested is not flat: field 'regions' "),
        (tuple[Region, Size], Together[tuple[Region, Size]], "it asks several questions"),
        (Given[Region], Form[Region], "Given[Region] is no whole outcome; write Given[...]"),
        (Region | Refusal, Form[Region], "is no whole outcome; write Given[...] | Refusal"),
        (Any, None, "neither Any nor its function says what it may hold"),
        (object, None, "neither object nor its function says what it may hold"),
        (T, None, "neither ~T nor its function says what it may hold"),
    ],
    ids=str,
)
def test_what_does_not_fit_its_type_is_told(hint: Any, returns: Any, told: str) -> None:
    (fault,) = faults(a=Annotated[hint, asking(returns)])
    assert fault.startswith("parameter 'a': ")
    assert told in fault


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (int, "Ask('Well?') asks by a form, and int is none"),
        (Consent, "Ask('Well?') asks by a form, and Consent is none"),
        (Any, "Ask('Well?') asks by a form, and Any is none"),
        (Region | Size, "Ask('Well?') asks by a form, and Region | Size is none"),
        (Nested, "its form Nested is not flat: field 'regions' "),
    ],
    ids=str,
)
def test_a_message_asks_by_one_form(hint: Any, told: str) -> None:
    (fault,) = faults(a=Annotated[hint, Ask("Well?")])
    assert told in fault


@pytest.mark.parametrize(
    ("hint", "returns"),
    [
        (Region | None, Form[Region] | None),
        (Any, Form[Region]),
        (object, Question[Region] | Size),
        (Nested, None),
        (Nested | Region, Form),
        (Region, Form[Any]),
        (Given[Region | Size] | Refusal, Form[Region] | Form[Size]),
        (Given[Region] | Refusal | None, Form[Region] | None),
        (NOTED, Form[Region]),
    ],
    ids=str,
)
def test_what_fits_is_taken(hint: Any, returns: Any) -> None:
    assert flow_of(tool(a=Annotated[hint, asking(returns)])).name == "made"


async def test_an_alias_of_an_annotated_type_asks() -> None:
    step = await walk(flow_of(tool(a=WHERE)), {})
    assert list(step.requests) == ["a"]


# -- the parameter ----------------------------------------------------------------------------


def test_a_parameter_with_a_default_is_told() -> None:
    async def made(a: Annotated[Size, Ask("How large?")] = SMALL) -> None: ...

    with pytest.raises(DefinitionError, match="'a' has a default, which Ask would never use"):
        flow_of(made)


@pytest.mark.parametrize("hint", INSIDE, ids=str)
def test_ask_inside_a_type_is_told(hint: Any) -> None:
    assert faults(a=hint, b=Annotated[Size, Ask("?")]) == [
        "parameter 'a': Ask stands inside its type, not around it"
    ]


def test_two_ask_are_told() -> None:
    assert faults(a=Annotated[Size, Ask("?"), Ask("!")]) == [
        "parameter 'a' has 2 Ask; one fills it"
    ]


def test_asking_by_hand_as_well_is_told() -> None:
    told = faults(str | InputRequired, a=Annotated[Size, Ask("?")])
    assert told == [
        "it has Ask parameters and returns InputRequired: ask in one way or in the other"
    ]


def test_a_static_resource_cannot_ask() -> None:
    server = Server("Static")
    with pytest.raises(DefinitionError) as caught:
        server.resource("config://app")(
            tool(a=Annotated[Size, Ask("?")], b=Annotated[int, Ask(len)])
        )
    assert caught.value.faults == (
        "Ask fills 'a', 'b', and only a resource template can ask",
        "parameter 'b': its function takes 'obj' by position; it is given what it takes by name",
    )


def test_all_faults_are_told_at_once() -> None:
    async def made(
        *more: int,
        a: Annotated[Size, Ask(lambda b, nothing: None)] = SMALL,
        b: Annotated[Size, Ask(lambda a: None)],
        c: Annotated[Nested, Ask("?")],
        d: Annotated[Region, asking(Form[Size])],
        e: Any,
    ) -> InputRequired:
        raise NotImplementedError

    del made.__annotations__["e"]
    server = Server("Faulty")
    for register, noun in (
        (server.tool, "Tool"),
        (server.prompt, "Prompt"),
        (server.resource_template("x://{b}"), "Resource template"),
    ):
        add: Callable[[Any], Any] = register
        with pytest.raises(DefinitionError) as caught:
            add(made)
        assert caught.value.subject == f"{noun} made"
        assert len(caught.value.faults) == 8
    assert len(server.tools) == 0


def test_a_template_cannot_fill_what_is_asked_for() -> None:
    add = Server("Template").resource_template("x://{a}")
    with pytest.raises(DefinitionError, match=r"variable \{a\} of the template is no argument"):
        add(tool(a=Annotated[Size, Ask("?")]))


def test_a_call_is_no_parameter_that_can_be_asked_for() -> None:
    async def made(call: Call[Any], a: Annotated[Size, Ask(lambda call: None)]) -> None: ...

    assert flow_of(made).states[0].__name__ == "AskingA"


def test_a_function_that_asks_nothing_makes_no_flow() -> None:
    async def plain(a: int) -> None: ...

    with pytest.raises(UsageError, match="plain has no Ask parameter, and so makes no flow"):
        flow_of(plain)


async def test_a_walk_takes_the_arguments_of_the_function() -> None:
    flow = flow_of(tool(name=str, a=Annotated[Size, Ask("?")]))
    for arguments in ({}, {"name": "x", "a": Size(1)}, {"nam": "x"}):
        with pytest.raises(UsageError, match="The arguments of 'made' do not fit"):
            await walk(flow, arguments)
