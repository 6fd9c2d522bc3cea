"""The flow that a function with ``Ask`` parameters makes: states, edges, table, picture."""

from typing import Annotated, Any

import pytest

from antiphon import Consent, Done, Edge, Failed, Form, Link, Root, Sampled, Server, walk
from antiphon.engine.questions import Given, Refusal
from antiphon.flows.asks import Ask, flow_of
from tests.engine.peer import accept
from tests.flows.asking import EU, US, Region, Size, Sure, taking, tool_taking

ALWAYS = Ask(taking({}, str, returns=Form[Region]))


def sometimes(region: Region) -> Form[Sure] | Sure:
    return Form("Sure?", Sure) if region == US else Sure("yes")


async def create(
    name: str,
    region: Annotated[Region, Ask("Where should it live?")],
    size_of_it: Annotated[Given[Size] | Refusal, Ask("How large?")],
    sure: Annotated[Sure, Ask(sometimes)],
) -> str | Failed:
    """Create a database."""
    rows = size_of_it.value.rows if isinstance(size_of_it, Given) else 0
    return f"{name} {region.name} {rows} {sure.sure}" if rows != 1 else Failed("Too small.")


CREATE = flow_of(create)

TABLE = """\
state                    event      to                       by
(begin)                  begun      AskingRegionAndSizeOfIt  create
AskingRegionAndSizeOfIt  answered   AskingSure               create
AskingRegionAndSizeOfIt  answered   Done                     create
AskingRegionAndSizeOfIt  answered   Failed                   create
AskingRegionAndSizeOfIt  declined   Failed                   (named end)
AskingRegionAndSizeOfIt  cancelled  Failed                   (named end)
AskingRegionAndSizeOfIt  unusable   Failed                   (named end)
AskingSure               answered   Done                     create
AskingSure               answered   Failed                   create
AskingSure               declined   Failed                   (named end)
AskingSure               cancelled  Failed                   (named end)
AskingSure               unusable   Failed                   (named end)
"""


def test_the_table_shows_each_round() -> None:
    assert CREATE.table() == TABLE


def test_the_picture_shows_it_too() -> None:
    assert CREATE.mermaid().splitlines()[:3] == [
        "stateDiagram-v2",
        "    [*] --> AskingRegionAndSizeOfIt: begun",
        "    AskingRegionAndSizeOfIt --> AskingSure: answered",
    ]
    assert CREATE.mermaid().endswith("    Done --> [*]\n    Failed --> [*]\n")


def test_what_it_needs_is_what_its_questions_call_for() -> None:
    async def made(
        region: Annotated[Region, ALWAYS],
        consent: Annotated[Consent, Ask(lambda: Link("Go.", "https://example.org"))],
        said: Annotated[Sampled, Ask(lambda: None)],
        roots: Annotated[tuple[Root, ...], Ask(lambda: None)],
        given: Annotated[int, Ask(lambda: 1)],
    ) -> None: ...

    assert CREATE.needs == {"elicitation": {"form": {}}}
    assert flow_of(made).needs == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {},
        "roots": {},
    }


def test_a_registered_function_makes_the_same_flow() -> None:
    server = Server("Create")
    assert flow_of(server.tool(name="new")(create)).table() == CREATE.table()


def edges(**parameters: Any) -> list[tuple[str, str, str]]:
    flow = flow_of(tool_taking(parameters, str))
    return [_told(edge) for edge in flow.edges if edge.event in ("begun", "answered")]


def _told(edge: Edge) -> tuple[str, str, str]:
    assert edge.handler == "made"
    return (edge.source.__name__ if edge.source else "", edge.event, edge.target.__name__)


def asking(*takes: str, returns: Any = Form[Region]) -> Any:
    return Annotated[Region, Ask(taking(dict.fromkeys(takes), str, returns=returns))]


MAY_ASK = Form[Region] | Region
VALUE = Region


