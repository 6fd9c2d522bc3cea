"""Walks at random through any graph of ``Ask`` parameters, answered in any order and in part."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Final, Literal, TypeAlias

from attrs import define, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from antiphon import Done, Form, Limits, walk
from antiphon.engine.jsonrpc import JsonObject
from antiphon.engine.questions import Given, Refusal
from antiphon.flows.asks import Ask, AskFlow, flow_of
from antiphon.flows.testing import Step
from tests.engine.peer import CANCEL, DECLINE, accept
from tests.flows.asking import Size, taking, tool_taking

LIMITS: Final = Limits(repeats=1000, unusable=1000)
"""A walk at random may stand still for long; what ends one that does is tested elsewhere."""

Kind: TypeAlias = Literal["asks", "gives", "whole"]
KINDS: Final[list[Kind]] = ["asks", "asks", "gives", "whole"]
STRANGERS: Final[list[JsonObject]] = [{}, {"stranger": accept(rows=1)}]


@frozen
class Node:
    """A parameter, and those that its function takes."""

    name: str
    takes: tuple[str, ...]
    kind: Kind
    says: bool
    """Whether the function says what it returns."""


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Parameters in any order, without a cycle."""
    names = [f"p{number}" for number in range(draw(st.integers(1, 7)))]
    kinds: st.SearchStrategy[Kind] = st.sampled_from(KINDS)
    nodes = [
        Node(
            name,
            tuple(other for other in names[:place] if draw(st.booleans())),
            draw(kinds),
            draw(st.booleans()),
        )
        for place, name in enumerate(names)
    ]
    return draw(st.permutations(nodes))


def value_of(node: Node, rows: int) -> object:
    return Size(rows) if node.kind != "whole" else Given(Size(rows))


def text_of(node: Node, given: dict[str, Any]) -> str:
    return f"{node.name} of {[given[name] for name in node.takes]}"


@define
class Walker:
    """Walks, and knows beforehand what each round must ask."""

    nodes: dict[str, Node]
    runs: Counter[str] = field(factory=Counter[str])
    known: dict[str, object] = field(factory=dict[str, object])
    open: set[str] = field(factory=set[str])
    seen: list[dict[str, Any]] = field(factory=list[dict[str, Any]])

    def flow(self) -> AskFlow:
        hints = {name: self._hint(node) for name, node in self.nodes.items()}
        return flow_of(tool_taking(hints, self._called))

    def _called(self, given: dict[str, Any]) -> str:
        self.seen.append(given)
        return "done"

    def _hint(self, node: Node) -> Any:
        def run(given: dict[str, Any]) -> object:
            self.runs[node.name] += 1
            # What it takes is what its own questions were answered by.
            assert given == {name: self.known[name] for name in node.takes}
            if node.kind == "gives":
                return Size(len(given))
            return Form(text_of(node, given), Size)

        returns = Size if node.kind == "gives" else Form[Size]
        function = taking(dict.fromkeys(node.takes), run, returns=returns if node.says else None)
        held: Any = Given[Size] | Refusal if node.kind == "whole" else Size
        return Annotated[held, Ask(function)]

    def go_on(self, answers: dict[str, object]) -> None:
        """Take answers in, as the flow must."""
        self.known.update(answers)
        self.open -= answers.keys()
        if not self.open:
            self._give_values()
            self.open = {
                node.name
                for node in self.nodes.values()
                if node.name not in self.known and self.known.keys() >= {*node.takes}
            }

    def _give_values(self) -> None:
        while ready := {
            node.name: Size(len(node.takes))
            for node in self.nodes.values()
            if node.kind == "gives"
            and node.name not in self.known
            and self.known.keys() >= {*node.takes}
        }:
            self.known.update(ready)


def check(step: Step, walker: Walker, flow: AskFlow, was: Step | None) -> None:
    assert list(step.requests) == [name for name in walker.nodes if name in walker.open]
    assert all(count == 1 for count in walker.runs.values())
    before: object = was and was.state
    source = type(before) if was is not None else None
    if was is None or step.state is None or step.state.number != was.state.number:
        targets = [edge.target for edge in flow.edges if edge.source is source]
        assert type(step.state or step.end) in targets
    else:
        assert type(step.state) is source


@given(graphs(), st.data())
async def test_a_walk_asks_what_it_must_and_nothing_twice(
    nodes: list[Node], data: st.DataObject
) -> None:
    walker = Walker({node.name: node for node in nodes})
    flow = walker.flow()
    # What the functions are given is checked against what is known: values are made at once.
    walker.go_on({})
    step = await walk(flow, {}, limits=LIMITS)
    check(step, walker, flow, None)
    for _ in range(30):
        if step.end is not None:
            break
        was, before = step, dict(walker.known)
        responses, answers = draw_responses(walker, data)
        walker.go_on(answers)
        walker.runs.clear()
        step = await step.respond(responses)
        check(step, walker, flow, was)
        # Nothing that was answered in an earlier round has been asked for again.
        asked_before = {name for name in before if walker.nodes[name].kind != "gives"}
        assert not asked_before & walker.runs.keys()
    if step.end is not None:
        assert step.end == Done("done")
        assert walker.seen == [{name: walker.known[name] for name in walker.nodes}]


def draw_responses(walker: Walker, data: st.DataObject) -> tuple[JsonObject, dict[str, object]]:
    """Responses to some of the open questions, and what of them counts."""
    responses: JsonObject = {**data.draw(st.sampled_from(STRANGERS))}
    answers: dict[str, object] = {}
    for name in sorted(walker.open):
        node = walker.nodes[name]
        how = data.draw(st.sampled_from(["right", "right", "wrong", "none", "refused"]))
        if how == "right":
            rows = data.draw(st.integers(0, 9))
            responses[name], answers[name] = accept(rows=rows), value_of(node, rows)
        elif how == "wrong":
            responses[name] = data.draw(st.sampled_from([accept(), accept(rows="x"), {}, None, 3]))
        elif how == "refused" and node.kind == "whole":
            refusal = data.draw(st.sampled_from(["declined", "cancelled"]))
            responses[name] = {"declined": DECLINE, "cancelled": CANCEL}[refusal]
            answers[name] = Refusal("declined" if refusal == "declined" else "cancelled")
    return responses, answers


@given(graphs())
async def test_who_answers_everything_at_once_takes_the_fewest_rounds(nodes: list[Node]) -> None:
    walker = Walker({node.name: node for node in nodes})
    flow = walker.flow()
    walker.go_on({})
    step = await walk(flow, {}, limits=LIMITS)
    rounds = 0
    while step.end is None:
        rounds += 1
        walker.go_on({name: value_of(walker.nodes[name], 1) for name in walker.open})
        step = await step.answer(*(Size(1) for _ in step.requests))
    assert rounds <= len(flow.states)
    if all(node.says for node in nodes):
        assert rounds == len(flow.states)
