"""What a flow walks, edge by edge."""

from typing import Any

import pytest

from antiphon.engine.call import Call
from antiphon.engine.outcomes import Event
from antiphon.engine.round import Round
from antiphon.flows.machine import FlowMachine


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str, str]]:
    """Every move of the flows that run in the test: source, event, target."""
    seen: set[tuple[str, str, str]] = set()
    begin, moved = FlowMachine.begin, Round._moved  # pyright: ignore[reportPrivateUsage]

    async def begin_noted(self: FlowMachine, call: Call[Any]) -> object:
        state = await begin(self, call)
        seen.add(("", "begun", type(state).__name__))
        return state

    async def moved_noted(self: Round, state: object, event: Event) -> object:
        target = await moved(self, state, event)
        seen.add((type(state).__name__, event.kind, type(target).__name__))
        return target

    monkeypatch.setattr(FlowMachine, "begin", begin_noted)
    monkeypatch.setattr(Round, "_moved", moved_noted)
    return seen
