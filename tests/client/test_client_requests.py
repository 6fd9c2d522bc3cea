"""What goes with every request: metadata, versions, progress; discovery and lists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import trio

from antiphon.engine.call_errors import ServerError, VersionMismatch
from antiphon.engine.client import Client
from antiphon.engine.client_options import ANTIPHON, ClientOptions, Settings
from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.jsonrpc import Failure, JsonObject, Notification, Request
from antiphon.engine.limits import Limits
from antiphon.engine.protocol import Implementation
from tests.client.scripted import accept_prod, asks, client_of, done, poll

PREFIX = "io.modelcontextprotocol/"


# -- metadata ---------------------------------------------------------------------------------


async def test_every_request_carries_version_identity_and_capabilities() -> None:
    client, server = client_of(
        {"supportedVersions": [], "capabilities": {}},
        {"tools": []},
        done(),
        client_info=Implementation("tester", "3"),
    )
    await client.discover()
    await client.list_tools()
    await client.call_tool("t")
    for params in server.params:
        assert params["_meta"] == {
            PREFIX + "protocolVersion": "2026-07-28",
            PREFIX + "clientInfo": {"name": "tester", "version": "3"},
            PREFIX + "clientCapabilities": {},
        }


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ({}, {}),
        ({"elicitation": accept_prod}, {"elicitation": {"form": {}, "url": {}}}),
        ({"elicitation": accept_prod, "refuse": ["form"]}, {"elicitation": {"url": {}}}),
        ({"elicitation": accept_prod, "refuse": {"form", "url"}}, {}),
        ({"sampling": accept_prod}, {"sampling": {}}),
        ({"sampling": accept_prod, "roots": [], "refuse": ["sampling"]}, {"roots": {}}),
        ({"roots": accept_prod}, {"roots": {}}),
    ],
)
async def test_callbacks_declare_capabilities(options: Any, declared: JsonObject) -> None:
    client, server = client_of(done(), poll(), done(), **options)
    await client.call_tool("t")
    await client.call_tool("t")
    assert [p["_meta"][PREFIX + "clientCapabilities"] for p in server.params] == [declared] * 3


async def test_the_callers_meta_goes_with_every_leg() -> None:
    client, server = client_of(poll(), done())
    await client.call_tool("t", meta={"traceparent": "00-1-2-3", "com.example/x": {"y": 1}})
    assert all(p["_meta"]["traceparent"] == "00-1-2-3" for p in server.params)
    assert all(p["_meta"]["com.example/x"] == {"y": 1} for p in server.params)


@pytest.mark.parametrize("name", ["progressToken", PREFIX + "clientCapabilities", PREFIX + "new"])
async def test_what_the_client_sets_itself_cannot_be_given(name: str) -> None:
    client, server = client_of(done())
    with pytest.raises(UsageError, match="the client sets it"):
        await client.call_tool("t", meta={name: 1})
    assert server.requests == []


def test_our_own_version_is_that_of_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert ANTIPHON.version == tomllib.loads(project.read_text())["project"]["version"]


def test_the_options_of_a_client_are_its_settings() -> None:
    import attrs

    assert ClientOptions.__optional_keys__ == {field.name for field in attrs.fields(Settings)}


@pytest.mark.parametrize(
    "options",
    [
        {"refuse": "url"},
        {"refuse": ["dialog"]},
        {"roots": "file:///a"},
        {"max_rounds": -1},
        {"max_polls": -1},
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(UsageError):
        client_of(**options)


# -- versions ---------------------------------------------------------------------------------


def refused(*supported: object) -> Failure:
    data: Any = {"requested": "2026-07-28", "supported": list(supported)}
    return Failure(None, -32022, "Unsupported protocol version", data)


async def test_what_only_reads_is_sent_once_more_where_both_speak_a_version() -> None:
    client, server = client_of(refused("2025-11-25", "2026-07-28"), page("a"))
    assert [tool.name for tool in await client.list_tools()] == ["a"]
    assert server.requests[0]["id"] != server.requests[1]["id"]
    assert server.params[1]["_meta"][PREFIX + "protocolVersion"] == "2026-07-28"


async def test_a_version_is_tried_once_more_and_no_further() -> None:
    client, server = client_of(refused("2026-07-28"), refused("2026-07-28"), done())
    with pytest.raises(ServerError) as caught:
        await client.list_tools()
    assert (caught.value.code, len(server.requests)) == (-32022, 2)


async def test_a_call_is_not_repeated_to_a_server_that_refuses_what_it_speaks() -> None:
    client, server = client_of(asks(), refused("2026-07-28"), done(), elicitation=accept_prod)
    with pytest.raises(ServerError, match="-32022: Unsupported") as caught:
        await client.call_tool("t")
    assert not isinstance(caught.value, VersionMismatch)
    assert caught.value.interim is not None
    assert [("inputResponses" in params) for params in server.params] == [False, True]


async def test_a_call_goes_on_with_another_version_that_both_speak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken = ("2026-07-28", "2027-01-01")
    monkeypatch.setattr("antiphon.engine.client_wire.SUPPORTED_VERSIONS", spoken)
    client, server = client_of(
        asks(), refused("2027-01-01"), poll(), done(), elicitation=accept_prod
    )
    assert (await client.call_tool("t")).text == "done"
    versions = [params["_meta"][PREFIX + "protocolVersion"] for params in server.params]
    assert versions == ["2026-07-28"] * 2 + ["2027-01-01"] * 2
    assert server.params[1]["inputResponses"] == server.params[2]["inputResponses"]


async def test_without_a_common_version_both_sides_are_named() -> None:
    client, server = client_of(refused("2025-11-25", "2027-01-01", 3))
    with pytest.raises(VersionMismatch, match=r"2025-11-25, 2027-01-01.*2026-07-28") as caught:
        await client.call_tool("t")
    assert caught.value.theirs == ("2025-11-25", "2027-01-01")
    assert caught.value.ours == ("2026-07-28",)
    assert len(server.requests) == 1


@pytest.mark.parametrize("data", [None, 3, [], {}, {"supported": "2026-07-28"}])
async def test_a_refused_version_without_a_list_is_an_error(data: Any) -> None:
    client, server = client_of(Failure(None, -32022, "no", data), done())
    with pytest.raises(VersionMismatch, match="speaks none"):
        await client.discover()
    assert len(server.requests) == 1


# -- discovery and lists ----------------------------------------------------------------------


async def test_discovery_tells_what_the_server_is() -> None:
    client, _ = client_of(
        {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "instructions": "Be kind",
            "_meta": {PREFIX + "serverInfo": {"name": "Provisioner", "version": "2"}},
        }
    )
    assert client.name == "scripted"
    found = await client.discover()
    assert (found.capabilities, found.instructions) == ({"tools": {}}, "Be kind")
    assert found.server == Implementation("Provisioner", "2")
    assert client.name == "Provisioner"


def page(*names: object, cursor: str | None = None) -> JsonObject:
    tools: Any = [{"name": name, "inputSchema": {}} for name in names]
    return {"tools": tools} if cursor is None else {"tools": tools, "nextCursor": cursor}


async def test_all_pages_are_listed_in_order_and_cursors_are_sent_back_untouched() -> None:
    client, server = client_of(
        page("a", "b", cursor=""), page(cursor=" odd=\n"), page("c", cursor="x"), page("d")
    )
    assert [tool.name for tool in await client.list_tools()] == ["a", "b", "c", "d"]
    assert [p.get("cursor") for p in server.params] == [None, "", " odd=\n", "x"]


@pytest.mark.parametrize("loop", [["x", "x"], ["x", "y", "x"], ["", ""]])
async def test_a_list_that_leads_back_to_itself_is_an_invalid_reply(loop: list[str]) -> None:
    client, server = client_of(*(page("a", cursor=cursor) for cursor in loop), page("b"))
    with pytest.raises(InvalidReply, match="earlier page"):
        await client.list_tools()
    assert len(server.requests) == len(loop)


@pytest.mark.parametrize("names", ["a", ""])
async def test_a_list_without_end_is_an_invalid_reply(names: str) -> None:
    client, server = client_of(
        *(page(*names.split(), cursor=str(n)) for n in range(100)), limits=Limits(listed=20)
    )
    with pytest.raises(InvalidReply, match="limit listed"):
        await client.list_tools()
    assert len(server.requests) == 20


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required", "requestState": "s"},
        {"resultType": "task"},
        page(3),
        {"tools": {}},
        {"tools": "ab"},
        {},
    ],
)
async def test_a_list_cannot_be_interim_or_malformed(result: JsonObject) -> None:
    client, server = client_of(result)
    with pytest.raises(InvalidReply):
        await client.list_tools()
    assert len(server.requests) == 1


async def test_a_closed_client_takes_no_request() -> None:
    client, server = client_of(done())
    await client.aclose()
    with pytest.raises(UsageError, match="closed"):
        await client.call_tool("t")
    assert server.requests == []


# -- progress ---------------------------------------------------------------------------------


def telling(*told: Any, result: JsonObject | None = None) -> Any:
    """A leg that sends these as progress, with its own token where none is given."""

    async def answer(request: Request) -> JsonObject:
        token = request.params["_meta"]["progressToken"]  # type: ignore[index, call-overload]
        for members in told:
            params: JsonObject = {"progressToken": token, **members}
            telling.server.notes(Notification("notifications/progress", params))  # type: ignore[attr-defined]
            await trio.lowlevel.checkpoint()
        return result or done()

    return answer


async def listen(*answers: Any, **options: Any) -> tuple[list[Any], Client, Any]:
    """Call a tool and keep its progress."""
    client, server = client_of(*answers, **options)
    telling.server = server  # type: ignore[attr-defined]
    heard: list[Any] = []

    def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    await client.call_tool("t", progress=hear)
    return heard, client, server


async def test_progress_arrives_with_total_and_message() -> None:
    heard, _, _ = await listen(
        telling({"progress": 0}, {"progress": 1, "total": 2.5}, {"progress": 2, "message": "m"})
    )
    assert heard == [(0, None, None), (1, 2.5, None), (2, None, "m")]


async def test_progress_tokens_are_unique_for_each_leg() -> None:
    heard, _, server = await listen(
        telling({"progress": 5}, result=poll()), telling({"progress": 1})
    )
    tokens = [p["_meta"]["progressToken"] for p in server.params]
    assert len(set(tokens)) == 2
    assert heard == [(5, None, None), (1, None, None)]


async def test_without_a_callback_no_token_is_sent() -> None:
    client, server = client_of(done())
    await client.call_tool("t")
    assert "progressToken" not in server.params[0]["_meta"]


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"progress": "5"},
        {"progress": True},
        {"progress": None},
        {"progress": 9, "progressToken": "another"},
        {"progress": 9, "progressToken": 1},
        {"progress": 9, "progressToken": None},
        {"progress": 9, "progressToken": ["x"]},
        {"progress": 1},
        {"progress": 0},
    ],
)
async def test_progress_that_is_malformed_foreign_or_backward_is_dropped(members: Any) -> None:
    heard, _, _ = await listen(telling({"progress": 1}, members, {"progress": 10}))
    assert heard == [(1, None, None), (10, None, None)]


async def test_an_unreadable_total_or_message_is_no_total_or_message() -> None:
    heard, _, _ = await listen(telling({"progress": 1, "total": "ten", "message": 3}))
    assert heard == [(1, None, None)]


async def test_progress_that_comes_after_its_leg_is_dropped() -> None:
    heard, _, server = await listen(telling({"progress": 1}))
    token = server.params[0]["_meta"]["progressToken"]
    late: JsonObject = {"progressToken": token, "progress": 2}
    server.notes(Notification("notifications/progress", late))
    assert len(heard) == 1


async def test_other_notifications_are_no_progress() -> None:
    async def chat(_: Request) -> JsonObject:
        telling.server.notes(Notification("notifications/message", {"progress": 1}))  # type: ignore[attr-defined]
        return done()

    heard, _, _ = await listen(chat)
    assert heard == []


async def test_a_flood_of_progress_reaches_the_callback_at_a_bounded_rate(
    autojump_clock: object,
) -> None:
    heard, _, _ = await listen(telling(*({"progress": n} for n in range(20_000))))
    assert len(heard) == 1000


async def test_progress_goes_on_after_a_flood(autojump_clock: object) -> None:
    async def later(request: Request) -> JsonObject:
        token = request.params["_meta"]["progressToken"]  # type: ignore[index, call-overload]
        for n in [*range(5000), 9000]:
            if n == 9000:
                await trio.sleep(1)
            params: JsonObject = {"progressToken": token, "progress": n}
            telling.server.notes(Notification("notifications/progress", params))  # type: ignore[attr-defined]
        return done()

    heard, _, _ = await listen(later)
    assert heard[-1] == (9000, None, None)
    assert len(heard) == 1001


async def test_an_error_of_a_progress_callback_ends_the_call_and_not_the_transport() -> None:
    client, server = client_of(telling({"progress": 1}, {"progress": 2}), done())
    telling.server = server  # type: ignore[attr-defined]
    calls = 0

    def fail(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise LookupError("no screen")

    with pytest.raises(LookupError, match="no screen"):
        await client.call_tool("t", progress=fail)
    assert (calls, server.open, server.cancelled) == (1, 0, 1)
    assert (await client.call_tool("t")).text == "done"


async def test_progress_of_each_round_is_heard_in_a_call_with_questions() -> None:
    heard, _, _ = await listen(
        telling({"progress": 1}, result=asks()), telling({"progress": 2}), elicitation=accept_prod
    )
    assert [done for done, _, _ in heard] == [1, 2]
