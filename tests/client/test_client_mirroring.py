"""What a client learns of the tools it lists, and what it repeats of their arguments."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from antiphon.engine.call_errors import ServerError
from antiphon.engine.client import Client
from antiphon.engine.client_messages import Tool
from antiphon.engine.errors import UsageError
from antiphon.engine.exchange import MirroredRequest, OnNotification, TransportLost
from antiphon.engine.jsonrpc import Failure, JsonObject, Reply, Request
from antiphon.engine.retrying import RetryPolicy
from antiphon.engine.tool_memory import ToolMemory
from tests.client.scripted import Answer, ScriptedTransport, accept_prod, asks, done

LOGGER = "antiphon.engine.tool_memory"
MISMATCH = Failure(None, -32020, "Header mismatch: Mcp-Param-Region header is missing")
NUMBER: JsonObject = {"type": "number", "x-mcp-header": "Amount"}


class MirroringTransport(ScriptedTransport):
    """Keeps the paths of what a transport over HTTP would repeat in headers."""

    mirrors = True

    def __init__(self, answers: Any) -> None:
        super().__init__(answers)
        self.repeated: list[list[str]] = []

    async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
        mirrored = request.mirrored if isinstance(request, MirroredRequest) else ()
        self.repeated.append([".".join(parameter.path) for parameter in mirrored])
        return await super().exchange(request, on_notification)


def over_http(*answers: Answer, **options: Any) -> tuple[Client, MirroringTransport]:
    transport = MirroringTransport(answers)
    return Client(transport, **options), transport


def tool(name: str = "query", **properties: JsonObject) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object", "properties": {**properties}}}


def marked(header: Any = "Region", kind: str = "string") -> JsonObject:
    return {"type": kind, "x-mcp-header": header}


def page(*tools: JsonObject, cursor: str | None = None) -> JsonObject:
    listed: JsonObject = {"tools": [*tools]}
    return listed if cursor is None else {**listed, "nextCursor": cursor}


def nested() -> JsonObject:
    return {"type": "object", "properties": {"zone": marked("Zone", "integer")}}


# -- tools that were listed -------------------------------------------------------------------


async def test_what_a_listed_tool_marks_is_repeated_in_each_leg() -> None:
    listed = page(tool("other"), tool(region=marked(), place=nested(), text={"type": "string"}))
    client, server = over_http(listed, asks(), done(), elicitation=accept_prod)
    await client.list_tools()
    await client.call_tool("query", {"region": "eu"})
    assert server.repeated == [[], ["region", "place.zone"], ["region", "place.zone"]]


async def test_what_was_listed_last_counts() -> None:
    client, server = over_http(
        page(tool(region=marked())), page(tool(zone=marked("Zone"))), done(), page(tool()), done()
    )
    await client.list_tools()
    await client.list_tools()
    await client.call_tool("query")
    await client.list_tools()
    await client.call_tool("query")
    assert server.repeated == [[], [], ["zone"], [], []]


async def test_prompts_of_the_same_name_repeat_nothing() -> None:
    client, server = over_http(page(tool(region=marked())), {"messages": []})
    await client.list_tools()
    await client.get_prompt("query", {"region": "eu"})
    assert server.repeated == [[], []]


async def test_a_client_over_another_transport_says_what_it_knows_all_the_same() -> None:
    # Whatever stands around a transport over HTTP need not say that it repeats arguments.
    client, server = over_http(page(tool(region=marked())), done())
    server.mirrors = False
    await client.list_tools()
    await client.call_tool("query")
    assert server.repeated == [[], ["region"]]


# -- tools that are left out ------------------------------------------------------------------

WRONG: list[JsonObject] = [
    tool("bad", region=marked("")),
    tool("bad", region=marked("a b")),
    tool("bad", region=marked("a\r\nb")),
    tool("bad", region=marked("größe")),
    tool("bad", region=marked(3)),
    tool("bad", amount=NUMBER),
    tool("bad", region=marked(kind="object")),
    tool("bad", one=marked("Region"), two=marked("REGION")),
    tool("bad", list={"type": "array", "items": marked()}),
    tool("bad", count={**marked("Count", "integer"), "maximum": 2**53}),
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_over_http_a_tool_with_a_wrong_mark_is_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture, wrong: JsonObject
) -> None:
    client, _ = over_http(page(tool("a"), wrong, tool("b", region=marked())))
    assert [tool.name for tool in await client.list_tools()] == ["a", "b"]
    [record] = caplog.records
    assert (record.name, record.levelno) == (LOGGER, logging.WARNING)
    assert "'bad' is left out of the list for its x-mcp-header: " in record.getMessage()


async def test_the_warning_comes_once_for_each_fault_of_a_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client, _ = over_http(*[page(tool("bad", amount=NUMBER))] * 3, page(WRONG[0]), page(WRONG[0]))
    for _ in range(5):
        assert await client.list_tools() == []
    assert len(caplog.records) == 2


async def test_a_warning_is_one_line_and_not_endless(caplog: pytest.LogCaptureFixture) -> None:
    many: Any = {f"p{n}\x1b[2J\n": marked("\x1b" * 1000) for n in range(1000)}
    client, _ = over_http(page(tool("bad\n\x1b" * 1000, **many)))
    await client.list_tools()
    [message] = [record.getMessage() for record in caplog.records]
    assert message.isprintable()
    assert len(message) < 1000


async def test_a_tool_that_is_mended_is_listed_again() -> None:
    client, server = over_http(page(WRONG[0]), page(tool("bad", region=marked())), done())
    assert await client.list_tools() == []
    assert len(await client.list_tools()) == 1
    await client.call_tool("bad")
    assert server.repeated[-1] == ["region"]


@pytest.mark.parametrize("wrong", WRONG)
async def test_over_other_transports_marks_leave_no_tool_out(
    caplog: pytest.LogCaptureFixture, wrong: JsonObject
) -> None:
    transport = ScriptedTransport([page(wrong), done()])
    client = Client(transport)
    assert len(await client.list_tools()) == 1
    assert (await client.call_tool("bad")).text == "done"
    assert caplog.records == []


# -- tools that want other headers than were known --------------------------------------------


async def test_a_tool_that_was_never_listed_is_looked_up_when_a_header_is_missed() -> None:
    client, server = over_http(
        MISMATCH, page(tool("other"), cursor="2"), page(tool(region=marked())), done(), done()
    )
    assert (await client.call_tool("query", {"region": "eu"})).text == "done"
    methods = [request["method"] for request in server.requests]
    assert methods == ["tools/call", "tools/list", "tools/list", "tools/call"]
    assert server.repeated == [[], [], [], ["region"]]
    await client.call_tool("query", {"region": "eu"})
    assert server.repeated[-1] == ["region"]


async def test_no_more_pages_are_read_than_it_takes() -> None:
    client, server = over_http(MISMATCH, page(tool(region=marked()), cursor="2"), done())
    await client.call_tool("query", {"region": "eu"})
    assert len(server.requests) == 3


async def test_a_tool_that_has_changed_is_looked_up_too() -> None:
    client, server = over_http(
        page(tool(region=marked())), MISMATCH, page(tool(zone=marked("Zone"))), done()
    )
    await client.list_tools()
    await client.call_tool("query")
    assert server.repeated == [[], ["region"], [], ["zone"]]


async def test_answers_are_sent_again_with_the_headers_that_were_missed() -> None:
    client, server = over_http(
        asks(), MISMATCH, page(tool(region=marked())), done(), elicitation=accept_prod
    )
    await client.call_tool("query")
    assert server.params[1]["inputResponses"] == server.params[3]["inputResponses"]


@pytest.mark.parametrize("listed", [page(), page(tool("other")), page(tool())])
async def test_a_refusal_that_the_list_does_not_explain_is_the_error(listed: JsonObject) -> None:
    client, server = over_http(MISMATCH, listed, done())
    with pytest.raises(ServerError, match="Mcp-Param-Region header is missing"):
        await client.call_tool("query", {"region": "eu"})
    assert len(server.requests) == 2


async def test_a_call_is_sent_once_more_and_no_further() -> None:
    client, server = over_http(MISMATCH, page(tool(region=marked())), MISMATCH, done())
    with pytest.raises(ServerError):
        await client.call_tool("query", {"region": "eu"})
    assert len(server.requests) == 3


async def test_a_tool_with_a_wrong_mark_is_the_explanation() -> None:
    client, server = over_http(MISMATCH, page(tool(amount=NUMBER)), done())
    with pytest.raises(ServerError) as caught:
        await client.call_tool("query", {"amount": 1.5})
    assert any("type 'number'" in note for note in caught.value.__notes__)
    assert len(server.requests) == 2


async def test_where_the_list_fails_the_refusal_is_the_error() -> None:
    gone = TransportLost("gone", sent=True)
    client, _ = over_http(MISMATCH, gone, retry=None)
    with pytest.raises(ServerError, match="header is missing") as caught:
        await client.call_tool("query")
    assert caught.value.__cause__ is gone


async def test_a_call_and_its_look_up_have_one_budget_of_tries(autojump_clock: object) -> None:
    def unsent() -> TransportLost:
        return TransportLost("no connection", sent=False)

    client, server = over_http(
        unsent(), MISMATCH, unsent(), page(tool(region=marked())), unsent(), done(),
        retry=RetryPolicy(attempts=3),
    )  # fmt: skip
    with pytest.raises(TransportLost) as caught:
        await client.call_tool("query")
    assert len(server.requests) == 5
    assert caught.value.__notes__ == ["This was the last of 3 tries."]


async def test_another_request_that_is_refused_for_its_headers_is_the_error() -> None:
    client, server = over_http(MISMATCH, page())
    with pytest.raises(ServerError):
        await client.get_prompt("query")
    assert len(server.requests) == 1


# -- what is remembered -----------------------------------------------------------------------


def parsed(name: str, **properties: JsonObject) -> Tool:
    return Tool(name, {"properties": {**properties}})


def test_the_memory_forgets_what_was_listed_first() -> None:
    memory = ToolMemory(bound=5000)
    for number in range(100):
        memory.learn(parsed(f"t{number}", region=marked()))
    kept = [n for n in range(100) if memory.mirrored(f"t{n}")]
    assert kept == list(range(100 - len(kept), 100))
    assert 1 <= len(kept) < 10


def test_a_tool_that_is_listed_again_moves_to_the_end() -> None:
    memory = ToolMemory(bound=4000)
    for name in ("first", "second", "first", "third"):
        memory.learn(parsed(name, region=marked()))
    assert [bool(memory.mirrored(name)) for name in ("first", "second", "third")] == [
        True,
        False,
        True,
    ]


def test_tools_without_marks_take_no_room() -> None:
    memory = ToolMemory(bound=3000)
    memory.learn(parsed("marked", region=marked()))
    for number in range(1000):
        memory.learn(parsed(f"plain{number}", region={"type": "string"}))
    assert memory.mirrored("marked")


async def test_a_tool_that_no_memory_holds_can_still_be_called() -> None:
    many: Any = {f"p{n}": marked(f"P{n}") for n in range(10_000)}
    client, server = over_http(MISMATCH, page(tool(**many)), done())
    await client.call_tool("query")
    assert len(server.repeated[-1]) == 10_000


async def test_an_argument_that_no_header_can_carry_is_refused_by_who_would_send_it() -> None:
    class Strict(MirroringTransport):
        async def exchange(self, request: Request, on_notification: OnNotification) -> Reply:
            if isinstance(request, MirroredRequest):
                raise UsageError("too large")
            return await super().exchange(request, on_notification)

    server = Strict([page(tool(region=marked())), done()])
    client = Client(server)
    await client.list_tools()
    with pytest.raises(UsageError, match="too large"):
        await client.call_tool("query")


async def test_a_list_that_was_contradicted_is_not_taken_from_the_cache() -> None:
    fresh: JsonObject = {"ttlMs": 60_000, "resultType": "complete"}
    client, server = over_http(
        {**page(tool()), **fresh},
        MISMATCH,
        {**page(tool(region=marked())), **fresh},
        done(),
        {**page(tool("new")), **fresh},
    )
    await client.list_tools()
    await client.list_tools()
    await client.call_tool("query", {"region": "eu"})
    assert [tool.name for tool in await client.list_tools()] == ["new"]
    assert len(server.requests) == 5
