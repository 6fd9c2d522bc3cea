"""A flow as the engine sees it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

from attrs import frozen

from ..engine.call import Call
from ..engine.errors import IllegalMove, UsageError
from ..engine.machine import Asks, Frozen, MovesOn, Polls, Wants
from ..engine.outcomes import Answered, Event, EventKind
from ..engine.questions import Question, Single, Together
from .flow import Flow
from .freezing import tag_of
from .graph import Graph, Handler
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
            return Asks(_keyed(asking, question), isinstance(question, Together))
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

    def freeze(self, state: object) -> Frozen:
        """Pack a state exactly."""
        return self._graph.freezer.freeze(state)

    def thaw(self, frozen: Frozen) -> object:
        """Restore a state."""
        return self._graph.freezer.thaw(frozen)


@lru_cache(maxsize=1024)
def _key_of(tag: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tag).lower()


def _keyed(state: Asking[Any], question: Question[Any]) -> dict[str, Single[Any]]:
    """The questions by their own keys, or by one made from the state's tag."""
    key = _key_of(tag_of(type(state)))
    if isinstance(question, Single):
        return {question.key or key: question}
    if not isinstance(question, Together):
        raise IllegalMove(f"{type(state).__name__}.ask returned {type(question).__name__}")
    parts = question.questions
    keyed = {part.key or f"{key}_{number}": part for number, part in enumerate(parts, start=1)}
    if len(keyed) < len(parts):
        raise IllegalMove(
            f"{type(state).__name__}.ask puts two questions under one key; give each a key"
        )
    return keyed
