"""The fixture fails the test whose server said something wrong, and only that."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

WIDE: Final = {**os.environ, "COLUMNS": "400"}
ROOT: Final = Path(__file__).resolve().parents[2]
CONFTEST: Final = 'pytest_plugins = ["tests.wire.watching"]'
CONFIG: Final = f"""
[pytest]
pythonpath = {ROOT / "src"} {ROOT}
addopts = --strict-markers -p no:cacheprovider
trio_mode = true
markers = off_the_wire(reason): a server of this test is wrong on purpose
"""
TESTS: Final = """
import pytest
from antiphon.engine.exchange import Exchange
from antiphon.engine.jsonrpc import Request
from tests.engine.peer import meta
from tests.wire.wrong import server

async def serve(method):
    await server.handle(Request(1, method, {"_meta": meta()}), Exchange())

async def test_right():
    await serve("ping")

async def test_wrong():
    await serve("tools/list")

async def test_wrong_again():
    await serve("tools/list")

@pytest.mark.off_the_wire(reason="it is what this is about")
async def test_wrong_on_purpose():
    await serve("tools/list")

@pytest.mark.off_the_wire(reason="a mistake")
async def test_right_on_purpose():
    await serve("ping")

@pytest.mark.off_the_wire
async def test_wrong_without_a_reason():
    await serve("tools/list")
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of the tests above, on lines of any length."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(CONFIG)
    (folder / "test_it.py").write_text(TESTS)
    # -E keeps our own tap out of it: these servers are wrong on purpose.
    command = [sys.executable, "-E", "-m", "pytest", "-q", "-rA", str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False, env=WIDE
    )
    return done.stdout


def test_every_test_itself_passes(report: str) -> None:
    assert "6 passed, 4 errors" in report


@pytest.mark.parametrize("name", ["test_wrong", "test_wrong_again"])
def test_a_wrong_answer_is_the_fault_of_the_test_that_caused_it(report: str, name: str) -> None:
    assert f"ERROR test_it.py::{name} - Failed: The answer to tools/list is not valid" in report


def test_a_fault_on_purpose_is_let_pass_only_with_a_reason(report: str) -> None:
    assert "ERROR test_it.py::test_wrong_on_purpose" not in report
    assert "test_wrong_without_a_reason - Failed: @pytest.mark.off_the_wire wants" in report


def test_a_marker_that_nothing_needs_is_a_fault(report: str) -> None:
    assert "test_right_on_purpose - Failed: All was valid" in report
