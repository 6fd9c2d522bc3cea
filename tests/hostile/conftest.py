"""What holds for every hostile server: the client leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stdio.harness import children, descriptors


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = descriptors(), children()
    yield
    assert (descriptors(), children()) == before
