"""Both transports for every test that asks for ``over``."""

import pytest

from tests.interop.servers import Over


@pytest.fixture(params=["stdio", "http"])
def over(request: pytest.FixtureRequest) -> Over:
    return request.param  # type: ignore[no-any-return]
