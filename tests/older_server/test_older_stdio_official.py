"""The official client in the handshake era, and servers of ours as its children."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import trio
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, TextContent, TextResourceContents

from tests.interop.lists import all_tools
from tests.interop.notices import Listener
from tests.interop.people import AGREE, DECLINE, accept, list_roots, model, person, properties
from tests.interop.servers import (
    HARBOUR,
    PATIENCE,
    PROVISION,
    REPORT,
    REVIEW,
    ROOT,
    WHOLE,
    python_path,
    served,
    text_of,
)

# All of that era is deprecated there.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

LEGACY: Any = {"mode": "legacy"}


async def test_child_is_greeted_listed_and_called() -> None:
    async with served("stdio", WHOLE) as server, server.client(**LEGACY) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info is not None
        assert client.server_info.title == "The library"
        assert client.instructions == "Be quiet."
        assert len(await all_tools(client)) == 26
        assert (await client.call_tool("give_object", {})).structured_content is not None
        assert text_of(await client.call_tool("say", {"text": "\u2028名 🚢"})) == "\u2028名 🚢"
        await client.send_ping()  # pyright: ignore[reportDeprecated]
    assert server.complaints.texts == []


async def test_provision_asks_twice() -> None:
    ada = person(accept(name="prod"), accept(sure="yes"))
    async with (
        served("stdio", PROVISION) as server,
        server.client(**LEGACY, elicitation_callback=ada) as client,
    ):
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.structured_content == {"name": "orders", "region": "prod"}
    assert len(ada.asked) == 2
    assert server.complaints.texts == []


async def test_provision_is_declined() -> None:
    ada = person(accept(name="prod"), DECLINE)
    async with (
        served("stdio", PROVISION) as server,
        server.client(**LEGACY, elicitation_callback=ada) as client,
    ):
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.is_error
    assert "was not provisioned" in text_of(result)


async def test_client_that_cannot_be_asked_is_told_so_in_a_result() -> None:
    async with served("stdio", PROVISION) as server, server.client(**LEGACY) as client:
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.is_error
    assert "elicitation" in text_of(result)


async def test_review_asks_model_roots_and_person() -> None:
    ada = person(accept(decision="reject", remark="no"))
    async with (
        served("stdio", REVIEW) as server,
        server.client(
            **LEGACY,
            elicitation_callback=ada,
            sampling_callback=model("RISKY: all"),
            list_roots_callback=list_roots,
        ) as client,
    ):
        result = await client.call_tool("review", {"diff": "x"})
    assert result.structured_content == {
        "decision": "reject",
        "remark": "no",
        "opinion": "RISKY: all",
        "roots": ["file:///home/ada", "file:///srv"],
    }


async def test_report_is_polled_for_within_the_call() -> None:
    heard = Listener()
    async with served("stdio", REPORT) as server, server.client(**LEGACY) as client:
        result = await client.call_tool(
            "slow_report", {"title": "Quarter", "pages": 4}, progress_callback=heard.on_progress
        )
    assert result.structured_content == {"title": "Quarter", "pages": 4}


async def test_every_kind_of_question_in_one_round() -> None:
    async def answer(context: Any, params: Any) -> Any:
        return AGREE if params.mode == "url" else accept(name="Ada")

    async with (
        served("stdio", HARBOUR) as server,
        server.client(
            **LEGACY,
            elicitation_callback=answer,
            sampling_callback=model("ah"),
            list_roots_callback=list_roots,
        ) as client,
    ):
        result = await client.call_tool("gather", {})
    assert result.structured_content == {
        "name": "Ada",
        "said": "ah",
        "roots": ["file:///home/ada", "file:///srv"],
    }


async def test_long_form_arrives_with_all_its_fields() -> None:
    filled = accept(
        title="T", mail="a@b.example", size="small", colour="red", region="eu",
        extras=["wrap"], stamps=["a"],
    )  # fmt: skip
    ada = person(filled)
    async with (
        served("stdio", HARBOUR) as server,
        server.client(**LEGACY, elicitation_callback=ada) as client,
    ):
        result = await client.call_tool("place_order", {})
    assert not result.is_error, text_of(result)
    assert len(properties(ada.asked[0])) == 11


async def test_prompts_and_templates_ask_too() -> None:
    ada = person(accept(name="Ada"), AGREE, accept(name="Ada"), AGREE)
    async with (
        served("stdio", WHOLE) as server,
        server.client(**LEGACY, elicitation_callback=ada) as client,
    ):
        prompt = await client.get_prompt("lend", {"title": "Dune"})
        resource = await client.read_resource("lend://Emma")
    (message,), (part,) = prompt.messages, resource.contents
    assert isinstance(message.content, TextContent)
    assert isinstance(part, TextResourceContents)
    assert message.content.text == "Dune is lent to Ada."
    assert part.text == "Emma is lent to Ada."


async def test_progress_and_messages_are_heard() -> None:
    heard = Listener()
    async with (
        served("stdio", WHOLE) as server,
        server.client(**LEGACY, logging_callback=heard.on_log) as client,
    ):
        await client.set_logging_level("error")  # pyright: ignore[reportDeprecated]
        await client.call_tool("work", {"steps": 3}, progress_callback=heard.on_progress)
        await heard.until(progress=3, logged=4)
    assert sorted(heard.progress) == [(step, 3, f"step {step}") for step in (1, 2, 3)]
    assert {said.level for said in heard.logged} == {"error", "critical", "alert", "emergency"}


async def test_cancelled_call_is_cancelled_in_the_child() -> None:
    async with served("stdio", HARBOUR) as server, server.client(**LEGACY) as client:
        begun = trio.Event()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        async with trio.open_nursery() as nursery:

            async def hang() -> None:
                await client.call_tool("hang", {}, progress_callback=on_progress)

            nursery.start_soon(hang)
            await begun.wait()
            nursery.cancel_scope.cancel()
        assert text_of(await client.call_tool("until_freed", {})) == "freed"


async def test_automatic_client_prefers_the_present_revision() -> None:
    async with served("stdio", HARBOUR) as server, server.client() as client:
        assert client.protocol_version == "2026-07-28"


async def test_child_without_handshake_refuses_it() -> None:
    program = "from antiphon import Server, run_stdio; run_stdio(Server('New', handshake=False))"
    command = StdioServerParameters(
        command=sys.executable, args=["-c", program], env=python_path(), cwd=ROOT
    )
    with trio.fail_after(PATIENCE):
        with pytest.RaisesGroup(MCPError, flatten_subgroups=True) as caught:
            async with Client(stdio_client(command), **LEGACY):
                raise AssertionError("it took the handshake")
    error = only(caught.value)
    assert error.code == UNSUPPORTED_PROTOCOL_VERSION
    assert error.data == {"requested": "2025-11-25", "supported": ["2026-07-28"]}


def only(group: BaseExceptionGroup[MCPError]) -> MCPError:
    """The one error within nested groups."""
    (error,) = group.exceptions
    return only(error) if isinstance(error, BaseExceptionGroup) else error
