"""What may be said of requests without rounds, how often a list is listed, and what null means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from antiphon.engine.client import Client
from antiphon.engine.client_messages import Cacheable
from antiphon.engine.client_reads import PromptRef
from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.exchange import TransportLost
from antiphon.engine.hearing import LogMessage
from antiphon.engine.jsonrpc import JsonObject, Notification, Request
from antiphon.engine.retrying import RetryPolicy
from tests.client import listening
from tests.client.scripted import client_of, done

PREFIX = "io.modelcontextprotocol/"

Read = Callable[..., Any]

READS: dict[str, tuple[JsonObject, Callable[[Client], Read]]] = {
    "server/discover": (
        {"supportedVersions": ["2026-07-28"], "capabilities": {}},
        lambda c: c.discover,
    ),
    "tools/list": ({"tools": []}, lambda c: c.list_tools),
    "prompts/list": ({"prompts": []}, lambda c: c.list_prompts),
    "resources/list": ({"resources": []}, lambda c: c.list_resources),
    "resources/templates/list": (
        {"resourceTemplates": []},
        lambda c: c.list_resource_templates,
    ),
    "completion/complete": (
        {"completion": {"values": []}},
        lambda c: partial(c.complete, PromptRef("p"), "a", "v"),
    ),
}


def page(*names: str, cursor: str | None = None, **hints: Any) -> JsonObject:
    tools: Any = [{"name": name, "inputSchema": {}} for name in names]
    return {"tools": tools, **({} if cursor is None else {"nextCursor": cursor}), **hints}


# -- what goes with a request -----------------------------------------------------------------


@pytest.mark.parametrize("method", READS)
async def test_the_callers_meta_goes_with_a_read(method: str) -> None:
    result, read = READS[method]
    client, server = client_of(result)
    meta = {"com.example/tenant": {"id": 7}}
    await read(client)(meta=meta)
    (params,) = server.params
    assert params["_meta"]["com.example/tenant"] == {"id": 7}
    assert params["_meta"][PREFIX + "protocolVersion"] == "2026-07-28"


async def test_the_callers_meta_goes_with_every_page_as_it_was_given() -> None:
    client, server = client_of(page("a", cursor="1"), page("b"))
    meta = {"com.example/x": [1]}
    listing = client.list_tools(meta=meta)
    meta["com.example/x"].append(2)
    await listing
    assert [params["_meta"]["com.example/x"] for params in server.params] == [[1], [1]]
    assert [params.get("cursor") for params in server.params] == [None, "1"]


@pytest.mark.parametrize("method", READS)
@pytest.mark.parametrize("name", ["progressToken", PREFIX + "protocolVersion"])
async def test_what_the_client_sets_itself_cannot_be_given_to_a_read(
    method: str, name: str
) -> None:
    result, read = READS[method]
    client, server = client_of(result)
    with pytest.raises(UsageError, match="the client sets it"):
        await read(client)(meta={name: 1})
    assert server.requests == []


async def test_a_subscription_has_the_callers_meta_each_time_that_it_is_made(
    autojump_clock: Any,
) -> None:
    async def breaking(stream: listening.Stream) -> JsonObject:
        stream.acknowledge()
        raise TransportLost("gone", sent=True)

    client, streams = listening.client_of(
        breaking, listening.silent, reconnect=RetryPolicy(attempts=2)
    )
    meta = {"com.example/x": 1}
    async with client.subscribe(tools=True, meta=meta) as changes:
        await anext(changes)
    sent: list[Any] = [request.params["_meta"] for request in streams.requests]
    assert [m["com.example/x"] for m in sent] == [1, 1]


async def test_a_subscription_cannot_be_given_what_the_client_sets() -> None:
    client, streams = listening.client_of(listening.silent)
    with pytest.raises(UsageError, match="the client sets it"):
        client.subscribe(tools=True, meta={"progressToken": 1})
    assert streams.requests == []


# -- what is said meanwhile -------------------------------------------------------------------


def saying(result: JsonObject, hear: list[Any]) -> Callable[[Request], Any]:
    """A read that tells its progress and logs, as far as it was asked to."""

    async def answer(request: Request) -> JsonObject:
        meta: Any = request.params["_meta"]
        (server,) = hear
        token = {"progressToken": meta.get("progressToken"), "progress": 1}
        server.notes(Notification("notifications/progress", token))
        level = meta.get(PREFIX + "logLevel")
        if level is not None:
            said: JsonObject = {"level": level, "data": "hello"}
            server.notes(Notification("notifications/message", said))
        return result

    return answer


@pytest.mark.parametrize("method", READS)
async def test_a_read_is_heard_while_it_takes(method: str) -> None:
    result, read = READS[method]
    hear: list[Any] = []
    client, server = client_of(saying(result, hear))
    hear.append(server)
    steps: list[float] = []
    logged: list[LogMessage] = []

    def step(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    await read(client)(progress=step, log=logged.append, log_level="debug")
    assert steps == [1]
    assert logged == [LogMessage("debug", "hello")]


async def test_the_log_of_the_client_hears_reads_too() -> None:
    hear: list[Any] = []
    logged: list[LogMessage] = []
    client, server = client_of(saying(page(), hear), log=logged.append, log_level="notice")
    hear.append(server)
    await client.list_tools()
    assert [message.level for message in logged] == ["notice"]


async def test_a_level_that_there_is_not_is_refused_for_a_read() -> None:
    client, server = client_of(page())
    with pytest.raises(UsageError, match="log_level takes"):
        client.list_tools(log_level="loud")  # type: ignore[arg-type]
    assert server.requests == []


# -- what is kept of it -----------------------------------------------------------------------


async def test_a_kept_answer_stands_for_requests_with_the_same_meta() -> None:
    client, server = client_of(page("all", ttlMs=60_000), page("one", ttlMs=60_000))

    async def names(meta: Mapping[str, object] | None) -> list[str]:
        return [tool.name for tool in await client.list_tools(meta=meta)]

    tenant = {"com.example/tenant": 1}
    assert await names(None) == ["all"]
    assert await names(tenant) == ["one"]
    assert await names({}) == ["all"]
    assert await names({**tenant, "traceparent": "00-1-2-3"}) == ["one"]
    assert len(server.requests) == 2


# -- lists that are listed again --------------------------------------------------------------


async def test_a_listing_is_listed_again_each_time() -> None:
    client, server = client_of(page("a", cursor="1"), page("b"), page("c"), page("d"))
    listing = client.list_tools()
    assert [tool.name for tool in await listing] == ["a", "b"]
    assert [tool.name for tool in await listing] == ["c"]
    assert [tool.name async for tool in listing] == ["d"]
    assert [params.get("cursor") for params in server.params] == [None, "1", None, None]


async def test_an_iteration_that_was_left_does_not_shorten_the_next_one() -> None:
    client, _ = client_of(page("a", "b", cursor="1"), page("a", "b"))
    listing = client.list_tools()
    async for tool in listing:
        assert tool.name == "a"
        break
    assert [tool.name for tool in await listing] == ["a", "b"]


async def test_two_iterations_of_one_listing_do_not_disturb_each_other() -> None:
    client, _ = client_of(page("a", "b"), page("a", "b"))
    listing = client.list_tools()
    one, two = aiter(listing), aiter(listing)
    seen = [(await anext(one)).name, (await anext(two)).name, (await anext(one)).name]
    assert seen == ["a", "a", "b"]
    assert (await anext(two)).name == "b"


# -- null -------------------------------------------------------------------------------------


async def test_an_optional_member_that_is_null_counts_as_absent() -> None:
    absent = await client_of(done())[0].call_tool("t")
    null = await client_of(done(_meta=None, isError=None))[0].call_tool("t")
    assert null == absent
    assert (null.meta, null.is_error) == ({}, False)


async def test_null_counts_as_absent_deep_inside() -> None:
    argument: Any = {"name": "x", "required": None, "title": None}
    prompts: Any = [
        {"name": "a", "arguments": None, "_meta": None},
        {"name": "b", "arguments": [argument]},
    ]
    client, _ = client_of({"prompts": prompts, "ttlMs": None, "nextCursor": None})
    none, one = await client.list_prompts()
    assert none.arguments == []
    assert one.arguments[0].required is False


async def test_hints_that_are_null_keep_nothing() -> None:
    contents: Any = [{"uri": "x:a", "text": "t"}]
    client, _ = client_of({"contents": contents, "ttlMs": None, "cacheScope": None, "_meta": None})
    result = await client.read_resource("x:a")
    assert (result.ttl_ms, result.cache_scope) == (Cacheable().ttl_ms, Cacheable().cache_scope)


async def test_structured_content_that_is_null_is_still_told_from_none() -> None:
    client, _ = client_of(done(structuredContent=None), done())
    assert (await client.call_tool("t")).has_structured
    assert not (await client.call_tool("t")).has_structured


@pytest.mark.parametrize(
    "result",
    [
        {"content": None},
        done(resultType=None),
        {"resultType": "input_required", "inputRequests": None, "requestState": "s"},
        {"resultType": "input_required", "requestState": None},
    ],
    ids=["content", "resultType", "inputRequests", "requestState"],
)
async def test_null_is_no_content_no_type_and_no_question(result: JsonObject) -> None:
    client, server = client_of(result)
    with pytest.raises(InvalidReply):
        await client.call_tool("t")
    assert len(server.requests) == 1
