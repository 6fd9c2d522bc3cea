"""What the tests of refused states share, and those of spans."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace

from tests.engine.spanning import Spans
from tests.engine.states import Refusals


@pytest.fixture
def refusals(caplog: pytest.LogCaptureFixture) -> Refusals:
    """How refusals look on the wire, and why they were logged."""
    return Refusals(caplog)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """Collects the spans of a test; a process can set its provider once, and these need many."""
    collected = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: collected.provider)
    yield collected
    collected.provider.shutdown()
