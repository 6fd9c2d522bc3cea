"""A tool call that takes rounds: what is sent in each, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.engine.asked import Accept, Cancel, Decline, FormRequest
from antiphon.engine.asked_deprecated import RootsRequest, SamplingReply, SamplingRequest
from antiphon.engine.call_errors import RoundsExceeded, ServerError
from antiphon.engine.deprecated_questions import Root
from antiphon.engine.errors import InvalidReply
from antiphon.engine.jsonrpc import Failure
from tests.client.scripted import (
    ROOTS,
    accept_prod,
    asks,
    client_of,
    done,
    form,
    link,
    poll,
    sampling,
)

ODD_STATES = [
    "=",
    "a+b/c==",
    " leading and trailing ",
    "line\nbreak\r\n\ttab",
    "\\n \\u0041 \"quoted\" 'single'",
    "emoji 🦆 and 名前 and \u2028 \u0085",
    "\x00\x7f",
    '{"json": [1, 2, {"a": null}]}',
    "123",
    "1e400",
    "null",
    "true",
    "",
    "x" * 65536,
]


async def test_a_call_without_questions_is_one_leg() -> None:
    client, server = client_of(done("hello"))
    result = await client.call_tool("greet", {"who": "you"})
    assert result.text == "hello"
    assert server.params[0]["name"] == "greet"
    assert server.params[0]["arguments"] == {"who": "you"}
    assert "inputResponses" not in server.params[0]
    assert "requestState" not in server.params[0]


async def test_a_call_without_arguments_sends_none() -> None:
    client, server = client_of(done())
    await client.call_tool("greet")
    assert server.params[0]["arguments"] == {}


async def test_a_question_is_answered_and_the_state_comes_back() -> None:
    client, server = client_of(
        asks({"region": form()}, "token"), done("made"), elicitation=accept_prod
    )
    assert (await client.call_tool("provision", {"name": "orders"})).text == "made"
    assert server.params[1]["requestState"] == "token"
    assert server.params[1]["inputResponses"] == {
        "region": {"action": "accept", "content": {"name": "prod"}}
    }


async def test_name_and_arguments_stay_the_same_in_every_leg() -> None:
    arguments: dict[str, Any] = {"name": "orders", "tags": ["a"], "big": 10**30, "none": None}

    async def meddle(_: object) -> dict[str, str]:
        arguments["name"] = "changed"
        arguments["tags"].append("b")
        return {"name": "dev"}

    client, server = client_of(asks(), asks(), done(), elicitation=meddle)
    await client.call_tool("provision", arguments)
    assert [p["arguments"] for p in server.params] == [
        {"name": "orders", "tags": ["a"], "big": 10**30, "none": None}
    ] * 3
    assert {p["name"] for p in server.params} == {"provision"}


@pytest.mark.parametrize("state", ODD_STATES)
async def test_a_state_is_echoed_byte_for_byte(state: str) -> None:
    client, server = client_of(
        asks({"region": form()}, state), poll(state), done(), elicitation=accept_prod
    )
    await client.call_tool("provision")
    assert [p.get("requestState") for p in server.params] == [None, state, state]


async def test_a_state_that_was_not_given_is_not_sent() -> None:
    client, server = client_of(
        asks({"region": form()}, "first"),
        asks({"region": form()}),
        done(),
        elicitation=accept_prod,
    )
    await client.call_tool("provision")
    assert server.params[1]["requestState"] == "first"
    assert "requestState" not in server.params[2]


async def test_a_state_belongs_to_its_call_and_to_no_other() -> None:
    client, server = client_of(asks(state="mine"), done(), done(), elicitation=accept_prod)
    await client.call_tool("provision")
    await client.call_tool("provision")
    assert "requestState" not in server.params[2]
    assert "inputResponses" not in server.params[2]


async def test_every_leg_has_an_id_of_its_own() -> None:
    client, server = client_of(asks(), poll(), done(), done(), elicitation=accept_prod)
    await client.call_tool("a")
    await client.call_tool("b")
    ids = [request["id"] for request in server.requests]
    assert len(set(map(str, ids))) == 4


async def test_two_clients_do_not_share_ids() -> None:
    one, first = client_of(done())
    two, second = client_of(done())
    await one.call_tool("a")
    await two.call_tool("a")
    assert first.requests[0]["id"] != second.requests[0]["id"]


@pytest.mark.parametrize(
    "members",
    [
        {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}},
        {"_meta": {"trace": [1]}, "surplus": {"resultType": "complete"}},
        {"content": [{"type": "text", "text": "not done"}], "isError": False},
    ],
)
async def test_further_members_never_make_an_interim_result_complete(
    members: dict[str, Any],
) -> None:
    client, server = client_of(asks({"r": form()}, "s", **members), done(), elicitation=accept_prod)
    assert (await client.call_tool("provision")).text == "done"
    assert server.params[1]["requestState"] == "s"


async def test_members_of_an_interim_result_may_come_in_any_order() -> None:
    interim = dict(reversed(asks({"r": form()}, "s", _meta={}).items()))
    client, server = client_of(interim, done(), elicitation=accept_prod)
    await client.call_tool("provision")
    assert server.params[1]["requestState"] == "s"


async def test_a_result_without_a_type_is_complete() -> None:
    result = asks({"r": form()}, "s", content=[])
    del result["resultType"]
    client, server = client_of(result)
    assert (await client.call_tool("provision")).content == []
    assert len(server.requests) == 1


async def test_structured_null_is_told_from_no_structure() -> None:
    client, _ = client_of(
        done(structuredContent=None), done(), done(has_structured=True), done(structuredContent=[1])
    )
    results = [await client.call_tool("t") for _ in range(4)]
    assert [r.has_structured for r in results] == [True, False, False, True]
    assert results[3].structured == [1]


async def test_a_failed_tool_is_a_result() -> None:
    client, _ = client_of(done("no such row", isError=True))
    result = await client.call_tool("t")
    assert result.is_error
    assert result.text == "no such row"


async def test_a_round_with_state_alone_is_waited_for_and_repeated(autojump_clock: object) -> None:
    client, server = client_of(poll("s1"), poll("s2"), done())
    await client.call_tool("report")
    assert [p.get("requestState") for p in server.params] == [None, "s1", "s2"]
    assert not any("inputResponses" in p for p in server.params)


async def test_a_round_with_an_empty_set_of_questions_and_a_state_is_a_poll(
    autojump_clock: object,
) -> None:
    client, server = client_of(asks({}, "s"), done())
    await client.call_tool("report")
    assert server.params[1]["requestState"] == "s"
    assert "inputResponses" not in server.params[1]


async def test_each_answer_goes_to_the_question_of_its_own_round() -> None:
    said: list[tuple[str, str]] = []

    async def answer(question: object) -> dict[str, str]:
        assert isinstance(question, FormRequest)
        said.append((question.key, question.message))
        return {"name": "dev"}

    client, server = client_of(
        asks({"a": form("a1"), "b": form("b1")}, "s1"),
        asks({"b": form("b2")}, "s2"),
        done(),
        elicitation=answer,
    )
    await client.call_tool("provision")
    assert sorted(said) == [("a", "a1"), ("b", "b1"), ("b", "b2")]
    assert [sorted(p["inputResponses"]) for p in server.params[1:]] == [["a", "b"], ["b"]]
    assert server.params[2]["requestState"] == "s2"


async def test_all_kinds_of_question_in_one_round() -> None:
    async def elicit(question: object) -> Accept:
        return Accept({"name": "dev"}) if isinstance(question, FormRequest) else Accept()

    async def sample(question: SamplingRequest) -> SamplingReply:
        assert question.max_tokens == 100
        return SamplingReply("Paris", model="m", stop_reason="endTurn")

    async def roots(question: RootsRequest) -> list[Root | str]:
        assert question.target == "everything"
        return [Root("file:///a", "A"), "file:///b"]

    client, server = client_of(
        asks({"f": form(), "u": link(), "s": sampling(), "r": ROOTS}, "s"),
        done(),
        elicitation=elicit,
        sampling=sample,
        roots=roots,
    )
    await client.call_tool("everything")
    assert server.params[1]["inputResponses"] == {
        "f": {"action": "accept", "content": {"name": "dev"}},
        "u": {"action": "accept"},
        "s": {
            "role": "assistant",
            "content": {"type": "text", "text": "Paris"},
            "model": "m",
            "stopReason": "endTurn",
        },
        "r": {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]},
    }


@pytest.mark.parametrize(
    ("answer", "wire"),
    [
        (Decline(), {"action": "decline"}),
        (Cancel(), {"action": "cancel"}),
        (Accept({"name": "dev"}), {"action": "accept", "content": {"name": "dev"}}),
        ({"name": "dev"}, {"action": "accept", "content": {"name": "dev"}}),
    ],
)
async def test_a_refusal_carries_no_content(answer: object, wire: dict[str, Any]) -> None:
    async def say(_: object) -> object:
        return answer

    client, server = client_of(asks({"q": form()}), done(), elicitation=say)
    await client.call_tool("provision")
    assert server.params[1]["inputResponses"] == {"q": wire}


async def test_text_is_a_reply_of_a_model_and_a_list_is_a_list_of_roots() -> None:
    async def sample(_: SamplingRequest) -> str:
        return "Paris"

    client, server = client_of(
        asks({"s": sampling(), "r": ROOTS}), done(), sampling=sample, roots=["file:///w"]
    )
    await client.call_tool("t")
    assert server.params[1]["inputResponses"] == {
        "s": {
            "role": "assistant",
            "content": {"type": "text", "text": "Paris"},
            "model": "unknown",
        },
        "r": {"roots": [{"uri": "file:///w"}]},
    }


async def test_questions_without_end_stop_at_the_limit_and_name_what_was_asked() -> None:
    asked = 0

    async def answer(_: object) -> dict[str, str]:
        nonlocal asked
        asked += 1
        return {"name": "dev"}

    client, server = client_of(
        *(asks({"region": form()}, f"s{n}") for n in range(20)), elicitation=answer
    )
    with pytest.raises(RoundsExceeded, match=r"'region'.*max_rounds") as caught:
        await client.call_tool("provision")
    assert (asked, len(server.requests)) == (10, 11)
    assert (caught.value.rounds, caught.value.polls) == (11, 0)
    assert caught.value.interim is not None
    assert caught.value.interim.request_state == "s10"


async def test_exactly_as_many_rounds_as_allowed_are_taken() -> None:
    client, _ = client_of(*[asks()] * 3, done(), max_rounds=3, elicitation=accept_prod)
    assert (await client.call_tool("t")).text == "done"


async def test_polls_without_end_stop_at_their_own_limit(autojump_clock: object) -> None:
    client, server = client_of(*(poll(f"s{n}") for n in range(30)), max_polls=20)
    with pytest.raises(RoundsExceeded, match="max_polls") as caught:
        await client.call_tool("report")
    assert len(server.requests) == 21
    assert caught.value.interim is not None
    assert caught.value.interim.request_state == "s20"


async def test_polls_do_not_count_as_rounds(autojump_clock: object) -> None:
    client, _ = client_of(
        asks(), *[poll()] * 30, asks(), done(), max_rounds=2, elicitation=accept_prod
    )
    assert (await client.call_tool("t")).text == "done"


async def test_an_error_of_the_server_keeps_code_words_data_and_the_last_interim_result() -> None:
    failure = Failure(None, -32602, "Invalid or expired requestState", {"why": ["x"]})
    client, _ = client_of(
        asks(state="old", questions={"q": form()}), failure, elicitation=accept_prod
    )
    with pytest.raises(ServerError, match=r"-32602.*expired requestState") as caught:
        await client.call_tool("t")
    assert (caught.value.code, caught.value.data) == (-32602, {"why": ["x"]})
    assert caught.value.interim is not None
    assert caught.value.interim.request_state == "old"


async def test_an_error_in_the_first_leg_has_no_interim_result() -> None:
    client, _ = client_of(Failure(None, -32601, "Unknown tool"))
    with pytest.raises(ServerError) as caught:
        await client.call_tool("t")
    assert caught.value.interim is None


async def test_a_missing_capability_is_told_as_the_callback_to_register() -> None:
    data: Any = {"requiredCapabilities": {"elicitation": {"form": {}}}}
    client, _ = client_of(Failure(None, -32021, "Cannot ask", data))
    with pytest.raises(ServerError, match="register the callback that declares elicitation"):
        await client.call_tool("t")


async def test_an_answer_to_another_request_is_no_reply() -> None:
    from antiphon.engine.jsonrpc import Reply, Request, Success

    class Confused:
        name = "confused"

        async def exchange(self, request: Request, on_notification: object) -> Reply:
            return Success("other", done())

    from antiphon.engine.client import Client

    with pytest.raises(InvalidReply, match="another request"):
        await Client(Confused()).call_tool("t")
