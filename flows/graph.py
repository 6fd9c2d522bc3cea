"""The graph of a flow: read from its handlers when the class statement runs, and checked.

The decorators say which edge a handler takes, its return type says where it leads. Everything
else (the check, the table, the picture, the walks of the tests) reads the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import get_annotations
from typing import Any, Final, Literal, TypeAlias, cast

import attrs
from attrs import define, evolve, field, frozen

from ..engine.errors import DefinitionError
from ..engine.jsonrpc import JsonObject
from ..engine.outcomes import Done, EventKind, Failed
from ..engine.questions import merged
from .freezing import Freezer, tag_of
from .hints import (
    Unreadable,
    argument_of,
    asked_by,
    check_parameters,
    hints_of,
    needs_of,
    spoken,
    takes_call,
    targets_of,
    unaliased,
)
from .states import EDGES, Asking, Polling, State

Event: TypeAlias = EventKind | Literal["begun"]
Marks: TypeAlias = list[tuple[type[State], EventKind]]


@frozen
class Edge:
    """One move that a flow can make.

    Attributes:
        source: the state that is left; None for the beginning.
        event: what makes the flow move.
        target: a state class, ``Done`` or ``Failed``.
        handler: the method that moves; None for an end that comes without one.
    """

    source: type[State] | None
    event: Event
    target: type
    handler: str | None


@frozen
class Handler:
    """A method that takes an edge."""

    name: str
    function: Callable[..., Any]
    takes_call: bool
    targets: tuple[type, ...]


@frozen
class Graph:
    """A checked flow.

    Attributes:
        begin: the handler that makes the first state.
        handlers: by state and event.
        states: in the order in which they are reached.
        edges: every move, in that order; ends that come without a handler included.
        needs: the client capabilities that its questions may call for.
        results: the types that its ``Done`` carry.
    """

    begin: Handler
    handlers: dict[tuple[type[State], EventKind], Handler] = field(repr=False)
    states: tuple[type[State], ...]
    edges: tuple[Edge, ...] = field(repr=False)
    needs: JsonObject
    results: tuple[object, ...]
    freezer: Freezer = field(repr=False)


_REFUSALS: Final[tuple[EventKind, ...]] = ("declined", "cancelled")
_IMPLIED: Final[tuple[EventKind, ...]] = (*_REFUSALS, "unusable")
"""Events of a state that asks a person: unless they are handled they end the flow, in words for
the model."""


def read_graph(flow: type, base: type, args: object) -> Graph:
    """Read and check a flow class, derived from ``base`` and begun with ``args``.

    Raises:
        DefinitionError: all its faults at once.
    """
    return _Reader(flow, base, args).read()


@define
class _Reader:
    flow: type
    base: type
    args: object
    faults: list[str] = field(factory=list[str])
    handlers: dict[tuple[type[State], EventKind], Handler] = field(
        factory=dict[tuple[type[State], EventKind], Handler]
    )
    results: list[object] = field(factory=list[object])
    unreadable: bool = False
    _needs: dict[type[State], JsonObject] = field(factory=dict[type[State], JsonObject])

    def read(self) -> Graph:
        if not (isinstance(self.args, type) and attrs.has(self.args)):
            self.faults.append("its arguments, the A of Flow[A], are no attrs class")
        self.faults.extend(self._hidden())
        begin = self._begin()
        for name, function, marks in self._marked():
            self._take(name, function, marks)
        states = self._reached(begin)
        freezer = Freezer(states)
        needs = self._check(states, begin, freezer)
        if self.faults or begin is None:
            raise DefinitionError(f"Flow {self.flow.__name__}", dict.fromkeys(self.faults))
        edges = tuple(self._edges(begin, states))
        results = tuple(dict.fromkeys(self.results))
        return Graph(begin, self.handlers, states, edges, needs, results, freezer)

    # -- reading ------------------------------------------------------------------------------

    def _hidden(self) -> Iterator[str]:
        taken = vars(self.base).keys() | get_annotations(self.base).keys()
        for cls in self.flow.__mro__[: self.flow.__mro__.index(self.base)]:
            for name, hint in get_annotations(cls).items():
                if name in taken and "ClassVar" not in str(hint):
                    yield (
                        f"a field named {name!r} hides {self.base.__name__}.{name}; rename it, or "
                        f"set the class's own without a type: {name} = ..."
                    )

    def _begin(self) -> Handler | None:
        function = getattr(self.flow, "begin", None)
        if function is None:
            self.faults.append("it has no `async def begin(self, args)`, so it never starts")
            return None
        return self._handler("begin", function, (self.args,))

    def _marked(self) -> Iterator[tuple[str, Callable[..., Any], Marks]]:
        names = dict.fromkeys(name for cls in reversed(self.flow.__mro__) for name in vars(cls))
        for name in names:
            function: Any = getattr(self.flow, name, None)
            # A method that overrides a handler takes its edges; None in its place drops them.
            if callable(function) and (marks := self._marks(name)):
                yield name, function, marks

    def _marks(self, name: str) -> Marks:
        none: Marks = []
        written = (getattr(vars(cls).get(name), EDGES, none) for cls in self.flow.__mro__)
        return next(filter(None, written), none)

    def _take(self, name: str, function: Callable[..., Any], marks: Marks) -> None:
        for state, kind in marks:
            expected: tuple[object, ...] = (state,)
            if kind == "answered":
                expected = (state, argument_of(state, Asking))
            handler = self._handler(name, function, expected)
            if handler is None:
                continue
            taken = self.handlers.get((state, kind))
            if taken is not None:
                self.faults.append(
                    f"{state.__name__}.{kind} is handled twice: by {taken.name} and by {name}"
                )
                # For what follows, both lead on: one fault must not be told as another.
                handler = evolve(taken, targets=taken.targets + handler.targets)
            self.handlers[state, kind] = handler

    def _handler(
        self, name: str, function: Callable[..., Any], expected: tuple[object, ...]
    ) -> Handler | None:
        what = f"handler {name}"
        try:
            with_call = takes_call(function, len(expected) + 1, what)
            hints = hints_of(function, what)
            check_parameters(function, hints, expected, what)
            targets, results = targets_of(hints, what)
        except Unreadable as fault:
            self.faults.append(str(fault))
            self.unreadable = True
            return None
        self.results.extend(results)
        return Handler(name, function, with_call, targets)

    def _reached(self, begin: Handler | None) -> tuple[type[State], ...]:
        reached: dict[type[State], None] = {}
        todo = list(begin.targets) if begin else []
        while todo:
            target = todo.pop(0)
            if issubclass(target, State) and target not in reached:
                reached[target] = None
                for (state, _), handler in self.handlers.items():
                    if state is target:
                        todo.extend(handler.targets)
        return tuple(reached)

    # -- checking -----------------------------------------------------------------------------

    def _check(
        self, states: tuple[type[State], ...], begin: Handler | None, freezer: Freezer
    ) -> JsonObject:
        # A handler that could not be read hides what it leads to; do not guess beyond it.
        if begin is not None and not self.unreadable:
            self._check_reach(states)
            self._check_ends(states)
        self._check_tags(states)
        for state in states:
            self.faults.extend(freezer.faults(state))
            if issubclass(state, Asking):
                self._read_needs(cast("type[Asking[Any]]", state))
        return merged(self._needs.values())

    def _check_reach(self, states: tuple[type[State], ...]) -> None:
        for state in dict.fromkeys(state for state, _ in self.handlers):
            if state not in states:
                self.faults.append(
                    f"state {state.__name__} is never reached: no handler returns it"
                )
        for state in states:
            if (state, event := _moving(state)) not in self.handlers:
                self.faults.append(
                    f"nobody handles state {state.__name__}: mark a method with "
                    f"@{state.__name__}.{event}"
                )

    def _check_ends(self, states: tuple[type[State], ...]) -> None:
        finishing: set[type] = {Done, Failed}
        while grown := {
            state
            for (state, _), handler in self.handlers.items()
            if state not in finishing and finishing.intersection(handler.targets)
        }:
            finishing |= grown
        for state in states:
            if state not in finishing and (state, _moving(state)) in self.handlers:
                self.faults.append(
                    f"state {state.__name__} can never finish: no way leads from it to Done or "
                    "Failed"
                )

    def _check_tags(self, states: tuple[type[State], ...]) -> None:
        tags: dict[str, str] = {}
        for state in states:
            tag = tag_of(state)
            if tag in tags:
                self.faults.append(f"states {tags[tag]} and {state.__name__} have one tag: {tag!r}")
            tags[tag] = state.__name__

    def _read_needs(self, state: type[Asking[Any]]) -> None:
        if "ask" not in {
            name for cls in state.__mro__[:-1] if cls is not Asking for name in vars(cls)
        }:
            self.faults.append(f"state {state.__name__} asks nothing: it has no `def ask(self)`")
            return
        answer = unaliased(argument_of(state, Asking))
        for asked in asked_by(state):
            if asked != answer:
                self.faults.append(
                    f"state {state.__name__} waits for {spoken(answer)}, and its ask says that it "
                    f"asks for {spoken(asked)}"
                )
        try:
            self._needs[state] = needs_of(answer, state.__name__)
        except Unreadable as fault:
            self.faults.append(str(fault))

    # -- the edges ----------------------------------------------------------------------------

    def _edges(self, begin: Handler, states: tuple[type[State], ...]) -> Iterator[Edge]:
        for target in begin.targets:
            yield Edge(None, "begun", target, begin.name)
        for state in states:
            for (source, kind), handler in self.handlers.items():
                if source is state:
                    yield from (Edge(state, kind, t, handler.name) for t in handler.targets)
            if "elicitation" in self._needs.get(state, {}):
                yield from self._implied(state)

    def _implied(self, state: type[State]) -> Iterator[Edge]:
        # Consent to a link has no content that could be of no use.
        asks_forms = "form" in cast(JsonObject, self._needs[state]["elicitation"])
        for kind in _IMPLIED if asks_forms else _REFUSALS:
            if (state, kind) not in self.handlers:
                yield Edge(state, kind, Failed, None)


def _moving(state: type[State]) -> EventKind:
    """The event without which a state leads nowhere."""
    if issubclass(state, Asking):
        return "answered"
    return "polled" if issubclass(state, Polling) else "entered"
