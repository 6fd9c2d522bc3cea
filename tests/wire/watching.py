"""Every message that a test makes a server send is valid, or the test fails.

Messages are validated when the test is over, so that the server's time is its own; one that was
found to be good is not validated again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from attrs import define, field

from tests.wire import schema, tap

MARKER: Final = "off_the_wire"
_ISOLATED: Final = frozenset({"-S", "-E", "-I"})
"""Options of a Python that wants nothing of its surroundings."""


@define
class Wire:
    """What the servers of this process and of its children have sent.

    Attributes:
        folder: of the module that taps the children, and of what they say.
    """

    folder: Path
    _heard: list[bytes] = field(factory=list[bytes])
    _good: set[bytes] = field(factory=set[bytes])
    _read: int = 0

    def hear(self, record: bytes) -> None:
        """Take what a server of this process sends."""
        if _digest(record) not in self._good:
            self._heard.append(record)

    def faults(self) -> list[str]:
        """What is wrong with the messages that were sent since the last time."""
        heard, self._heard = [*self._heard, *self._heard_of_children()], []
        return [fault for record in dict.fromkeys(heard) for fault in self._judge(record)]

    def _heard_of_children(self) -> Iterator[bytes]:
        file = self.folder / tap.SAID
        if file.exists() and file.stat().st_size > self._read:
            with file.open("rb") as said:
                said.seek(self._read)
                for record in said:
                    yield record.rstrip(b"\n")
                self._read = said.tell()

    def _judge(self, record: bytes) -> list[str]:
        digest = _digest(record)
        if digest in self._good:
            return []
        found = judge(record)
        if not found:
            self._good.add(digest)
        return found


def _digest(record: bytes) -> bytes:
    return blake2b(record, digest_size=16).digest()


def judge(record: bytes) -> list[str]:
    """What is wrong with one message, as a record of :mod:`.tap`."""
    from tests.wire import models  # a second, for those who send nothing

    asked, _, said = record.partition(b"\t")
    method, message = msgspec.json.decode(asked), msgspec.json.decode(said)
    told = [("mcp-types", fault) for fault in models.faults(method, message)]
    told += [("schema.json", fault) for fault in schema.faults(method, message)]
    answer = f"The answer to {method}" if method is not None else "A message"
    return [f"{answer} is not valid: {fault} ({by})\n  {said[:500]!r}" for by, fault in told]


# -- fixtures ---------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def wiretap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """What the servers of this process, and of those that it starts, send."""
    heard = Wire(tmp_path_factory.mktemp("wire"))
    shutil.copy(tap.__file__, heard.folder / "sitecustomize.py")
    with pytest.MonkeyPatch.context() as patch:
        for name in (tap.SERVER, *tap.WRITERS):
            tap.tap(import_module(name), heard.hear, patch.setattr)
        _tap_children(heard.folder, patch)
        yield heard
    assert not (late := heard.faults()), late


@pytest.fixture(autouse=True)
def on_the_wire(wiretap: Wire, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that made a server send what the revision does not allow."""
    yield
    faults = wiretap.faults()
    marker = request.node.get_closest_marker(MARKER)
    if marker is None:
        if faults:
            pytest.fail("\n".join(faults), pytrace=False)
    elif not marker.kwargs.get("reason"):
        pytest.fail(f"@pytest.mark.{MARKER} wants a reason=", pytrace=False)
    elif not faults:
        pytest.fail(f"All was valid: it needs no @pytest.mark.{MARKER}", pytrace=False)


def _tap_children(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Have every Python that is started import our ``sitecustomize``."""
    start = subprocess.Popen.__init__

    def start_tapped(self: Any, args: Any, *more: Any, **named: Any) -> None:
        if isinstance(args, str) or _ISOLATED.isdisjoint(map(str, args)):
            named["env"] = _environment(named.get("env"), str(folder))
        start(self, args, *more, **named)

    patch.setattr(subprocess.Popen, "__init__", start_tapped)


def _environment(given: Any, folder: str) -> dict[str, str]:
    env = dict(os.environ if given is None else given)
    path = [folder, *filter(None, [env.get("PYTHONPATH")])]
    return {**env, "PYTHONPATH": os.pathsep.join(path)}


def pytest_report_header() -> str:
    """What judges the messages."""
    judges = f"mcp-types {version('mcp-types')}"
    if schema.FILE.is_file():
        return f"wire: {judges} and {schema.FILE}"
    return f"wire: {judges} alone, for there is no {schema.FILE}"
