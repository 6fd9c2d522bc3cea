"""Servers that die, or do worse: a new one is started, and the client goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
import trio
import trio.testing
from attrs import frozen

from antiphon.engine.exchange import TransportLost
from antiphon.transports.connect import open_client
from antiphon.transports.line_client import open_lines
from tests.client.scripted import asks, form
from tests.hostile.lies import ESCAPES
from tests.hostile.methods import METHODS, PLAIN
from tests.hostile.plays import ID, Act, Entry, message, playing, says

GOOD: Final = message(METHODS["tools/call"].good)


@frozen
class Death:
    """How a process ends in place of a reply.

    Attributes:
        name: for the test's name.
        acts: what it does.
        says: what the error tells.
    """

    name: str
    acts: list[Act]
    says: str = ""


def _raw(data: bytes) -> Act:
    return {"raw": data.decode("latin-1")}


def _stderr(data: bytes) -> Act:
    return {"stderr": data.decode("latin-1")}


DEATHS: Final = [
    Death("it exits well", [{"exit": 0}], "exited with status 0"),
    Death("it exits badly", [{"exit": 3}], "exited with status 3"),
    Death("it is killed", [{"kill": "SIGKILL"}], "was killed by SIGKILL"),
    Death("it crashes", [{"kill": "SIGSEGV"}], "was killed by SIGSEGV"),
    Death("its last words", [_stderr(b"out of cheese\n"), {"exit": 1}], "out of cheese"),
    Death("words for terminals", [_stderr(ESCAPES.encode()), {"exit": 1}], "WARN forged"),
    Death("words of no text", [_stderr(b"\xff\xfe bad\n"), {"exit": 1}], "bad"),
    Death("words without an end", [{"shout": {"text": "x" * 1024, "count": 512}}, {"exit": 1}]),
    Death("half a line", [_raw(GOOD[:60]), {"exit": 7}], "exited with status 7"),
    Death("garbage first", [b"Traceback (most recent call last):", {"exit": 1}]),
    Death("it closes its output", [{"close": 1}]),
    Death("it closes its input", [{"close": 0}]),
    Death("it leaves somebody with its pipes", [{"fork": 1}, {"exit": 0}], "exited with status 0"),
]


def _name(death: Death) -> str:
    return death.name


@pytest.mark.parametrize("death", DEATHS, ids=_name)
async def test_a_death_in_the_middle_of_a_call_is_told_and_the_next_call_is_served(
    death: Death, tmp_path: Path
) -> None:
    script = [
        *says("tools/call", asks({"q": form()}, "s")),
        Entry("tools/call", death.acts),
        Entry("tools/call", [GOOD]),
    ]
    async with playing("child", script, tmp_path) as (client, play):
        with pytest.raises(TransportLost) as lost:
            await client.call_tool("t")
        assert lost.value.sent
        assert death.says in str(lost.value)
        assert "\x1b" not in str(lost.value)
        assert lost.value.interim is not None
        assert lost.value.interim.request_state == "s"
        await client.call_tool("t")
    assert play.asked == ["tools/call"] * 3, "an answer of a person was sent twice"


@pytest.mark.parametrize("method", PLAIN)
async def test_what_only_reads_survives_a_death(method: str, tmp_path: Path) -> None:
    script = [Entry(method, [{"exit": 1}]), *says(method, METHODS[method].good)]
    async with playing("child", script, tmp_path) as (client, _):
        await METHODS[method].ask(client)


@pytest.mark.parametrize("method", ["tools/list", "completion/complete"])
async def test_a_reply_that_comes_before_the_death_is_taken(method: str, tmp_path: Path) -> None:
    good = message(METHODS[method].good)
    script = [Entry(method, [good, {"exit": 1}]), Entry(method, [good])]
    async with playing("child", script, tmp_path) as (client, _):
        await METHODS[method].ask(client)
        # Sent to the dead one, where nobody has seen it die, it is sent again.
        await METHODS[method].ask(client)


NOISE: Final[dict[str, list[Act]]] = {
    "lines on the standard error": [{"shout": {"text": "e" * 1023 + "\n", "count": 512}}],
    "no lines on the standard error": [{"shout": {"text": "e" * 1024, "count": 512}}],
    "bytes on the standard error": [{"shout": {"text": "\xff\x00\x1b", "count": 500}}],
    "empty lines": [_raw(b"\n" * 10_000)],
    "carriage returns": [_raw(b"\r\n" * 10_000)],
    "a thousand lines of garbage": [_raw(b"debug: here\n" * 1000)],
    "a thousand replies to nobody": [_raw(b'{"jsonrpc":"2.0","id":"n","result":{}}\n' * 1000)],
    "somebody who holds its pipes": [{"fork": 0.5}],
}


@pytest.mark.parametrize("noise", NOISE)
async def test_noise_before_a_reply_does_no_harm(
    noise: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = [Entry("tools/call", [*NOISE[noise], GOOD])] * 2
    async with playing("child", script, tmp_path) as (client, play):
        await client.call_tool("t")
        await client.call_tool("t")
    assert "is started again" not in caplog.text
    assert play.asked == ["tools/call"] * 2


async def test_a_line_that_is_cut_at_any_byte_is_a_loss_and_no_reply() -> None:
    whole = message({"resultType": "complete", "content": []})

    async def cut_off(at: int, theirs: trio.abc.Stream) -> None:
        asked = json.loads(await theirs.receive_some())
        await theirs.send_all(whole.replace(ID, json.dumps(asked["id"]).encode())[:at])
        await theirs.aclose()

    for at in range(len(whole)):
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery, open_lines(ours, ours) as lines:
            nursery.start_soon(cut_off, at, theirs)
            async with open_client(lines, mode="2026-07-28") as client:
                with pytest.raises(TransportLost) as lost:
                    await client.call_tool("t")
                assert lost.value.sent
