"""Messages that are wrong: over real pipes and sockets, one client for all of them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

import pytest

from antiphon.engine.client import Client
from antiphon.engine.errors import AntiphonError, PeerError
from antiphon.engine.limits import Limits
from tests.hostile.messages import MESSAGE_BYTES, WRONG, Outcome, Wrong
from tests.hostile.methods import METHODS, Method
from tests.hostile.plays import Entry, message, playing

LONGEST: Final = 5000
ASKED: Final = (METHODS["tools/call"], METHODS["completion/complete"])


async def _outcome(client: Client, method: Method, expected: Outcome) -> None:
    if expected is None:
        await method.ask(client)
        return
    with pytest.raises(AntiphonError) as caught:
        await method.ask(client)
    error = caught.value
    assert type(error) is expected
    assert isinstance(error, PeerError)
    assert str(error).isprintable()
    assert len(str(error)) < LONGEST


def _expected(wrong: Wrong, carrier: str) -> Outcome:
    return {"child": wrong.line, "body": wrong.body, "stream": wrong.stream}[carrier]


def _script(wrong: Wrong, method: Method) -> list[Entry]:
    truth = message(method.good)
    return [Entry(method.name, [*wrong.said, truth]), Entry(method.name, [truth])]


@pytest.mark.parametrize("carrier", ["child", "body", "stream"])
@pytest.mark.parametrize("family", WRONG)
async def test_a_client_outlives_all_wrong_messages(
    family: str, carrier: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    scenes = [(wrong, method) for wrong in WRONG[family] for method in ASKED]
    script = [entry for wrong, method in scenes for entry in _script(wrong, method)]
    limits = Limits(message_bytes=MESSAGE_BYTES)
    async with playing(carrier, script, tmp_path, limits=limits) as (client, _):
        for wrong, method in scenes:
            try:
                await _outcome(client, method, _expected(wrong, carrier))
                await method.ask(client)
            except BaseException as failure:
                failure.add_note(f"{wrong.name}, in place of a reply to {method.name}")
                raise
