"""Log messages to the client, and the ``_meta`` of results."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import trio
import trio.testing
from attrs import frozen

from antiphon import Call, Done, Server, Text, UsageError
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.engine.protocol import LOG_LEVELS, LogLevel
from antiphon.transports.asgi import http_app
from tests.engine.peer import Peer, members, meta, text_of, told
from tests.http_server.scripted import post
from tests.naming import shown
from tests.stdio.harness import call as line
from tests.stdio.harness import served

LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@frozen
class Sample:
    """Something with a JSON form."""

    at: date
    values: tuple[int, ...]


def talking(*said: tuple[LogLevel, object], logger: str | None = None) -> Peer:
    """A peer of a server whose tool says this."""
    server = Server("Talker")

    @server.tool
    async def talk(call: Call[Any]) -> str:
        for level, data in said:
            await call.message(level, data, logger=logger)
        return "done"

    return Peer(server)


async def talk(peer: Peer, level: str | None = "debug") -> list[JsonObject]:
    more = {} if level is None else {LEVEL: level}
    result = await peer.ask("tools/call", {"name": "talk", "_meta": meta(**more)})
    assert text_of(result) == "done", result
    return peer.notifications


# -- whether ----------------------------------------------------------------------------------


async def test_nothing_is_said_to_a_client_that_did_not_ask() -> None:
    assert await talk(talking(("emergency", "fire")), level=None) == []


@pytest.mark.parametrize("threshold", LOG_LEVELS)
async def test_what_is_at_or_above_the_level_is_said(threshold: LogLevel) -> None:
    said: list[tuple[LogLevel, object]] = [(level, level) for level in LOG_LEVELS]
    peer = talking(*said)
    heard = [str(notification["level"]) for notification in await talk(peer, threshold)]
    assert heard == list(LOG_LEVELS[LOG_LEVELS.index(threshold) :])


async def test_each_request_sets_its_own_level() -> None:
    peer = talking(("info", "x"))
    await talk(peer, "info")
    assert len(await talk(peer, None)) == 1
    assert len(await talk(peer, "error")) == 1


@pytest.mark.parametrize("level", ["verbose", "INFO", "", 3, True, [], {}, "warn"], ids=shown)
async def test_a_level_that_there_is_not_is_refused(level: Any) -> None:
    for method in ("tools/call", "tools/list", "server/discover"):
        reply = await talking().exchange(method, {"name": "talk", "_meta": meta(**{LEVEL: level})})
        assert isinstance(reply, Failure)
        assert reply.code == -32602
        assert "logLevel" in reply.message


async def test_null_is_no_level() -> None:
    params: JsonObject = {"name": "talk", "_meta": meta(**{LEVEL: None})}
    peer = talking(("error", "x"))
    await peer.ask("tools/call", params)
    assert peer.notifications == []


@pytest.mark.parametrize("asked", [None, "debug"])
async def test_an_author_hears_of_a_wrong_level_whoever_listens(asked: str | None) -> None:
    server = Server("Talker", reveal_errors=True)

    @server.tool
    async def talk(call: Call[Any]) -> str:
        await call.message("warn", "x")  # type: ignore[arg-type]
        return "done"

    more = {} if asked is None else {LEVEL: asked}
    result = await Peer(server).ask("tools/call", {"name": "talk", "_meta": meta(**more)})
    assert "There is no log level 'warn'" in told(result)


async def test_the_capability_is_declared() -> None:
    assert (await talking().ask("server/discover"))["capabilities"]["logging"] == {}


# -- what -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "sent"),
    [
        ("text", "text"),
        (None, None),
        (5, 5),
        ([1, {"a": None}], [1, {"a": None}]),
        (Sample(date(2026, 7, 28), (1, 2)), {"at": "2026-07-28", "values": [1, 2]}),
    ],
    ids=shown,
)
async def test_data_is_whatever_has_a_json_form(data: object, sent: object) -> None:
    (notification,) = await talk(talking(("info", data)))
    assert notification == {"method": "notifications/message", "level": "info", "data": sent}


async def test_the_logger_is_named_where_there_is_one() -> None:
    (notification,) = await talk(talking(("info", "x"), logger="database"))
    assert notification["logger"] == "database"


@pytest.mark.parametrize("data", [object(), float("nan"), {1: object()}], ids=shown)
async def test_data_without_a_json_form_is_the_authors_fault(
    data: object, caplog: pytest.LogCaptureFixture
) -> None:
    params: JsonObject = {"name": "talk", "_meta": meta(**{LEVEL: "debug"})}
    result = await talking(("info", data)).ask("tools/call", params)
    assert "error in the server" in told(result)
    assert "JSON form" in caplog.text


async def test_prompts_and_templates_say_things_too() -> None:
    server = Server("Talker")

    @server.prompt
    async def briefing(call: Call[Any]) -> str:
        await call.message("info", "prompt")
        return "x"

    @server.resource_template("notes://{owner}")
    async def notes(owner: str, call: Call[Any]) -> str:
        await call.message("info", "template")
        return "x"

    peer = Peer(server)
    await peer.ask("prompts/get", {"name": "briefing", "_meta": meta(**{LEVEL: "info"})})
    await peer.ask("resources/read", {"uri": "notes://a", "_meta": meta(**{LEVEL: "info"})})
    assert [n["data"] for n in peer.notifications] == ["prompt", "template"]


# -- where ------------------------------------------------------------------------------------


async def test_over_http_it_comes_on_the_requests_own_stream_before_the_reply() -> None:
    app = http_app(talking(("info", "one"), ("debug", "two"), ("error", "three")).server)
    params: JsonObject = {"name": "talk", "arguments": {}, "_meta": meta(**{LEVEL: "info"})}
    answer = await post(app, Request(7, "tools/call", params))
    first, second, reply = answer.events
    assert [members(e["params"])["data"] for e in (first, second)] == ["one", "three"]
    assert reply["id"] == 7
    quiet = await post(app, Request(8, "tools/call", {**params, "_meta": meta()}))
    assert quiet.headers[b"content-type"] == b"application/json"


async def test_on_stdio_it_comes_before_the_reply() -> None:
    async with served(talking(("info", "one")).server) as peer:
        await peer.say(line(1, "tools/call", name="talk", _meta=meta(**{LEVEL: "info"})))
        assert (await peer.hear())["params"] == {"level": "info", "data": "one"}
        assert (await peer.hear())["id"] == 1


async def test_after_the_reply_nothing_is_said() -> None:
    server = Server("Talker")
    kept: list[Call[Any]] = []

    @server.tool
    async def talk(call: Call[Any]) -> str:
        kept.append(call)
        return "done"

    params: JsonObject = {"name": "talk", "_meta": meta(**{LEVEL: "debug"})}
    async with served(server) as peer:
        await peer.say(line(1, "tools/call", **params))
        assert (await peer.hear())["id"] == 1
        await kept[0].message("error", "late")
        await peer.hear_nothing()
    answer = await post(http_app(server), Request(1, "tools/call", {**params, "arguments": {}}))
    await kept[1].message("error", "late")
    assert answer.ended
    assert text_of(members(answer.json["result"])) == "done"


async def test_a_client_that_does_not_read_slows_the_handler_down() -> None:
    server = Server("Talker")
    said = 0

    @server.tool
    async def flood(call: Call[Any]) -> str:
        nonlocal said
        while True:
            await call.message("info", "x" * 10_000)
            said += 1

    async with served(server, tight=True) as peer:
        await peer.say(line(1, "tools/call", name="flood", _meta=meta(**{LEVEL: "info"})))
        await trio.testing.wait_all_tasks_blocked()
        assert 0 < said < 1000
        await peer.leave()


# -- the _meta of results ---------------------------------------------------------------------


async def test_a_result_carries_the_authors_meta_beside_the_servers_name() -> None:
    server = Server("Talker")

    @server.tool
    async def traced() -> Done[str]:
        return Done("x", meta={"com.example/trace": {"id": 5}, SERVER_INFO: "forged"})

    result = await Peer(server).call("traced")
    assert result["_meta"]["com.example/trace"] == {"id": 5}
    assert result["_meta"][SERVER_INFO]["name"] == "Talker"


async def test_so_do_a_prompt_and_a_resource() -> None:
    server = Server("Talker")

    @server.prompt
    async def briefing() -> Done[str]:
        return Done("x", meta={"com.example/a": 1})

    @server.resource("config://app")
    async def settings() -> Done[str]:
        return Done("x", meta={"com.example/a": 2})

    peer = Peer(server)
    got = await peer.ask("prompts/get", {"name": "briefing"})
    read = await peer.ask("resources/read", {"uri": "config://app"})
    assert [r["_meta"]["com.example/a"] for r in (got, read)] == [1, 2]


async def test_blocks_carry_theirs() -> None:
    server = Server("Talker")

    @server.tool
    async def blocks() -> list[Text]:
        return [Text("a", meta={"com.example/a": 1}), Text("b")]

    first, second = (await Peer(server).call("blocks"))["content"]
    assert first["_meta"] == {"com.example/a": 1}
    assert "_meta" not in second


@pytest.mark.parametrize("value", [object(), float("inf"), "\ud800"], ids=shown)
async def test_meta_without_a_json_form_is_the_authors_fault(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("Talker")

    @server.tool
    async def traced() -> Done[str]:
        return Done("x", meta={"com.example/a": value})

    assert "error in the server" in told(await Peer(server).call("traced"))
    assert UsageError.__name__ in caplog.text
