"""What can be read from a flow's class without running anything."""

from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from antiphon import (
    Acting,
    Asking,
    Consent,
    Done,
    Edge,
    Failed,
    Flow,
    Form,
    Link,
    Polling,
    Root,
    Sampled,
)
from examples.provision import ChoosingRegion, ConfirmingProd, Provision
from examples.review import ReviewChange
from examples.slow_report import Printing, SlowReport
from tests.flows.declaring import beginning, flow_class

GOLDEN = Path(__file__).parent.parent / "golden"
EXAMPLES: list[type[Flow[Any]]] = [Provision, ReviewChange, SlowReport]


def test_the_edges_of_a_flow_stand_in_the_order_in_which_they_are_reached() -> None:
    assert Provision.edges == (
        Edge(None, "begun", ChoosingRegion, "begin"),
        Edge(ChoosingRegion, "answered", ConfirmingProd, "region_chosen"),
        Edge(ChoosingRegion, "answered", Done, "region_chosen"),
        Edge(ChoosingRegion, "declined", Failed, None),
        Edge(ChoosingRegion, "cancelled", Failed, None),
        Edge(ChoosingRegion, "unusable", Failed, None),
        Edge(ConfirmingProd, "answered", ChoosingRegion, "prod_confirmed"),
        Edge(ConfirmingProd, "answered", Done, "prod_confirmed"),
        Edge(ConfirmingProd, "declined", Failed, "kept_out_of_prod"),
        Edge(ConfirmingProd, "cancelled", Failed, "kept_out_of_prod"),
        Edge(ConfirmingProd, "unusable", Failed, None),
    )


def test_a_poll_has_only_its_own_edges() -> None:
    assert SlowReport.edges == (
        Edge(None, "begun", Printing, "begin"),
        Edge(Printing, "polled", Printing, "looked_at"),
        Edge(Printing, "polled", Done, "looked_at"),
    )


def test_states_and_needs() -> None:
    assert Provision.states == (ChoosingRegion, ConfirmingProd)
    assert Provision.needs == {"elicitation": {"form": {}}}
    assert SlowReport.needs == {}
    assert ReviewChange.needs == {"sampling": {}, "roots": {}, "elicitation": {"form": {}}}


@pytest.mark.parametrize("flow", EXAMPLES, ids=lambda flow: flow.name)
@pytest.mark.parametrize("kind", ["table", "mermaid"])
def test_the_graph_is_as_it_was_reviewed(flow: type[Flow[Any]], kind: str) -> None:
    kept = GOLDEN / f"{flow.name}.{kind}"
    now = flow.table() if kind == "table" else flow.mermaid()
    assert now == kept.read_text(), f"Where the change is meant, write the new text to {kept.name}"


@pytest.mark.parametrize("flow", EXAMPLES, ids=lambda flow: flow.name)
def test_a_table_has_a_row_for_each_edge_and_no_trailing_blanks(flow: type[Flow[Any]]) -> None:
    lines = flow.table().splitlines()
    assert len(lines) == len(flow.edges) + 1
    assert all(line == line.rstrip() for line in lines)
    assert lines[0].split() == ["state", "event", "to", "by"]


@pytest.mark.parametrize("flow", EXAMPLES, ids=lambda flow: flow.name)
def test_a_diagram_draws_every_edge_and_closes_every_end(flow: type[Flow[Any]]) -> None:
    lines = flow.mermaid().splitlines()
    assert lines[0] == "stateDiagram-v2"
    drawn = [line.strip() for line in lines[1:]]
    for edge in flow.edges:
        source = edge.source.__name__ if edge.source else "[*]"
        assert f"{source} --> {edge.target.__name__}: {edge.event}" in drawn
    ends = {edge.target.__name__ for edge in flow.edges} & {"Done", "Failed"}
    assert {line.split()[0] for line in drawn if line.endswith("--> [*]")} == ends


# -- one of each kind -------------------------------------------------------------------------


@frozen
class Args:
    name: str


@frozen
class Yes:
    sure: bool = False


@frozen
class Confirming(Asking[Yes]):
    def ask(self) -> Form[Yes]:
        return Form("Sure?", Yes)


