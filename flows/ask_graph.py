"""``Ask`` parameters as a flow: who waits for whom, and the rounds that this makes.

Independent questions go out in one round, dependent ones in the rounds that follow. A function
that gives a value takes no round, so there is a least and a greatest number of rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, cast

from attrs import evolve, field, frozen

from ..engine.jsonrpc import JsonObject
from ..engine.outcomes import Done, Failed
from ..engine.questions import Form, merged
from .ask_parameters import AskParameter, in_order
from .ask_states import Waiting, state_class
from .graph import Edge, Event
from .hints import members


def linked(parameters: Collection[AskParameter]) -> dict[str, AskParameter]:
    """The parameters by name, with whom they wait for.

    Raises:
        CycleError: they wait for each other; see :func:`cycles`.
    """
    waits = waiting(parameters)
    behind: dict[str, frozenset[str]] = {}
    for name in TopologicalSorter(waits).static_order():
        behind[name] = frozenset(waits[name]).union(*(behind[other] for other in waits[name]))
    return {
        one.name: evolve(one, waits_for=tuple(waits[one.name]), behind=behind[one.name])
        for one in parameters
    }


def waiting(parameters: Collection[AskParameter]) -> dict[str, list[str]]:
    """The parameters that each of them waits for."""
    names = {parameter.name for parameter in parameters}
    return {one.name: [name for name in one.takes if name in names] for one in parameters}


def cycles(waits: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Parameters that wait for each other, each before the one that it waits for."""
    left: dict[str, list[str]] = dict(waits)
    while left:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            ring = cast("list[str]", error.args[1])[:0:-1]
            start = ring.index(min(ring, key=[*waits].index))
            yield [*ring[start:], *ring[:start], ring[start]]
            left = {name: others for name, others in left.items() if name not in ring}
        else:
            return


# -- the rounds -------------------------------------------------------------------------------


@frozen
class AskGraph:
    """The flow that the parameters of a function make.

    Attributes:
        states: one for each round of questions, in their order.
        edges: every move, ends that come without a handler included.
        needs: the client capabilities that the questions may call for.
    """

    states: tuple[type[Waiting], ...]
    edges: tuple[Edge, ...] = field(repr=False)
    needs: JsonObject


def graph_of(name: str, parameters: Mapping[str, AskParameter], returns: object) -> AskGraph:
    """The graph of a function that is called ``name``; ``returns`` is its return hint."""
    first, last = (
        _rounds(parameters.values(), least=True),
        _rounds(parameters.values(), least=False),
    )
    asking = [parameter for parameter in parameters.values() if parameter.asks]
    most = max((last[parameter.name] for parameter in asking), default=0)
    fewest = max((first[one.name] for one in asking if not one.gives), default=0)
    rounds = [
        [one for one in asking if first[one.name] <= number <= last[one.name]]
        for number in range(1, most + 1)
    ]
    states = tuple(state_class(parameter.name for parameter in asked) for asked in rounds)
    edges: list[Edge] = []
    for number, source in enumerate((None, *states)):
        event: Event = "answered" if source else "begun"
        if number < most:
            edges.append(Edge(source, event, states[number], name))
        if number >= fewest:
            edges.extend(Edge(source, event, end, name) for end in _ends(returns))
        if source:
            edges.extend(_named_ends(source, rounds[number - 1]))
    needs = merged(answer.sample.needs for one in asking for answer in one.answers)
    return AskGraph(states, tuple(edges), needs)


def _rounds(parameters: Collection[AskParameter], *, least: bool) -> dict[str, int]:
    """In which round each is asked, where all functions that may give a value do, or do not."""
    asked: dict[str, int] = {}
    filled: dict[str, int] = {}
    for one in in_order(parameters):
        before = max((filled[name] for name in one.waits_for), default=0)
        asked[one.name] = before + 1
        takes_a_round = one.asks and not (least and one.gives)
        filled[one.name] = before + takes_a_round
    return asked


def _ends(returns: object) -> list[type[Any]]:
    ends = [Failed if member is Failed else Done for member in members(returns)]
    return list(dict.fromkeys(ends))


def _named_ends(source: type[Waiting], asked: Collection[AskParameter]) -> Iterator[Edge]:
    """The ends of questions to a person: a refusal, and answers of no use."""
    to_a_person = [
        (one, answer)
        for one in asked
        for answer in one.answers
        if "elicitation" in answer.sample.needs
    ]
    if not all(one.whole for one, _ in to_a_person):
        yield Edge(source, "declined", Failed, None)
        yield Edge(source, "cancelled", Failed, None)
    if any(isinstance(answer.sample, Form) for _, answer in to_a_person):
        yield Edge(source, "unusable", Failed, None)
