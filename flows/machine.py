"""A flow as the engine sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast, get_args, get_origin

import attrs
from attrs import frozen

from ..engine.call import Call
from ..engine.deprecated_questions import Sampled
from ..engine.errors import IllegalMove, UsageError
from ..engine.machine import Asks, Frozen, MovesOn, Polls, Wants
from ..engine.outcomes import Answered, Event, EventKind
from ..engine.questions import Consent, Question, Single, Together
from .flow import Flow
from .freezing import tag_of
from .graph import Graph, Handler
from .hints import argument_of, unaliased
from .states import Asking, Polling, State


@frozen
class FlowMachine:
    """Runs the handlers of one flow object, along the edges that its class declares."""

    flow: Flow[Any]
    name: str

    def __attrs_post_init__(self) -> None:
        cls = type(self.flow)
        if not hasattr(cls, "graph"):
            raise UsageError(
                f"{cls.__name__} is generic: derive a flow from {cls.__name__}[...] that says "
                "what its arguments are"
            )

    @property
    def _graph(self) -> Graph:
        return self.flow.graph

    async def begin(self, call: Call[Any]) -> object:
        """The first state, or an end."""
        return await self._run(self._graph.begin, (call.args,), call)

    async def resume(self, state: object, call: Call[Any]) -> object:
        """A state is all that there is: nothing runs again."""
        del call
        return state

    def wants(self, state: object) -> Wants:
        """What a state waits for."""
        if isinstance(state, Asking):
            asking = cast("Asking[Any]", state)
            question = asking.ask()
            keyed = _keyed(asking, question)
            own = _own_keys(type(asking), len(keyed))
            names = {key: name for key, name in zip(keyed, own, strict=True) if key != name}
            return Asks(keyed, isinstance(question, Together), names)
        if isinstance(state, Polling):
            return Polls(state.progress())
        return MovesOn()

    def handles(self, state: object, kind: EventKind) -> bool:
        """Whether a method is marked for this edge."""
        return (type(state), kind) in self._graph.handlers

    async def move(self, state: object, event: Event, call: Call[Any]) -> object:
        """Run the method that is marked for this edge."""
        if not isinstance(state, State):
            raise IllegalMove(f"Flow {self.name!r}: {type(state).__name__} is no state")
        handler = self._graph.handlers[type(state), event.kind]
        arguments = (state, event.value) if isinstance(event, Answered) else (state,)
        return await self._run(handler, arguments, call)

    async def _run(
        self, handler: Handler, arguments: tuple[object, ...], call: Call[Any]
    ) -> object:
        bound = getattr(self.flow, handler.name)
        result: object = await (
            bound(*arguments, call) if handler.takes_call else bound(*arguments)
        )
        if type(result) not in handler.targets:
            targets = ", ".join(target.__name__ for target in handler.targets)
            raise IllegalMove(
                f"Flow {self.name!r}: {handler.name} returned {type(result).__name__}; its "
                f"signature allows {targets}"
            )
        return result

    def forms(self) -> dict[str, tuple[object, type]]:
        """What asks a form, and its answer, by the key that the question has of itself."""
        return {
            key: (state, answer)
            for state in self._graph.states
            if issubclass(state, Asking)
            for key, answer in _forms_of(cast("type[Asking[Any]]", state))
        }

    def freeze(self, state: object) -> Frozen:
        """Pack a state exactly."""
        return self._graph.freezer.freeze(state)

    def thaw(self, frozen: Frozen) -> object:
        """Restore a state."""
        return self._graph.freezer.thaw(frozen)


@lru_cache(maxsize=1024)
def _keys_of(tag: str, count: int) -> tuple[str, ...]:
    key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tag).lower()
    return (key,) if count == 1 else tuple(f"{key}_{n}" for n in range(1, count + 1))


def _own_keys(state: type[Asking[Any]], count: int) -> tuple[str, ...]:
    """The keys of a state's questions, made from its tag."""
    return _keys_of(tag_of(state), count)


def _forms_of(state: type[Asking[Any]]) -> Iterator[tuple[str, type]]:
    answer = unaliased(argument_of(state, Asking))
    parts = get_args(answer) if get_origin(answer) is tuple else (answer,)
    for key, part in zip(_own_keys(state, len(parts)), parts, strict=True):
        if part not in (Consent, Sampled) and isinstance(part, type) and attrs.has(part):
            yield key, part


def _keyed(state: Asking[Any], question: Question[Any]) -> dict[str, Single[Any]]:
    """The questions by their own keys, or by those made from the state's tag."""
    if isinstance(question, Single):
        return {question.key or _own_keys(type(state), 1)[0]: question}
    if not isinstance(question, Together):
        raise IllegalMove(f"{type(state).__name__}.ask returned {type(question).__name__}")
    parts = question.questions
    own = _own_keys(type(state), len(parts))
    keyed = {part.key or key: part for key, part in zip(own, parts, strict=True)}
    if len(keyed) < len(parts):
        raise IllegalMove(
            f"{type(state).__name__}.ask puts two questions under one key; give each a key"
        )
    return keyed
