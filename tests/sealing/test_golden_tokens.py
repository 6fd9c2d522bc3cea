"""Tokens that earlier versions sealed, opened by this one.

A file is never made anew: a conversation that was open during a deploy comes back with just
such a token. Each new format adds files of its own. In ``refused/`` stand those that must not
open, with the reasons.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.engine.sealing import Claims, Origin, Reason, StateSealer, TokenRefused

GOLDEN = Path(__file__).parent.parent / "golden"
OPENED = sorted(GOLDEN.glob("*.token.json"))
REFUSED = sorted((GOLDEN / "refused").glob("*.token.json"))


def _read(path: Path) -> tuple[StateSealer, Origin, Any]:
    told = json.loads(path.read_text("utf-8"))
    at = StateSealer(keys=told["keys"], audience=told["audience"], clock=lambda: told["now"])
    return at, Origin(**told["origin"]), told


def _claims(told: dict[str, Any]) -> Claims:
    told["state"] = bytes.fromhex(told["state"])
    told["questions"] = {key: bytes.fromhex(hexed) for key, hexed in told["questions"].items()}
    told["span"] = bytes.fromhex(told.get("span", ""))
    return Claims(**told)


def test_there_are_golden_tokens_of_both_kinds() -> None:
    assert len(OPENED) >= 3
    assert len(REFUSED) >= 8


@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.name)
def test_a_token_of_an_earlier_version_opens(path: Path) -> None:
    at, origin, told = _read(path)
    assert at.open(told["token"], origin) == _claims(told["claims"])


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.name)
def test_a_token_that_must_not_open_is_refused_for_its_reasons(path: Path) -> None:
    at, origin, told = _read(path)
    with pytest.raises(TokenRefused) as caught:
        at.open(told["token"], origin)
    assert caught.value.reasons == tuple(Reason[name] for name in told["refused"])
