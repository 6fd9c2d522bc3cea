"""Wrong replies among right ones: each call gets its own, early, late, or never."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import trio

from antiphon.engine.call_errors import QuestionRefused, ServerError, VersionMismatch
from antiphon.engine.client import Client
from antiphon.engine.errors import InvalidReply
from antiphon.transports.connect import open_client
from tests.client.scripted import asks
from tests.hostile.lies import QUESTIONS
from tests.hostile.messages import UNREADABLE
from tests.hostile.methods import METHODS, ready
from tests.hostile.plays import Entry, Play, command, message, note, playing, says

GOOD: Final = message(METHODS["tools/call"].good)
WRONG: Final = [
    message({"resultType": "task"}),
    message(asks({"q": {"method": "tools/call"}})),
    message(asks({})),
    *(lie.said[0] for lie in UNREADABLE[:8]),
]


@pytest.mark.parametrize("carrier", ["child", "body"])
async def test_a_wrong_reply_ends_its_own_call_alone(carrier: str, tmp_path: Path) -> None:
    right: list[object] = []
    wrong: list[InvalidReply] = []

    async def be_lied_to(client: Client) -> None:
        with pytest.raises(InvalidReply) as caught:
            await client.call_tool("t")
        wrong.append(caught.value)

    async def be_told(client: Client) -> None:
        right.append(await client.list_prompts())

    script = [Entry("tools/call", [each]) for each in WRONG]
    async with playing(carrier, script, tmp_path) as (client, _), trio.open_nursery() as nursery:
        for _ in WRONG:
            nursery.start_soon(be_lied_to, client)
            nursery.start_soon(be_told, client)
    assert (len(right), len(wrong)) == (len(WRONG), len(WRONG))


async def test_a_reply_after_the_cancellation_is_nobodys(tmp_path: Path) -> None:
    late = GOOD.replace(b"$ID", b"$BEFORE")
    forged = message({"content": [{"type": "text", "text": "late"}]}).replace(b"$ID", b"$BEFORE")
    script = [
        Entry("tools/call", [{"stderr": "asked\n"}]),
        Entry("tools/call", [late, forged, GOOD]),
        Entry("tools/call", [forged, GOOD, GOOD]),
        Entry("tools/call", [GOOD]),
    ]
    asking = trio.CancelScope()

    def cancel(_: str) -> None:
        asking.cancel()

    target = command(Play(script), tmp_path)
    async with open_client(target, mode="2026-07-28", **ready(stderr=cancel)) as client:
        with asking:
            await client.call_tool("t")
        assert asking.cancelled_caught
        for _ in range(3):
            assert (await client.call_tool("t")).text == "done"


@pytest.mark.parametrize("carrier", ["child", "stream"])
async def test_progress_that_no_float_holds_reaches_no_callback(
    carrier: str, tmp_path: Path
) -> None:
    shares: list[float] = []

    def told(reached: float, total: float | None, _: str | None) -> None:
        shares.append(reached / (total or 2.0))

    steps = [
        note("notifications/progress", progressToken="$ID", progress=step, total=total)
        for step, total in ((1, 10**399), (10**399, 1), (-(10**399), 1), (2, 4))
    ]
    script = [Entry("tools/call", [*steps, GOOD])]
    async with playing(carrier, script, tmp_path) as (client, _):
        await client.call_tool("t", progress=told)
    assert shares == [0.5, 0.5]


WATCHED: Final = pytest.param("memory", marks=pytest.mark.off_the_wire(reason="refused wrongly"))


@pytest.mark.parametrize("carrier", [WATCHED, "child", "body", "stream"])
async def test_a_server_that_knows_no_revision_of_ours_is_told(
    carrier: str, tmp_path: Path
) -> None:
    def refusal(supported: object) -> bytes:
        error = {"code": -32022, "message": "no", "data": {"supported": supported}}
        return message(None, error=error).replace(b'"result": null, ', b"")

    script = [
        *(
            Entry("tools/call", [refusal(named)])
            for named in (["1999-01-01"], [], "2026-07-28", [3], None, {"2026-07-28": 1})
        ),
        # It names the very revision that it refuses: no call is sent twice for that.
        Entry("tools/call", [refusal(["2026-07-28"])]),
        Entry("tools/call", [GOOD]),
    ]
    async with playing(carrier, script, tmp_path) as (client, play):
        for _ in range(6):
            with pytest.raises(VersionMismatch):
                await client.call_tool("t")
        with pytest.raises(ServerError) as caught:
            await client.call_tool("t")
        assert type(caught.value) is ServerError
        await client.call_tool("t")
    assert play.asked == ["tools/call"] * 8


async def test_nobody_is_asked_where_one_of_the_questions_is_wrong(tmp_path: Path) -> None:
    asked: list[object] = []

    async def remember(question: object) -> dict[str, str]:
        asked.append(question)
        return {"name": "dev"}

    script = says("tools/call", *(lie.tell({}) for lie in QUESTIONS))
    options = {"elicitation": remember, "sampling": remember}
    async with playing("memory", script, tmp_path, **options) as (client, _):
        for _ in QUESTIONS:
            with pytest.raises((InvalidReply, QuestionRefused)):
                await client.call_tool("t")
    assert not asked
