"""What goes with every request: metadata, versions, progress; discovery and lists."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from antiphon.engine.call_errors import ServerError, VersionMismatch
from antiphon.engine.client_options import ANTIPHON, ClientOptions, Settings
from antiphon.engine.errors import InvalidReply, UsageError
from antiphon.engine.jsonrpc import Failure, JsonObject
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


@pytest.mark.parametrize("name", [PREFIX + "related-task", "traceparent", "com.example/x"])
async def test_an_extension_of_the_protocol_has_members_of_its_own(name: str) -> None:
    client, server = client_of(done())
    await client.call_tool("t", meta={name: "x"})
    assert server.params[0]["_meta"][name] == "x"


@pytest.mark.parametrize(
    "name",
    [
        "progressToken",
        *(PREFIX + n for n in ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel")),
    ],
)
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


async def deaf(*_: object) -> None:
    raise AssertionError("nobody waits for it")


@pytest.mark.parametrize("name", ["audit", "log"])
def test_an_async_function_that_nobody_would_await_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} takes a plain function"):
        client_of(**{name: deaf})


async def test_an_async_function_is_refused_for_one_call_too() -> None:
    client, server = client_of(done())
    with pytest.raises(UsageError, match="progress takes a plain function"):
        await client.call_tool("t", progress=deaf)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="log takes a plain function"):
        await client.read_resource("x:a", log=deaf)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="on_change takes a plain function"):
        client.on_change(deaf)  # type: ignore[arg-type]
    assert server.requests == []


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


async def test_an_integer_may_be_written_with_a_point() -> None:
    found: Any = [{"name": "a", "uri": "x:a", "size": 42.0}]
    client, _ = client_of({"resources": found}, {"resources": [{**found[0], "size": 42.5}]})
    (resource,) = await client.list_resources()
    assert (resource.size, type(resource.size)) == (42, int)
    with pytest.raises(InvalidReply, match="expected integer, not number"):
        await client.list_resources()


async def test_a_closed_client_takes_no_request() -> None:
    client, server = client_of(done())
    await client.aclose()
    with pytest.raises(UsageError, match="closed"):
        await client.call_tool("t")
    assert server.requests == []
