"""What the tests of the command share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.running import serving


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server over HTTP, shared by a module: what a call does to it, no other one sees."""
    with serving() as address:
        yield address
