"""What holds for every test of a child process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stdio.harness import (
    children,
    descriptors,
)


@pytest.fixture
def nothing_is_left_behind() -> Iterator[None]:
    before = descriptors(), children()
    yield
    assert (descriptors(), children()) == before