@frozen
class Visiting(Asking[Consent]):
    def ask(self) -> Link:
        return Link("Sign in.", "https://example.org")


@frozen
class Sampling(Asking[Sampled]):
    def ask(self) -> Any: ...


@frozen
class Rooting(Asking[tuple[Root, ...]]):
    def ask(self) -> Any: ...


@frozen
class Waiting(Polling):
    pass


@frozen
class Storing(Acting):
    pass


@frozen
class Everything(Flow[Args]):
    """One of each."""

    async def begin(self, args: Args) -> Visiting | Sampling | Failed:
        return Visiting()

    @Visiting.answered
    async def visited(self, at: Visiting, consent: Consent) -> Waiting:
        return Waiting()

    @Visiting.unavailable
    async def no_browser(self, at: Visiting) -> Confirming:
        return Confirming()

    @Waiting.polled
    async def waited(self, at: Waiting) -> Waiting | Storing:
        return Storing()

    @Storing.entered
    async def stored(self, at: Storing) -> Done[str]:
        return Done("")

    @Confirming.answered
    async def confirmed(self, at: Confirming, yes: Yes) -> Rooting | Done[str]:
        return Done("")

    @Confirming.declined
    async def declined(self, at: Confirming) -> Storing:
        return Storing()

    @Confirming.cancelled
    async def cancelled(self, at: Confirming) -> Confirming | Failed:
        return Failed("")

    @Confirming.unusable
    async def unusable(self, at: Confirming) -> Failed:
        return Failed("")

    @Sampling.answered
    async def sampled(self, at: Sampling, said: Sampled) -> Done[int]:
        return Done(1)

    @Rooting.answered
    async def rooted(self, at: Rooting, roots: tuple[Root, ...]) -> Done[str]:
        return Done("")


def test_a_flow_with_an_edge_of_each_kind() -> None:
    told = [
        (
            edge.source.__name__ if edge.source else "",
            edge.event,
            edge.target.__name__,
            edge.handler,
        )
        for edge in Everything.edges
    ]
    assert told == [
        ("", "begun", "Visiting", "begin"),
        ("", "begun", "Sampling", "begin"),
        ("", "begun", "Failed", "begin"),
        ("Visiting", "answered", "Waiting", "visited"),
        ("Visiting", "unavailable", "Confirming", "no_browser"),
        ("Visiting", "declined", "Failed", None),
        ("Visiting", "cancelled", "Failed", None),
        ("Sampling", "answered", "Done", "sampled"),
        ("Waiting", "polled", "Waiting", "waited"),
        ("Waiting", "polled", "Storing", "waited"),
        ("Confirming", "answered", "Rooting", "confirmed"),
        ("Confirming", "answered", "Done", "confirmed"),
        ("Confirming", "declined", "Storing", "declined"),
        ("Confirming", "cancelled", "Confirming", "cancelled"),
        ("Confirming", "cancelled", "Failed", "cancelled"),
        ("Confirming", "unusable", "Failed", "unusable"),
        ("Storing", "entered", "Done", "stored"),
        ("Rooting", "answered", "Done", "rooted"),
    ]
    assert Everything.states == (Visiting, Sampling, Waiting, Confirming, Storing, Rooting)
    assert Everything.graph.results == (str, int)
    assert Everything.needs == {
        "elicitation": {"url": {}, "form": {}},
        "sampling": {},
        "roots": {},
    }


def test_a_handler_may_take_edges_of_several_states() -> None:
    async def moved(self: Any, at: Waiting | Storing) -> Done[str]:
        return Done("")

    for state, event in ((Waiting, "polled"), (Storing, "entered")):
        getattr(state, event)(moved)
    flow = flow_class(begin=beginning(Waiting | Storing), moved=moved)
    assert [(edge.source, edge.event) for edge in flow.edges[2:]] == [
        (Waiting, "polled"),
        (Storing, "entered"),
    ]


def test_an_edge_is_named_once_however_often_the_hint_says_it() -> None:
    @frozen
    class Repeated(Flow[Args]):
        async def begin(self, args: Args) -> Done[str] | Done[int] | Failed:
            return Done("")

    assert [edge.target for edge in Repeated.edges] == [Done, Failed]
    assert Repeated.graph.results == (str, int)
