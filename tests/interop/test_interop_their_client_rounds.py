"""A client of the official SDK takes our flows through all their rounds."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from attrs import define, field
from mcp import Client, InputRequiredRoundsExceededError, MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsResult,
)

from tests.interop.people import (
    AGREE,
    CANCEL,
    DECLINE,
    accept,
    list_roots,
    model,
    person,
    properties,
)
from tests.interop.servers import (
    HARBOUR,
    HTTP,
    LEAVES_GARBAGE,
    PROVISION,
    REPORT,
    REVIEW,
    Over,
    served,
    text_of,
)

pytestmark = LEAVES_GARBAGE


# -- provision ---------------------------------------------------------------------------------


async def test_production_is_confirmed_in_a_second_round(over: Over) -> None:
    asked = person(accept(name="prod"), accept(sure="yes"))
    async with (
        served(over, PROVISION) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        await client.list_tools()
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.structured_content == {"name": "orders", "region": "prod"}
    region, sure = asked.asked
    assert properties(region) == {
        "name": {"type": "string", "enum": ["eu-west-1", "us-east-1", "prod"]}
    }
    assert sure.message == "'orders' will be in production. Go ahead?"
    assert server.complaints.texts == []


async def test_flow_goes_back_to_an_earlier_question() -> None:
    asked = person(accept(name="prod"), accept(sure="no"), accept(name="eu-west-1"))
    async with (
        served(HTTP, PROVISION) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.structured_content == {"name": "orders", "region": "eu-west-1"}
    assert asked.messages[0] == asked.messages[2]


async def test_refusals_take_their_edges(over: Over) -> None:
    async with served(over, PROVISION) as server:
        asked = person(accept(name="prod"), DECLINE, accept(name="prod"), CANCEL)
        async with server.client(elicitation_callback=asked) as client:
            results = [await client.call_tool("provision", {"name": "orders"}) for _ in range(2)]
    assert [result.is_error for result in results] == [True, True]
    assert [text_of(result) for result in results] == [
        "'orders' was not provisioned: production was declined."
    ] * 2


async def test_refusals_without_an_edge_are_told_to_the_model() -> None:
    asked = person(DECLINE, CANCEL)
    async with (
        served(HTTP, PROVISION) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        declined, cancelled = [
            await client.call_tool("provision", {"name": "orders"}) for _ in range(2)
        ]
    assert declined.is_error
    assert cancelled.is_error
    assert "declined" in text_of(declined)
    assert "closed the question" in text_of(cancelled)
    assert len(asked.asked) == 2


async def test_unusable_answers_are_asked_again_with_the_reason_and_not_for_ever() -> None:
    asked = person(*[accept(name="mars")] * 3)
    async with (
        served(HTTP, PROVISION) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        result = await client.call_tool("provision", {"name": "orders"})
    assert result.is_error
    first, second, third = asked.messages
    assert first in second
    assert "name" in second.removeprefix(first)
    assert second == third
    assert asked.answers == []


async def test_client_that_answers_nothing_is_told_what_it_would_have_to_declare(
    over: Over,
) -> None:
    async with served(over, PROVISION) as server, server.client() as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("provision", {"name": "orders"})
        tools = await client.list_tools()
    assert caught.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert len(tools.tools) == 1


async def test_client_whose_round_limit_is_low_says_so() -> None:
    asked = person(accept(name="prod"), accept(sure="no"), accept(name="prod"), accept(sure="no"))
    async with (
        served(HTTP, PROVISION) as server,
        server.client(elicitation_callback=asked, input_required_max_rounds=3) as client,
    ):
        with pytest.raises(InputRequiredRoundsExceededError):
            await client.call_tool("provision", {"name": "orders"})


# -- a report that is polled -------------------------------------------------------------------


async def test_polls_lead_to_the_report_with_progress(over: Over) -> None:
    heard: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert message == f"{progress:g} of 3 pages"
        heard.append((progress, total))

    async with served(over, REPORT) as server, server.client() as client:
        result = await client.call_tool(
            "slow_report", {"title": "Q3", "pages": 3}, progress_callback=on_progress
        )
    assert result.structured_content == {"title": "Q3", "pages": 3}
    assert heard == sorted(heard)
    assert heard[0] == (0, 3)


# -- review: sampling and roots ----------------------------------------------------------------


async def test_model_and_roots_are_asked_in_one_round(over: Over) -> None:
    async with (
        served(over, REVIEW) as server,
        server.client(
            sampling_callback=model("SAFE, I think"), list_roots_callback=list_roots
        ) as client,
    ):
        result = await client.call_tool("review", {"diff": "- a\n+ b"})
    assert result.structured_content == {
        "decision": "approve",
        "remark": "safe by the model's opinion",
        "opinion": "SAFE, I think",
        "roots": ["file:///home/ada", "file:///srv"],
    }


async def test_branch_after_sampling_asks_a_person(over: Over) -> None:
    asked = person(accept(decision="reject", remark="no"))
    async with (
        served(over, REVIEW) as server,
        server.client(
            sampling_callback=model("RISKY"),
            list_roots_callback=list_roots,
            elicitation_callback=asked,
        ) as client,
    ):
        result = await client.call_tool("review", {"diff": "- a\n+ b"})
    assert result.structured_content is not None
    assert result.structured_content["decision"] == "reject"
    assert result.structured_content["opinion"] == "RISKY"
    assert asked.messages == ["Approve this change?\n\nRISKY"]


async def test_client_without_a_model_takes_the_other_edge(over: Over) -> None:
    asked = person(accept(decision="approve"))
    async with (
        served(over, REVIEW) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        result = await client.call_tool("review", {"diff": "- a\n+ b"})
    assert result.structured_content == {
        "decision": "approve",
        "remark": "",
        "opinion": "",
        "roots": [],
    }
    assert asked.messages == ["Approve this change?\n\nNo model could be asked about it."]


async def test_client_that_can_do_nothing_is_refused_where_the_other_edge_asks_too() -> None:
    async with served(HTTP, REVIEW) as server, server.client() as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("review", {"diff": "- a\n+ b"})
    assert caught.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# -- questions of every kind -------------------------------------------------------------------


@define
class Meeting:
    """Callbacks that each wait until all are under way."""

    size: int
    come: int = 0
    all_here: trio.Event = field(factory=trio.Event)

    async def _meet(self) -> None:
        self.come += 1
        if self.come == self.size:
            self.all_here.set()
        await self.all_here.wait()

    async def elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        await self._meet()
        if isinstance(params, ElicitRequestURLParams):
            assert params.url == "https://example.org/sign?as=you"
            return AGREE
        return accept(name="Ada")

    async def sample(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        await self._meet()
        assert (params.system_prompt, params.max_tokens) == ("Be brief.", 50)
        result = await model("hello")(context, params)
        assert isinstance(result, CreateMessageResult)
        return result

    async def roots(self, context: Any) -> ListRootsResult:
        await self._meet()
        return await list_roots(context)


async def test_every_kind_of_question_in_one_round_is_answered_side_by_side(over: Over) -> None:
    meeting = Meeting(4)
    async with (
        served(over, HARBOUR) as server,
        server.client(
            elicitation_callback=meeting.elicit,
            sampling_callback=meeting.sample,
            list_roots_callback=meeting.roots,
        ) as client,
    ):
        result = await client.call_tool("gather")
    assert result.structured_content == {
        "name": "Ada",
        "said": "hello",
        "roots": ["file:///home/ada", "file:///srv"],
    }


async def test_link_is_agreed_to_once_and_then_waited_for(over: Over) -> None:
    asked = person(AGREE)
    async with (
        served(over, HARBOUR) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        result = await client.call_tool("pay")
    assert text_of(result) == "paid"
    (link,) = asked.asked
    assert isinstance(link, ElicitRequestURLParams)
    assert link.url == "https://example.org/pay"


async def test_form_with_every_field_is_understood_and_filled_in() -> None:
    asked = person(
        accept(
            title="Countess",
            mail="ada@example.org",
            size="large",
            colour="green",
            region="eu",
            extras=["wrap", "card"],
            stamps=["a", "b"],
            seats=3,
        )
    )
    async with (
        served(HTTP, HARBOUR) as server,
        server.client(elicitation_callback=asked) as client,
    ):
        result = await client.call_tool("place_order")
    assert result.structured_content == {"summary": "large green x3 ['wrap', 'card']"}
    fields = properties(asked.asked[0])
    assert fields["region"]["oneOf"][0] == {"const": "eu", "title": "Europe"}
    assert fields["stamps"]["items"]["anyOf"][1] == {"const": "b", "title": "Boat"}


# -- many at once ------------------------------------------------------------------------------


async def test_fifty_conversations_at_once_lose_nothing(over: Over) -> None:
    results: dict[str, CallToolResult] = {}

    async def elicit(context: object, params: ElicitRequestParams) -> ElicitResult:
        if "production" in params.message:
            return accept(sure="yes")
        number = int(params.message.split("'")[1].removeprefix("db"))
        return accept(name=["eu-west-1", "us-east-1", "prod"][number % 3])

    async def call(client: Client, name: str) -> None:
        results[name] = await client.call_tool("provision", {"name": name})

    async with (
        served(over, PROVISION) as server,
        server.client(elicitation_callback=elicit) as client,
        trio.open_nursery() as nursery,
    ):
        for number in range(50):
            nursery.start_soon(call, client, f"db{number}")
    assert {name: result.structured_content for name, result in results.items()} == {
        f"db{number}": {
            "name": f"db{number}",
            "region": ["eu-west-1", "us-east-1", "prod"][number % 3],
        }
        for number in range(50)
    }
