"""A client of the official SDK takes our flows round by round, and brings what it should not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types
import pytest
from mcp import Client, MCPError
from mcp_types import InputRequiredResult

from tests.interop.people import AGREE, DECLINE, accept, list_roots, model, person
from tests.interop.servers import HARBOUR, HTTP, LEAVES_GARBAGE, PROVISION, Over, served

pytestmark = LEAVES_GARBAGE

REFUSED = "-32602 Invalid or expired requestState"


async def opened(client: Client, tool: str, **arguments: Any) -> InputRequiredResult:
    """The first round of a call."""
    result = await client.session.call_tool(tool, arguments, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def test_rounds_are_driven_by_hand(over: Over) -> None:
    async with (
        served(over, PROVISION) as server,
        server.client(elicitation_callback=person()) as client,
    ):
        arguments = {"name": "orders"}
        first = await opened(client, "provision", **arguments)
        assert first.input_requests is not None
        assert list(first.input_requests) == ["choosing_region"]
        second = await client.session.call_tool(
            "provision",
            arguments,
            input_responses={"choosing_region": accept(name="prod")},
            request_state=first.request_state,
            allow_input_required=True,
        )
        assert isinstance(second, InputRequiredResult)
        assert second.request_state != first.request_state
        result = await client.session.call_tool(
            "provision",
            arguments,
            input_responses={"confirming_prod": accept(sure="yes")},
            request_state=second.request_state,
        )
    assert result.structured_content == {"name": "orders", "region": "prod"}


async def test_state_goes_on_over_another_connection(over: Over) -> None:
    async with served(over, PROVISION) as server:
        async with server.client(elicitation_callback=person()) as client:
            first = await opened(client, "provision", name="orders")
        asked = person(accept(sure="yes"))
        async with server.client(elicitation_callback=asked) as client:
            result = await client.call_tool(
                "provision",
                {"name": "orders"},
                input_responses={"choosing_region": accept(name="prod")},
                request_state=first.request_state,
            )
    assert result.structured_content == {"name": "orders", "region": "prod"}


async def test_answers_may_come_with_the_opening_request() -> None:
    async with (
        served(HTTP, PROVISION) as server,
        server.client(elicitation_callback=person()) as client,
    ):
        result = await client.call_tool(
            "provision",
            {"name": "orders"},
            input_responses={"choosing_region": accept(name="us-east-1")},
        )
    assert result.structured_content == {"name": "orders", "region": "us-east-1"}


async def test_only_what_is_missing_is_asked_again() -> None:
    callbacks = {"elicitation_callback": person(), "sampling_callback": model(""),
                 "list_roots_callback": list_roots}  # fmt: skip
    async with served(HTTP, HARBOUR) as server, server.client(**callbacks) as client:
        first = await opened(client, "gather")
        assert first.input_requests is not None
        assert set(first.input_requests) == {"form", "link", "sampling", "roots"}
        second = await client.session.call_tool(
            "gather",
            {},
            input_responses={"link": AGREE, "form": accept(name="Ada"), "stale": DECLINE},
            request_state=first.request_state,
            allow_input_required=True,
        )
        assert isinstance(second, InputRequiredResult)
        assert second.input_requests is not None
        assert set(second.input_requests) == {"sampling", "roots"}
        request = second.input_requests["sampling"]
        assert isinstance(request, mcp_types.CreateMessageRequest)
        context: Any = None
        result = await client.session.call_tool(
            "gather",
            {},
            input_responses={
                "sampling": await model("hello")(context, request.params),
                "roots": await list_roots(context),
            },
            request_state=second.request_state,
        )
    assert result.structured_content == {
        "name": "Ada",
        "said": "hello",
        "roots": ["file:///home/ada", "file:///srv"],
    }


FORGED: dict[str, Callable[[str], str]] = {
    "flipped": lambda state: state[:40] + ("A" if state[40] != "A" else "B") + state[41:],
    "cut": lambda state: state[:-1],
    "extended": lambda state: state + "A",
    "padded": lambda state: state + "=",
    "of another format": lambda state: "a2" + state[2:],
    "empty": lambda state: "",
    "no token at all": lambda state: "größe",
    "too long": lambda state: state * 1000,
}


async def refusal(client: Client, tool: str, arguments: dict[str, Any], state: str) -> str:
    """The error with which a state is refused."""
    with pytest.raises(MCPError) as caught:
        await client.session.call_tool(tool, arguments, request_state=state)
    return f"{caught.value.code} {caught.value.message}"


async def test_forged_states_are_refused_in_the_same_words(over: Over) -> None:
    async with (
        served(over, PROVISION) as server,
        server.client(elicitation_callback=person()) as client,
    ):
        arguments = {"name": "orders"}
        state = (await opened(client, "provision", **arguments)).request_state
        assert state is not None
        refused = {
            name: await refusal(client, "provision", arguments, forge(state))
            for name, forge in FORGED.items()
        }
    assert refused == dict.fromkeys(FORGED, REFUSED)


async def test_state_is_refused_elsewhere(over: Over) -> None:
    async with (
        served(over, PROVISION) as server,
        served(over, HARBOUR) as harbour,
        server.client(elicitation_callback=person()) as client,
        harbour.client(elicitation_callback=person()) as other,
    ):
        state = (await opened(client, "provision", name="orders")).request_state
        paying = (await opened(other, "pay")).request_state
        assert state is not None
        assert paying is not None
        assert await refusal(client, "provision", {"name": "other"}, state) == REFUSED
        assert await refusal(client, "provision", {"name": "orders", "x": 1}, state) == REFUSED
        assert await refusal(client, "provision", {"name": "orders"}, paying) == REFUSED
        assert await refusal(other, "place_order", {}, paying) == REFUSED
        assert await refusal(other, "pay", {}, state) == REFUSED
