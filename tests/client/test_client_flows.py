"""The client actor and our own server together, in memory: the examples from end to end."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from antiphon.engine.asked import Accept, Cancel, Decline, FormRequest
from antiphon.engine.call_errors import DeadlineExceeded, ServerError
from antiphon.engine.client import Client
from antiphon.engine.conversation import Asked
from antiphon.flows.server import Server
from antiphon.transports.connect import open_client
from antiphon.transports.memory import MemoryTransport
from examples.provision import Cloud, Provision
from examples.slow_report import Press, SlowReport

KEY = "k" * 32


def provisioner(**options: Any) -> Server:
    server = Server("Provisioner", version="1.0", keys=[KEY], **options)
    server.tool(Provision(Cloud()))
    return server


async def careful(question: object) -> Accept:
    assert isinstance(question, FormRequest)
    assert question.server == "Provisioner"
    (field,) = question.fields
    return Accept({field.name: "prod" if field.name == "name" else "yes"})


async def test_a_flow_of_two_questions_ends_in_its_result() -> None:
    async with open_client(provisioner(), elicitation=careful) as client:
        assert [tool.name for tool in await client.list_tools()] == ["provision"]
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.structured == {"name": "orders", "region": "prod"}


@pytest.mark.parametrize("answer", [Decline(), Cancel()])
async def test_a_refusal_takes_its_edge(answer: Any) -> None:
    async def wavering(question: Any) -> Any:
        return await careful(question) if question.fields[0].name == "name" else answer

    async with open_client(provisioner(), elicitation=wavering) as client:
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.is_error
    assert "production was declined" in result.text


async def test_a_stored_conversation_is_finished_by_another_client_on_another_server() -> None:
    async with open_client(provisioner()) as client:
        conversation = client.conversation("provision", {"name": "orders"})
        step = await conversation.advance()
        assert isinstance(step, Asked)
        ((key, question),) = step.questions.items()
        assert isinstance(question, FormRequest)
        step = await conversation.advance({key: {"name": "prod"}})
        assert isinstance(step, Asked)
        stored = conversation.dump()
    async with open_client(provisioner(), elicitation=careful) as other:
        result = await other.load(stored).run()
    assert result.structured == {"name": "orders", "region": "prod"}


async def test_a_state_that_expired_while_a_person_was_away_is_told_from_a_deadline(
    autojump_clock: object,
) -> None:
    async def lunch(question: object) -> Accept:
        await trio.sleep(3600)
        return await careful(question)

    server = provisioner(ttl=600, clock=trio.current_time)
    client = Client(MemoryTransport(server), elicitation=lunch, clock=trio.current_time)
    with pytest.raises(ServerError, match="expired requestState") as caught:
        await client.call_tool("provision", {"name": "orders"})
    assert caught.value.code == -32602
    assert caught.value.interim is not None
    with pytest.raises(DeadlineExceeded):
        await client.call_tool("provision", {"name": "orders"}, deadline=60)


async def test_a_client_without_callbacks_is_told_which_one_it_lacks() -> None:
    async with open_client(provisioner()) as client:
        with pytest.raises(ServerError, match="register the callback that declares elicitation"):
            await client.call_tool("provision", {"name": "orders"})


async def test_a_polling_flow_is_followed_with_its_progress(autojump_clock: object) -> None:
    server = Server("Press", keys=[KEY], clock=trio.current_time)
    server.tool(SlowReport(Press(clock=trio.current_time)))
    heard: list[float] = []
    started = trio.current_time()
    async with open_client(server, clock=trio.current_time) as client:
        result = await client.call_tool(
            "slow_report",
            {"title": "Q3", "pages": 12},
            progress=lambda reached, total, message: heard.append(reached),
        )
    assert result.structured == {"title": "Q3", "pages": 12}
    assert heard == sorted(heard)
    assert len(heard) > 2
    assert trio.current_time() - started < 3
