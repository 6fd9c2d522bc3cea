"""Both transports for every test that asks for ``over``."""

from typing import cast

import pytest

from tests.interop.servers import Over


@pytest.fixture(params=["stdio", "http"])
def over(request: pytest.FixtureRequest) -> Over:
    return cast(Over, request.param)
