"""The README and the guide are run as they stand."""

import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from inspect import iscoroutinefunction
from io import StringIO
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from antiphon import Limits
from tests.docs.pages import PAGES, ROOT, source_of

PRINTED = [ROOT / "docs" / name for name in ("flows.md", "asking.md")]
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!http)([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The module that a page's blocks make, run one after the other."""
    path: Path = request.param
    module = ModuleType(f"documented_{path.stem.lower()}")
    sys.modules[module.__name__] = module
    with redirect_stdout(StringIO()) as printed:
        exec(compile(source_of(path), str(path), "exec"), vars(module))
    vars(module)["printed"] = printed.getvalue()
    yield module
    del sys.modules[module.__name__]


def _name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("page", PAGES, ids=_name, indirect=True)
async def test_examples_run_and_their_tests_pass(page: ModuleType) -> None:
    for name, value in list(vars(page).items()):
        if name.startswith("test_") and iscoroutinefunction(value):
            await value()


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, place in LINK.findall(path.read_text()):
        there = path.parent / target if target else path
        assert there.exists(), target
        assert not place or place in _places(there), f"{target}#{place}"


def _places(path: Path) -> list[str]:
    """What a link may name of a page: its headings, as GitHub writes them."""
    headings = (found.lower().replace(" ", "-") for found in HEADING.findall(path.read_text()))
    return [re.sub(r"[^\w-]", "", heading) for heading in headings]


def test_every_limit_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    for field in attrs.fields(Limits):
        assert re.search(rf"^\| `{field.name}` \| {field.default:_} \|", page, re.MULTILINE), (
            f"docs/limits.md lacks {field.name} with its default {field.default:_}"
        )


@pytest.mark.parametrize(
    ("page", "path"), [(path, path) for path in PRINTED], ids=map(_name, PRINTED), indirect=["page"]
)
def test_the_printed_output_is_what_is_printed(page: ModuleType, path: Path) -> None:
    shown = SHOWN.findall(path.read_text())
    assert shown
    for text in shown:
        assert text in vars(page)["printed"]
