"""Conversations that earlier versions stored, resumed by this one.

A file is never made anew: a call that waited during a deploy comes back with just such bytes.
Each new format adds files of its own.
"""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.engine.conversation import Asked
from antiphon.engine.jsonrpc import DEFAULT_LIMITS
from antiphon.engine.stored_about import about
from antiphon.engine.stored_form import VERSION
from tests.client.scripted import client_of, done

GOLDEN = Path(__file__).parent.parent / "golden" / "conversations"
PATHS = sorted(GOLDEN.glob("format-*.json"))
ANSWERS: dict[str, Any] = {
    "region": {"name": "dev"},
    "tone": {"name": "dev"},
    "model": "Paris",
    "roots": [],
}


def _read(path: Path) -> tuple[bytes, Any]:
    told = json.loads(path.read_text("utf-8"))
    return b64decode(told["blob"]), told["expected"]


def _name(path: Path) -> str:
    return path.stem


def test_each_format_has_a_call_of_every_kind() -> None:
    found: dict[int, set[str]] = {}
    for path in PATHS:
        blob, expected = _read(path)
        _, version, _, _ = msgspec.msgpack.decode(blob)
        found.setdefault(version, set()).add(expected["method"])
    methods = {"tools/call", "prompts/get", "resources/read"}
    assert found == dict.fromkeys(range(1, VERSION + 1), methods)


@pytest.mark.parametrize("path", PATHS, ids=_name)
async def test_a_conversation_of_an_earlier_version_is_as_it_was(path: Path) -> None:
    blob, expected = _read(path)
    client, _ = client_of()
    conversation = client.load(blob)
    tally = conversation.tally
    for name in ("legs", "rounds", "polls", "accepted", "declined"):
        assert getattr(tally, name) == expected[name]
    assert conversation.deadline == expected["deadline"]
    trail = [[e.at, e.round, e.key, e.kind, e.outcome, e.origin.server] for e in conversation.trail]
    assert trail == expected.get("trail", [])
    step = conversation.step
    asked = sorted(step.questions) if isinstance(step, Asked) else None
    assert asked == expected["asked"]
    # Stored anew, it is in the format of this version, and the same.
    assert client.load(conversation.dump()).trail == conversation.trail


@pytest.mark.parametrize("path", PATHS, ids=_name)
async def test_a_conversation_of_an_earlier_version_goes_on(path: Path) -> None:
    blob, expected = _read(path)
    ends: dict[str, Any] = {
        "tools/call": done(),
        "prompts/get": {"messages": []},
        "resources/read": {"contents": []},
    }
    client, server = client_of(ends[expected["method"]], clock=lambda: 1_800_000_001.0)
    conversation = client.load(blob)
    await conversation.advance({key: ANSWERS[key] for key in expected["asked"] or ()})
    assert conversation.done
    (params,) = server.params
    assert server.requests[0]["method"] == expected["method"]
    assert {name: params[name] for name in expected["target"]} == expected["target"]
    assert params.get("requestState") == expected["state"]
    assert params["_meta"].items() >= expected["meta"].items()


@pytest.mark.parametrize("path", PATHS, ids=_name)
def test_a_conversation_of_an_earlier_version_is_listed(path: Path) -> None:
    blob, expected = _read(path)
    what = about(blob, DEFAULT_LIMITS)
    assert what.method == expected["method"]
    assert what.name in expected["target"].values()
    assert [asked.key for asked in what.asked] == (expected["asked"] or [])
