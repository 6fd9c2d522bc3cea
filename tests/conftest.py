"""What holds for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

from antiphon.engine.handshake_eras_known import forget_eras

# What every test's servers send is validated.
pytest_plugins = ["tests.wire.watching"]

ROOT = Path(__file__).parents[1]

# Examples are judged by what they do, not by how long a busy machine takes for them.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def eras_unknown() -> None:
    """What one test's server was must not be what another's is, at the same port."""
    forget_eras()


class RootIsAFolder:
    """The repository is the package, and its folder need not be named as one could be.

    Left to itself pytest imports the root under its folder's name, and fails for `antiphon-main`.
    """

    @staticmethod
    def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        return pytest.Dir.from_parent(parent, path=path) if path == ROOT else None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RootIsAFolder(), "root is a folder")
