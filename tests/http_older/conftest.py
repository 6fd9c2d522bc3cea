"""The clock of these tests."""

import pytest
from trio.testing import MockClock


@pytest.fixture
def patient_clock() -> MockClock:
    """A clock that gives sockets a moment before it jumps."""
    return MockClock(autojump_threshold=0.05)
