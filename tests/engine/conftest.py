"""What the tests of refused states share."""

import pytest

from tests.engine.states import Refusals


@pytest.fixture
def refusals(caplog: pytest.LogCaptureFixture) -> Refusals:
    """How refusals look on the wire, and why they were logged."""
    return Refusals(caplog)