def test_a_function_that_only_gives_values_takes_no_round() -> None:
    assert edges(a=asking(returns=VALUE)) == [("", "begun", "Done")]
    assert edges(a=asking(returns=VALUE), b=asking("a")) == [
        ("", "begun", "AskingB"),
        ("AskingB", "answered", "Done"),
    ]


def test_a_function_that_may_give_a_value_may_spare_a_round() -> None:
    assert edges(a=asking(returns=MAY_ASK)) == [
        ("", "begun", "AskingA"),
        ("", "begun", "Done"),
        ("AskingA", "answered", "Done"),
    ]
    # b is asked in the first round where a is a value.
    assert edges(a=asking(returns=MAY_ASK), b=asking("a"), c=asking("b")) == [
        ("", "begun", "AskingAAndB"),
        ("AskingAAndB", "answered", "AskingBAndC"),
        ("AskingBAndC", "answered", "AskingC"),
        ("AskingBAndC", "answered", "Done"),
        ("AskingC", "answered", "Done"),
    ]


def test_questions_that_wait_for_each_other_take_a_round_each() -> None:
    assert edges(c=asking("b"), b=asking("a"), a=asking(), d=asking("a")) == [
        ("", "begun", "AskingA"),
        ("AskingA", "answered", "AskingBAndD"),
        ("AskingBAndD", "answered", "AskingC"),
        ("AskingC", "answered", "Done"),
    ]


def test_a_person_is_what_refuses_and_a_form_what_is_of_no_use() -> None:
    async def sampled(said: Annotated[Sampled, Ask(lambda: None)]) -> None: ...

    async def linked(consent: Annotated[Consent, Ask(lambda: None)]) -> None: ...

    async def whole(region: Annotated[Given[Region] | Refusal, Ask("?")]) -> None: ...

    events = [
        [edge.event for edge in flow_of(made).edges if edge.handler is None]
        for made in (sampled, linked, whole)
    ]
    assert events == [[], ["declined", "cancelled"], ["unusable"]]


@pytest.mark.parametrize(
    ("returns", "ends"),
    [
        (Failed, {"Failed"}),
        (Done[str], {"Done"}),
        (Done[str] | Failed, {"Done", "Failed"}),
        (None, {"Done"}),
        (Any, {"Done"}),
    ],
)
def test_the_ends_are_those_of_the_return_type(returns: Any, ends: set[str]) -> None:
    flow = flow_of(tool_taking({"a": asking()}, str, returns=returns))
    assert {edge.target.__name__ for edge in flow.edges if edge.event == "answered"} == ends


# -- walking ----------------------------------------------------------------------------------


async def test_a_walk_goes_from_state_to_state() -> None:
    step = await walk(CREATE, {"name": "orders"})
    assert (type(step.state), step.state.asks) == (CREATE.states[0], ("region", "size_of_it"))
    assert repr(step.state) == "AskingRegionAndSizeOfIt(number=1)"
    further = await step.answer(US, Size(3))
    assert (type(further.state), further.state.asks, further.round) == (
        CREATE.states[1],
        ("sure",),
        2,
    )
    assert (await further.answer(Sure("no"))).end == Done("orders us 3 no")
    assert (await step.answer(EU, Size(3))).end == Done("orders eu 3 yes")
    assert (await step.answer(EU, Size(1))).end == Failed("Too small.")
    declined = (await step.decline()).end
    assert isinstance(declined, Failed)
    assert "declined to answer 'region'" in declined.message


async def test_a_walk_that_answers_in_part_stays() -> None:
    step = await walk(CREATE, {"name": "orders"})
    size = accept(rows=3)
    step = await step.respond({"size_of_it": size})
    assert (type(step.state), step.state.asks) == (CREATE.states[0], ("region",))
    assert (await step.poll()).state == step.state
    assert (await step.answer(EU)).end == Done("orders eu 3 yes")
