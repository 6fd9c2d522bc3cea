"""What a client of an earlier revision lists, reads, calls and hears of over lines."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.engine.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from antiphon.engine.jsonrpc import JsonObject
from tests.interop import ours, whole
from tests.interop.whole_tools import STRUCTURED
from tests.older_server.peer import (
    AGREE,
    VERSIONS,
    Message,
    OlderPeer,
    accept,
    by_message,
    in_session,
    says,
    text_of,
)

# -- what is listed, read and called ----------------------------------------------------------


async def pages(peer: OlderPeer, method: str, member: str) -> list[Message]:
    """All items of a list."""
    found: list[Message] = []
    cursor: JsonObject = {}
    while True:
        page = await peer.result(method, cursor)
        found += page[member]
        if "nextCursor" not in page:
            return found
        assert page[member]
        cursor = {"cursor": page["nextCursor"]}


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_page_is_listed(version: str) -> None:
    async with in_session(whole.make(), version) as peer:
        tools = await pages(peer, "tools/list", "tools")
        prompts = await pages(peer, "prompts/list", "prompts")
        resources = await pages(peer, "resources/list", "resources")
        templates = await pages(peer, "resources/templates/list", "resourceTemplates")
        assert (await peer.error("tools/list", {"cursor": "no"}))["code"] == INVALID_PARAMS
    assert [len(found) for found in (tools, prompts, resources, templates)] == [26, 8, 8, 8]
    (said,) = [tool for tool in tools if tool["name"] == "say"]
    assert ("title" in said) is (version >= "2025-06-18")
    assert ("icons" in said) is (version >= "2025-11-25")
    assert ("annotations" in said) is (version >= "2025-03-26")
    schemas = [tool["outputSchema"] for tool in tools if "outputSchema" in tool]
    assert bool(schemas) is (version >= "2025-06-18")
    assert all(schema["type"] == "object" for schema in schemas)


@pytest.mark.parametrize("version", VERSIONS)
async def test_structured_results_are_objects_where_there_are_any(version: str) -> None:
    async with in_session(whole.make(), version) as peer:
        for function, value in STRUCTURED.items():
            result = await peer.tool(function.__name__)
            wanted = isinstance(value, dict) and version >= "2025-06-18"
            assert ("structuredContent" in result) is wanted
            if wanted:
                assert result["structuredContent"] == value
            assert result["content"] or value == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_blocks_that_a_revision_does_not_know_become_text(version: str) -> None:
    async with in_session(whole.make(), version) as peer:
        result = await peer.tool("show")
    kinds = [block["type"] for block in result["content"]]
    audio = "audio" if version >= "2025-03-26" else "text"
    link = "resource_link" if version >= "2025-06-18" else "text"
    assert kinds == ["text", "image", audio, link, "resource", "resource"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_prompts_and_resources_are_served(version: str) -> None:
    async with in_session(whole.make(), version) as peer:
        prompt = await peer.result(
            "prompts/get", {"name": "discuss", "arguments": {"title": "Dune", "author": "Herbert"}}
        )
        assert prompt["messages"][0]["content"]["text"] == "What is Dune, Herbert?"
        book = await peer.result("resources/read", {"uri": "library://books/Dune"})
        assert book["contents"][0]["text"] == "Herbert"
        missing = await peer.error("resources/read", {"uri": "library://books/None"})
        assert (missing["code"], missing["data"]) == (-32002, {"uri": "library://books/None"})
        assert (await peer.error("resources/read", {}))["code"] == INVALID_PARAMS
        assert (await peer.error("prompts/get", {"name": "none"}))["code"] == INVALID_PARAMS


async def test_completions_take_the_arguments_that_are_filled_in() -> None:
    async with in_session(whole.make()) as peer:
        given = await peer.result(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "discuss"},
                "argument": {"name": "title", "value": ""},
                "context": {"arguments": {"author": "Austen"}},
            },
        )
    assert given["completion"]["values"] == ["Emma", "Persuasion"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_failures_of_a_tool_are_results_and_unknown_ones_errors(version: str) -> None:
    async with in_session(ours.make(), version) as peer:
        told = await peer.tool("fail", how="told")
        untold = await peer.tool("fail", how="untold")
        invalid = await peer.tool("fail", how="loudly")
        assert (await peer.error("tools/call", {"name": "mast"}))["code"] == INVALID_PARAMS
    assert [result["isError"] for result in (told, untold, invalid)] == [True] * 3
    assert text_of(told) == "The tide is out."
    assert "secret" not in text_of(untold)


@pytest.mark.parametrize(
    "method", ["server/discover", "subscriptions/listen", "tasks/list", "com.example/none"]
)
async def test_methods_of_other_revisions_are_unknown(method: str) -> None:
    async with in_session(whole.make()) as peer:
        assert (await peer.error(method))["code"] == METHOD_NOT_FOUND
        assert await peer.result("ping") == {}


@pytest.mark.parametrize("bad", [5, [], "x"])
async def test_meta_that_is_no_object_is_refused(bad: Any) -> None:
    async with in_session(whole.make()) as peer:
        params: JsonObject = {"name": "say", "arguments": {"text": "x"}, "_meta": bad}
        assert (await peer.error("tools/call", params))["code"] == INVALID_PARAMS


async def test_meta_that_is_null_is_none() -> None:
    async with in_session(whole.make()) as peer:
        params: JsonObject = {"name": "say", "arguments": {"text": "x"}, "_meta": None}
        assert text_of(await peer.result("tools/call", params)) == "x"


async def test_what_the_client_says_in_meta_arrives_without_what_is_the_protocols() -> None:
    async with in_session(whole.make()) as peer:
        said: JsonObject = {
            "com.example/mine": 1,
            "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
        }
        result = await peer.result(
            "tools/call", {"name": "remember", "arguments": {}, "_meta": said}
        )
    assert result["structuredContent"] == {"com.example/mine": 1}
    assert list(result["_meta"]) == ["com.example/mark"]


# -- what is said on the way ------------------------------------------------------------------


async def test_progress_and_messages_come_before_the_result() -> None:
    async with in_session(whole.make()) as peer:
        params: JsonObject = {
            "name": "work",
            "arguments": {"steps": 3},
            "_meta": {"progressToken": "p"},
        }
        await peer.result("tools/call", params)
    progress = [m["params"] for m in peer.notes if m["method"] == "notifications/progress"]
    assert [(p["progressToken"], p["progress"]) for p in progress] == [("p", i) for i in (1, 2, 3)]
    levels = [m["params"]["level"] for m in peer.notes if m["method"] == "notifications/message"]
    assert levels[0] == "info"  # until the client says otherwise
    assert levels[-1] == "emergency"


@pytest.mark.parametrize(("level", "count"), [("debug", 8), ("error", 4), ("emergency", 1)])
async def test_level_of_messages_is_set(level: str, count: int) -> None:
    async with in_session(whole.make()) as peer:
        assert await peer.result("logging/setLevel", {"level": level}) == {}
        assert (await peer.error("logging/setLevel", {"level": "loud"}))["code"] == INVALID_PARAMS
        assert (await peer.error("logging/setLevel", {}))["code"] == INVALID_PARAMS
        await peer.tool("work", steps=0)
    assert len([m for m in peer.notes if m["method"] == "notifications/message"]) == count


# -- changes ----------------------------------------------------------------------------------


async def test_changed_lists_are_told_without_asking() -> None:
    async with in_session(whole.make()) as peer:
        await peer.tool("acquire", name="kite")
        while len(peer.notes) < 3:
            await peer.hear()
        await peer.hear_nothing()
    assert {note["method"] for note in peer.notes} == {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
    }


async def test_updates_are_told_of_what_is_subscribed_to_until_it_is_not() -> None:
    diary: JsonObject = {"uri": whole.DIARY}
    async with in_session(whole.make()) as peer:
        await peer.tool("write", text="unheard")
        await peer.hear_nothing()
        assert await peer.result("resources/subscribe", diary) == {}
        assert await peer.result("resources/subscribe", diary) == {}
        await peer.tool("write", text="heard")
        if not peer.notes:
            await peer.hear()
        (note,) = peer.notes
        assert note == {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": diary,
        }
        assert await peer.result("resources/unsubscribe", diary) == {}
        assert await peer.result("resources/unsubscribe", diary) == {}
        await peer.tool("write", text="unheard")
        await peer.hear_nothing()
        for method in ("resources/subscribe", "resources/unsubscribe"):
            assert (await peer.error(method, {}))["code"] == INVALID_PARAMS


async def test_former_sessions_hear_of_nothing() -> None:
    diary: JsonObject = {"uri": whole.DIARY}
    async with in_session(whole.make()) as peer:
        await peer.result("resources/subscribe", diary)
        await peer.begin()
        await peer.tool("write", text="x")
        await peer.hear_nothing()
        await peer.tool("acquire", name="kite")
        while len(peer.notes) < 3:
            await peer.hear()
        await peer.hear_nothing()  # each once


# -- the whole of it --------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS[:2])
@pytest.mark.parametrize("name", ["lend", "survey", "stamp", "reserve"])
async def test_tools_prompts_and_templates_that_ask(version: str, name: str) -> None:
    answers = {
        "Who borrows": accept(name="Ada"),
        "Sign for it": AGREE,
        "Who are you": accept(name="Ada"),
        "Sign here": AGREE,
        "Say something": says("fine"),
        "any good": says("good"),
        "Which ink": accept(colour="red"),
        "Which branch": accept(name="far"),
        "That is far": accept(sure="yes"),
    }
    last = {
        "lend": "Dune is lent to Ada.",
        "survey": "Dune: Ada and fine, with 1 roots",
        "stamp": "Dune is stamped red for 1 roots in round 3.",
        "reserve": "Dune, good, is reserved far for 1 roots.",
    }[name]
    async with in_session(whole.make(), version) as peer:
        tool = await peer.tool(name, by_message(answers), title="Dune")
        prompt = await peer.result(
            "prompts/get", {"name": name, "arguments": {"title": "Dune"}}, by_message(answers)
        )
        resource = await peer.result(
            "resources/read", {"uri": f"{name}://Dune"}, by_message(answers)
        )
    assert text_of(tool) == last
    assert prompt["messages"][0]["content"]["text"] == last
    assert resource["contents"][0]["text"] == last


async def test_questions_of_one_round_are_put_together() -> None:
    async with in_session(ours.make()) as peer:
        id = await peer.call("gather")
        asked = [await peer.question() for _ in range(4)]
        await peer.hear_nothing()
        answer = by_message(
            {"Who are": accept(name="Ada"), "Sign": AGREE, "Say something": says("ah")}
        )
        for question in reversed(asked):
            await peer.reply(question["id"], answer(question))
        done = await peer.finish(id)
    assert done["result"]["structuredContent"] == {
        "name": "Ada",
        "said": "ah",
        "roots": ["file:///home"],
    }
    assert len({question["id"] for question in asked}) == 4
