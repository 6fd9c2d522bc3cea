"""What a client keeps of a server's answers, and when it asks again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from antiphon import Server, open_client
from antiphon.engine.call_errors import ServerError
from antiphon.engine.changes import Change, ListChanged, Reconnected, ResourceUpdated
from antiphon.engine.client import Client
from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.jsonrpc import Failure, JsonObject, Request
from antiphon.engine.result_cache import ResultCache
from tests.client.scripted import (
    accept_prod,
    asks,
    client_of,
    tell,
)

MINUTE = 60_000


def hint(ttl: Any = MINUTE, scope: str = "private") -> JsonObject:
    return {"resultType": "complete", "ttlMs": ttl, "cacheScope": scope}


def page(*names: str, cursor: str | None = None, **hints: Any) -> JsonObject:
    """A page of tools."""
    tools: Any = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    following: JsonObject = {} if cursor is None else {"nextCursor": cursor}
    return {"tools": tools, **following, **hint(**hints)}


def contents(text: str, **hints: Any) -> JsonObject:
    """A resource that was read."""
    return {"contents": [{"uri": "file:///a", "text": text}], **hint(**hints)}


def discovery(instructions: str, **hints: Any) -> JsonObject:
    return {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "instructions": instructions,
        **hint(**hints),
    }


async def tools(client: Client, **options: Any) -> list[str]:
    return [tool.name for tool in await client.list_tools(**options)]


async def text(client: Client, uri: str = "file:///a", **options: Any) -> str:
    return (await client.read_resource(uri, **options)).text


# -- what is kept -----------------------------------------------------------------------------


READS: dict[str, tuple[JsonObject, JsonObject, Callable[[Client], Any]]] = {
    "server/discover": (discovery("1"), discovery("2"), lambda c: c.discover()),
    "tools/list": (page("a"), page("b"), lambda c: c.list_tools()),
    "prompts/list": (
        {"prompts": [{"name": "a"}], **hint()},
        {"prompts": [], **hint()},
        lambda c: c.list_prompts(),
    ),
    "resources/list": (
        {"resources": [{"name": "a", "uri": "x:a"}], **hint()},
        {"resources": [], **hint()},
        lambda c: c.list_resources(),
    ),
    "resources/templates/list": (
        {"resourceTemplates": [{"name": "a", "uriTemplate": "x:{a}"}], **hint()},
        {"resourceTemplates": [], **hint()},
        lambda c: c.list_resource_templates(),
    ),
    "resources/read": (contents("1"), contents("2"), lambda c: c.read_resource("file:///a")),
}


@pytest.mark.parametrize("method", READS)
async def test_an_answer_serves_until_its_time_is_over(
    method: str, autojump_clock: trio.testing.MockClock
) -> None:
    first, second, read = READS[method]
    client, wire = client_of(first, second)
    answer = await read(client)
    await trio.sleep(59.9)
    assert await read(client) == answer
    assert len(wire.requests) == 1
    await trio.sleep(0.1)
    assert await read(client) != answer
    assert [request["method"] for request in wire.requests] == [method, method]


@pytest.mark.parametrize("ttl", [0, -1, -(10**30)])
async def test_what_is_stale_at_once_is_not_kept(ttl: int) -> None:
    client, _ = client_of(page("a", ttl=ttl), page("b"))
    assert [await tools(client), await tools(client)] == [["a"], ["b"]]


@pytest.mark.parametrize("ttl", ["60000", None, True, [60_000], {}, -60_000.0, 0.5])
async def test_a_hint_that_makes_no_sense_keeps_nothing_and_spoils_nothing(ttl: Any) -> None:
    client, _ = client_of(page("a", ttl=ttl), page("b", ttl=ttl))
    assert [await tools(client), await tools(client)] == [["a"], ["b"]]


async def test_a_time_may_be_written_as_any_number(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client, _ = client_of(page("a", ttl=60_000.0), page("b", ttl=1e300), page("c"))
    assert await tools(client) == ["a"]
    await trio.sleep(59)
    assert await tools(client) == ["a"]
    await trio.sleep(1)
    assert await tools(client) == ["b"]
    await trio.sleep(24 * 3600 - 1)
    assert await tools(client) == ["b"]


async def test_what_says_nothing_of_its_time_is_not_kept() -> None:
    bare: JsonObject = {"tools": []}
    client, wire = client_of(bare, bare)
    await client.list_tools()
    await client.list_tools()
    assert len(wire.requests) == 2


async def test_the_maximum_may_be_as_long_as_there_are_numbers() -> None:
    client, _ = client_of(page("a", ttl=10**350), cache=ResultCache(max_ttl=1e307))
    assert [await tools(client), await tools(client)] == [["a"], ["a"]]


@pytest.mark.parametrize("ttl", [10**12, 10**350])
async def test_no_answer_is_fresh_for_longer_than_the_maximum(
    ttl: int, autojump_clock: trio.testing.MockClock
) -> None:
    client, _ = client_of(page("a", ttl=ttl), page("b"), cache=ResultCache(max_ttl=100))
    await client.list_tools()
    await trio.sleep(99)
    assert await tools(client) == ["a"]
    await trio.sleep(1)
    assert await tools(client) == ["b"]


async def test_each_page_is_kept_by_itself(autojump_clock: trio.testing.MockClock) -> None:
    client, wire = client_of(
        page("a", cursor="2", ttl=100_000), page("b", ttl=10_000), page("c", ttl=10_000)
    )
    assert await tools(client) == ["a", "b"]
    await trio.sleep(10)
    assert await tools(client) == ["a", "c"]
    assert [params.get("cursor") for params in wire.params] == [None, "2", "2"]


async def test_another_resource_is_another_answer() -> None:
    client, _ = client_of(contents("a"), contents("b"))
    assert [await text(client), await text(client, "file:///b"), await text(client)] == [
        "a",
        "b",
        "a",
    ]


async def test_what_a_caller_changes_changes_nothing_that_is_kept() -> None:
    client, _ = client_of(page("a"))
    (tool,) = await client.list_tools()
    tool.input_schema["type"] = "changed"
    (again,) = await client.list_tools()
    assert again.input_schema == {"type": "object"}


async def test_an_answer_from_the_cache_lets_others_run() -> None:
    client, _ = client_of(contents("a"))
    await text(client)
    with trio.testing.assert_checkpoints():
        await text(client)


async def test_fresh_asks_again_and_keeps_the_new_answer() -> None:
    client, _ = client_of(page("a"), page("b"), contents("1"), contents("2"))
    assert [await tools(client), await tools(client, fresh=True)] == [["a"], ["b"]]
    assert await tools(client) == ["b"]
    assert [await text(client), await text(client, fresh=True)] == ["1", "2"]
    assert await text(client) == "2"


async def test_a_fresh_request_that_fails_leaves_nothing_behind() -> None:
    client, _ = client_of(contents("1"), Failure(None, -32602, "Resource not found"), contents("2"))
    await text(client)
    with pytest.raises(ServerError):
        await text(client, fresh=True)
    assert await text(client) == "2"


async def test_a_cache_can_be_done_without() -> None:
    client, wire = client_of(page("a"), page("b"), cache=None)
    assert [await tools(client), await tools(client)] == [["a"], ["b"]]
    tell(client, Reconnected(1.0, "lost"))
    assert len(wire.requests) == 2


# -- what is never kept -----------------------------------------------------------------------


async def test_what_depends_on_an_answer_is_not_kept() -> None:
    client, wire = client_of(
        asks(), contents("for prod"), contents("plain"), elicitation=accept_prod
    )
    assert [await text(client), await text(client)] == ["for prod", "plain"]
    assert await text(client) == "plain"
    assert len(wire.requests) == 3


async def test_what_depends_on_a_state_is_not_kept(autojump_clock: trio.testing.MockClock) -> None:
    client, _ = client_of(asks(state="s"), contents("later"), contents("plain"))
    assert [await text(client), await text(client)] == ["later", "plain"]


async def test_hints_on_an_interim_result_count_for_nothing() -> None:
    interim = {**asks(), **hint(), "resultType": "input_required"}
    client, wire = client_of(interim, contents("a"), elicitation=accept_prod)
    await text(client)
    assert len(wire.requests) == 2


async def test_errors_are_not_kept() -> None:
    refusal = Failure(None, -32603, "down", {"ttlMs": MINUTE})
    client, _ = client_of(refusal, page("a"))
    with pytest.raises(ServerError):
        await client.list_tools()
    assert await tools(client) == ["a"]


async def test_an_answer_that_cannot_be_read_is_not_kept() -> None:
    client, _ = client_of({"tools": 3, **hint()}, page("a"))
    with pytest.raises(InvalidReply):
        await client.list_tools()
    assert await tools(client) == ["a"]


async def test_calls_and_prompts_are_never_kept() -> None:
    result: JsonObject = {"content": [], "messages": [], **hint()}
    client, wire = client_of(*[result] * 4)
    for _ in range(2):
        await client.call_tool("t")
        await client.get_prompt("p")
    assert len(wire.requests) == 4


async def test_a_resource_that_is_read_by_hand_is_asked_for() -> None:
    client, wire = client_of(contents("1"), contents("2"))
    await text(client)
    await client.resource_conversation("file:///a").advance()
    assert len(wire.requests) == 2


# -- changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        (ListChanged("tools"), {"tools/list"}),
        (ListChanged("prompts"), {"prompts/list"}),
        (ListChanged("resources"), {"resources/list", "resources/templates/list"}),
        (ResourceUpdated("file:///a"), {"resources/read"}),
        (ResourceUpdated("file:///a/below"), {"resources/read"}),
        (ResourceUpdated("file:///"), {"resources/read"}),
        (ResourceUpdated("file:///b"), set[str]()),
        (Reconnected(3.0, "lost"), set(READS)),
    ],
)
async def test_a_change_empties_what_it_concerns(change: Change, stale: set[str]) -> None:
    client, wire = client_of(*(first for first, _, _ in READS.values()), *[page("x")] * 6)
    for _, _, read in READS.values():
        await read(client)
    tell(client, change)
    wire.answers = iter([READS[method][0] for method in READS if method in stale])
    for _, _, read in READS.values():
        await read(client)
    assert {str(request["method"]) for request in wire.requests[6:]} == stale


async def test_a_subscription_empties_what_it_hears_of() -> None:
    server = Server("Shop", list_ttl_ms=MINUTE)

    @server.tool
    async def sell() -> str:
        return "sold"

    async with (
        open_client(server) as client,
        client.subscribe(tools=True) as changes,
    ):
        assert await tools(client) == ["sell"]

        @server.tool
        async def buy() -> str:
            return "bought"

        server.tools_changed()
        assert await anext(changes) == ListChanged("tools")
        assert await tools(client) == ["sell", "buy"]


async def test_an_answer_that_was_on_its_way_when_a_change_was_told_is_not_kept() -> None:
    change_told = trio.Event()

    async def slow(request: Request) -> JsonObject:
        await change_told.wait()
        return page("before")

    client, _ = client_of(slow, page("after"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tools, client)
        await trio.testing.wait_all_tasks_blocked()
        tell(client, ListChanged("tools"))
        change_told.set()
    assert await tools(client) == ["after"]


async def test_an_older_answer_does_not_take_the_place_of_a_fresh_one() -> None:
    fresh_came = trio.Event()

    async def slow(_: Request) -> JsonObject:
        await fresh_came.wait()
        return contents("old")

    client, _ = client_of(slow, contents("new"), contents("newer"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(text, client)
        await trio.testing.wait_all_tasks_blocked()
        assert await text(client, fresh=True) == "new"
        fresh_came.set()
    assert await text(client) == "new"


# -- pages that were kept for too long --------------------------------------------------------


EXPIRED = Failure(None, -32602, "Invalid cursor")


async def test_a_kept_page_whose_cursor_no_longer_holds_is_asked_for_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client, wire = client_of(
        page("a", cursor="old"),
        page("b", ttl=0),
        EXPIRED,
        page("c", cursor="new"),
        page("d", ttl=0),
    )
    assert await tools(client) == ["a", "b"]
    assert await tools(client) == ["c", "d"]
    assert [params.get("cursor") for params in wire.params] == [None, "old", "old", None, "new"]


async def test_a_cursor_that_is_refused_twice_is_an_error() -> None:
    client, wire = client_of(page("a", cursor="1"), EXPIRED, page("a", cursor="1"), EXPIRED)
    with pytest.raises(ServerError, match="Invalid cursor"):
        await client.list_tools()
    assert len(wire.requests) == 4


async def test_an_iteration_does_not_begin_anew_by_itself() -> None:
    client, _ = client_of(page("a", cursor="1"), EXPIRED, page("b"))
    items = aiter(client.list_tools())
    assert (await anext(items)).name == "a"
    with pytest.raises(ServerError):
        await anext(items)
    assert await tools(client) == ["b"]


# -- bounds -----------------------------------------------------------------------------------


async def test_what_was_used_longest_ago_makes_room() -> None:
    cache = ResultCache(entries=2)
    client, _ = client_of(*(contents(t) for t in "abcd"), cache=cache)
    for uri in ("x:1", "x:2", "x:1", "x:3"):
        await text(client, uri)
    assert len(cache) == 2
    assert await text(client, "x:1") == "a"
    assert await text(client, "x:2") == "d"


async def test_the_bytes_are_bounded() -> None:
    cache = ResultCache(size=20_000)
    client, wire = client_of(*(contents("x" * 6000) for _ in range(5)), cache=cache)
    for n in range(5):
        await text(client, f"x:{n}")
    assert len(cache) == 3
    assert len(wire.requests) == 5


async def test_one_answer_beyond_all_bounds_is_not_kept_and_evicts_nothing() -> None:
    cache = ResultCache(size=5000)
    client, _ = client_of(contents("a"), contents("x" * 6000), cache=cache)
    await text(client, "x:1")
    await text(client, "x:2")
    assert len(cache) == 1
    assert await text(client, "x:1") == "a"


@pytest.mark.parametrize(
    "bounds", [{"entries": 0}, {"size": 0}, {"max_ttl": 0}, {"max_ttl": float("inf")}]
)
def test_bounds_that_make_no_sense_are_refused(bounds: Any) -> None:
    with pytest.raises(UsageError):
        ResultCache(**bounds)


def test_what_was_kept_in_another_run_is_not_served() -> None:
    cache = ResultCache()

    async def once(word: str) -> list[str]:
        client, _ = client_of(page(word), cache=cache)
        return await tools(client)

    assert [trio.run(once, "a"), trio.run(once, "b")] == [["a"], ["b"]]


async def test_nothing_of_what_is_kept_shows_in_a_repr() -> None:
    cache = ResultCache()
    client, _ = client_of(contents("secret"), cache=cache)
    await text(client)
    assert "secret" not in repr(cache)
    cache.clear()
    assert len(cache) == 0
