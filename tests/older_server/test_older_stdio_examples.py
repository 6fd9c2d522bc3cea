"""The examples, called by a client of an earlier revision."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from antiphon import Server
from antiphon.engine.jsonrpc import JsonObject
from examples import provision, review, slow_report
from tests.older_server.peer import (
    CANCEL,
    DECLINE,
    ROOTS,
    VERSIONS,
    Answer,
    accept,
    by_message,
    in_session,
    in_turn,
    says,
    text_of,
)

ASKING = pytest.mark.parametrize("version", VERSIONS[:2])


@ASKING
async def test_provision_away_from_production(version: str) -> None:
    async with in_session(provision.server, version) as peer:
        result = await peer.tool("provision", in_turn(accept(name="eu-west-1")), name="orders")
    assert result["structuredContent"] == {"name": "orders", "region": "eu-west-1"}


@ASKING
async def test_provision_in_production_on_second_thoughts(version: str) -> None:
    answers = in_turn(
        accept(name="prod"), accept(sure="no"), accept(name="prod"), accept(sure="yes")
    )
    async with in_session(provision.server, version) as peer:
        result = await peer.tool("provision", answers, name="orders")
    assert result["structuredContent"] == {"name": "orders", "region": "prod"}


@ASKING
@pytest.mark.parametrize("refusal", [DECLINE, CANCEL], ids=["decline", "cancel"])
async def test_provision_refused(version: str, refusal: JsonObject) -> None:
    async with in_session(provision.server, version) as peer:
        last = await peer.tool("provision", in_turn(accept(name="prod"), refusal), name="orders")
        first = await peer.tool("provision", in_turn(refusal), name="orders")
    assert last["isError"] is True
    assert "was not provisioned" in text_of(last)
    assert first["isError"] is True


@pytest.mark.parametrize("version", VERSIONS)
async def test_provision_for_a_client_that_cannot_be_asked(version: str) -> None:
    async with in_session(provision.server, version, {}) as peer:
        result = await peer.tool("provision", name="orders")
        assert (await peer.result("ping")) == {}
    assert result["isError"] is True
    assert "Which region" in text_of(result)


def reviewer(opinion: str, verdict: str) -> Answer:
    answers = {"risky": says(opinion), "Approve": accept(decision=verdict, remark="ok")}
    return by_message(answers)


@ASKING
async def test_review_by_the_clients_model(version: str) -> None:
    async with in_session(review.server, version) as peer:
        safe = await peer.tool("review", reviewer("SAFE: a comment", "-"), diff="x")
        risky = await peer.tool("review", reviewer("RISKY: all of it", "reject"), diff="x")
    assert safe["structuredContent"] == {
        "decision": "approve",
        "remark": "safe by the model's opinion",
        "opinion": "SAFE: a comment",
        "roots": ["file:///home"],
    }
    assert risky["structuredContent"]["decision"] == "reject"


@ASKING
async def test_review_without_a_model(version: str) -> None:
    async with in_session(review.server, version, {"elicitation": {}}) as peer:
        answer = in_turn(accept(decision="approve"))
        result = await peer.tool("review", answer, diff="x")
    assert result["structuredContent"]["opinion"] == ""


@ASKING
async def test_review_whose_model_is_refused_by_its_user(version: str) -> None:
    async with in_session(review.server, version) as peer:
        id = await peer.call("review", diff="x")
        for _ in range(2):
            question = await peer.question()
            if question["method"] == "roots/list":
                await peer.reply(question["id"], ROOTS)
            else:
                await peer.fail(question["id"], -1, "User rejected sampling request")
        result = (await peer.finish(id))["result"]
    assert result["isError"] is True


@pytest.mark.parametrize("version", VERSIONS)
async def test_slow_report(version: str, autojump_clock: trio.testing.MockClock) -> None:
    press = slow_report.Press(clock=trio.current_time)
    server = Server("Press")
    server.tool(slow_report.SlowReport(press))
    async with in_session(server, version) as peer:
        params: JsonObject = {
            "name": "slow_report",
            "arguments": {"title": "Quarter"},
            "_meta": {"progressToken": "p"},
        }
        reply = await peer.finish(await peer.send("tools/call", params))
    assert "Quarter" in text_of(reply["result"])
    told = [note["params"]["progress"] for note in peer.notes]
    assert told == sorted(set(told))
    assert len(told) > 2
